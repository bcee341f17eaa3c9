"""Bandit learners with a linear model of the reward of each action: LinUCB and linear Thompson sampling."""

from typing import Any

import numpy as np

from understudy.contracts import Log, Step
from understudy.contracts.streams import LEARNER, stream_key
from understudy.errors import SettingError
from understudy.learners.arms import LARGEST, SMALLEST
from understudy.learners.clocks import Clocked
from understudy.learners.linear_models import (
    LinearArms,
    LinearArmsOnLog,
    update_linear,
    write_linear_choice,
    write_linear_choices,
)
from understudy.learners.schedules import Schedule, WrittenSchedule
from understudy.learners.tabular import MOST_ENTRIES
from understudy.settings import real, seed_of, whole

LEAST_RIDGE = 1e-10
"""The smallest penalty of weights: rank-one updates lose one over it of the 16 digits of a number."""


class _LinearLearner(Clocked):
    """LinUCB, and linear Thompson sampling where `sampled` is True."""

    sampled: bool

    def __init__(
        self,
        n_features: int,
        n_actions: int,
        *,
        exploration: Schedule = 1.0,
        ridge: float = 1.0,
        intercept: bool = True,
        center: Any = None,
        scale: Any = None,
        seed: int = 0,
    ) -> None:
        self.n_features, self.n_actions = whole("n_features", n_features), whole("n_actions", n_actions)
        self.exploration, self.ridge, self.intercept = (
            exploration,
            real("ridge", ridge, LEAST_RIDGE, LARGEST),
            bool(intercept),
        )
        self._exploration, seed = WrittenSchedule("exploration", exploration, LARGEST), seed_of(seed)
        self.center = None if center is None else _numbers("center", center, self.n_features)
        self.scale = None if scale is None else _numbers("scale", scale, self.n_features)
        if self.scale is not None and (self.scale < SMALLEST).any():
            raise SettingError(
                f"scale= has {self.scale.min():g}, and observations are divided by it; give numbers above 0, from "
                f"{SMALLEST:g} up"
            )
        size = self.n_features + self.intercept
        if self.n_actions * size * size > MOST_ENTRIES:
            raise SettingError(
                f"models of {n_features:,} features and {n_actions:,} actions do not fit; give fewer features"
            )
        self._arms = LinearArms(
            theta=np.zeros((self.n_actions, size)),
            inverse=np.tile(np.eye(size) / self.ridge, (self.n_actions, 1, 1)),
            x=np.ones(size),
            work=np.zeros(size),
            exploration=self._exploration.array,
            sampled=np.array([self.sampled]),
            learned=np.zeros(1, np.int64),
            key=np.array([stream_key(seed, LEARNER), stream_key(seed, LEARNER, 1)], np.uint64),
            center=np.zeros(self.n_features) if self.center is None else self.center,
            scale=np.ones(self.n_features) if self.scale is None else self.scale,
        )

    @property
    def _count(self) -> np.ndarray:
        return self._arms.learned

    @property
    def theta(self) -> np.ndarray:
        """The weights of each action's model, (n_actions, n_features); with an intercept, that is the last column."""
        return self._arms.theta

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does, except its seed."""
        names = ("n_features", "n_actions", "exploration", "ridge", "intercept")
        scaling = {"center": self.center, "scale": self.scale}
        given = {name: values for name, values in scaling.items() if values is not None}
        return {name: getattr(self, name) for name in names} | given

    @property
    def learned_state(self) -> dict[str, Any]:
        """The models and the number of steps; with `settings` and the seed they decide what it does."""
        return {"theta": self._arms.theta, "inverse": self._arms.inverse, "learned": self._arms.learned}

    def arrays_on(self, log: Log) -> LinearArmsOnLog | None:
        """Return the arrays that the compiled loop works on, the log's own columns among them.

        None where the schedule is a Python function, or observations are numbers that Numba does not know. Raises
        `SettingError` where the log's observations have another number of features.
        """
        observation = log.observation.reshape(len(log), -1)
        if observation.shape[1] != self.n_features:
            raise SettingError(self._wrong_width(observation.shape[1]))
        if not self._exploration.compilable or observation.dtype.str.lstrip("<|=") not in READABLE:
            return None
        return LinearArmsOnLog(self._arms, log.next_observation.reshape(len(log), -1), observation, log.starts)

    def predictions(self, observation: Any) -> np.ndarray:
        """Return the reward that each action's model expects at an observation, (n_actions,)."""
        self._write_observation(observation)
        return self._arms.theta @ self._arms.x

    def value(self, observation: Any) -> float:
        """Return the largest reward that the model of an action expects at an observation."""
        return float(self.predictions(observation).max())

    def policy(self, observation: Any) -> np.ndarray:
        self._exploration.write(int(self._arms.learned[0]))
        self._write_observation(observation)
        policy = np.empty(self.n_actions)
        write_linear_choice(self._arms, policy)
        return policy

    def policies(self, observations: np.ndarray) -> np.ndarray:
        """Return the policy at each observation of a batch, (n, n_actions)."""
        self._exploration.write(int(self._arms.learned[0]))
        given = np.asarray(observations, dtype=np.float64).reshape(len(observations), -1)
        if given.shape[1] != self.n_features:
            raise SettingError(self._wrong_width(given.shape[1]))
        policies = np.empty((len(given), self.n_actions))
        write_linear_choices(self._arms, given, policies)
        return policies

    def learn(self, step: Step) -> None:
        self._write_observation(step.observation)
        update_linear(self._arms, step.action, float(step.reward))

    def _write_observation(self, observation: Any) -> None:
        x = np.asarray(observation, dtype=np.float64).reshape(-1)
        if len(x) != self.n_features:
            raise SettingError(self._wrong_width(len(x)))
        self._arms.x[: self.n_features] = (x - self._arms.center) / self._arms.scale

    def _wrong_width(self, found: int) -> str:
        return (
            f"an observation has {found} number{'s' * (found != 1)}, and {type(self).__name__} was made for "
            f"{self.n_features}; give it n_features={found}"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.settings.items())})"


