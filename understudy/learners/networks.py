"""Multilayer perceptrons, many at once: every tensor has the networks along its first axis.

A single network is a stack of one, so that no number depends on how many networks there are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from understudy.contracts.devices import one_thread

PAD_TO = 64
"""Each network's share of a tensor is padded to a multiple of this. Torch computes the numbers after the last whole
vector of a tensor with other instructions, which round differently; with padding there are none."""

BATCH = 4096
"""The number of observations that networks are evaluated at together: as many as fit the cache."""

DECAY, SQUARE_DECAY, TINY = 0.9, 0.999, 1e-8  # Adam's


@dataclass
class Networks:
    """R multilayer perceptrons with the same layers, ReLU between them, and the state of their training by Adam."""

    sizes: tuple[int, ...]  # inputs, hidden units of each layer, outputs
    weight: Tensor  # (R, P) float32: each network's weights and biases, layer by layer, padded
    first_moment: Tensor  # (R, P): the running mean of gradients
    second_moment: Tensor  # (R, P): and of their squares
    counts: list[int]  # (R,) the number of training steps of each

    @classmethod
    def stacked(cls, networks: Sequence["Networks"], device: str) -> "Networks":
        """Return stacks of networks with the same layers as one stack."""
        return cls(
            sizes=networks[0].sizes,
            weight=torch.cat([network.weight for network in networks]).to(device),
            first_moment=torch.cat([network.first_moment for network in networks]).to(device),
            second_moment=torch.cat([network.second_moment for network in networks]).to(device),
            counts=[count for network in networks for count in network.counts],
        )

    def select(self, indices: list[int], device: str | None = None) -> "Networks":
        """Return copies of some of the networks."""
        weight, first, second = (
            part[indices].to(device or part.device) for part in (self.weight, self.first_moment, self.second_moment)
        )
        return Networks(self.sizes, weight, first, second, [self.counts[index] for index in indices])

    def each(self) -> list["Networks"]:
        """Return each of the networks by itself; their tensors are parts of these."""
        weights, firsts, seconds = (part.split(1) for part in (self.weight, self.first_moment, self.second_moment))
        return [
            Networks(self.sizes, weight, first, second, [count])
            for weight, first, second, count in zip(weights, firsts, seconds, self.counts, strict=True)
        ]

    def layers(self, dtype: torch.dtype = torch.float32) -> list[Tensor]:
        """Return each layer's weights, with the bias as the last column, (R, out, in + 1); views for float32."""
        layers, start, weight = [], 0, self.weight.to(dtype)
        for n_in, n_out in pairwise(self.sizes):
            end = start + (n_in + 1) * n_out
            layers.append(weight[:, start:end].view(-1, n_out, n_in + 1))
            start = end
        return layers

    def adam_step(self, gradient: Tensor, rate: float) -> None:
        """Change the weights by one step of Adam, given the gradient of the loss, (R, P)."""
        self.counts = [count + 1 for count in self.counts]
        pace = gradient.new_tensor([[rate / (1.0 - DECAY**count)] for count in self.counts])
        scale = gradient.new_tensor([[(1.0 - SQUARE_DECAY**count) ** 0.5] for count in self.counts])
        self.first_moment.mul_(DECAY).add_(gradient, alpha=1.0 - DECAY)
        self.second_moment.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1.0 - SQUARE_DECAY)
        self.weight.sub_(pace * self.first_moment / (self.second_moment.sqrt() / scale + TINY))


def new_network(sizes: tuple[int, ...], generator: torch.Generator) -> Networks:
    """Return a network initialized as torch.nn.Linear does: uniform within one over the square root of inputs."""
    parts = []
    for n_in, n_out in pairwise(sizes):
        bound = n_in**-0.5
        weight, bias = (torch.empty(n_out, n).uniform_(-bound, bound, generator=generator) for n in (n_in, 1))
        parts.append(torch.cat([weight, bias], 1).flatten())
    n_weights = sum(map(len, parts))
    weight = torch.cat([*parts, torch.zeros(-n_weights % PAD_TO)])[None]
    return Networks(sizes, weight, torch.zeros_like(weight), torch.zeros_like(weight), [0])


def as_input(features: np.ndarray) -> Tensor:
    """Return features, (R, n, F), as `forward` takes them, (R, F, n); integer codes, (R, n), as they are."""
    tensor = torch.from_numpy(features)
    return tensor.transpose(1, 2) if tensor.ndim == 3 else tensor


def forward(layers: list[Tensor], x: Tensor) -> Tensor:
    """Return the outputs of networks, (R, out, n), for inputs (R, F, n), or for codes of one-hot inputs, (R, n)."""
    for number, layer in enumerate(layers):
        x = x.relu_() if number else x
        weight, bias = layer[:, :, :-1], layer[:, :, -1:]
        if x.ndim == 2:
            x = weight.gather(2, x[:, None].expand(-1, weight.shape[1], -1)) + bias
        else:
            x = torch.baddbmm(bias, weight, x)
    return x


def outputs(layers: list[Tensor], features: np.ndarray, finish: Callable[[Tensor], Tensor]) -> np.ndarray:
    """Return `finish` of one network's outputs for a batch of features, (n, out), computed in parts of `BATCH`."""
    found = np.empty((len(features), layers[-1].shape[1]))
    with one_thread():
        for begin in range(0, len(features), BATCH):
            part = as_input(features[None, begin : begin + BATCH])
            found[begin : begin + BATCH] = finish(forward(layers, part))[0].T
    return found
