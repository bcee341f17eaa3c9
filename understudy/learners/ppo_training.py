"""How PPO trains its networks on an epoch of steps: advantages, passes by hand, and the two losses.

Networks of many learners are trained together, each on an epoch of its own: every tensor has the learners along its
first axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from understudy.contracts.compiling import routine
from understudy.learners.networks import PAD_TO, Networks

CPU_STACK = 5
"""The most networks trained together on a CPU: passes over more of them wait for memory (measured)."""


@routine
def estimate_advantages(reward, value, next_value, over, gamma, lam, advantage, target):
    """Write generalized advantage estimates and rewards-to-go, from the end of an epoch to its beginning.

    `next_value` is the value of each next observation, 0 after a terminal step; a step that is `over` is the last of
    its episode that the epoch has.
    """
    later, to_go = 0.0, 0.0
    for t in range(len(reward) - 1, -1, -1):
        if over[t]:
            later, to_go = 0.0, next_value[t]
        later = reward[t] + gamma * next_value[t] - value[t] + gamma * lam * later
        to_go = reward[t] + gamma * to_go
        advantage[t], target[t] = later, to_go


@dataclass
class Batch:
    """The epochs of R learners, padded to whole vectors with steps of weight 0."""

    x: Tensor  # (R, F, n) float32
    taken: Tensor  # (R, A, n): 1 for the action of each step
    advantage: Tensor  # (R, 1, n)
    target: Tensor  # (R, 1, n)
    weight: Tensor  # (n,): one over the number of steps

    @classmethod
    def of(
        cls, x: np.ndarray, action: np.ndarray, advantage: np.ndarray, target: np.ndarray, sizes: Sequence[int],
        device: str,
    ) -> "Batch":  # fmt: skip
        """Return epochs, given as arrays with the learners along the first axis, padded and on a device."""
        n, n_padded = action.shape[1], -(-action.shape[1] // PAD_TO) * PAD_TO

        def padded(part: np.ndarray) -> Tensor:
            tensor = torch.zeros((*part.shape[:-1], n_padded))
            tensor[..., :n] = torch.from_numpy(part)
            return tensor.to(device)

        def one_hot(codes: np.ndarray, size: int) -> np.ndarray:
            return codes[:, None] == np.arange(size)[:, None]

        return cls(
            x=padded(one_hot(x, sizes[0]) if x.ndim == 2 else x.transpose(0, 2, 1)),
            taken=padded(one_hot(action, sizes[-1])),
            advantage=padded(advantage[:, None]),
            target=padded(target[:, None]),
            weight=padded(np.full(n, 1.0 / n)),
        )

    def select(self, indices: list[int]) -> "Batch":
        """Return the epochs of some of the learners."""
        return Batch(self.x[indices], self.taken[indices], self.advantage[indices], self.target[indices], self.weight)


class Passes:
    """Forward and backward passes of networks over a batch, in memory that is allocated once."""

    activations: list[Tensor]  # the input and the output of each layer, (R, out, n)
    slopes: list[Tensor]  # the gradient of the loss in the output of each hidden layer, (R, out, n)

    def __init__(self, networks: Networks, batch: Batch, reused: "Passes | None" = None) -> None:
        self.layers, self.gradient = networks.layers(), torch.zeros_like(networks.weight)
        n_networks, _, n = batch.x.shape
        if reused is None:
            made = [batch.x.new_empty(n_networks, size, n) for size in networks.sizes[1:]]
            self.slopes = [torch.empty_like(part) for part in made[:-1]]
        else:  # the memory of passes over more networks, which are no longer needed
            made = [part[:n_networks] for part in reused.activations[1:]]
            self.slopes = [part[:n_networks] for part in reused.slopes]
        self.activations = [batch.x, *made]

    def forward(self) -> Tensor:
        """Return the networks' outputs, (R, out, n)."""
        for number, layer in enumerate(self.layers):
            x = self.activations[number].relu_() if number else self.activations[number]
            torch.baddbmm(layer[:, :, -1:], layer[:, :, :-1], x, out=self.activations[number + 1])
        return self.activations[-1]

    def backward(self, slope: Tensor) -> Tensor:
        """Return the gradient of a loss in the weights, (R, P), given its gradient in the outputs, (R, out, n)."""
        end = sum(layer[0].numel() for layer in self.layers)
        for number in range(len(self.layers) - 1, -1, -1):
            layer, x = self.layers[number], self.activations[number]
            begin = end - layer[0].numel()
            part = self.gradient[:, begin:end].view_as(layer)
            part[:, :, :-1], part[:, :, -1] = torch.bmm(slope, x.transpose(1, 2)), slope.sum(2)
            end = begin
            if number:
                below = torch.bmm(layer[:, :, :-1].transpose(1, 2), slope, out=self.slopes[number - 1])
                slope = torch.ops.aten.threshold_backward.grad_input(below, x, 0, grad_input=below)
        return self.gradient


def fit_values(networks: Networks, batch: Batch, rate: float, iterations: int) -> None:
    """Train value networks toward the targets of a batch, by least squares."""
    passes = Passes(networks, batch)
    for _ in range(iterations):
        slope = (passes.forward() - batch.target).mul_(batch.weight * 2.0)
        networks.adam_step(passes.backward(slope), rate)


def improve_policies(
    networks: Networks, batch: Batch, clip: float, target_kl: float, rate: float, iterations: int
) -> list[Networks]:
    """Train policy networks on the clipped objective; return each of them by itself, on the CPU.

    A policy whose KL divergence from the old one exceeds 1.5 times the target is trained no further. It leaves the
    batch, so that the others do not wait for it.
    """
    improved, learners = [networks] * len(networks.counts), list(range(len(networks.counts)))
    passes, before = Passes(networks, batch), None
    while learners and iterations:
        log_policy = torch.log_softmax(passes.forward(), 1)
        log_taken = (log_policy * batch.taken).sum(1, keepdim=True)
        before = log_taken if before is None else before
        divergence = ((before - log_taken) * batch.weight).sum((1, 2)).tolist()
        going_on = [index for index, kl in enumerate(divergence) if not kl > 1.5 * target_kl]
        if len(going_on) < len(learners):
            for index in set(range(len(learners))) - set(going_on):
                improved[learners[index]] = networks.select([index], "cpu")
            learners, networks, batch, before = (
                [learners[index] for index in going_on], networks.select(going_on), batch.select(going_on),
                before[going_on],
            )  # fmt: skip
            passes = Passes(networks, batch, passes)
            continue
        slope = surrogate_slope(log_taken - before, batch.advantage, clip).mul_(batch.weight)
        networks.adam_step(passes.backward((batch.taken - log_policy.exp_()).mul_(slope)), rate)
        iterations -= 1
    for index, learner in enumerate(learners):
        improved[learner] = networks.select([index], "cpu")
    return improved


def surrogate_slope(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Return the derivative of minus the clipped objective in each step's log-probability; 0 beyond the clip."""
    ratio = log_ratio.exp()
    unclipped = torch.where(advantage >= 0, ratio <= 1.0 + clip, ratio >= 1.0 - clip)
    return -(ratio * advantage) * unclipped