def _numbers(name: str, values: Any, n_features: int) -> np.ndarray:
    """Return a number for each feature. Raise `SettingError` for anything else."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (n_features,) or not np.isfinite(array).all():
        raise SettingError(f"{name}= must have a finite number for each of the {n_features} features")
    return array


READABLE = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1")
"""Numbers, as NumPy writes their types, that kernels read as they are."""


class LinUCB(_LinearLearner):
    """LinUCB with a model for each action (Li et al. 2010): takes the action of the largest upper confidence bound.

    The bound is theta' x + exploration * sqrt(x' A^-1 x), with `exploration` the paper's alpha, a number or a schedule.
    Observations are vectors of `n_features` numbers; a constant is added to them unless `intercept=False`. Since
    `ridge` penalizes all weights alike, features should have a size of about 1: `center` and `scale`, a number for each
    feature, make an observation x into (x - center) / scale. Ties are broken at random.

    >>> learner = LinUCB(2, 3, exploration=0.5)
    >>> learner.policy([0.3, -1.0]).sum(), learner.theta.shape
    (np.float64(1.0), (3, 3))
    """

    sampled = False


class LinearThompson(_LinearLearner):
    """Thompson sampling with a linear model for each action (Agrawal and Goyal 2013): weights drawn from a posterior.

    The weights of an action have the posterior N(theta, exploration^2 A^-1): with Gaussian noise of that deviation and
    a prior N(0, exploration^2 / ridge) this is Bayes' own. The policy is the action whose drawn weights promise most;
    as with `Thompson` the draw is fixed until the learner has learned. Other arguments as for `LinUCB`.

    >>> LinearThompson(2, 3, seed=4).policy([0.3, -1.0]).max()
    np.float64(1.0)
    """

    sampled = True
