"""Bandit environments whose truth is known: every step is a decision by itself, an episode of one step."""

from functools import cache
from typing import Any

import gymnasium
import numpy as np

from understudy.contracts import owned
from understudy.contracts.finite_tables import Tables
from understudy.errors import SettingError
from understudy.settings import real, seed_of, whole

CONTEXTS, TIMES = 2**15, 64
"""Contexts, and moments of a drift, from which the mean reward of the best action is computed."""


@cache
def even_contexts(n_features: int) -> np.ndarray:
    """Return Sobol's points in [-1, 1]^n_features: a mean over them is more exact than one over random points."""
    from scipy.stats.qmc import Sobol  # here, since importing it takes long

    return 2.0 * Sobol(n_features, seed=0).random(CONTEXTS) - 1.0


class OneStepEnv(gymnasium.Env[Any, Any]):
    """A bandit: `reset` shows what there is to see, `step` ends the episode. Subclasses give the rewards."""

    metadata = {"render_modes": []}  # noqa: RUF012 (gymnasium's own declaration)
    n_actions: int

    def __init__(self) -> None:
        self._over = True
        self._observation: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode. With a seed, time begins anew too."""
        super().reset(seed=seed)
        if seed is not None:
            self._begin_time()
        self._over, self._observation = False, self._draw_observation()
        return owned(self._observation), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action, which ends the episode; the observation stays as it was."""
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset before step")
        if not self.action_space.contains(action):
            raise SettingError(f"action is {action!r}; this environment has actions 0 to {self.n_actions - 1}")
        self._over = True
        return owned(self._observation), self._draw_reward(int(action)), True, False, {}

    def _begin_time(self) -> None:
        """Set the clock of an environment that changes back to 0."""

    def _draw_observation(self) -> Any:
        raise NotImplementedError

    def _draw_reward(self, action: int) -> float:
        raise NotImplementedError


class BernoulliBandit(OneStepEnv):
    """A plain bandit: action a earns 1 with probability means[a], else 0. The only observation is 0.

    It can be written out as tables, so that real runs are compiled.

    >>> env = BernoulliBandit([0.2, 0.5, 0.4])
    >>> env.reset(seed=0)[0], env.step(1)[1] in (0.0, 1.0), env.best_value(steps=10)
    (0, True, 0.5)
    """

    def __init__(self, means: Any) -> None:
        super().__init__()
        self.means = tuple(real("means", mean, 0, 1) for mean in means)
        self.n_actions = whole("the number of means", len(self.means))
        self.observation_space = gymnasium.spaces.Discrete(1)
        self.action_space = gymnasium.spaces.Discrete(self.n_actions)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that make this environment what it is."""
        return {"means": self.means}

    def tables(self) -> Tables:
        """Return the whole problem as tables, from which real runs are compiled."""
        means, shape = np.array(self.means), (1, self.n_actions, 2)
        outcome = np.stack([means, np.ones_like(means)], axis=-1)[None]
        return Tables(
            start=np.ones(1),
            outcome=outcome,
            next_state=np.zeros(shape, np.int32),
            reward=np.broadcast_to([1.0, 0.0], shape).copy(),
            terminated=np.ones(shape, bool),
            emission=np.ones((1, 1)),
            observation=np.zeros((1, 1), np.int32),
        )

    def best_value(self, steps: int) -> float:
        """Return the mean reward of the best action, which is the same at every step."""
        return max(self.means)

    def start_observations(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the only observation, and its probability, 1."""
        return np.zeros(1, np.int64), np.ones(1)

    def _draw_observation(self) -> int:
        return 0

    def _draw_reward(self, action: int) -> float:
        return float(self.np_random.random() < self.means[action])


class LinearBandit(OneStepEnv):
    """A contextual bandit: the observation is a vector x, and action a earns weights[a] . x plus noise.

    Each step has a context of its own, uniform in [-1, 1]^n_features. The weights of each action are a random vector of
    length 1, drawn from `seed`: another seed is another problem. The noise is normal with deviation `noise`.

    With `drift` the weights turn by that angle, in radians, at every step, each in a plane of its own, so that which
    action is best where changes over time: after pi / drift steps all weights are reversed. Time counts the steps since
    the environment was last reset with a seed, as each run of `us.real` and each `us.record` does once.

    >>> env = LinearBandit(3, 2, seed=1)
    >>> x, _ = env.reset(seed=0)
    >>> x.shape, env.expected_rewards(x).shape, env.weights_at(0).shape
    ((3,), (2,), (2, 3))
    """

    def __init__(
        self, n_features: int, n_actions: int, *, seed: int = 0, noise: float = 0.1, drift: float = 0.0
    ) -> None:
        super().__init__()
        self.n_features, self.n_actions = whole("n_features", n_features), whole("n_actions", n_actions)
        self.seed, self.noise, self.drift = seed_of(seed), real("noise", noise, 0), real("drift", drift)
        if self.drift and self.n_features < 2:
            raise SettingError("weights of one feature cannot turn; give n_features=, 2 or more, or leave drift= out")
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, shape=(self.n_features,), dtype=np.float64)
        self.action_space = gymnasium.spaces.Discrete(self.n_actions)
        rng = np.random.default_rng([abs(self.seed), self.seed < 0])
        self._weights, self._toward = _planes(rng, self.n_actions, self.n_features)
        self._time = 0
        self._best: dict[tuple[int, ...], float] = {}

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that make this environment what it is."""
        return {name: getattr(self, name) for name in ("n_features", "n_actions", "seed", "noise", "drift")}

    @property
    def time(self) -> int:
        """The number of steps since the last reset with a seed."""
        return self._time

    def weights_at(self, time: int) -> np.ndarray:
        """Return the weights after this many steps, (n_actions, n_features)."""
        if not self.drift:
            return self._weights
        angle = self.drift * time
        return np.cos(angle) * self._weights + np.sin(angle) * self._toward

    def expected_rewards(self, observations: np.ndarray, time: int = 0) -> np.ndarray:
        """Return the mean reward of each action at an observation, or at each of a batch, (..., n_actions)."""
        return np.asarray(observations) @ self.weights_at(time).T

    def best_value(self, steps: int) -> float:
        """Return the mean over contexts of the best action's mean reward, over the first `steps` steps.

        It is computed from 32,768 contexts and, with a drift, 64 moments, and right to about three digits.
        """
        moments = tuple(np.linspace(0, max(0, steps - 1), TIMES).astype(int).tolist()) if self.drift else (0,)
        if moments not in self._best:
            contexts = even_contexts(self.n_features)
            best = [self.expected_rewards(contexts, time).max(axis=1).mean() for time in moments]
            self._best[moments] = float(np.mean(best))
        return self._best[moments]

    def _begin_time(self) -> None:
        self._time = 0

    def _draw_observation(self) -> np.ndarray:
        return self.np_random.uniform(-1.0, 1.0, self.n_features)

    def _draw_reward(self, action: int) -> float:
        weights = self.weights_at(self._time)[action]
        self._time += 1
        return float(weights @ self._observation + self.noise * self.np_random.standard_normal())


def _planes(rng: np.random.Generator, n_actions: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a random vector of length 1 for each action, and one perpendicular to it, toward which it may turn."""
    one, other = rng.standard_normal((2, n_actions, n_features))
    one /= np.linalg.norm(one, axis=1, keepdims=True)
    other -= (other * one).sum(axis=1, keepdims=True) * one
    length = np.linalg.norm(other, axis=1, keepdims=True)
    return one, np.divide(other, length, out=np.zeros_like(other), where=length > 0.0)
