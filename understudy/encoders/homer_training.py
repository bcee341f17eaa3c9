"""How Homer is trained: a network that tells real rows from imposters, through soft choices of states."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from understudy.contracts import Log
from understudy.contracts.devices import replayed
from understudy.encoders.features import Features
from understudy.encoders.training import (
    TRAINING,
    WEIGHTS,
    BestWeights,
    features_of_log,
    generator_of,
    in_chunks,
    input_layer,
    seeded_module,
    split_rows,
)
from understudy.progress import Report

PUBLISHED_BATCH = 64
FEWEST_STEPS = 32  # of an epoch, where the log is small


class Network(nn.Module):
    """The encoder, and the classifier of (z, a, z'). Its first layer is a sum of three parts, one for each."""

    def __init__(self, features: Features, n_actions: int, latent: int, width: int) -> None:
        super().__init__()
        self.n_actions, self.latent = n_actions, latent
        self.encoder = nn.Sequential(input_layer(features, width), nn.LeakyReLU(), nn.Linear(width, latent))
        self.hidden = nn.Linear(2 * latent + n_actions, width)
        self.output = nn.Linear(width, 1)

    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the classifier's weights of z, a and z': (latent, width), (actions, width), (latent, width)."""
        left, action, right = self.hidden.weight.T.split([self.latent, self.n_actions, self.latent])
        return left, action + self.hidden.bias, right

    def real_logit(self, hidden: Tensor) -> Tensor:
        """Return the classifier's logit of a row being real, from the sum of the parts of its z, a and z'."""
        return self.output(functional.leaky_relu(hidden)).squeeze(-1)


class TrainingSplit:
    """A log as tensors (x, action, x'): `train` has the rows to train on, `held` the rows held out."""

    def __init__(self, log: Log, options: dict[str, Any], device: torch.device) -> None:
        self.features = features_of_log(log, f"Homer(latent={options['latent']})", fewest=max(options["latent"], 4))
        self.n_actions, self.fingerprint, self.device = log.spec.n_actions, log.fingerprint, device
        train, held = split_rows(log, options["held_out"], options["split"], options["seed"])
        self.train, self.held = self._tensors(log, train), self._tensors(log, held)

    def _tensors(self, log: Log, rows: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        observations, next_observations = (self.features(c[rows]) for c in (log.observation, log.next_observation))
        columns = (observations, log.action[rows].astype(np.int64), next_observations)
        x, action, next_x = (torch.from_numpy(np.ascontiguousarray(column)).to(self.device) for column in columns)
        return x, action, next_x


def train(split: TrainingSplit, options: dict[str, Any], report: Report) -> tuple[Network, BestWeights]:
    """Return a network trained until the loss on the rows held out stops falling, with its best weights."""
    device, (warm, cold) = split.device, options["temperature"]
    net: Any = seeded_module(
        lambda: Network(split.features, split.n_actions, options["latent"], options["width"]),
        generator_of(options["seed"], WEIGHTS),
    ).to(device)
    generator = generator_of(options["seed"], TRAINING, device)
    n_rows, batch, epochs = len(split.train[0]), batch_size(split, options), n_epochs(split, options)
    rate = options["learning_rate"] * (batch / PUBLISHED_BATCH) ** 0.5
    # On an accelerator one operation for all weights: launching a dozen for each of them takes longer than their work.
    optimizer = torch.optim.Adam(net.parameters(), lr=rate, fused=device.type == "cuda")
    training = HomerTraining(net, optimizer, split, batch, options)
    best = BestWeights(net, options["patience"])
    for epoch in range(epochs):
        cooled = min(1.0, epoch * (n_rows // batch) / options["annealing"])
        temperature = warm * (cold / warm) ** cooled
        training.epoch(temperature, generator)
        best.record(held_out_loss(net, split, options["select"], temperature, generator))
        report(epoch + 1)
        if cooled == 1 and best.out_of_patience:
            break
    best.restore()
    report(epochs)
    return net, best


def batch_size(split: TrainingSplit, options: dict[str, Any]) -> int:
    """Return the rows of a batch: fewer than the option where the log is small, so that an epoch has enough steps."""
    n_rows = len(split.train[0])
    return min(options["batch_size"], max(PUBLISHED_BATCH, n_rows // FEWEST_STEPS), n_rows)


def n_epochs(split: TrainingSplit, options: dict[str, Any]) -> int:
    """Return the most epochs that `max_epochs` and `max_steps` allow, at least one."""
    steps = len(split.train[0]) // batch_size(split, options)
    return max(1, min(options["max_epochs"], options["max_steps"] // steps))


class HomerTraining:
    """The steps of a training: batches of real rows and of imposters, which have another row's x'."""

    def __init__(
        self, net: Network, optimizer: torch.optim.Optimizer, split: TrainingSplit, batch: int, options: dict[str, Any]
    ) -> None:
        self.net, self.optimizer, self.columns, self.options = net, optimizer, split.train, options
        x = split.train[0]
        self.rows = torch.zeros(batch, dtype=torch.int64, device=x.device)
        self.noise = torch.ones(2 * batch, net.latent, device=x.device)
        self.temperature: float | Tensor = 1.0 if split.device.type == "cpu" else torch.ones((), device=x.device)
        self._compute_gradients = replayed(self._gradients, split.device)

    def epoch(self, temperature: float, generator: torch.Generator) -> None:
        """Train on each row once."""
        if isinstance(self.temperature, Tensor):
            self.temperature.fill_(temperature)
        else:
            self.temperature = temperature
        n, batch = len(self.columns[0]), len(self.rows)
        order = torch.randperm(n, generator=generator, device=self.rows.device)
        for start in range(0, n - batch + 1, batch):
            self.rows.copy_(order[start : start + batch])
            self.noise.exponential_(generator=generator)
            self._compute_gradients()
            self.optimizer.step()

    def _gradients(self) -> None:
        """Write the gradients of the loss of a batch."""
        x, action, next_x = (column[self.rows] for column in self.columns)
        logits = self.net.encoder(torch.cat([x, next_x]))
        z, next_z = soft_choices(logits, self.temperature, self.options["hard"], self.noise).split(len(x))
        loss = loss_of_choices(self.net, z, action, next_z)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), self.options["clip"])


def soft_choices(logits: Tensor, temperature: float | Tensor, hard: bool, exponential: Tensor) -> Tensor:
    """Return Gumbel-softmax draws of states, (n, latent): nearly one-hot, or one-hot if `hard`, with a gradient.

    `exponential` are as many draws from the exponential law; their negative logarithms are Gumbel's.
    """
    soft = functional.softmax((logits - exponential.log()) / temperature, dim=1)
    if not hard:
        return soft
    return functional.one_hot(soft.argmax(dim=1), logits.shape[1]) - soft.detach() + soft


def loss_of_choices(net: Network, z: Tensor, action: Tensor, next_z: Tensor) -> Tensor:
    """Return the classification loss of a shuffled batch and of imposters, each with the x' of the row before."""
    left, by_action, right = net.parts()
    here, there = z @ left + by_action[action], next_z @ right
    real, imposter = net.real_logit(here + there), net.real_logit(here + there.roll(1, 0))
    return (functional.softplus(-real).mean() + functional.softplus(imposter).mean()) / 2


def held_out_loss(
    net: Network, split: TrainingSplit, select: str, temperature: float, generator: torch.Generator
) -> float:
    """Return the classification loss on the rows held out, of the states or of soft choices."""
    x, action, next_x = split.held
    if select == "states":
        states, next_states = (
            in_chunks(lambda chunk: net.encoder(chunk).argmax(dim=1), column) for column in (x, next_x)
        )
        return loss_of_states(net, states, action, next_states)
    with torch.no_grad():
        order = torch.randperm(len(x), generator=generator, device=x.device)[: 1 << 17]
        logits = net.encoder(torch.cat([x[order], next_x[order]]))
        noise = torch.empty_like(logits).exponential_(generator=generator)
        z, next_z = soft_choices(logits, temperature, False, noise).split(len(order))
        return float(loss_of_choices(net, z, action[order], next_z))


def loss_of_states(net: Network, states: Tensor, action: Tensor, next_states: Tensor) -> float:
    """Return the loss of states as one-hot choices, over all possible imposters, from counts of (z, a, z')."""
    n_pairs, latent = net.n_actions * net.latent, net.latent
    pairs = states * net.n_actions + action
    with torch.no_grad():
        real = torch.bincount(pairs * latent + next_states, minlength=n_pairs * latent).reshape(n_pairs, latent)
        used = torch.nonzero(real.sum(dim=1)).squeeze(1)
        next_share = torch.bincount(next_states, minlength=latent).double() / len(states)
        left, by_action, right = net.parts()
        total = torch.zeros((), dtype=torch.float64, device=states.device)
        for pair in used.split(1024):
            here = left[pair // net.n_actions] + by_action[pair % net.n_actions]
            logit = net.real_logit(here[:, None] + right[None]).double()
            counts = real[pair].double()
            total += (counts * functional.softplus(-logit)).sum()
            total += (counts.sum(dim=1) * (functional.softplus(logit) @ next_share)).sum()
    return float(total / (2 * len(states)))
