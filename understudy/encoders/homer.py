"""HOMER's encoder: states by kinematic inseparability, learned by telling real rows from imposters."""

import itertools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from understudy.contracts import Log
from understudy.contracts.devices import device_of, one_thread
from understudy.contracts.progress import Report, progress_bar
from understudy.encoders import files
from understudy.encoders.audit import audit
from understudy.encoders.features import Features
from understudy.encoders.options import losses_of, same_options
from understudy.encoders.training import (
    TRAINING,
    WEIGHTS,
    Best,
    arrays_of,
    check_split,
    filled,
    generator_of,
    in_chunks,
    initialized,
    inlet,
    learnable,
    split_rows,
)
from understudy.errors import LogError
from understudy.settings import positive, whole

PUBLISHED_BATCH = 64
FEWEST_STEPS = 32  # of an epoch, where the log is small
SELECTIONS = ("states", "soft")


class Homer:
    """The paper's encoder (Misra et al. 2020): states that tell a real row (x, a, x') from one whose x' is another's.

    One hidden layer of `width` leaky ReLUs maps x, and likewise x', to the logits of `latent` states; Gumbel-softmax
    makes a soft choice of them (a bottleneck at both ends); a classifier with one hidden layer sees (z, a, z'). The
    state of an observation is its largest logit. Trained on one part of the log, until the loss on the part held out
    has not fallen for `patience` epochs; the best weights are kept.

    Where this departs from the authors' code, and how to have theirs:

    - the loss that selects is that of the states themselves, which is what a simulator uses (`select="soft"`: of the
      soft choices, through which information leaks that no state has);
    - `temperature` falls from the first to the second number over `annealing` steps of training: warm choices let all
      states find a use, cold ones leave no leak (`temperature=1.0`);
    - `held_out` is a share of the *episodes* (`split="transitions"`);
    - batches are larger, up to a 32nd of the rows, and the learning rate, which is that of a batch of 64, grows with
      the root of their size (`batch_size=64`); patience is shorter (`patience=50`);
    - training ends after `max_steps` batches at the latest, a few minutes, however long the log is (with batches of 64,
      give a hundred times as many).

    It is trained in one thread: with several, the states would depend on how many there are, and where other processes
    keep the cores busy the threads wait for each other most of the time.

    `hard=True` gives the classifier one-hot choices with the gradient of soft ones (straight-through).

    What it merges wrongly for replay: it looks at x' only, so observations that differ in reward or termination alone
    become one state. And it asks for more than replay needs: observations that are *reached* in different ways are
    kept apart though they lead on alike, which costs rows. Observations that were never told apart because training
    ended in a local optimum are merged too: `audit` shows them; `Homer.search` tries more.

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
            raise LogError(f"select is {select!r}; it is one of {', '.join(SELECTIONS)}")
        self.n_states, self.device, self.progress = whole("latent", latent), device, progress
        self.fitted_on: str | None = None
        self.loss: float | None = None  # on rows held out, of what was selected by
        self.losses: list[float] = []  # the same after each epoch
        self.searched: list[Attempt] = []
        self._features: Features | None = None
        self._net: Network | None = None

    @property
    def fitted(self) -> bool:
        """Whether it has been trained."""
        return self._net is not None

    def fit(self, log: Log) -> "Homer":
        """Train on one part of the log, and keep the weights that do best on the rest."""
        examples = Examples(log, self._options, device_of(self.device))
        with progress_bar("training Homer", n_epochs(examples, self._options), self.progress) as report:
            return self._trained(examples, report)

    def _trained(self, examples: "Examples", report: Report) -> "Homer":
        with one_thread():
            net, best = train(examples, self._options, report)
        # States are found on the CPU, wherever it was trained, so that it and its copy in a file round alike.
        self._features, self._net = examples.features, net.cpu()
        self.loss, self.losses = best.loss, best.losses
        self.fitted_on = examples.fingerprint
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
        progress: bool | None = None,
        **options: Any,
    ) -> "Homer":
        """The best of all combinations, by the loss on the rows held out; `searched` lists what was tried.

        All are trained and scored on the same rows.
        """
        grid = list(itertools.product(latents, widths, learning_rates, seeds))
        if not grid:
            raise LogError("there is nothing to search; give at least one of latents, widths, learning_rates and seeds")
        best, examples, attempts = None, None, []
        with progress_bar("searching Homer", len(grid), progress) as report:
            for tried, (latent, width, learning_rate, seed) in enumerate(grid, start=1):
                homer = cls(latent, width, learning_rate, seed, progress=progress, **options)
                examples = examples or Examples(log, {**homer._options, "seed": seeds[0]}, device_of(homer.device))
                began = time.perf_counter()
                homer._trained(examples, lambda done: None)
                loss, seconds = homer.loss or 0.0, time.perf_counter() - began
                n_used = len(np.unique(homer.encode(log.observation)))
                attempts.append(Attempt(latent, width, learning_rate, seed, loss, len(homer.losses), n_used, seconds))
                if best is None or best.loss is None or loss < best.loss:
                    best = homer
                report(tried)
        assert best is not None
        best.searched = sorted(attempts, key=lambda attempt: attempt.loss)
        return best

    def encode(self, observations: np.ndarray) -> np.ndarray:
        if self._net is None or self._features is None:
            raise LogError("this Homer is not trained yet: call fit(log) first")
        features = self._features(observations)
        known = self._features.finite(features)
        states = np.full(len(features), -1, dtype=np.int64)
        net = self._net
        states[known] = in_chunks(lambda chunk: net.encoder(chunk).argmax(dim=1), torch.from_numpy(features[known]))
        return states

    @property
    def settings(self) -> dict[str, Any]:
        """What it is, as plain values; the weights by their digests."""
        weights = {} if self._net is None else {name: files.array_digest(w) for name, w in arrays_of(self._net).items()}
        return {"encoder": "Homer", **self._options, **({"weights": weights} if weights else {})}

    def contents(self) -> files.Contents:
        """What it is, to be saved."""
        if self._net is None or self._features is None:
            raise LogError("this Homer has nothing to save yet: call fit(log) first")
        told = {"losses": self.losses, "loss": self.loss, "searched": [attempt._asdict() for attempt in self.searched]}
        settings = {"options": self._options, "n_actions": self._net.n_actions, **told}
        arrays = {f"features {name}": array for name, array in self._features.arrays.items()}
        return files.Contents(settings, self._features.form, arrays | arrays_of(self._net), self.fitted_on)

    @classmethod
    def from_contents(cls, contents: files.Contents) -> "Homer":
        """The Homer that these are the contents of."""
        if contents.form is None:
            raise LogError("the form of its observations is missing")
        settings, prefix = contents.settings, "features "
        files.only("its settings", settings, ("options", "n_actions", "losses", "loss", "searched"))
        homer, n_actions = cls(**settings["options"]), whole("n_actions", settings["n_actions"])
        same_options(homer._options, settings["options"])
        inputs = {name.removeprefix(prefix): a for name, a in contents.arrays.items() if name.startswith(prefix)}
        weights = {name: array for name, array in contents.arrays.items() if not name.startswith(prefix)}
        homer._features = Features(contents.form, inputs)
        features, width = homer._features, homer._options["width"]
        homer._net = filled(lambda: Network(features, n_actions, homer.n_states, width), weights)
        (homer.loss, homer.losses), homer.fitted_on = losses_of(settings), contents.fitted_on
        homer.searched = [Attempt(**attempt) for attempt in settings["searched"]]
        if any(type(value) not in (int, float) for attempt in homer.searched for value in attempt):
            raise LogError("its attempts are not numbers")
        return homer

    def describe(self, state: int) -> str:
        """The state's number: more is not known of one."""
        return f"learned state {state}"

    def __repr__(self) -> str:
        trained = "" if self.fitted else "  # not fitted"
        return f"Homer(latent={self.n_states}, seed={self._options['seed']})" + trained


