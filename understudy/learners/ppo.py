"""PPO (Schulman et al. 2017) for finitely many actions, as OpenAI's Spinning Up writes it: clipped, full-batch.

An epoch of steps is taken with one policy; then both networks are trained on it. Many learners of one form are
trained together, as one batch of networks: every tensor below has the learners along its first axis, and a learner
that is alone is a batch of one, so that nothing depends on how many there are.

Networks are trained in float32, but act in float64: then a policy does not depend on how many observations it is
asked about at once, but for the sixteenth digit, and rejection sampling accepts the same rows step by step and ahead.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from understudy.contracts import Step, Steps
from understudy.contracts.compiling import routine
from understudy.contracts.devices import device_of, one_thread
from understudy.contracts.streams import LEARNER, spawn
from understudy.errors import ContractError, LogError, SettingError, UsageError
from understudy.logs import Spec
from understudy.settings import real, seed_of, whole

WHOLE = 64
"""Torch treats what is left over after the last whole vector of a tensor with other instructions, which round in
another way. So each learner's share of a tensor is a multiple of this, and none is ever left over."""

WIDTH = 10
"""Networks that are trained at once on an accelerator, always as many: there rounding depends on how many they are."""

LARGEST = 2**29
"""Numbers that an epoch is seen as, 2 GiB of them."""

CACHED = 5
"""Networks that are trained at once on a CPU, at most: passes over more of them wait for memory (measured)."""

BATCH = 4096
"""Observations that are acted on at once: what fits the cache."""

DECAY, SQUARE_DECAY, TINY = 0.9, 0.999, 1e-8  # Adam's


