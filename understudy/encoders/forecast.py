"""What follows an observation: a model that knows the outcome of a row from those of other rows.

An outcome is (reward, terminated, x'). The model scores outcome y after (x, a) by phi(x, a) . mu(y), and is trained to
pick a row's own outcome among those of its batch. At the optimum the score is log p(y|x,a)/p(y), plus what does not
depend on y: all that replay needs to know of x, and nothing else. Nothing is tied and nothing is squeezed through
states while it is trained: those are found afterwards.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from understudy.contracts import Log
from understudy.contracts.progress import Report
from understudy.encoders.features import Features
from understudy.encoders.form import Form
from understudy.encoders.training import TRAINING, WEIGHTS, Best, generator_of, initialized, inlet

FREQUENCIES = (1.0, 2.0, 4.0, 8.0)  # of the sines and cosines that let a small network draw sharp borders
DIMENSION = 32  # of phi and mu
MOST_REWARDS = 16  # distinct rewards that are told apart by name, not only by size
CHECK = 100  # steps between two looks at the rows held out
HELD_BATCHES = 16


class Waves(nn.Module):
    """Vectors: each dimension with its sines and cosines, then two hidden layers."""

    def __init__(self, features: Features, width: int) -> None:
        super().__init__()
        n_inputs = features.width * (1 + 2 * len(FREQUENCIES))
        self.net = nn.Sequential(nn.Linear(n_inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        angles = torch.cat([x * frequency for frequency in FREQUENCIES], dim=1)
        return self.net(torch.cat([x, angles.sin(), angles.cos()], dim=1))


class Pixels(nn.Module):
    """Images, (H, W), (C, H, W) or (H, W, C): two convolutions that halve them, then a hidden layer."""

    def __init__(self, features: Features, width: int) -> None:
        super().__init__()
        self.shape, self.last = image_shape(features.form)
        channels, height, breadth = self.shape
        places = ((height + 3) // 4) * ((breadth + 3) // 4)
        self.net = nn.Sequential(
            nn.Conv2d(channels, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(32 * places, width), nn.ReLU(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        channels, height, breadth = self.shape
        if self.last:
            x = x.reshape(-1, height, breadth, channels).movedim(3, 1)
        return self.net(x.reshape(-1, *self.shape))


def is_image(form: Form) -> bool:
    """Whether observations are large enough in two dimensions to be looked at as images."""
    return len(form.shape) in (2, 3) and min(image_shape(form)[0][1:]) >= 8


def image_shape(form: Form) -> tuple[tuple[int, int, int], bool]:
    """An image's channels, height and breadth, and whether channels come last; the shorter end is the channels."""
    shape = form.shape
    if len(shape) == 2:
        return (1, *shape), False
    last = shape[2] < shape[0]
    return ((shape[2], shape[0], shape[1]) if last else (shape[0], shape[1], shape[2])), last


def trunk(features: Features, width: int) -> nn.Module:
    """From features of observations to a hidden layer: by what observations are."""
    if features.discrete:
        return inlet(features, width)
    return Pixels(features, width) if is_image(features.form) else Waves(features, width)


class Forecast(nn.Module):
    """phi(x, a) and mu(reward, terminated, x')."""

    def __init__(self, features: Features, n_actions: int, n_signals: int, width: int) -> None:
        super().__init__()
        self.n_actions, self.n_signals = n_actions, n_signals
        self.before, self.after = trunk(features, width), trunk(features, width)
        self.head = nn.Linear(width, n_actions * DIMENSION)
        self.tail = nn.Sequential(nn.Linear(width + n_signals, width), nn.ReLU(), nn.Linear(width, DIMENSION))

    def phi(self, x: Tensor) -> Tensor:
        """(n, actions, DIMENSION)."""
        return self.head(self.before(x)).unflatten(1, (self.n_actions, DIMENSION))

    def mu(self, following: Tensor, signals: Tensor) -> Tensor:
        """(n, DIMENSION). What is observed after termination is never learned from, and is not looked at."""
        goes_on = 1 - signals[:, :1]
        return self.tail(torch.cat([self.after(following) * goes_on, signals], dim=1))

    def contrast(self, x: Tensor, action: Tensor, following: Tensor, signals: Tensor) -> Tensor:
        """The loss of picking each row's own outcome among all of the batch."""
        here = self.phi(x)[torch.arange(len(x), device=x.device), action]
        return functional.cross_entropy(here @ self.mu(following, signals).T, torch.arange(len(x), device=x.device))


class Examples:
    """A log's rows as tensors, some at a time: a log of images is not held twice."""

    def __init__(self, log: Log, features: Features, device: torch.device) -> None:
        self.log, self.features, self.device = log, features, device
        values, spread = np.unique(log.reward[:: max(1, len(log) // 100_000)]), float(log.reward.std())
        self._values = values if 1 < len(values) <= MOST_REWARDS else values[:0]
        self._center, self._scale = float(log.reward.mean()), spread if spread > 0 else 1.0

    @property
    def n_signals(self) -> int:
        """Columns of what follows a row apart from the next observation."""
        return 2 + len(self._values)

    def observations(self, rows: np.ndarray) -> Tensor:
        """The features of some rows' observations."""
        return torch.from_numpy(self.features(self.log.observation[rows])).to(self.device)

    def outcomes(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        """What followed some rows: the features of x', and whether it terminated with the reward."""
        reward = self.log.reward[rows]
        size = np.clip((reward - self._center) / self._scale, -5, 5)
        named = reward[:, None] == self._values
        signals = np.column_stack([self.log.terminated[rows], size, named]).astype(np.float32)
        following = torch.from_numpy(self.features(self.log.next_observation[rows]))
        return following.to(self.device), torch.from_numpy(signals).to(self.device)

    def __call__(self, rows: np.ndarray) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        action = torch.from_numpy(self.log.action[rows].astype(np.int64)).to(self.device)
        return self.observations(rows), action, *self.outcomes(rows)


def trained_forecast(
    examples: Examples, rows: np.ndarray, held: np.ndarray, options: dict[str, Any], report: Report
) -> tuple[Forecast, Best]:
    """A forecast trained on some rows, with the weights that did best on those held out."""
    seed, steps, batch = options["seed"], options["steps"], min(options["batch_size"], len(rows))
    net: Any = initialized(
        lambda: Forecast(examples.features, examples.log.spec.n_actions, examples.n_signals, options["width"]),
        generator_of(seed, WEIGHTS),
    ).to(examples.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=options["learning_rate"], weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options["learning_rate"], total_steps=steps)
    rng = np.random.default_rng(generator_of(seed, TRAINING).initial_seed())
    checks = [examples(rng.choice(held, batch)) for _ in range(HELD_BATCHES)]
    best = Best(net, options["patience"])
    for step in range(1, steps + 1):
        loss = net.contrast(*examples(rng.choice(rows, batch)))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % CHECK == 0 or step == steps:
            with torch.no_grad():
                best.took(float(sum(net.contrast(*check) for check in checks)) / len(checks))
            report(step)
            if best.hopeless:
                break
    best.restore()
    return net, best
