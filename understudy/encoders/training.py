"""What learned encoders share: inputs as tensors, held-out rows, the best weights kept, and states of any batch."""

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
from understudy.encoders.features import Features, refuse_missing
from understudy.errors import LogError, SettingError
from understudy.settings import positive

CHUNK = 1 << 16  # rows encoded together
MANY_ROWS = 2048  # batches of fewer are not worth a second thread
SPLITS = ("episodes", "transitions")
SPLIT, WEIGHTS, TRAINING = range(3)  # what draws are for


def generator_of(seed: int, tag: int, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator of our own for each seed and tag, so that nothing touches torch's."""
    return torch.Generator(device).manual_seed(spawn(seed, tag))


def learnable(log: Log, name: str, fewest: int) -> Features:
    """The features of a log's observations. Raises `LogError` where there is nothing to learn from."""
    refuse_missing(log.next_observation, "next_observation")
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
    """The share of the log to hold out. Raises `SettingError` where it is none, or there is no such way to split."""
    if split not in SPLITS:
        raise SettingError(f"split is {split!r}; it is one of {', '.join(SPLITS)}")
    if positive("held_out", held_out) >= 1:
        raise SettingError(f"held_out is {held_out}; it is a share of the log, between 0 and 1")
    return float(held_out)


def split_rows(log: Log, held_out: float, split: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows to train on and those held out: whole episodes, or single rows.

    A log that is one episode, or mostly one, is cut in time: a few short ones would be too little on either side.
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


def inlet(features: Features, width: int) -> nn.Module:
    """The first layer of a network: of codes a row each, of floats a linear map."""
    return nn.Embedding(features.width, width) if features.discrete else nn.Linear(features.width, width)


def initialized(make: Callable[[], nn.Module], generator: torch.Generator) -> nn.Module:
    """A module with weights drawn from a generator by the laws that torch draws them by."""
    with torch.random.fork_rng(devices=[]):  # torch's own draws are thrown away, and its generator put back
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


class Best:
    """The best weights a module has had, by a loss on rows held out, and whether there is hope of better ones.

    Unlike the last weights, they are what the loss that is reported belongs to.
    """

    def __init__(self, module: nn.Module, patience: int) -> None:
        self.loss, self.epoch, self.losses = math.inf, -1, []  # type: float, int, list[float]
        self._module, self._patience = module, patience
        self._weights: dict[str, Tensor] = copy.deepcopy(module.state_dict())

    def took(self, loss: float) -> None:
        """Take in the loss after one more epoch."""
        self.losses.append(loss)
        if loss < self.loss:
            self.loss, self.epoch = loss, len(self.losses) - 1
            self._weights = copy.deepcopy(self._module.state_dict())

    @property
    def waited(self) -> int:
        """Epochs since the best."""
        return len(self.losses) - 1 - self.epoch

    @property
    def hopeless(self) -> bool:
        """Whether patience has run out."""
        return self.waited >= self._patience

    def restore(self) -> None:
        """Put the best weights back."""
        self._module.load_state_dict(self._weights)


def in_chunks(f: Callable[[Tensor], Tensor], inputs: Tensor, rows: int = CHUNK) -> Tensor:
    """A function of a batch, chunk by chunk. The same row gives the same result, in a batch of one or of a million.

    Torch rounds batches of fewer than eight rows differently, so chunks are filled up to multiples of eight.
    """
    results = []
    with torch.no_grad(), threads_for(len(inputs)):
        for chunk in inputs.split(rows):
            short = -len(chunk) % 8
            whole = torch.cat([chunk, chunk.new_zeros(short, *chunk.shape[1:])]) if short else chunk
            results.append(f(whole)[: len(chunk)])
    return torch.cat(results)


def threads_for(rows: int) -> AbstractContextManager[None]:
    """One thread for batches of few rows: waiting for a second takes longer, and ever so long where cores are busy."""
    return one_thread() if rows < MANY_ROWS else nullcontext()


def arrays_of(module: nn.Module) -> dict[str, np.ndarray]:
    """A module's weights, by name."""
    return {name: weights.detach().cpu().numpy() for name, weights in module.state_dict().items()}


def filled(make: Callable[[], Any], arrays: Mapping[str, Any]) -> Any:
    """A module with these weights. Raises `LogError` where they are not its own, or are not finite.

    It is made without memory (torch's meta device) and then given the arrays, so that settings out of a file cannot ask
    for more than the file holds, and torch's generator stays as it was.
    """
    with torch.device("meta"):
        module = make()
    expected = module.state_dict()
    if set(arrays) != set(expected):
        raise LogError(f"weights are {sorted(arrays)}, not {sorted(expected)}")
    for name, weights in arrays.items():
        if weights.shape != tuple(expected[name].shape) or weights.dtype != np.float32:
            raise LogError(f"{name!r} is {weights.dtype} of shape {weights.shape}, not {tuple(expected[name].shape)}")
        if not np.isfinite(weights).all():
            raise LogError(f"{name!r} is not finite")
    module.load_state_dict({name: torch.from_numpy(weights.copy()) for name, weights in arrays.items()}, assign=True)
    return module