class PPO:
    """Proximal policy optimization, with the paper's settings.

    `spec` is a log's, `log.spec`, or a Gymnasium environment. Single integers from 0 up are seen one-hot; anything
    else as its numbers. An episode that is cut by an epoch's end is bootstrapped there and goes on; with
    `abandons=True` (as the paper's code does) it is given up, and the next epoch begins with a new opening. A truncated
    step is bootstrapped, a terminal is not. `device` is where networks are trained: CUDA where there is one.

    >>> learner = PPO(Spec(5, None, (2,), np.dtype(float), None), seed=0)
    >>> learner.policy([0.1, 0.7]).shape, learner.steps_until_update, learner.epochs
    ((5,), 5000, 0)
    """

    _after_last: np.ndarray | None  # what the last step led to, unless that was terminal

    def __init__(
        self,
        spec: Any,
        *,
        hidden: Sequence[int] = (32, 32),
        gamma: float = 0.99,
        lam: float = 0.97,
        clip: float = 0.2,
        policy_rate: float = 3e-4,
        value_rate: float = 1e-3,
        policy_iterations: int = 80,
        value_iterations: int = 80,
        target_kl: float = 0.01,
        epoch_steps: int = 5000,
        abandons: bool = False,
        device: str | None = None,
        seed: int = 0,
    ) -> None:
        self.spec = spec_of(spec)
        self.n_actions, self.seed = self.spec.n_actions, seed_of(seed)
        self.hidden = tuple(whole("hidden", width) for width in hidden)
        self.gamma, self.lam, self.clip = real("gamma", gamma, 0, 1), real("lam", lam, 0, 1), real("clip", clip, 0)
        self.policy_rate, self.value_rate = real("policy_rate", policy_rate, 0), real("value_rate", value_rate, 0)
        self.target_kl, self.epoch_steps = real("target_kl", target_kl, 0), whole("epoch_steps", epoch_steps)
        self.policy_iterations = whole("policy_iterations", policy_iterations, 0)
        self.value_iterations = whole("value_iterations", value_iterations, 0)
        self.abandons, self.device = bool(abandons), str(device_of(device))

        self._one_hot = self.spec.n_observations is not None
        n_features = self.spec.n_observations or int(np.prod(self.spec.observation_shape, dtype=int))
        if n_features * self.epoch_steps > LARGEST:
            raise SettingError(
                f"epochs of {self.epoch_steps:,} steps with {n_features:,} features do not fit; number observations "
                "more densely, or describe them by fewer numbers"
            )
        generator = torch.Generator().manual_seed(spawn(self.seed, LEARNER))
        self._policy = fresh((n_features, *self.hidden, self.n_actions), generator)
        self._value = fresh((n_features, *self.hidden, 1), generator)
        self.epochs = 0  # how many updates were made
        self.abandons_episode = False  # True if the episode that is going on is to be abandoned

        shape = (self.epoch_steps,) if self._one_hot else (self.epoch_steps, n_features)
        self._seen = np.empty(shape, np.int64 if self._one_hot else np.float64)
        self._action, self._reward = np.empty(self.epoch_steps, np.int64), np.empty(self.epoch_steps)
        self._terminated, self._truncated = np.empty((2, self.epoch_steps), bool)
        self._begin_epoch()

    @property
    def settings(self) -> dict[str, Any]:
        """What makes this learner what it is, its seed apart."""
        names = (
            "n_actions", "hidden", "gamma", "lam", "clip", "policy_rate", "value_rate", "policy_iterations",
            "value_iterations", "target_kl", "epoch_steps", "abandons",
        )  # fmt: skip
        observed = {"n_observations": self.spec.n_observations, "observation_shape": self.spec.observation_shape}
        return observed | {name: getattr(self, name) for name in names}

    @property
    def knows(self) -> dict[str, Any]:
        """What it has learned so far, and the steps of the epoch at hand; fresh networks are of the seed."""
        arrays = (self._seen, self._action, self._reward, self._terminated, self._truncated)
        return {
            "networks": (self._policy, self._value),
            "epochs": self.epochs,
            "abandons_episode": self.abandons_episode,
            "steps": [array[: self._n] for array in arrays],
            "following": (self._cuts, self._after_cuts, self._after_last),
        }

    # Acting.

    def policy(self, observation: Any) -> np.ndarray:
        return self.policies(np.asarray(observation)[None])[0]

    def policies(self, observations: Any) -> np.ndarray:
        """The policy at each observation of a batch, (n, A) float64."""
        return answers(self._acting[0], self._features(observations), lambda scores: torch.softmax(scores, 1))

    def value(self, observation: Any) -> float:
        """What is expected of an episode from an observation on."""
        return float(self.values(np.asarray(observation)[None])[0])

    def values(self, observations: Any) -> np.ndarray:
        """The value of each observation of a batch, (n,) float64."""
        return self._values_of(self._features(observations))

    def _values_of(self, features: np.ndarray) -> np.ndarray:
        return answers(self._acting[1], features, lambda values: values)[:, 0]

    @staticmethod
    def stacked_policies(learners: Sequence["PPO"]) -> Callable[[Sequence[Any]], np.ndarray]:
        """A function that gives the policies of learners of one form, (R, A), each at an observation of its own.

        Good until one of them is updated.
        """
        layers = [torch.cat(parts) for parts in zip(*(learner._acting[0] for learner in learners), strict=True)]

        def act(observations: Sequence[Any]) -> np.ndarray:
            features = learners[0]._features(np.asarray(observations))
            with one_thread():
                return torch.softmax(forward(layers, as_input(features[:, None])), 1)[:, :, 0].numpy()

        return act

    def _features(self, observations: Any) -> np.ndarray:
        """Observations as the networks take them: codes to be seen one-hot, (n,), or numbers, (n, F)."""
        batch = np.asarray(observations)
        if batch.shape[1:] != self.spec.observation_shape or batch.dtype.kind not in "iufb":
            raise SettingError(
                f"PPO was made for observations of shape {self.spec.observation_shape} and met {batch.dtype} of shape "
                f"{batch.shape[1:]}; make it from the spec of the log it is to rehearse on"
            )
        if not self._one_hot:
            numbers = batch.reshape(len(batch), self._seen.shape[1]).astype(np.float64)
            if not np.isfinite(numbers).all():
                raise LogError(f"observation {batch[~np.isfinite(numbers).all(1)][0]} is not finite; PPO needs numbers")
            return numbers
        if batch.dtype.kind not in "iu" or (len(batch) and not 0 <= batch.min() <= batch.max() < self._n_codes):
            raise SettingError(f"PPO was made for whole numbers from 0 to {self._n_codes - 1}, not {batch[:5]}")
        return batch.astype(np.int64)

    @property
    def _n_codes(self) -> int:
        return self.spec.n_observations or 0

    # Learning.

    @property
    def steps_until_update(self) -> int:
        """For how many more steps the policy stays as it is."""
        return self.epoch_steps - self._n

    @property
    def stack_key(self) -> tuple[Any, ...]:
        """What learners that are trained together have in common."""
        return (*self.settings.values(), self.device)

    def learn(self, step: Step) -> None:
        self.collect(Steps.of(step))
        if self.steps_until_update == 0:
            self.update()

    def collect(self, steps: Steps) -> None:
        """Take in steps, given as arrays; `update` is due once `steps_until_update` is 0."""
        n = len(steps.action)
        if n > self.steps_until_update:
            raise UsageError(f"{n} steps are more than the {self.steps_until_update} that are left of this epoch")
        if not n:
            return
        place = slice(self._n, self._n + n)
        self._seen[place] = self._features(steps.observation)
        self._action[place], self._reward[place] = steps.action, steps.reward
        self._terminated[place], self._truncated[place] = steps.terminated, steps.truncated
        if not np.isfinite(self._reward[place]).all():
            raise LogError("PPO met a reward that is not finite; remove or mend such rows")
        # Of next observations only those are needed that no step begins with: after a cut, and the last of all.
        cut = np.flatnonzero(self._truncated[place] & ~self._terminated[place])
        self._cuts += (cut + self._n).tolist()
        self._after_cuts.append(self._features(steps.next_observation[cut]))
        if not steps.terminated[-1]:
            self._after_last = self._features(steps.next_observation[-1:])
        self._n += n
        self.abandons_episode = False

    def update(self) -> None:
        """Train on the epoch that is over."""
        PPO.update_all([self])

    @staticmethod
    def update_all(learners: Sequence["PPO"]) -> None:
        """Train learners of one form, each on the epoch it has finished, all at once."""
        width = CACHED if learners[0].device == "cpu" else WIDTH
        with one_thread():
            for begin in range(0, len(learners), width):
                PPO._train(learners[begin : begin + width])

    @staticmethod
    def _train(learners: Sequence["PPO"]) -> None:
        one, device = learners[0], learners[0].device
        places = filled(list(range(len(learners))), device)
        epochs = [learner._epoch() for learner in learners]
        x, action, advantage, target = (np.stack([epochs[place][part] for place in places]) for part in range(4))
        batch = Batch.of(x, action, advantage, target, one._policy.sizes, device)
        policies = Networks.stacked([learners[place]._policy for place in places], device)
        values = Networks.stacked([learners[place]._value for place in places], device)
        fit_values(values, batch, one.value_rate, one.value_iterations)
        improved = improve_policies(policies, batch, one.clip, one.target_kl, one.policy_rate, one.policy_iterations)
        for place, learner in enumerate(learners):
            learner._policy, learner._value = improved[place], values.pick([place], "cpu")
            learner.epochs += 1
            learner.abandons_episode = learner.abandons
            learner._begin_epoch()

    def _begin_epoch(self) -> None:
        self._n = 0
        self._cuts: list[int] = []
        self._after_cuts: list[np.ndarray] = []
        self._after_last = None
        self._acting = [network.layers(torch.float64) for network in (self._policy, self._value)]

    def _epoch(self) -> tuple[np.ndarray, ...]:
        """What was seen and done in the finished epoch, how much better it was than expected, and what came of it."""
        value = self._values_of(self._seen)
        over = self._terminated | self._truncated
        following = np.append(value[1:], 0.0)
        following[self._cuts] = self._values_of(np.concatenate(self._after_cuts))
        if self._after_last is not None and not over[-1]:
            following[-1] = self._values_of(self._after_last)[0]
        following[self._terminated] = 0.0
        over[-1] = True  # the epoch's end cuts what goes on
        advantage, target = np.empty_like(value), np.empty_like(value)
        look_back(self._reward, value, following, over, self.gamma, self.lam, advantage, target)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        return self._seen, self._action, advantage, target

    def __repr__(self) -> str:
        return f"PPO({', '.join(f'{name}={value}' for name, value in self.settings.items())})"


