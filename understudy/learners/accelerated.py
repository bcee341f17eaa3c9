"""PPO's networks on an accelerator: stacks of one size, trained in memory that stays where it is.

Rounding depends on the size of a stack there, so a stack always has all of its places; those that no learner needs are
computed and not looked at. Nothing waits for single networks: a policy that has moved far enough keeps its weights
while the others go on. So every iteration does the same to the same memory, and is one launch of a CUDA graph.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import torch
from torch import Tensor

from understudy.learners.networks import DECAY, PAD_TO, SQUARE_DECAY, TINY, Networks
from understudy.learners.ppo_training import Batch, Passes, surrogate_slope

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
    n_steps: int  # of an epoch
    clip: float
    target_kl: float
    policy_rate: float
    value_rate: float
    policy_iterations: int
    value_iterations: int


def train_together(form: StackForm, batch: Batch, policies: Networks, values: Networks) -> tuple[Networks, Networks]:
    """Return the trained policy and value networks of at most `stack_size` learners, given and returned on the CPU."""
    with _training, torch.no_grad():
        return trainer_of(form).train(batch, policies, values)


class StackTrainer:
    """The memory of a stack, and its two iterations: one of values, one of policies."""

    def __init__(self, form: StackForm) -> None:
        self.form, n_padded = form, -(-form.n_steps // PAD_TO) * PAD_TO

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, device=form.device)

        n_stack, n_inputs, n_actions = form.stack_size, form.policy_sizes[0], form.policy_sizes[-1]
        self.batch = Batch(
            x=zeros(n_stack, n_inputs, n_padded),
            taken=zeros(n_stack, n_actions, n_padded),
            advantage=zeros(n_stack, 1, n_padded),
            target=zeros(n_stack, 1, n_padded),
            weight=zeros(n_padded),
        )
        self.before = zeros(n_stack, 1, n_padded)  # log-probabilities of the actions when the epoch was over
        self.going = torch.zeros(n_stack, 1, dtype=torch.bool, device=form.device)  # policies that are trained further
        self.policies = AdamInPlace(form.policy_sizes, n_stack, form.device)
        self.values = AdamInPlace(form.value_sizes, n_stack, form.device)
        self._policy_passes = Passes(self.policies.networks, self.batch)
        self._value_passes = Passes(self.values.networks, self.batch)
        self._everyone = torch.ones_like(self.going)
        self._value_iteration = replayed(self._fit_values, form.device)
        self._policy_iteration = replayed(self._improve_policies, form.device)

    def train(self, batch: Batch, policies: Networks, values: Networks) -> tuple[Networks, Networks]:
        """Return networks after an epoch's training."""
        n = len(policies.counts)
        for part in ("x", "taken", "advantage", "target"):
            vars(self.batch)[part][:n].copy_(vars(batch)[part])
        self.batch.weight.copy_(batch.weight)
        self.values.load(values)
        self.policies.load(policies)
        for _ in range(self.form.value_iterations):
            self._value_iteration()
        self.before.copy_(self._log_taken(torch.log_softmax(self._policy_passes.forward(), 1)))
        self.going.zero_()[:n] = True
        for number in range(self.form.policy_iterations):
            if number % LOOK_EVERY == 0 and not self.going.any():
                break
            self._policy_iteration()
        return self.policies.unload(n), self.values.unload(n)

    def _fit_values(self) -> None:
        """Take a step of all value networks toward the targets, by least squares."""
        slope = (self._value_passes.forward() - self.batch.target).mul_(self.batch.weight * 2.0)
        self.values.step(self._value_passes.backward(slope), self.form.value_rate, self._everyone)

    def _improve_policies(self) -> None:
        """Take a step of the policy networks that go on: those near enough to their old policy."""
        log_policy = torch.log_softmax(self._policy_passes.forward(), 1)
        log_ratio = self._log_taken(log_policy) - self.before
        divergence = -(log_ratio * self.batch.weight).sum((1, 2))
        self.going.logical_and_(~(divergence > 1.5 * self.form.target_kl)[:, None])
        slope = surrogate_slope(log_ratio, self.batch.advantage, self.form.clip).mul_(self.batch.weight)
        gradient = self._policy_passes.backward((self.batch.taken - log_policy.exp_()).mul_(slope))
        self.policies.step(gradient, self.form.policy_rate, self.going)

    def _log_taken(self, log_policy: Tensor) -> Tensor:
        return (log_policy * self.batch.taken).sum(1, keepdim=True)


class AdamInPlace:
    """A stack of networks whose tensors stay in one place, with a count of training steps for each of them."""

    def __init__(self, sizes: tuple[int, ...], n_stack: int, device: str) -> None:
        n_weights = sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))
        weight = torch.zeros(n_stack, n_weights + -n_weights % PAD_TO, device=device)
        self.networks = Networks(sizes, weight, torch.zeros_like(weight), torch.zeros_like(weight), [0] * n_stack)
        self.counts = torch.zeros(n_stack, 1, dtype=torch.float64, device=device)

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
        weight, first, second = (part[:n].cpu() for part in (ours.weight, ours.first_moment, ours.second_moment))
        return Networks(ours.sizes, weight, first, second, counts)

    def step(self, gradient: Tensor, rate: float, going: Tensor) -> None:
        """Change the weights of the networks that are `going`, (R, 1) bool, by one step of Adam."""
        ours = self.networks
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


def replayed(work: Callable[[], None], device: str) -> Callable[[], None]:
    """Return a function that does the same work on the same memory; on CUDA the work is recorded, and launched as one.

    It is done a few times before it is recorded, so that libraries have loaded what they need.
    """
    if torch.device(device).type != "cuda":
        return work
    with torch.cuda.device(device):
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            work()
    return graph.replay
