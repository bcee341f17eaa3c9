"""PPO's networks on an accelerator: stacks of one size, trained in memory that stays where it is.

Rounding depends on the size of a stack there, so a stack always has all of its places; those that no learner needs are
computed and not looked at. Nothing waits for single networks: a policy that has moved far enough keeps its weights
while the others go on. So every iteration does the same to the same memory, and is one launch of a CUDA graph.

An epoch is cut into parts, for each of which there is a copy of the network; the gradients of the copies are added up.
Products of matrices as narrow as these are fast only where there are many of them.
"""

import threading
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from understudy.contracts.devices import replayed
from understudy.learners.networks import DECAY, PAD_TO, SQUARE_DECAY, TINY, Networks, forward
from understudy.learners.ppo_epochs import FinishedEpochs
from understudy.learners.ppo_training import Batch, Passes, surrogate_slope

PART = 512
"""The steps of an epoch that are a part."""

TOGETHER = 64
"""Observations at the ends of episodes, of each learner, that are evaluated together: rounding depends on it, too."""

LOOK_EVERY = 10
"""The number of iterations after which it is seen whether any policy goes on: looking waits for the accelerator."""

_training = threading.Lock()
"""Held while a stack is trained: threads share the memory of a trainer, and the accelerator has enough to do."""


@dataclass(frozen=True)
class StackForm:
    """What decides the work of a trainer: sizes, and settings of PPO."""

    device: str
    stack_size: int
    policy_sizes: tuple[int, ...]  # inputs, hidden units of each layer, outputs
    value_sizes: tuple[int, ...]
    one_hot: bool  # observations are codes of inputs
    n_steps: int  # of an epoch
    gamma: float
    lam: float
    clip: float
    target_kl: float
    policy_rate: float
    value_rate: float
    policy_iterations: int
    value_iterations: int


def train_together(
    form: StackForm, epochs: FinishedEpochs, policies: Networks, values: Networks
) -> tuple[Networks, Networks]:
    """Return the trained policy and value networks of at most `stack_size` learners, given and returned on the CPU."""
    with torch.no_grad():
        batch = batch_of(form, epochs, values)
        with _training:
            return trainer_of(form).train(batch, policies, values)


def batch_of(form: StackForm, epochs: FinishedEpochs, values: Networks) -> Batch:
    """Return finished epochs on the device, in the first places of a stack; values are computed there, in float64."""

    def filled(found: np.ndarray | Tensor) -> Tensor:
        """Return arrays of some learners on the device, with zeros for the places of the others."""
        given = torch.as_tensor(found)
        whole = given.new_zeros(form.stack_size, *given.shape[1:])
        whole[: len(given)] = given
        return whole.to(form.device)

    weight = filled(values.weight)
    layers = Networks(values.sizes, weight, weight, weight, []).layers(torch.float64)

    def values_of(x: Tensor) -> np.ndarray:
        found = forward(layers, x if form.one_hot else x.transpose(1, 2))
        return found[: len(epochs.action), 0].cpu().numpy()

    x, after = filled(epochs.observed), filled(epochs.following(TOGETHER))
    following = np.concatenate([values_of(part) for part in after.split(TOGETHER, 1)], axis=1)
    advantage, target = epochs.estimates(values_of(x), following, form.gamma, form.lam)
    return Batch(
        x=one_hot(x, form.policy_sizes[0]) if form.one_hot else x.transpose(1, 2),
        taken=one_hot(filled(epochs.action), form.policy_sizes[-1]),
        advantage=filled(advantage)[:, None],
        target=filled(target)[:, None],
        weight=torch.full((form.stack_size, 1, form.n_steps), 1.0 / form.n_steps, device=form.device),
    )