@routine
def look_back(reward, value, following, over, gamma, lam, advantage, target):
    """Generalized advantage estimates and rewards-to-go, from an epoch's end to its beginning.

    `following` is the value of each next observation, 0 after a terminal; where it is `over` nothing else is known of
    what follows.
    """
    later, to_go = 0.0, 0.0
    for t in range(len(reward) - 1, -1, -1):
        if over[t]:
            later, to_go = 0.0, following[t]
        later = reward[t] + gamma * following[t] - value[t] + gamma * lam * later
        to_go = reward[t] + gamma * to_go
        advantage[t], target[t] = later, to_go


# Networks, many at once.


@dataclass
class Networks:
    """R multilayer perceptrons of one form, ReLU between layers, and what Adam remembers of their training."""

    sizes: tuple[int, ...]
    weight: Tensor  # (R, P) float32: each network's weights and biases, layer by layer, padded
    first: Tensor  # (R, P): the running mean of gradients
    second: Tensor  # (R, P): and of their squares
    counts: list[int]  # (R,) how often each was trained

    @classmethod
    def stacked(cls, networks: Sequence["Networks"], device: str) -> "Networks":
        """Networks of one form as one."""
        weight, first, second = (
            torch.cat([getattr(network, name) for network in networks]).to(device)
            for name in ("weight", "first", "second")
        )
        return cls(networks[0].sizes, weight, first, second, [n for network in networks for n in network.counts])

    def pick(self, places: list[int], device: str | None = None) -> "Networks":
        """Some of them, copied."""
        weight, first, second = (
            part[places].to(device or part.device) for part in (self.weight, self.first, self.second)
        )
        return Networks(self.sizes, weight, first, second, [self.counts[place] for place in places])

    def layers(self, dtype: torch.dtype = torch.float32) -> list[Tensor]:
        """Each layer's weights with its bias as the last column, (R, out, in + 1); views, if the dtype is their own."""
        layers, place, weight = [], 0, self.weight.to(dtype)
        for n_in, n_out in pairwise(self.sizes):
            layers.append(weight[:, place : place + (n_in + 1) * n_out].view(-1, n_out, n_in + 1))
            place += (n_in + 1) * n_out
        return layers

    def descend(self, gradient: Tensor, rate: float) -> None:
        """One step of Adam."""
        self.counts = [count + 1 for count in self.counts]
        pace = gradient.new_tensor([[rate / (1.0 - DECAY**count)] for count in self.counts])
        scale = gradient.new_tensor([[(1.0 - SQUARE_DECAY**count) ** 0.5] for count in self.counts])
        self.first.mul_(DECAY).add_(gradient, alpha=1.0 - DECAY)
        self.second.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1.0 - SQUARE_DECAY)
        self.weight.sub_(pace * self.first / (self.second.sqrt() / scale + TINY))


