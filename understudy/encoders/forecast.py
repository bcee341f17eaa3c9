"""A forecast of what follows an observation: a network that tells the outcome of a row from those of other rows.

An outcome is (reward, terminated, x'). The network scores outcome y after (x, a) by phi(x, a) . mu(y). It is trained to
pick a row's own outcome among those of its batch. At the optimum the score is log p(y|x,a)/p(y), plus a term that does
not depend on y: all that replay needs to know of x, and nothing else. It knows no states: those are found afterwards.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from understudy.contracts import Log
from understudy.contracts.devices import replayed
from understudy.contracts.encoding import ObservationSpec
from understudy.encoders.features import Features
from understudy.encoders.training import TRAINING, WEIGHTS, BestWeights, generator_of, input_layer, seeded_module
from understudy.progress import Report

FREQUENCIES = (1.0, 2.0, 4.0, 8.0)  # of the sines and cosines that let a small network draw sharp borders
DIMENSION = 32  # of phi and mu
MOST_REWARDS = 16  # distinct rewards that are one-hot inputs too, besides their size
CHECK_EVERY = 100  # steps between two losses on the rows held out
HELD_BATCHES = 16
MOST_NUMBERS = 2**29  # in x, and as many in x', that are held on an accelerator


class VectorTrunk(nn.Module):
    """The hidden layers for vectors: each dimension with its sines and cosines, then two hidden layers."""

    def __init__(self, features: Features, width: int) -> None:
        super().__init__()
        n_inputs = features.width * (1 + 2 * len(FREQUENCIES))
        self.net = nn.Sequential(nn.Linear(n_inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        angles = torch.cat([x * frequency for frequency in FREQUENCIES], dim=1)
        return self.net(torch.cat([x, angles.sin(), angles.cos()], dim=1))


class ImageTrunk(nn.Module):
    """The hidden layers for images, (H, W), (C, H, W) or (H, W, C): two convolutions that halve them, then a layer."""

    def __init__(self, features: Features, width: int) -> None:
        super().__init__()
        self.shape, self.channels_last = image_shape(features.observation)
        channels, height, breadth = self.shape
        n_pixels = ((height + 3) // 4) * ((breadth + 3) // 4)  # after the convolutions
        self.net = nn.Sequential(
            nn.Conv2d(channels, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(32 * n_pixels, width), nn.ReLU(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        channels, height, breadth = self.shape
        if self.channels_last:
            x = x.reshape(-1, height, breadth, channels).movedim(3, 1)
        return self.net(x.reshape(-1, *self.shape))


def is_image(observation: ObservationSpec) -> bool:
    """Return True if observations have two dimensions of at least 8, so that they are taken as images."""
    return len(observation.shape) in (2, 3) and min(image_shape(observation)[0][1:]) >= 8


def image_shape(observation: ObservationSpec) -> tuple[tuple[int, int, int], bool]:
    """Return (channels, height, breadth), and whether channels come last; the shorter end is taken as the channels."""
    shape = observation.shape
    if len(shape) == 2:
        return (1, *shape), False
    channels_last = shape[2] < shape[0]
    return ((shape[2], shape[0], shape[1]) if channels_last else (shape[0], shape[1], shape[2])), channels_last


def trunk(features: Features, width: int) -> nn.Module:
    """Return the layers from features of observations to a hidden layer, by the type and shape of observations."""
    if features.discrete:
        return input_layer(features, width)
    return ImageTrunk(features, width) if is_image(features.observation) else VectorTrunk(features, width)


class ForecastNet(nn.Module):
    """The network: phi(x, a) and mu(reward, terminated, x')."""

    def __init__(self, features: Features, n_actions: int, n_signals: int, width: int) -> None:
        super().__init__()
        self.n_actions, self.n_signals = n_actions, n_signals
        self.before, self.after = trunk(features, width), trunk(features, width)
        self.head = nn.Linear(width, n_actions * DIMENSION)
        self.tail = nn.Sequential(nn.Linear(width + n_signals, width), nn.ReLU(), nn.Linear(width, DIMENSION))

    def phi(self, x: Tensor) -> Tensor:
        """Return phi of n observations and all actions, (n, actions, DIMENSION)."""
        return self.head(self.before(x)).unflatten(1, (self.n_actions, DIMENSION))

    def mu(self, next_x: Tensor, signals: Tensor) -> Tensor:
        """Return mu of n outcomes, (n, DIMENSION). Of outcomes that terminated, x' has no effect."""
        continues = 1 - signals[:, :1]
        return self.tail(torch.cat([self.after(next_x) * continues, signals], dim=1))

    def loss(self, x: Tensor, action: Tensor, next_x: Tensor, signals: Tensor) -> Tensor:
        """Return the loss of picking each row's own outcome among those of the batch."""
        here = self.phi(x)[torch.arange(len(x), device=x.device), action]
        return functional.cross_entropy(here @ self.mu(next_x, signals).T, torch.arange(len(x), device=x.device))


class RowLoader:
    """Loads rows of a log as tensors, a batch at a time, so that a log of images is not held twice."""

    def __init__(self, log: Log, features: Features, device: torch.device) -> None:
        self.log, self.features, self.device = log, features, device
        values, spread = np.unique(log.reward[:: max(1, len(log) // 100_000)]), float(log.reward.std())
        self._values = values if 1 < len(values) <= MOST_REWARDS else values[:0]
        self._center, self._scale = float(log.reward.mean()), spread if spread > 0 else 1.0
        self._columns: tuple[Tensor, ...] | None = None  # of all rows, where an accelerator has room for them
        if device.type != "cpu" and log.observation.size <= MOST_NUMBERS:
            self._columns = self(np.arange(len(log)))

    @property
    def n_signals(self) -> int:
        """The number of inputs of mu besides x': whether it terminated, and the reward."""
        return 2 + len(self._values)

    def observations(self, rows: np.ndarray) -> Tensor:
        """Return the features of the observations of some rows."""
        if self._columns is not None:
            return self._columns[0][torch.from_numpy(rows).to(self.device)]
        return torch.from_numpy(self.features(self.log.observation[rows])).to(self.device)

    def outcomes(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return the outcomes of some rows: the features of x', and whether it terminated with the reward."""
        if self._columns is not None:
            place = torch.from_numpy(rows).to(self.device)
            return self._columns[2][place], self._columns[3][place]
        reward = self.log.reward[rows]
        size = np.clip((reward - self._center) / self._scale, -5, 5)
        one_hot = reward[:, None] == self._values
        signals = np.column_stack([self.log.terminated[rows], size, one_hot]).astype(np.float32)
        next_x = torch.from_numpy(self.features(self.log.next_observation[rows]))
        return next_x.to(self.device), torch.from_numpy(signals).to(self.device)

    def write(self, rows: np.ndarray, inputs: tuple[Tensor, ...]) -> None:
        """Write the arguments of `ForecastNet.loss` for some rows into tensors of their shapes."""
        if self._columns is not None:
            place = torch.from_numpy(rows).to(self.device)
            for column, ours in zip(self._columns, inputs, strict=True):
                torch.index_select(column, 0, place, out=ours)
            return
        for drawn, ours in zip(self(rows), inputs, strict=True):
            ours.copy_(drawn)

    def __call__(self, rows: np.ndarray) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the arguments of `ForecastNet.loss` for some rows."""
        action = torch.from_numpy(self.log.action[rows].astype(np.int64)).to(self.device)
        return self.observations(rows), action, *self.outcomes(rows)


def trained_forecast(
    loader: RowLoader, rows: np.ndarray, held: np.ndarray, options: dict[str, Any], report: Report
) -> tuple[ForecastNet, BestWeights]:
    """Return a forecast trained on `rows`, with the weights of the least loss on the rows `held` out."""
    seed, steps, batch = options["seed"], options["steps"], min(options["batch_size"], len(rows))
    net: Any = seeded_module(
        lambda: ForecastNet(loader.features, loader.log.spec.n_actions, loader.n_signals, options["width"]),
        generator_of(seed, WEIGHTS),
    ).to(loader.device)
    fused = loader.device.type == "cuda"  # a dozen operations for each tensor of weights are one
    optimizer = torch.optim.AdamW(net.parameters(), lr=options["learning_rate"], weight_decay=1e-4, fused=fused)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options["learning_rate"], total_steps=steps)
    rng = np.random.default_rng(generator_of(seed, TRAINING).initial_seed())
    checks = [loader(rng.choice(held, batch)) for _ in range(HELD_BATCHES)]
    best = BestWeights(net, options["patience"])
    inputs, total = tuple(torch.clone(part) for part in checks[0]), torch.zeros((), device=loader.device)

    def write_gradients() -> None:
        loss = net.loss(*inputs)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()

    def write_total() -> None:
        with torch.no_grad():
            total.copy_(sum(net.loss(*check) for check in checks))

    compute_gradients, compute_total = (replayed(work, loader.device) for work in (write_gradients, write_total))
    for step in range(1, steps + 1):
        loader.write(rng.choice(rows, batch), inputs)
        compute_gradients()
        optimizer.step()
        schedule.step()
        if step % CHECK_EVERY == 0 or step == steps:
            compute_total()
            best.record(float(total) / len(checks))
            report(step)
            if best.out_of_patience:
                break
    best.restore()
    return net, best
