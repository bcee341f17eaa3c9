"""Bandit learners with a linear model of the reward of each action: LinUCB and linear Thompson sampling.

An action's model is ridge regression on the observation: A = ridge I + sum x x', b = sum r x, theta = A^-1 b. Kernels keep
A^-1 and theta up to date by rank-one updates (Sherman and Morrison), and compute A^-1 anew from A every so many steps of
the action, so that rounding does not add up. Compiled, they read observations from the log's own columns.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Log, Step
from understudy.contracts.compiling import kernel, routine
from understudy.contracts.kernels import register_kernels
from understudy.contracts.streams import LEARNER, stream_key
from understudy.errors import SettingError
from understudy.learners.draws import key_at, normal_at
from understudy.learners.schedules import Schedule, WrittenSchedule, schedule_value
from understudy.learners.tabular import MOST_ENTRIES, greedy_action
from understudy.settings import positive, seed_of, whole

REFRESH = 1024
"""After so many updates of an action's model, its inverse is computed anew."""


class LinearArms(NamedTuple):
    """The state of a linear bandit learner, as kernels take it; D features, the intercept included."""

    theta: np.ndarray  # (A, D) float64: the weights of each action
    inverse: np.ndarray  # (A, D, D) float64: A^-1 of each action
    gram: np.ndarray  # (A, D, D) float64: A of each action
    moment: np.ndarray  # (A, D) float64: b of each action
    count: np.ndarray  # (A,) int64: how often each action was learned from
    x: np.ndarray  # (D,) float64: the observation that is worked on; the last entry stays 1 with an intercept
    work: np.ndarray  # (D,) float64: A^-1 x
    factor: np.ndarray  # (D, D) float64: where the inverse is computed anew
    exploration: np.ndarray  # (4,) float64: a schedule
    sampled: np.ndarray  # (1,) bool: the width is multiplied by a normal number (Thompson), not by 1 (UCB)
    learned: np.ndarray  # (1,) int64: the number of steps learned
    key: np.ndarray  # (2,) uint64: the keys of the learner's streams, of ties and of draws


class LinearArmsOnLog(NamedTuple):
    """A linear bandit learner, and the columns of a log in which it finds observations by their position."""

    arms: LinearArms
    next_observation: np.ndarray  # (N, features)
    observation: np.ndarray  # (N, features)
    starts: np.ndarray  # (E + 1,) int64: the first row of each episode


@kernel
def multiply(matrix, x, product):
    """Write a symmetric matrix times x into `product`; row by row, so that the loop over columns is vectorized."""
    for j in range(len(x)):
        product[j] = 0.0
    for i in range(len(x)):
        row, factor = matrix[i], x[i]
        for j in range(len(x)):
            product[j] += factor * row[j]


@kernel
def dot(one, other):
    """Return the inner product of two vectors."""
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total


@kernel
def write_linear_choice(arms, policy):
    """Write the policy at arms.x: the action of the largest theta' x + exploration * width * z, width^2 = x' A^-1 x.

    z is 1 for LinUCB. For Thompson sampling it is a normal number of each action and step: theta' x has that law where
    theta is drawn from its posterior, and nothing else of theta matters to the step.
    """
    count, exploration = arms.learned[0], schedule_value(arms.exploration, arms.learned[0])
    for action in range(len(policy)):
        multiply(arms.inverse[action], arms.x, arms.work)
        width = exploration * math.sqrt(max(0.0, dot(arms.work, arms.x)))
        if arms.sampled[0]:
            width *= normal_at(key_at(arms.key[1], count * len(policy) + action), 0)
        policy[action] = dot(arms.theta[action], arms.x) + width
    choice = greedy_action(policy, arms.key[0], count)
    for action in range(len(policy)):
        policy[action] = 1.0 if action == choice else 0.0


@kernel
def update_linear(arms, action, reward):
    """Take in the reward of an action at arms.x."""
    theta, inverse, gram, moment = arms.theta[action], arms.inverse[action], arms.gram[action], arms.moment[action]
    x, work = arms.x, arms.work
    multiply(inverse, x, work)
    scale = 1.0 / (1.0 + dot(work, x))
    gain = scale * (reward - dot(theta, x))
    for i in range(len(x)):
        theta[i] += gain * work[i]
        moment[i] += reward * x[i]
        row, of_gram = inverse[i], gram[i]
        for j in range(len(x)):
            row[j] -= scale * (work[i] * work[j])  # in this order the matrix stays symmetric to the last digit
            of_gram[j] += x[i] * x[j]
    arms.count[action] += 1
    arms.learned[0] += 1
    if arms.count[action] % REFRESH == 0:
        invert(gram, inverse, arms.factor)
        multiply(inverse, moment, theta)


