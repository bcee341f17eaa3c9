"""Learners of Stable-Baselines3, used unmodified."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from importlib.metadata import version
from inspect import isfunction
from typing import Any

import numpy as np
import stable_baselines3
import torch
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv

from understudy.contracts import SharedRun
from understudy.contracts.streams import LEARNER, spawn
from understudy.errors import ContractError, SettingError, UsageError
from understudy.learners.sampling import accepting_for, patched, run_of

SEEDS = 2**31
"""The number of seeds: Stable-Baselines3 seeds NumPy's old generator, which takes no larger ones."""


class StableBaselines:
    """A Stable-Baselines3 model as a learner with a loop of its own. Made by `sb3`."""

    def __init__(
        self, algorithm: type[BaseAlgorithm], policy: Any, total_timesteps: int, n_envs: int, seed: int, **options: Any
    ) -> None:
        self.algorithm, self.total_timesteps, self.n_envs, self.seed = algorithm, total_timesteps, n_envs, seed
        self.observation_space = options.pop("observation_space", None)
        self._callback = deepcopy(options.pop("callback", None))  # it keeps counts, so each run has a copy
        self._policy_class, self._options = policy, deepcopy(options)  # A2C writes on its policy_kwargs
        self.settings = {
            "algorithm": algorithm,
            "policy": policy,
            "total_timesteps": total_timesteps,
            "n_envs": n_envs,
            "callback": callback_settings(self._callback),
            "observation_space": str(self.observation_space),
            "stable_baselines3": version("stable_baselines3"),
        } | options
        self._model: BaseAlgorithm | None = None

    @property
    def model(self) -> Any:
        """The Stable-Baselines3 model. Raises `UsageError` before the run has begun."""
        if self._model is None:
            raise UsageError("the model is made when its run begins; simulate first")
        return self._model

    def rehearse(self, env: Any) -> None:
        run = run_of(env)
        envs = DummyVecEnv([lambda copy=copy: Monitor(copy) for copy in env.copies(self.n_envs)])  # type: ignore[misc]
        kind = self.algorithm if run.is_real or is_on_policy(self.algorithm) else accepting_dqn(self.algorithm)
        model = kind(self._policy_class, envs, seed=spawn(self.seed, LEARNER) % SEEDS, **self._options)
        self._model = model
        hooked = rollouts_accepted(model, run) if not run.is_real and is_on_policy(kind) else nullcontext()
        with hooked:
            model.learn(self.total_timesteps, callback=self._callback)

    def policy(self, observation: Any) -> np.ndarray:
        """Return the probability of each action at an observation, as the model acts in a rollout now."""
        return self.policies(np.asarray(observation)[None])[0]

    def policies(self, observations: Any) -> np.ndarray:
        """Return the policy at each observation of a batch, (n, A)."""
        with self._evaluation_mode() as policy:
            batch = self._batch(policy, observations)
            if is_on_policy(type(self.model)):
                return normalized(policy.get_distribution(batch).distribution.probs)
            greedy = policy.q_net(batch).argmax(dim=1).cpu().numpy()
        return epsilon_greedy(greedy, exploration_rate(self.model), int(self.model.action_space.n))

    def value(self, observation: Any) -> float:
        """Return the model's value of an observation: its critic's, or that of the best action."""
        return float(self.values(np.asarray(observation)[None])[0])

    def values(self, observations: Any) -> np.ndarray:
        """Return the value of each observation of a batch."""
        with self._evaluation_mode() as policy:
            batch = self._batch(policy, observations)
            if is_on_policy(type(self.model)):
                found = policy.predict_values(batch)[:, 0]
            else:
                found = policy.q_net(batch).max(dim=1).values
        return found.double().cpu().numpy()

    @contextmanager
    def _evaluation_mode(self) -> Iterator[Any]:
        """Context: the policy in evaluation mode and without gradients; its mode is restored at the end."""
        policy = self.model.policy
        training = policy.training
        policy.set_training_mode(False)
        try:
            with torch.no_grad():
                yield policy
        finally:
            policy.set_training_mode(training)

    def _batch(self, policy: Any, observations: Any) -> Any:
        observations = np.asarray(observations)
        space = self.model.get_env().envs[0].observation_space  # that of images before SB3 transposes them
        return policy.obs_to_tensor(observations.reshape(len(observations), *space.shape))[0]


def is_on_policy(algorithm: type) -> bool:
    """True if rollouts of an algorithm sample from its policy's own distribution."""
    return issubclass(algorithm, OnPolicyAlgorithm)


@contextmanager
def rollouts_accepted(model: Any, run: SharedRun) -> Iterator[None]:
    """Context: rows are accepted where the model's policy samples in rollouts, and nowhere else.

    Rollouts call the policy itself; `predict`, evaluation callbacks and training call methods of it.
    """
    blocks: list[Any] = []

    def begin(*_: Any) -> None:
        blocks.append(accepting_for(run))
        blocks[-1].__enter__()

    def end(*_: Any) -> None:
        blocks.pop().__exit__(None, None, None)

    hooks = model.policy.register_forward_pre_hook(begin), model.policy.register_forward_hook(end, always_call=True)
    try:
        with patched():
            yield
    finally:
        for hook in hooks:
            hook.remove()