class Attempt(NamedTuple):
    """One training of a search."""

    latent: int
    width: int
    learning_rate: float
    seed: int
    loss: float  # on rows held out
    epochs: int
    n_used: int  # states in use
    seconds: float


class Network(nn.Module):
    """The encoder, and the classifier of (z, a, z'), whose first layer is kept in three parts, one for each."""

    def __init__(self, features: Features, n_actions: int, latent: int, width: int) -> None:
        super().__init__()
        self.n_actions, self.latent = n_actions, latent
        self.encoder = nn.Sequential(inlet(features, width), nn.LeakyReLU(), nn.Linear(width, latent))
        self.hidden = nn.Linear(2 * latent + n_actions, width)
        self.output = nn.Linear(width, 1)

    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """The rows that z, a and z' each choose among, (latent, width), (actions, width), (latent, width)."""
        left, action, right = self.hidden.weight.T.split([self.latent, self.n_actions, self.latent])
        return left, action + self.hidden.bias, right

    def likely(self, hidden: Tensor) -> Tensor:
        """The classifier's logit of a row being real."""
        return self.output(functional.leaky_relu(hidden)).squeeze(-1)


class Examples:
    """A log as tensors: rows to train on and rows held out."""

    def __init__(self, log: Log, options: dict[str, Any], device: torch.device) -> None:
        self.features = learnable(log, f"Homer(latent={options['latent']})", fewest=max(options["latent"], 4))
        self.n_actions, self.fingerprint, self.device = log.spec.n_actions, log.fingerprint, device
        train, held = split_rows(log, options["held_out"], options["split"], options["seed"])
        self.train, self.held = self._tensors(log, train), self._tensors(log, held)

    def _tensors(self, log: Log, rows: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        observations, following = self.features(log.observation[rows]), self.features(log.next_observation[rows])
        columns = (observations, log.action[rows].astype(np.int64), following)
        x, action, next_x = (torch.from_numpy(np.ascontiguousarray(column)).to(self.device) for column in columns)
        return x, action, next_x


def train(examples: Examples, options: dict[str, Any], report: Report) -> tuple[Network, Best]:
    """Minimize the classification loss until the loss on the rows held out stops falling."""
    device, (warm, cold) = examples.device, options["temperature"]
    net: Any = initialized(
        lambda: Network(examples.features, examples.n_actions, options["latent"], options["width"]),
        generator_of(options["seed"], WEIGHTS),
    ).to(device)
    generator = generator_of(options["seed"], TRAINING, device)
    n_rows, batch, epochs = len(examples.train[0]), batch_of(examples, options), n_epochs(examples, options)
    rate = options["learning_rate"] * (batch / PUBLISHED_BATCH) ** 0.5
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    best = Best(net, options["patience"])
    for epoch in range(epochs):
        cooled = min(1.0, epoch * (n_rows // batch) / options["annealing"])
        temperature = warm * (cold / warm) ** cooled
        train_epoch(net, optimizer, examples, batch, options, temperature, generator)
        best.took(held_out_loss(net, examples, options["select"], temperature, generator))
        report(epoch + 1)
        if cooled == 1 and best.hopeless:
            break
    best.restore()
    report(epochs)
    return net, best


def batch_of(examples: Examples, options: dict[str, Any]) -> int:
    """Rows of a batch: smaller than asked for where the log is small, so that an epoch has some steps."""
    n_rows = len(examples.train[0])
    return min(options["batch_size"], max(PUBLISHED_BATCH, n_rows // FEWEST_STEPS), n_rows)


def n_epochs(examples: Examples, options: dict[str, Any]) -> int:
    """Epochs at most: as many as were asked for, or as have the number of steps that was, but one at least."""
    steps = len(examples.train[0]) // batch_of(examples, options)
    return max(1, min(options["max_epochs"], options["max_steps"] // steps))


def train_epoch(
    net: Network,
    optimizer: torch.optim.Optimizer,
    examples: Examples,
    batch: int,
    options: dict[str, Any],
    temperature: float,
    generator: torch.Generator,
) -> None:
    """One pass over the training rows in batches: real rows, and the same with the next row's x' for their own."""
    x, action, following = examples.train
    order = torch.randperm(len(x), generator=generator, device=x.device)
    for start in range(0, len(x) - batch + 1, batch):
        rows = order[start : start + batch]
        logits = net.encoder(torch.cat([x[rows], following[rows]]))
        z, next_z = softly_chosen(logits, temperature, options["hard"], generator).split(batch)
        loss = contrast(net, z, action[rows], next_z)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), options["clip"])
        optimizer.step()


def softly_chosen(logits: Tensor, temperature: float, hard: bool, generator: torch.Generator) -> Tensor:
    """Gumbel-softmax: nearly one-hot draws from the states' probabilities, with a gradient."""
    noise = torch.empty_like(logits).exponential_(generator=generator)  # its negative logarithm is Gumbel's
    soft = functional.softmax((logits - noise.log_()) / temperature, dim=1)
    if not hard:
        return soft
    return functional.one_hot(soft.argmax(dim=1), logits.shape[1]) - soft.detach() + soft


def contrast(net: Network, z: Tensor, action: Tensor, next_z: Tensor) -> Tensor:
    """The classification loss of real rows and imposters. The batch is shuffled, so a shift by one is another's x'."""
    left, by_action, right = net.parts()
    here, there = z @ left + by_action[action], next_z @ right
    real, imposter = net.likely(here + there), net.likely(here + there.roll(1, 0))
    return (functional.softplus(-real).mean() + functional.softplus(imposter).mean()) / 2


def held_out_loss(
    net: Network, examples: Examples, select: str, temperature: float, generator: torch.Generator
) -> float:
    """The classification loss on the rows held out, of the states or of soft choices."""
    x, action, following = examples.held
    if select == "states":
        states, next_states = (
            in_chunks(lambda chunk: net.encoder(chunk).argmax(dim=1), column) for column in (x, following)
        )
        return loss_of_states(net, states, action, next_states)
    with torch.no_grad():
        order = torch.randperm(len(x), generator=generator, device=x.device)[: 1 << 17]
        logits = net.encoder(torch.cat([x[order], following[order]]))
        z, next_z = softly_chosen(logits, temperature, False, generator).split(len(order))
        return float(contrast(net, z, action[order], next_z))


def loss_of_states(net: Network, states: Tensor, action: Tensor, next_states: Tensor) -> float:
    """The loss of one-hot choices, over all imposters there could be instead of some: counts of states tell it."""
    n_pairs, latent = net.n_actions * net.latent, net.latent
    pairs = states * net.n_actions + action
    with torch.no_grad():
        real = torch.bincount(pairs * latent + next_states, minlength=n_pairs * latent).reshape(n_pairs, latent)
        used = torch.nonzero(real.sum(dim=1)).squeeze(1)
        following = torch.bincount(next_states, minlength=latent).double() / len(states)
        left, by_action, right = net.parts()
        total = torch.zeros((), dtype=torch.float64, device=states.device)
        for some in used.split(1024):
            here = left[some // net.n_actions] + by_action[some % net.n_actions]
            logit = net.likely(here[:, None] + right[None]).double()
            counts = real[some].double()
            total += (counts * functional.softplus(-logit)).sum()
            total += (counts.sum(dim=1) * (functional.softplus(logit) @ following)).sum()
    return float(total / (2 * len(states)))