class StackTrainer:
    """The memory of a stack, and its two iterations: one of values, one of policies.

    Tensors of steps have the parts of all epochs along their first axis, (R * parts, ..., PART).
    """

    def __init__(self, form: StackForm) -> None:
        self.form = form
        n_stack, n_parts = form.stack_size, -(-form.n_steps // PART)

        def zeros(size: int) -> Tensor:
            return torch.zeros(n_stack * n_parts, size, PART, device=form.device)

        self.batch = Batch(zeros(form.policy_sizes[0]), zeros(form.policy_sizes[-1]), zeros(1), zeros(1), zeros(1))
        self.before = zeros(1)  # log-probabilities of the actions when the epoch was over
        self.going = torch.zeros(n_stack, 1, dtype=torch.bool, device=form.device)  # policies that are trained further
        self.everyone = torch.ones_like(self.going)
        self.policies = PlacedNetworks(form.policy_sizes, self.batch, n_stack)
        self.values = PlacedNetworks(form.value_sizes, self.batch, n_stack)
        self._value_iteration = replayed(self._fit_values, form.device)
        self._policy_iteration = replayed(self._improve_policies, form.device)

    def train(self, batch: Batch, policies: Networks, values: Networks) -> tuple[Networks, Networks]:
        """Return networks after an epoch's training; `batch` has the epochs of the whole stack, (R, size, steps)."""
        n = len(policies.counts)
        self.values.load(values)
        self.policies.load(policies)
        for ours, theirs in zip(vars(self.batch).values(), vars(batch).values(), strict=True):
            write_parts(ours, theirs)
        for _ in range(self.form.value_iterations):
            self._value_iteration()
        self.before.copy_(self._log_taken(torch.log_softmax(self.policies.outputs(), 1)))
        self.going.zero_()[:n] = True
        for number in range(self.form.policy_iterations):
            if number % LOOK_EVERY == 0 and not self.going.any():
                break
            self._policy_iteration()
        return self.policies.unload(n), self.values.unload(n)

    def _fit_values(self) -> None:
        """Take a step of all value networks toward the targets, by least squares."""
        slope = (self.values.outputs() - self.batch.target).mul_(self.batch.weight).mul_(2.0)
        self.values.step(slope, self.form.value_rate, self.everyone)

    def _improve_policies(self) -> None:
        """Take a step of the policy networks that go on: those near enough to their old policy."""
        log_policy = torch.log_softmax(self.policies.outputs(), 1)
        log_ratio = self._log_taken(log_policy) - self.before
        divergence = -(log_ratio * self.batch.weight).view(len(self.going), -1).sum(1, keepdim=True)
        self.going.logical_and_(~(divergence > 1.5 * self.form.target_kl))
        slope = surrogate_slope(log_ratio, self.batch.advantage, self.form.clip).mul_(self.batch.weight)
        self.policies.step((self.batch.taken - log_policy.exp_()).mul_(slope), self.form.policy_rate, self.going)

    def _log_taken(self, log_policy: Tensor) -> Tensor:
        return (log_policy * self.batch.taken).sum(1, keepdim=True)


def write_parts(ours: Tensor, theirs: Tensor) -> None:
    """Write tensors of whole epochs, (R, size, steps), into those of their parts, padded with zeros."""
    n, size, n_steps = theirs.shape
    whole = ours.new_zeros(n, size, len(ours) // n * PART)
    whole[:, :, :n_steps].copy_(theirs)
    ours.view(n, -1, size, PART).copy_(whole.view(n, size, -1, PART).transpose(1, 2))


def one_hot(codes: Tensor, size: int) -> Tensor:
    """Return codes, (R, n), as rows of which one is 1, (R, size, n)."""
    return torch.zeros(len(codes), size, codes.shape[1], device=codes.device).scatter_(1, codes[:, None], 1.0)


class PlacedNetworks:
    """A stack of networks whose tensors stay in one place, and the count of training steps of each of them."""

    def __init__(self, sizes: tuple[int, ...], batch: Batch, n_stack: int) -> None:
        n_weights = sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))

        def zeros(n_networks: int) -> Tensor:
            return batch.x.new_zeros(n_networks, n_weights + -n_weights % PAD_TO)

        self.networks = Networks(sizes, zeros(n_stack), zeros(n_stack), zeros(n_stack), [])
        self.counts = torch.zeros(n_stack, 1, dtype=torch.float64, device=batch.x.device)
        self._copies = zeros(len(batch.x))  # the weights, for each part of an epoch
        self._passes = Passes(Networks(sizes, self._copies, self._copies, self._copies, []), batch)

    def load(self, networks: Networks) -> None:
        """Take over networks, in the first places."""
        ours, n = self.networks, len(networks.counts)
        ours.weight[:n].copy_(networks.weight)
        ours.first_moment[:n].copy_(networks.first_moment)
        ours.second_moment[:n].copy_(networks.second_moment)
        self.counts[:n].copy_(torch.tensor(networks.counts, dtype=torch.float64)[:, None])

    def unload(self, n: int) -> Networks:
        """Return copies of the first n networks, on the CPU."""
        ours, counts = self.networks, self.counts[:n, 0].long().tolist()
        weight, first, second = (
            part[:n].to("cpu", copy=True) for part in (ours.weight, ours.first_moment, ours.second_moment)
        )
        return Networks(ours.sizes, weight, first, second, counts)

    def outputs(self) -> Tensor:
        """Return the networks' outputs for all steps, (R * parts, out, PART)."""
        weight = self.networks.weight
        self._copies.view(len(weight), -1, weight.shape[1]).copy_(weight[:, None])
        return self._passes.forward()

    def step(self, slope: Tensor, rate: float, going: Tensor) -> None:
        """Change the weights of the networks that are `going`, (R, 1) bool, by one step of Adam.

        `slope` is the gradient of the loss in the last outputs.
        """
        ours = self.networks
        gradient = self._passes.backward(slope).view(len(going), -1, ours.weight.shape[1]).sum(1)
        self.counts.add_(going)
        pace = (rate / (1.0 - DECAY**self.counts)).float()
        scale = (1.0 - SQUARE_DECAY**self.counts).sqrt().float()
        first = (ours.first_moment * DECAY).add_(gradient, alpha=1.0 - DECAY)
        second = (ours.second_moment * SQUARE_DECAY).addcmul_(gradient, gradient, value=1.0 - SQUARE_DECAY)
        weight = ours.weight - pace * first / (second.sqrt() / scale + TINY)
        for old, new in ((ours.first_moment, first), (ours.second_moment, second), (ours.weight, weight)):
            torch.where(going, new, old, out=old)


@lru_cache(maxsize=2)
def trainer_of(form: StackForm) -> StackTrainer:
    """Return the trainer of stacks of a form; the last two that were used keep their memory."""
    return StackTrainer(form)