def accepting_dqn(algorithm: type) -> type:
    """Return DQN whose actions in rollouts are those of rows accepted by its epsilon-greedy policy."""

    def _sample_action(
        self: Any, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        epsilon = 1.0 if self.num_timesteps < learning_starts else self.exploration_rate
        if n_envs > 1:  # one coin for all copies, as predict has it
            epsilon = float(np.random.rand() < epsilon)  # noqa: NPY002 (the generator that SB3 seeds)
        greedy, _ = self.policy.predict(self._last_obs, deterministic=True)
        actions = run_of(self.get_env()).accept(epsilon_greedy(greedy, epsilon, int(self.action_space.n)))
        return actions, actions

    # A subclass, not an attribute of the model, which would be saved with it.
    return type(algorithm.__name__, (algorithm,), {"_sample_action": _sample_action, "__doc__": algorithm.__doc__})


def epsilon_greedy(greedy: np.ndarray, epsilon: float, n_actions: int) -> np.ndarray:
    """Return the epsilon-greedy policies whose greedy actions are given, (n, n_actions).

    >>> epsilon_greedy(np.array([1]), 0.5, 2)
    array([[0.25, 0.75]])
    """
    return epsilon / n_actions + (1 - epsilon) * np.eye(n_actions)[greedy]


def exploration_rate(model: Any) -> float:
    """Return the share of actions that DQN takes at random now."""
    return 1.0 if model.num_timesteps < model.learning_starts else float(model.exploration_rate)


def normalized(probs: torch.Tensor) -> np.ndarray:
    """Return probabilities as float64 that sum to 1."""
    policies = probs.double().cpu().numpy()
    return policies / policies.sum(axis=1, keepdims=True)


def callback_settings(callback: Any) -> Any:
    """Return a callback as plain values: its class, its functions and its settings."""
    if isinstance(callback, list):
        return [callback_settings(part) for part in callback]
    if not isinstance(callback, BaseCallback):
        return callback
    values = {name: value for name, value in vars(callback).items() if isinstance(value, bool | int | float | str)}
    parts = {"callbacks": callback_settings(callback.callbacks)} if isinstance(callback, CallbackList) else {}
    own = {name: part for name, part in sorted(vars(type(callback)).items()) if isfunction(part)}
    return {"class": type(callback), "code": own} | values | parts


def sb3(
    algorithm: type[BaseAlgorithm],
    policy: Any = "MlpPolicy",
    *,
    total_timesteps: int | None = None,
    n_envs: int = 1,
    callback: Any = None,
    observation_space: spaces.Space | None = None,
    **options: Any,
) -> Callable[[int], StableBaselines]:
    """Return a factory of Stable-Baselines3 learners, `seed -> learner`, for `experiment` and `simulate`.

        make = us.learners.sb3(PPO, "MlpPolicy", total_timesteps=50_000, n_steps=256)
        us.experiment(us.psrs(log, encoder), make, runs=20)

    `total_timesteps` is the planned deployment, since schedules depend on it: the same for real and simulated runs,
    however long the log lasts. PPO, A2C and similar algorithms take the actions of rows that are accepted when their
    policy samples in rollouts, DQN those of rows accepted by its epsilon-greedy policy; in a true environment they take
    their own. `n_envs` copies share the log. A `callback` is copied for each run; `observation_space` replaces
    the one made from the log; other options are the algorithm's own. Networks of "MlpPolicy" stay on the CPU unless
    `device=` says otherwise: they are too small for anything else.
    """
    if not (isinstance(algorithm, type) and issubclass(algorithm, BaseAlgorithm)):
        raise ContractError(f"{algorithm!r} is not an algorithm of Stable-Baselines3; give the class, such as PPO")
    if not (is_on_policy(algorithm) or issubclass(algorithm, stable_baselines3.DQN)):
        raise SettingError(
            f"{algorithm.__name__} takes continuous actions, and logged ones are Discrete; use PPO, A2C or DQN"
        )
    for name, number in (("total_timesteps", total_timesteps), ("n_envs", n_envs)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
            raise SettingError(f"{name}={number!r} is not a whole number from 1; give one" + REASONS.get(name, ""))
    for name in ("env", "seed"):
        if name in options:
            raise SettingError(f"{name}= is given by each run; leave it out")
    if policy == "MlpPolicy":
        options.setdefault("device", "cpu")
    options |= {"callback": callback, "observation_space": observation_space}
    return lambda seed: StableBaselines(algorithm, policy, int(total_timesteps), int(n_envs), seed, **options)  # type: ignore[arg-type]


REASONS = {"total_timesteps": ", the planned deployment: schedules depend on it"}
"""Why an argument is needed, added to a message."""