@routine
def invert(gram, inverse, factor):
    """Write the inverse of a positive definite matrix, by its Cholesky factor; leave it where rounding spoils that."""
    n = len(gram)
    for i in range(n):  # gram = factor factor', with factor lower triangular
        for j in range(i + 1):
            total = gram[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = total / factor[j, j]
            elif total > 0.0:
                factor[i, i] = math.sqrt(total)
            else:
                return
    for j in range(n):  # column j of the inverse of the factor, in the upper triangle
        for i in range(j, n):
            total = 1.0 if i == j else 0.0
            for k in range(j, i):
                total -= factor[i, k] * inverse[j, k]
            inverse[j, i] = total / factor[i, i]
    for i in range(n):  # inverse = (factor^-1)' factor^-1, written where the factor was
        for j in range(i, n):
            total = 0.0
            for k in range(j, n):
                total += inverse[i, k] * inverse[j, k]
            factor[j, i] = total
    for i in range(n):
        for j in range(i + 1):
            inverse[i, j] = inverse[j, i] = factor[i, j]


@kernel
def read_observation(on_log, code):
    """Write the observation at a position of the log into arms.x."""
    x, n = on_log.arms.x, len(on_log.next_observation)
    for i in range(on_log.observation.shape[1]):
        if code < n:
            x[i] = on_log.next_observation[code, i]
        else:
            x[i] = on_log.observation[on_log.starts[code - n], i]


@kernel
def write_linear_choice_on_log(on_log, code, policy):
    """Write the policy at the observation at a position of the log."""
    read_observation(on_log, code)
    write_linear_choice(on_log.arms, policy)


@kernel
def update_linear_on_log(on_log, code, action, reward, next_code, terminated, truncated):
    """Take in a step from the observation at a position of the log."""
    read_observation(on_log, code)
    update_linear(on_log.arms, action, reward)


register_kernels(LinearArmsOnLog, act=write_linear_choice_on_log, learn=update_linear_on_log)


class _LinearLearner:
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
        seed: int = 0,
    ) -> None:
        self.n_features, self.n_actions = whole("n_features", n_features), whole("n_actions", n_actions)
        self.exploration, self.ridge, self.intercept = exploration, positive("ridge", ridge), bool(intercept)
        self._exploration, seed = WrittenSchedule("exploration", exploration), seed_of(seed)
        size = self.n_features + self.intercept
        if self.n_actions * size * size > MOST_ENTRIES:
            raise SettingError(
                f"models of {n_features:,} features and {n_actions:,} actions do not fit; give fewer features"
            )
        shape = (self.n_actions, size, size)
        self._arms = LinearArms(
            theta=np.zeros(shape[:2]),
            inverse=np.tile(np.eye(size) / self.ridge, (self.n_actions, 1, 1)),
            gram=np.tile(np.eye(size) * self.ridge, (self.n_actions, 1, 1)),
            moment=np.zeros(shape[:2]),
            count=np.zeros(self.n_actions, np.int64),
            x=np.ones(size),
            work=np.zeros(size),
            factor=np.zeros((size, size)),
            exploration=self._exploration.array,
            sampled=np.array([self.sampled]),
            learned=np.zeros(1, np.int64),
            key=np.array([stream_key(seed, LEARNER), stream_key(seed, LEARNER, 1)], np.uint64),
        )

    @property
    def theta(self) -> np.ndarray:
        """The weights of each action's model, (n_actions, n_features); with an intercept, that is the last column."""
        return self._arms.theta

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does, except its seed."""
        names = ("n_features", "n_actions", "exploration", "ridge", "intercept")
        return {name: getattr(self, name) for name in names}

    @property
    def learned_state(self) -> dict[str, Any]:
        """The models and the number of steps; with `settings` and the seed they decide what it does."""
        names = ("theta", "inverse", "gram", "moment", "count", "learned")
        return {name: getattr(self._arms, name) for name in names}

    def arrays_on(self, log: Log) -> LinearArmsOnLog | None:
        """Return the arrays that the compiled loop works on, the log's own columns among them.

        None where the schedule is a Python function, or observations are numbers that Numba does not know. Raises
        `SettingError` where the log's observations have another number of features.
        """
        columns = [column.reshape(len(log), -1) for column in (log.next_observation, log.observation)]
        if columns[0].shape[1] != self.n_features:
            raise SettingError(self._wrong_width(columns[0].shape[1]))
        if not self._exploration.compilable or columns[0].dtype.str.lstrip("<|=") not in READABLE:
            return None
        return LinearArmsOnLog(self._arms, *columns, log.starts)

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

    def learn(self, step: Step) -> None:
        self._write_observation(step.observation)
        update_linear(self._arms, step.action, float(step.reward))

    def _write_observation(self, observation: Any) -> None:
        x = np.asarray(observation, dtype=np.float64).reshape(-1)
        if len(x) != self.n_features:
            raise SettingError(self._wrong_width(len(x)))
        self._arms.x[: self.n_features] = x

    def _wrong_width(self, found: int) -> str:
        return (
            f"an observation has {found} number{'s' * (found != 1)}, and {type(self).__name__} was made for "
            f"{self.n_features}; give it n_features={found}"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.settings.items())})"


READABLE = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1")
"""Numbers, as NumPy writes their types, that kernels read as they are."""


class LinUCB(_LinearLearner):
    """LinUCB with a model for each action (Li et al. 2010): takes the action of the largest upper confidence bound.

    The bound is theta' x + exploration * sqrt(x' A^-1 x), with `exploration` the paper's alpha, a number or a schedule.
    Observations are vectors of `n_features` numbers; a constant is added to them unless `intercept=False`. Scale
    features to about 1, since `ridge` penalizes all weights alike. Ties are broken at random.

    >>> learner = LinUCB(2, 3, exploration=0.5)
    >>> learner.policy([0.3, -1.0]).sum(), learner.theta.shape
    (np.float64(1.0), (3, 3))
    """

    sampled = False


class LinearThompson(_LinearLearner):
    """Thompson sampling with a linear model for each action (Agrawal and Goyal 2013): weights drawn from a posterior.

    The weights of an action have the posterior N(theta, exploration^2 A^-1): with Gaussian noise of that deviation and a
    prior N(0, exploration^2 / ridge) this is Bayes' own. The policy is the action whose drawn weights promise most; as
    with `Thompson` the draw is fixed until the learner has learned. Other arguments as for `LinUCB`.

    >>> LinearThompson(2, 3, seed=4).policy([0.3, -1.0]).max()
    np.float64(1.0)
    """

    sampled = True