def fresh(sizes: tuple[int, ...], generator: torch.Generator) -> Networks:
    """A network as torch.nn.Linear begins: weights and biases uniform within one over the square root of inputs."""
    parts = []
    for n_in, n_out in pairwise(sizes):
        bound = n_in**-0.5
        weight, bias = (torch.empty(n_out, n).uniform_(-bound, bound, generator=generator) for n in (n_in, 1))
        parts.append(torch.cat([weight, bias], 1).flatten())
    n_weights = sum(map(len, parts))
    weight = torch.cat([*parts, torch.zeros(-n_weights % WHOLE)])[None]
    return Networks(sizes, weight, torch.zeros_like(weight), torch.zeros_like(weight), [0])


def as_input(features: np.ndarray) -> Tensor:
    """Features, (R, n, F), as `forward` takes them, (R, F, n); codes, (R, n), as they are."""
    tensor = torch.from_numpy(features)
    return tensor.transpose(1, 2) if tensor.ndim == 3 else tensor


def forward(layers: list[Tensor], x: Tensor) -> Tensor:
    """What networks make of their input, (R, F, n) or codes that stand for one-hot input, (R, n)."""
    for place, layer in enumerate(layers):
        x = x.relu_() if place else x
        weight, bias = layer[:, :, :-1], layer[:, :, -1:]
        if x.ndim == 2:
            x = weight.gather(2, x[:, None].expand(-1, weight.shape[1], -1)) + bias
        else:
            x = torch.baddbmm(bias, weight, x)
    return x


