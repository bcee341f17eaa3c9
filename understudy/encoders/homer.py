"""HOMER's encoder: states by kinematic inseparability, learned by telling real rows from imposters."""

import itertools
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from understudy.contracts import Backend, HasRemoteWorkers, Log
from understudy.contracts.backing import Block, always
from understudy.contracts.devices import device_of, one_thread
from understudy.contracts.encoding import EncoderContents
from understudy.contracts.offering import offers
from understudy.encoders import files
from understudy.encoders.auditing import audit
from understudy.encoders.contents import check_names, check_options, losses_of, observation_of, with_prefix
from understudy.encoders.features import Features
from understudy.encoders.homer_training import Network, TrainingSplit, n_epochs, train
from understudy.encoders.training import check_split, in_chunks, module_with_weights, weights_of
from understudy.errors import EncoderError, SettingError
from understudy.progress import Report, progress_bar
from understudy.settings import positive, whole

SELECTIONS = ("states", "soft")


class Homer:
    """The paper's encoder (Misra et al. 2020): states that tell a real row (x, a, x') from one with another row's x'.

    One hidden layer of `width` leaky ReLUs maps x, and likewise x', to the logits of `latent` states; Gumbel-softmax
    makes a soft choice of them (a bottleneck at both ends); a classifier with one hidden layer sees (z, a, z'). The
    state of an observation is its largest logit. It is trained on one part of the log, until the loss on the part held
    out has not fallen for `patience` epochs; the best weights are kept.

    Differences from the authors' code, and in parentheses how to have theirs:

    - weights are selected by the loss of the states themselves, which are what a simulator uses (`select="soft"`: by
      the loss of the soft choices, which carry information that the states do not have);
    - `temperature` falls from the first to the second number over `annealing` steps of training: at high temperatures
      all states come into use, at low ones choices are nearly one-hot (`temperature=1.0`);
    - `held_out` is a share of the *episodes* (`split="transitions"`);
    - batches are larger, up to a 32nd of the rows, and the learning rate, which is that of a batch of 64, grows with
      the root of their size (`batch_size=64`); patience is shorter (`patience=50`);
    - training ends after `max_steps` batches at the latest, a few minutes, however long the log is (with batches of 64,
      give a hundred times as many).

    It is trained in one thread: with several, the states would depend on how many there are, and on busy cores threads
    would mostly wait for each other.

    `hard=True` gives the classifier one-hot choices with the gradient of soft ones (straight-through).

    What it merges wrongly for replay: it looks at x' only, so observations that differ in reward or termination alone
    become one state. And it keeps apart more than replay needs: observations that are *reached* in different ways are
    different states even where the same follows, which costs rows. Where training ends in a local optimum, more is
    merged: `audit` shows it, and `Homer.search` trains several times.

    An integer observation that the log does not have, and one that is NaN or infinite, has no state (-1).
    """

    save, audit = files.save, audit
    fits = 0

    def __init__(
        self,
        latent: int = 50,
        width: int = 64,
        learning_rate: float = 1e-3,
        seed: int = 0,
        *,
        batch_size: int = 4096,
        clip: float = 40.0,
        patience: int = 10,
        max_epochs: int = 200,
        max_steps: int = 10_000,
        held_out: float = 0.5,
        split: str = "episodes",
        temperature: float | tuple[float, float] = (2.0, 0.5),
        annealing: int = 5000,
        hard: bool = False,
        select: str = "states",
        device: str | None = None,
        progress: bool | None = None,
    ) -> None:
        counts = {
            "latent": latent, "width": width, "batch_size": batch_size, "patience": patience,
            "max_epochs": max_epochs, "max_steps": max_steps, "annealing": annealing,
        }  # fmt: skip
        warm, cold = temperature if isinstance(temperature, Sequence) else (temperature, temperature)
        self._options: dict[str, Any] = {
            "seed": whole("seed", seed, least=None), "learning_rate": positive("learning_rate", learning_rate),
            "clip": positive("clip", clip), "held_out": check_split(held_out, split), "split": split,
            "hard": bool(hard), "temperature": [positive("temperature", number) for number in (warm, cold)],
            "select": select,
        } | {name: whole(name, count) for name, count in counts.items()}  # fmt: skip
        if select not in SELECTIONS:
            raise SettingError(f"select is {select!r}; it is one of {', '.join(SELECTIONS)}")
        self.n_states, self.device, self.progress = whole("latent", latent), device, progress
        self.fitted_on: str | None = None
        self.loss: float | None = None  # on rows held out, as `select` has it
        self.losses: list[float] = []  # the same after each epoch
        self.searched: list[Attempt] = []
        self._features: Features | None = None
        self._net: Network | None = None

    @property
    def fitted(self) -> bool:
        """True once `fit` was called."""
        return self._net is not None

    def fit(self, log: Log) -> "Homer":
        """Train on one part of the log, and keep the weights that do best on the rest."""
        split = TrainingSplit(log, self._options, device_of(self.device))
        with progress_bar("training Homer", n_epochs(split, self._options), self.progress) as report:
            return self._trained(split, report)

    def _trained(self, split: TrainingSplit, report: Report) -> "Homer":
        """Train on a split of a log. Return itself."""
        with one_thread():
            net, best = train(split, self._options, report)
        # It encodes on the CPU, wherever it was trained, so that it and its copy in a file round alike.
        self._features, self._net = split.features, net.cpu()
        self.loss, self.losses = best.loss, best.losses
        self.fitted_on = split.fingerprint
        self.fits += 1
        return self

    @classmethod
    def search(
        cls,
        log: Log,
        latents: Sequence[int] = (50,),
        widths: Sequence[int] = (64,),
        learning_rates: Sequence[float] = (1e-3,),
        seeds: Sequence[int] = (0, 1, 2, 3),
        *,
        backend: Backend | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> "Homer":
        """Train all combinations, and return the one with the least loss on the rows held out.

        All are trained and scored on the same rows; `searched` of the result lists them, the best first. With a
        backend, such as `us.backends.ray()`, they are trained on its workers, each in one thread, with the same result.
        """
        grid = list(itertools.product(latents, widths, learning_rates, seeds))
        if not grid:
            raise SettingError(
                "there is nothing to search; give at least one of latents, widths, learning_rates and seeds"
            )
        trained = HomerTrials(log, [cls(*one, progress=progress, **options) for one in grid], seeds[0])
        numbers = [(number,) for number in range(len(grid))]
        results: Iterable[Any] = ((block, trained(block, always)) for block in numbers)
        if backend is not None:
            workers = backend.n_workers if offers(backend, HasRemoteWorkers) else os.cpu_count() or 1
            results = backend(trained, numbers, min(workers, len(grid)))
        found: dict[int, tuple[Homer, Attempt]] = {}
        with progress_bar("searching Homer", len(grid), progress) as report:
            for (number,), (one,) in results:
                found[number] = one
                report(len(found))
        best = min(sorted(found), key=lambda number: found[number][1].loss)
        attempts = [found[number][1] for number in sorted(found)]
        found[best][0].searched = sorted(attempts, key=lambda attempt: attempt.loss)
        return found[best][0]

    def encode(self, observations: np.ndarray) -> np.ndarray:
        if self._net is None or self._features is None:
            raise EncoderError("this Homer is not trained yet: call fit(log) first")
        features = self._features(observations)
        known = self._features.known(features)
        states = np.full(len(features), -1, dtype=np.int64)
        net = self._net
        states[known] = in_chunks(lambda chunk: net.encoder(chunk).argmax(dim=1), torch.from_numpy(features[known]))
        return states

    @property
    def settings(self) -> dict[str, Any]:
        """The options, and digests of the weights."""
        weights = {} if self._net is None else weights_of(self._net)
        digests = {name: files.array_digest(array) for name, array in weights.items()}
        return {"encoder": "Homer", **self._options, **({"weights": digests} if digests else {})}

    def contents(self) -> EncoderContents:
        if self._net is None or self._features is None:
            raise EncoderError("this Homer has nothing to save yet: call fit(log) first")
        history = {"losses": self.losses, "loss": self.loss, "searched": [tried._asdict() for tried in self.searched]}
        settings = {"options": self._options, "n_actions": self._net.n_actions, **history}
        arrays = {f"features {name}": array for name, array in self._features.arrays.items()} | weights_of(self._net)
        return EncoderContents(settings, arrays, self._features.observation, self.fitted_on)

    @classmethod
    def from_contents(cls, contents: EncoderContents) -> "Homer":
        observation, settings, prefix = observation_of(contents), contents.settings, "features "
        check_names("its settings", settings, ("options", "n_actions", "losses", "loss", "searched"))
        homer, n_actions = cls(**settings["options"]), whole("n_actions", settings["n_actions"])
        check_options(homer._options, settings["options"])
        weights = {name: array for name, array in contents.arrays.items() if not name.startswith(prefix)}
        features = homer._features = Features(observation, with_prefix(contents.arrays, prefix))
        width = homer._options["width"]
        homer._net = module_with_weights(lambda: Network(features, n_actions, homer.n_states, width), weights)
        (homer.loss, homer.losses), homer.fitted_on = losses_of(settings), contents.fitted_on
        homer.searched = [Attempt(**attempt) for attempt in settings["searched"]]
        if any(type(value) not in (int, float) for attempt in homer.searched for value in attempt):
            raise EncoderError("its attempts are not numbers")
        return homer

    def describe_state(self, state: int) -> str:
        """Return the state's number in words: more is not known of it."""
        return f"learned state {state}"

    def __repr__(self) -> str:
        trained = "" if self.fitted else "  # not fitted"
        return f"Homer(latent={self.n_states}, seed={self._options['seed']})" + trained


class HomerTrials:
    """The trainings of a search, for backends: called with a block of their numbers, it returns each with its encoder.

    All are trained on one split of the log, which is made where it is first needed.
    """

    def __init__(self, log: Log, encoders: Sequence[Homer], seed: int) -> None:
        self.log, self.encoders, self.seed = log, encoders, seed

    @cached_property
    def split(self) -> TrainingSplit:
        """The rows to train on, and those held out."""
        one = self.encoders[0]
        return TrainingSplit(self.log, {**one._options, "seed": self.seed}, device_of(one.device))

    def __call__(self, block: Block, keep_going: Callable[[], bool]) -> list[tuple[Homer, "Attempt"]]:
        return [self.trained(number) for number in block]

    def trained(self, number: int) -> tuple[Homer, "Attempt"]:
        """Return an encoder, trained, and how that went."""
        homer, split, began = self.encoders[number], self.split, time.perf_counter()
        homer._trained(split, lambda done: None)
        seconds, n_used = time.perf_counter() - began, len(np.unique(homer.encode(self.log.observation)))
        given = {name: homer._options[name] for name in ("latent", "width", "learning_rate", "seed")}
        loss, epochs = homer.loss or 0.0, len(homer.losses)
        return homer, Attempt(**given, loss=loss, epochs=epochs, n_used=n_used, seconds=seconds)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "split"}


class Attempt(NamedTuple):
    """One training of `Homer.search`."""

    latent: int
    width: int
    learning_rate: float
    seed: int
    loss: float  # on rows held out
    epochs: int
    n_used: int  # states in use
    seconds: float
