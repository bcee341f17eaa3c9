"""PPO (Schulman et al. 2017) for finitely many actions, as OpenAI's Spinning Up writes it: clipped, full-batch.

An epoch of steps is taken with one policy; then both networks are trained on it. Learners with the same settings are
trained together, as one stack of networks. On a CPU no number depends on how many there are; on an accelerator rounding
depends on the size of a stack, so that a stack there has all of its places, taken or not.

Networks are trained in float32, but act in float64. A policy then depends only in the sixteenth digit on how many
observations it is evaluated at together, so that rejection sampling accepts the same rows step by step and ahead.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from understudy.contracts import Log, Step, Steps
from understudy.contracts.devices import device_of, one_thread
from understudy.contracts.environments import Environment, is_discrete
from understudy.contracts.offering import offers
from understudy.contracts.streams import LEARNER, spawn
from understudy.errors import ContractError, SettingError, UsageError
from understudy.learners.accelerated import StackForm, train_together
from understudy.learners.networks import Networks, as_input, forward, new_network, outputs
from understudy.learners.ppo_epochs import Epoch, FinishedEpochs
from understudy.learners.ppo_on_log import PPOOnLog, acting_weights, ppo_on_log
from understudy.learners.ppo_training import (
    CPU_STACK,
    Batch,
    fit_values,
    improve_policies,
)
from understudy.logs import Spec
from understudy.settings import real, seed_of, whole

MOST_NUMBERS = 2**29
"""The most numbers that the observations of an epoch may be, 2 GiB of them."""

BLOCK, ACCELERATOR_BLOCK = 10, 64
"""The number of learners whose runs are made together on a CPU, and on an accelerator."""


class PPO:
    """Proximal policy optimization, with the paper's settings.

    `spec` is a log's, `log.spec`, or a Gymnasium environment. Single integers from 0 up are encoded one-hot; other
    observations are used as their numbers. An episode that goes on at the end of an epoch is bootstrapped there, and
    continued in the next one; with `abandons=True` (as in the paper's code) it is abandoned, and the next epoch begins
    with a new opening. A truncated step is bootstrapped, a terminal one is not. Networks are trained on `device`, by
    default CUDA where there is one.

    An experiment makes runs in blocks of `stack_size` learners, whose networks are trained together: by default ten on
    a CPU, and 64 on CUDA (fewer where observations are wide). On a CPU that decides nothing else. On CUDA it decides
    how numbers are rounded: the same seed gives the same run with the same `stack_size` (on the same GPU and version of
    torch), alone or in an experiment, with any number of runs and workers; with another one, a run that differs as one
    on the CPU does. A learner alone is trained in a stack of that size, too: give `stack_size=1` for a single run.

    >>> learner = PPO(Spec(5, None, (2,), np.dtype(float), None), seed=0)
    >>> learner.policy([0.1, 0.7]).shape, learner.steps_until_update, learner.epochs
    ((5,), 5000, 0)
    """

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
        stack_size: int | None = None,
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
        if n_features * self.epoch_steps > MOST_NUMBERS:
            raise SettingError(
                f"epochs of {self.epoch_steps:,} steps with {n_features:,} features do not fit; number observations "
                "more densely, or describe them by fewer numbers"
            )
        fitting = min(ACCELERATOR_BLOCK, max(1, MOST_NUMBERS // (n_features * self.epoch_steps)))
        default_size = BLOCK if self.device == "cpu" else fitting
        self.stack_size = whole("stack_size", default_size if stack_size is None else stack_size)
        generator = torch.Generator().manual_seed(spawn(self.seed, LEARNER))
        self._policy = new_network((n_features, *self.hidden, self.n_actions), generator)
        self._value = new_network((n_features, *self.hidden, 1), generator)
        self.epochs = 0  # the number of updates so far
        self.abandons_episode = False  # True if the episode that is going on is to be abandoned
        self._epoch = Epoch(self.epoch_steps, None if self._one_hot else n_features)
        self._compiled_weight: np.ndarray | None = None  # the policy network's weights, as kernels read them
        self._follow_networks()

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does, except its seed."""
        names = (
            "n_actions", "hidden", "gamma", "lam", "clip", "policy_rate", "value_rate", "policy_iterations",
            "value_iterations", "target_kl", "epoch_steps", "abandons",
        )  # fmt: skip
        observed = {"n_observations": self.spec.n_observations, "observation_shape": self.spec.observation_shape}
        return observed | {name: getattr(self, name) for name in names}

    @property
    def learned_state(self) -> dict[str, Any]:
        """The networks, and the steps collected in this epoch; networks that are not trained yet depend on the seed."""
        epoch = self._epoch
        arrays = (epoch.observed, epoch.action, epoch.reward, epoch.terminated, epoch.truncated)
        return {
            "networks": [
                (network.sizes, network.weight, network.first_moment, network.second_moment, network.counts)
                for network in (self._policy, self._value)
            ],
            "epochs": self.epochs,
            "abandons_episode": self.abandons_episode,
            "steps": [array[: epoch.n] for array in arrays],
            "following": (epoch.truncated_at, epoch.after_truncated, epoch.after_last),
        }

    # Acting.

    def policy(self, observation: Any) -> np.ndarray:
        return self.policies(np.asarray(observation)[None])[0]

    def policies(self, observations: Any) -> np.ndarray:
        """Return the policy at each observation of a batch, (n, A) float64."""
        return outputs(self._acting_layers[0], self._features(observations), lambda scores: torch.softmax(scores, 1))

    def value(self, observation: Any) -> float:
        """Return the expected discounted return from an observation on."""
        return float(self.values(np.asarray(observation)[None])[0])

    def values(self, observations: Any) -> np.ndarray:
        """Return the value of each observation of a batch, (n,) float64."""
        return self._values_of(self._features(observations))

    def _values_of(self, features: np.ndarray) -> np.ndarray:
        return outputs(self._acting_layers[1], features, lambda values: values)[:, 0]

    @staticmethod
    def stacked_policies(learners: Sequence["PPO"]) -> Callable[[Sequence[Any]], np.ndarray]:
        """Return a function of one observation for each learner to their policies, (R, A).

        The learners have the same `stack_key`; the function is valid until one of them is updated.
        """
        layers = [torch.cat(parts) for parts in zip(*(learner._acting_layers[0] for learner in learners), strict=True)]

        def act(observations: Sequence[Any]) -> np.ndarray:
            features = learners[0]._features(np.asarray(observations))
            with one_thread():
                return torch.softmax(forward(layers, as_input(features[:, None])), 1)[:, :, 0].numpy()

        return act

    def _features(self, observations: Any) -> np.ndarray:
        """Return observations as the networks take them: codes of one-hot inputs, (n,), or numbers, (n, F)."""
        batch = np.asarray(observations)
        if batch.shape[1:] != self.spec.observation_shape or batch.dtype.kind not in "iufb":
            raise SettingError(
                f"PPO was made for observations of shape {self.spec.observation_shape} and met {batch.dtype} of shape "
                f"{batch.shape[1:]}; make it from the spec of the log it is to rehearse on"
            )
        if not self._one_hot:
            numbers = batch.reshape(len(batch), self._policy.sizes[0]).astype(np.float64)
            if not np.isfinite(numbers).all():
                raise SettingError(
                    f"observation {batch[~np.isfinite(numbers).all(1)][0]} is not finite; PPO needs numbers"
                )
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
        """The number of steps for which the policy stays as it is."""
        return self.epoch_steps - self._epoch.n

    @property
    def stack_key(self) -> tuple[Any, ...]:
        """Learners with equal keys can be trained together."""
        return (*self.settings.values(), self.device, self.stack_size)

    def learn(self, step: Step) -> None:
        self.collect(Steps.of(step))
        if self.steps_until_update == 0:
            self.update()

    def collect(self, steps: Steps) -> None:
        """Take in consecutive steps, at most `steps_until_update` of them."""
        n = len(steps.action)
        if n > self.steps_until_update:
            raise UsageError(f"{n} steps are more than the {self.steps_until_update} that are left of this epoch")
        if n:
            self._epoch.collect(steps, self._features)
            self.abandons_episode = False

    def hear_cut(self) -> None:
        """Take the last step, if it is of this epoch, as the end of its episode: values go on, advantages do not."""
        self._epoch.end_episode()

    def epochs_on(self, log: Log) -> PPOOnLog | None:
        """Return the arrays that kernels act and collect with, in a run on this log.

        None on a CPU, where training takes most of the time and policies evaluated ahead are as good.
        """
        return None if self.device == "cpu" else self.compiled_epochs_on(log)

    def compiled_epochs_on(self, log: Log) -> PPOOnLog | None:
        """Return the arrays that kernels act and collect with; None where they cannot read the log's observations."""
        if log.spec.observation_shape != self.spec.observation_shape:
            return None  # what is wrong is said where policies are evaluated ahead
        arrays = ppo_on_log(self._policy.sizes, self._one_hot, self._epoch, log)
        self._compiled_weight = None if arrays is None else arrays.weight
        self._follow_networks()
        return arrays

    def take_in(self) -> None:
        """Take note of the steps that kernels have collected."""
        if self._epoch.take_in(self._features, self.spec.observation_shape):
            self.abandons_episode = False

    def update(self) -> None:
        """Train both networks on the finished epoch."""
        PPO.update_all([self])

    @staticmethod
    def update_all(learners: Sequence["PPO"]) -> None:
        """Train learners with equal `stack_key`, each on its finished epoch, together."""
        width = CPU_STACK if learners[0].device == "cpu" else learners[0].stack_size
        with one_thread():
            for begin in range(0, len(learners), width):
                PPO._train(learners[begin : begin + width])

    @staticmethod
    def _train(learners: Sequence["PPO"]) -> None:
        one = learners[0]
        policies = Networks.stacked([learner._policy for learner in learners], "cpu")
        values = Networks.stacked([learner._value for learner in learners], "cpu")
        weights: Sequence[np.ndarray | None] = [None] * len(learners)
        if one.device == "cpu":
            epochs = [learner._epoch.finished(learner._values_of, one.gamma, one.lam) for learner in learners]
            x, action, advantage, target = (np.stack(part) for part in zip(*epochs, strict=True))
            batch = Batch.of(x, action, advantage, target, one._policy.sizes, "cpu")
            fit_values(values, batch, one.value_rate, one.value_iterations)
            improved = improve_policies(
                policies, batch, one.clip, one.target_kl, one.policy_rate, one.policy_iterations
            )
            fitted = [values.select([index]) for index in range(len(learners))]
        else:
            finished = FinishedEpochs([learner._epoch for learner in learners])
            policies, values = train_together(one._stack_form, finished, policies, values)
            improved, fitted, weights = policies.each(), values.each(), list(acting_weights(policies))
        for learner, policy, value, weight in zip(learners, improved, fitted, weights, strict=True):
            learner._policy, learner._value = policy, value
            learner.epochs += 1
            learner.abandons_episode = learner.abandons
            learner._epoch.begin()
            learner._follow_networks(weight)

    @property
    def _stack_form(self) -> StackForm:
        return StackForm(
            self.device, self.stack_size, self._policy.sizes, self._value.sizes, self._one_hot, self.epoch_steps,
            self.gamma, self.lam, self.clip, self.target_kl, self.policy_rate, self.value_rate, self.policy_iterations,
            self.value_iterations,
        )  # fmt: skip

    def _follow_networks(self, weight: np.ndarray | None = None) -> None:
        """Let what acts follow the networks; `weight` is what kernels read, where it is known."""
        self._layers: list[list[torch.Tensor]] | None = None
        if self._compiled_weight is not None:
            self._compiled_weight[:] = acting_weights(self._policy)[0] if weight is None else weight

    @property
    def _acting_layers(self) -> list[list[torch.Tensor]]:
        """The layers of the policy and of the value network, in float64; made when they are asked for."""
        if self._layers is None:
            self._layers = [network.layers(torch.float64) for network in (self._policy, self._value)]
        return self._layers

    def __repr__(self) -> str:
        return f"PPO({', '.join(f'{name}={value}' for name, value in self.settings.items())})"


def spec_of(source: Any) -> Spec:
    """Return a spec as it is, or that of a Gymnasium environment. Raise an error for anything else."""
    if isinstance(source, Spec):
        return source
    if not offers(source, Environment):
        raise ContractError(f"PPO is made from a log's spec, log.spec, or from an environment, not from {source!r}")
    observations, actions = source.observation_space, source.action_space
    if not is_discrete(actions):
        raise SettingError(f"the environment's actions are {actions}; PPO here needs Discrete ones from 0 up")
    if observations.shape is None or observations.dtype is None:
        raise SettingError(f"the environment's observations are {observations}; PPO needs one array of numbers")
    n = int(observations.n) if is_discrete(observations) else None
    return Spec(int(actions.n), None, tuple(observations.shape), np.dtype(observations.dtype), n)
