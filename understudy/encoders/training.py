"""What encoders trained with torch share: features, rows held out, seeded weights, the best weights, batches."""

import copy
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from understudy.contracts import Log
from understudy.contracts.devices import one_thread
from understudy.contracts.streams import spawn
from understudy.encoders.features import Features, check_finite
from understudy.errors import EncoderError, LogError, SettingError
from understudy.settings import positive

CHUNK = 1 << 16  # rows encoded together
MANY_ROWS = 2048  # batches of fewer are not worth a second thread
SPLITS = ("episodes", "transitions")
SPLIT, WEIGHTS, TRAINING = range(3)  # purposes of random streams


def generator_of(seed: int, tag: int, device: torch.device | str = "cpu") -> torch.Generator:
    """Return a generator of its own for each seed and tag, so that torch's global one is never used."""
    return torch.Generator(device).manual_seed(spawn(seed, tag))


def features_of_log(log: Log, name: str, fewest: int) -> Features:
    """Return the features of a log's observations. Raise `LogError` where encoder `name` cannot learn from them."""
    check_finite(log.next_observation, "next_observation")
    features = Features.of(log.observation, log.next_observation)
    if len(log) < fewest:
        raise LogError(
            f"{name} is to find states among {len(log):,} rows, and needs at least {fewest:,}; log more, or give the "
            "states that you know with Function or Boxes, and test them with encoder.audit(log)"
        )
    if (log.observation == log.observation[0]).all():
        raise LogError(f"every observation of the log is the same: there is one state, and nothing for {name} to learn")
    return features


def check_split(held_out: Any, split: Any = "episodes") -> float:
    """Return the share of the log to hold out. Raise `SettingError` where it, or the way to split, cannot be used."""
    if split not in SPLITS:
        raise SettingError(f"split is {split!r}; it is one of {', '.join(SPLITS)}")
    if positive("held_out", held_out) >= 1:
        raise SettingError(f"held_out is {held_out}; it is a share of the log, between 0 and 1")
    return float(held_out)


def split_rows(log: Log, held_out: float, split: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and the rows held out: whole episodes, or single rows ("transitions").

    A log with an episode of more than half of its rows is cut in time: the other episodes would be too few.
    """
    check_split(held_out, split)
    n = min(max(1, round(len(log) * held_out)), len(log) - 1)
    rng = np.random.default_rng(spawn(seed, SPLIT))
    if split == "transitions":
        order = rng.permutation(len(log))
        return np.sort(order[n:]), np.sort(order[:n])
    order, lengths = rng.permutation(log.n_episodes), np.diff(log.starts)
    if lengths.max() > len(log) / 2:
        return np.arange(len(log) - n), np.arange(len(log) - n, len(log))
    held = np.zeros(log.n_episodes, dtype=bool)
    enough = 1 + int(np.searchsorted(np.cumsum(lengths[order]), n))
    held[order[: min(enough, log.n_episodes - 1)]] = True
    rows = np.repeat(held, lengths)
    return np.flatnonzero(~rows), np.flatnonzero(rows)


def input_layer(features: Features, width: int) -> nn.Module:
    """Return the first layer of a network: an embedding of codes, or a linear map of floats."""
    return nn.Embedding(features.width, width) if features.discrete else nn.Linear(features.width, width)


def seeded_module(make: Callable[[], nn.Module], generator: torch.Generator) -> nn.Module:
    """Return a module whose weights are drawn from a generator, by the distributions that torch uses."""
    with torch.random.fork_rng(devices=[]):  # torch draws weights too, which are replaced; its generator is restored
        module = make()
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.Linear | nn.Conv2d):
                bound = 1 / math.sqrt(part.weight[0].numel())
                for weights in part.parameters(recurse=False):
                    weights.uniform_(-bound, bound, generator=generator)
            elif isinstance(part, nn.Embedding):
                part.weight.normal_(generator=generator)
    return module


class BestWeights:
    """Early stopping: the weights of a module with the least loss on rows held out.

    `loss` is that least loss, `epoch` when it was reached, and `losses` has the loss after each epoch.
    """

    def __init__(self, module: nn.Module, patience: int) -> None:
        self.loss, self.epoch, self.losses = math.inf, -1, []  # type: float, int, list[float]
        self._module, self._patience = module, patience
        self._weights: dict[str, Tensor] = copy.deepcopy(module.state_dict())

    def record(self, loss: float) -> None:
        """Record the loss after one more epoch, and keep the weights if it is the least."""
        self.losses.append(loss)
        if loss < self.loss:
            self.loss, self.epoch = loss, len(self.losses) - 1
            self._weights = copy.deepcopy(self._module.state_dict())

    @property
    def out_of_patience(self) -> bool:
        """True if the least loss is `patience` epochs ago."""
        return len(self.losses) - 1 - self.epoch >= self._patience

    def restore(self) -> None:
        """Give the module its best weights again."""
        self._module.load_state_dict(self._weights)


def in_chunks(f: Callable[[Tensor], Tensor], inputs: Tensor, rows: int = CHUNK) -> Tensor:
    """Return f of a batch, computed chunk by chunk. A row gives the same result in a batch of one or of a million.

    Torch rounds batches of fewer than eight rows differently, so chunks are padded to multiples of eight.
    """
    results = []
    with torch.no_grad(), threads_for(len(inputs)):
        for chunk in inputs.split(rows):
            missing = -len(chunk) % 8
            padded = torch.cat([chunk, chunk.new_zeros(missing, *chunk.shape[1:])]) if missing else chunk
            results.append(f(padded)[: len(chunk)])
    return torch.cat(results)


def threads_for(rows: int) -> AbstractContextManager[None]:
    """Return a context of one thread for few rows: waiting for a second takes longer, above all on busy cores."""
    return one_thread() if rows < MANY_ROWS else nullcontext()


def weights_of(module: nn.Module) -> dict[str, np.ndarray]:
    """Return a module's weights as arrays, by name."""
    return {name: weights.detach().cpu().numpy() for name, weights in module.state_dict().items()}


def module_with_weights(make: Callable[[], Any], arrays: Mapping[str, Any]) -> Any:
    """Return a module with these weights. Raise `EncoderError` where their names or shapes are others, or not finite.

    The module is made without memory (torch's meta device) and then given the arrays, so that settings out of a file
    cannot ask for more memory than the file has bytes, and torch's generator stays as it was.
    """
    with torch.device("meta"):
        module = make()
    expected = module.state_dict()
    if set(arrays) != set(expected):
        raise EncoderError(f"weights are {sorted(arrays)}, not {sorted(expected)}")
    for name, weights in arrays.items():
        shape = tuple(expected[name].shape)
        if weights.shape != shape or weights.dtype != np.float32:
            raise EncoderError(f"{name!r} is {weights.dtype} of shape {weights.shape}, not {shape}")
        if not np.isfinite(weights).all():
            raise EncoderError(f"{name!r} is not finite")
    module.load_state_dict({name: torch.from_numpy(weights.copy()) for name, weights in arrays.items()}, assign=True)
    return module