def answers(layers: list[Tensor], features: np.ndarray, finish: Callable[[Tensor], Tensor]) -> np.ndarray:
    """What one network makes of a batch of features, (n, out), in pieces that fit the cache."""
    made = np.empty((len(features), layers[-1].shape[1]))
    with one_thread():
        for begin in range(0, len(features), BATCH):
            part = as_input(features[None, begin : begin + BATCH])
            made[begin : begin + BATCH] = finish(forward(layers, part))[0].T
    return made


# Training.


@dataclass
class Batch:
    """The epochs of R learners, padded to whole vectors with steps of no weight."""

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
        """Pad and move."""
        n, n_whole = action.shape[1], -(-action.shape[1] // WHOLE) * WHOLE

        def moved(part: np.ndarray) -> Tensor:
            room = torch.zeros((*part.shape[:-1], n_whole))
            room[..., :n] = torch.from_numpy(part)
            return room.to(device)

        def one_hot(codes: np.ndarray, size: int) -> np.ndarray:
            return codes[:, None] == np.arange(size)[:, None]

        return cls(
            x=moved(one_hot(x, sizes[0]) if x.ndim == 2 else x.transpose(0, 2, 1)),
            taken=moved(one_hot(action, sizes[-1])),
            advantage=moved(advantage[:, None]),
            target=moved(target[:, None]),
            weight=moved(np.full(n, 1.0 / n)),
        )

    def pick(self, places: list[int]) -> "Batch":
        """The epochs of some of the learners."""
        return Batch(self.x[places], self.taken[places], self.advantage[places], self.target[places], self.weight)


class Passes:
    """Forward and backward passes of networks over a batch, in memory that is taken once."""

    seen: list[Tensor]  # the input and what each layer makes of it, (R, out, n)
    slopes: list[Tensor]  # of the loss, in what each hidden layer makes

    def __init__(self, networks: Networks, batch: Batch, larger: "Passes | None" = None) -> None:
        self.layers, self.gradient = networks.layers(), torch.zeros_like(networks.weight)
        n_runs, _, n = batch.x.shape
        if larger is None:
            rooms = [batch.x.new_empty(n_runs, size, n) for size in networks.sizes[1:]]
            self.slopes = [torch.empty_like(room) for room in rooms[:-1]]
        else:  # its memory is free now
            rooms = [room[:n_runs] for room in larger.seen[1:]]
            self.slopes = [room[:n_runs] for room in larger.slopes]
        self.seen = [batch.x, *rooms]

    def forward(self) -> Tensor:
        """The networks' output, (R, out, n)."""
        for place, layer in enumerate(self.layers):
            x = self.seen[place].relu_() if place else self.seen[place]
            torch.baddbmm(layer[:, :, -1:], layer[:, :, :-1], x, out=self.seen[place + 1])
        return self.seen[-1]

    def backward(self, slope: Tensor) -> Tensor:
        """The gradient of a loss, given its slope at the output."""
        end = sum(layer[0].numel() for layer in self.layers)
        for place in range(len(self.layers) - 1, -1, -1):
            layer, x = self.layers[place], self.seen[place]
            begin = end - layer[0].numel()
            part = self.gradient[:, begin:end].view_as(layer)
            part[:, :, :-1], part[:, :, -1] = torch.bmm(slope, x.transpose(1, 2)), slope.sum(2)
            end = begin
            if place:
                passed = torch.bmm(layer[:, :, :-1].transpose(1, 2), slope, out=self.slopes[place - 1])
                slope = torch.ops.aten.threshold_backward.grad_input(passed, x, 0, grad_input=passed)
        return self.gradient


def fit_values(networks: Networks, batch: Batch, rate: float, iterations: int) -> None:
    """Move values toward what came of each step, by least squares."""
    passes = Passes(networks, batch)
    for _ in range(iterations):
        slope = (passes.forward() - batch.target).mul_(batch.weight * 2.0)
        networks.descend(passes.backward(slope), rate)


def improve_policies(
    networks: Networks, batch: Batch, clip: float, target_kl: float, rate: float, iterations: int
) -> list[Networks]:
    """Climb the clipped objective; a policy that has moved too far from where it was goes no further.

    Those that go no further leave the batch, so that the others do not wait for them.
    """
    improved, places = [networks] * len(networks.counts), list(range(len(networks.counts)))
    passes, before = Passes(networks, batch), None
    while places and iterations:
        log_policy = torch.log_softmax(passes.forward(), 1)
        log_taken = (log_policy * batch.taken).sum(1, keepdim=True)
        before = log_taken if before is None else before
        moved = ((before - log_taken) * batch.weight).sum((1, 2)).tolist()
        going = [place for place, kl in enumerate(moved) if not kl > 1.5 * target_kl]
        if len(going) < len(places):
            for place in set(range(len(places))) - set(going):
                improved[places[place]] = networks.pick([place], "cpu")
            going = filled(going, batch.x.device.type)
            places, networks, batch, before = (
                [places[place] for place in going], networks.pick(going), batch.pick(going), before[going]
            )  # fmt: skip
            passes = Passes(networks, batch, passes)
            continue
        slope = surrogate_slope(log_taken - before, batch.advantage, clip).mul_(batch.weight)
        networks.descend(passes.backward((batch.taken - log_policy.exp_()).mul_(slope)), rate)
        iterations -= 1
    for place, learner in enumerate(places):
        improved[learner] = networks.pick([place], "cpu")
    return improved


def filled(places: list[int], device: str) -> list[int]:
    """Places of networks that are trained at once; on an accelerator the last one is repeated to the full width."""
    return places if device == "cpu" else places + places[-1:] * (WIDTH - len(places))


def surrogate_slope(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """The slope of minus the clipped objective, in each step's log-probability; flat beyond the clip."""
    ratio = log_ratio.exp()
    free = torch.where(advantage >= 0, ratio <= 1.0 + clip, ratio >= 1.0 - clip)
    return -(ratio * advantage) * free


def spec_of(thing: Any) -> Spec:
    """A spec as it is, or that of a Gymnasium environment."""
    if isinstance(thing, Spec):
        return thing
    observations, actions = getattr(thing, "observation_space", None), getattr(thing, "action_space", None)
    if observations is None or actions is None:
        raise ContractError(f"PPO is made from a log's spec, log.spec, or from an environment, not from {thing!r}")
    if not hasattr(actions, "n") or np.ndim(actions.n) or getattr(actions, "start", 0) != 0:
        raise SettingError(f"the environment's actions are {actions}; PPO here needs Discrete ones from 0 up")
    if observations.shape is None or observations.dtype is None:
        raise SettingError(f"the environment's observations are {observations}; PPO needs one array of numbers")
    n = int(observations.n) if hasattr(observations, "n") and observations.shape == () else None
    return Spec(int(actions.n), None, tuple(observations.shape), np.dtype(observations.dtype), n)
