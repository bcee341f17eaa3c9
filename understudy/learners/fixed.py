"""Learners that do not learn: a fixed policy, and its Monte-Carlo evaluation."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Encoder, Step
from understudy.contracts.compiling import kernel
from understudy.contracts.kernels import register_kernels
from understudy.errors import ContractError, PolicyError
from understudy.learners.codes import Codes
from understudy.logs.policies import TOLERANCE, numbers_of
from understudy.settings import real, whole


class PolicyTable(NamedTuple):
    """A policy for each observation, or one row for all observations."""

    policy: np.ndarray  # (n_observations or 1, A) float64


class ReturnSums(NamedTuple):
    """A fixed policy, and sums over the returns of its episodes."""

    table: PolicyTable
    gamma: np.ndarray  # (1,) float64
    total: np.ndarray  # (5,) float64: this episode's return and discount; episodes, sum of returns, sum of squares
    truncated: np.ndarray  # (1,) int64: the number of truncated episodes


RETURN, DISCOUNT, EPISODES, SUM, SQUARES = range(5)


@kernel
def write_policy(table, code, policy):
    """Write the policy at an observation, given by its code, into `policy`."""
    row = table.policy[code if len(table.policy) > 1 else 0]
    for action in range(len(policy)):
        policy[action] = row[action]


@kernel
def write_evaluated_policy(sums, code, policy):
    """Write the policy at an observation, given by its code, into `policy`."""
    write_policy(sums.table, code, policy)


@kernel
def learn_nothing(table, code, action, reward, next_code, terminated, truncated):
    """Learn nothing."""


@kernel
def add_return(sums, code, action, reward, next_code, terminated, truncated):
    """Add a step to the episode's return and, at its end, the return to the sums."""
    total = sums.total
    total[RETURN] += total[DISCOUNT] * reward
    total[DISCOUNT] *= sums.gamma[0]
    if terminated or truncated:
        total[EPISODES] += 1.0
        total[SUM] += total[RETURN]
        total[SQUARES] += total[RETURN] ** 2
        total[RETURN], total[DISCOUNT] = 0.0, 1.0
        sums.truncated[0] += truncated


register_kernels(PolicyTable, act=write_policy, learn=learn_nothing)


@kernel
def drop_return(sums):
    """Forget the return of an episode that was cut: it has none, as in the record of a run."""
    sums.total[RETURN], sums.total[DISCOUNT] = 0.0, 1.0


register_kernels(ReturnSums, act=write_evaluated_policy, learn=add_return, hear_cut=drop_return)


class FixedPolicy:
    """Acts by a policy that never changes.

    The policy is a table (n_observations, n_actions), one vector for all observations, or a callable
    `observation -> probabilities`, which Python evaluates at each step.

    >>> FixedPolicy([[0.5, 0.5], [1.0, 0.0]]).policy(1)
    array([1., 0.])
    """

    def __init__(self, policy: Any, *, encoder: Encoder | None = None) -> None:
        self.function: Callable | None = policy if callable(policy) else None
        self.table = PolicyTable(np.ones((1, 1)) if callable(policy) else policy_table(policy))
        self.codes = Codes(len(self.table.policy), encoder) if len(self.table.policy) > 1 else None
        self.n_actions = None if callable(policy) else self.table.policy.shape[1]

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that decide what the learner does."""
        return (self.codes.settings if self.codes else {}) | {"policy": self.function or self.table.policy}

    def arrays(self) -> PolicyTable | None:
        """Return the arrays that the compiled loop works on; None where the policy is a Python function."""
        return None if self.function else self.table

    def policy(self, observation: Any) -> np.ndarray:
        if self.function:
            return self.function(observation)
        return self.table.policy[self.codes(observation) if self.codes else 0].copy()

    def learn(self, step: Step) -> None:
        pass


class Uniform:
    """Takes every action with equal probability, whatever it observes.

    >>> Uniform(4).policy("anything")
    array([0.25, 0.25, 0.25, 0.25])
    """

    codes = None

    def __init__(self, n_actions: int) -> None:
        self.n_actions = whole("n_actions", n_actions)
        self.table = PolicyTable(np.full((1, self.n_actions), 1.0 / self.n_actions))

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that decide what the learner does."""
        return {"n_actions": self.n_actions}

    @property
    def learned_state(self) -> PolicyTable:
        """The policy it acts by, which never changes."""
        return self.table

    def arrays(self) -> PolicyTable:
        """Return the arrays that the compiled loop works on."""
        return self.table

    def policy(self, observation: Any) -> np.ndarray:
        return self.table.policy[0].copy()

    def learn(self, step: Step) -> None:
        pass


class MonteCarlo:
    """Evaluates a fixed policy by the mean discounted return of its episodes.

    Takes a learner that never changes, `Uniform` or `FixedPolicy`. A truncated episode counts with its return so far,
    and `n_truncated` is the number of these; an episode that is not over yet does not count.

    >>> from understudy.contracts import Step
    >>> evaluation = MonteCarlo(Uniform(2), gamma=0.5)
    >>> for reward, over in [(1.0, False), (2.0, True), (4.0, True)]:
    ...     evaluation.learn(Step(0, 0, reward, 0, over, False))
    >>> evaluation.estimate, evaluation.n_episodes
    (3.0, 2)
    """

    def __init__(self, behavior: FixedPolicy | Uniform, *, gamma: float = 0.99) -> None:
        if not isinstance(behavior, FixedPolicy | Uniform):
            raise ContractError(f"MonteCarlo evaluates a Uniform or a FixedPolicy, not {behavior!r}")
        self.behavior, self.gamma = behavior, real("gamma", gamma, 0, 1)
        self.codes, self.n_actions = behavior.codes, behavior.n_actions
        self.sums = ReturnSums(
            table=behavior.table,
            gamma=np.array([self.gamma]),
            total=np.array([0.0, 1.0, 0.0, 0.0, 0.0]),
            truncated=np.zeros(1, dtype=np.int64),
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that decide what the learner does."""
        return self.behavior.settings | {"behavior": type(self.behavior).__name__, "gamma": self.gamma}

    @property
    def learned_state(self) -> ReturnSums:
        """The policy it evaluates, and the returns so far."""
        return self.sums

    @property
    def n_episodes(self) -> int:
        """The number of episodes that are over."""
        return int(self.sums.total[EPISODES])

    @property
    def n_truncated(self) -> int:
        """The number of episodes that were truncated."""
        return int(self.sums.truncated[0])

    @property
    def estimate(self) -> float:
        """The mean return so far; NaN before the first episode is over."""
        return float(self.sums.total[SUM] / self.n_episodes) if self.n_episodes else float("nan")

    @property
    def standard_error(self) -> float:
        """The standard error of the estimate, over episodes; NaN before the second one is over."""
        n = self.n_episodes
        if n < 2:
            return float("nan")
        return float(np.sqrt(max(0.0, self.sums.total[SQUARES] / n - self.estimate**2) / (n - 1)))

    def arrays(self) -> ReturnSums | None:
        """Return the arrays that the compiled loop works on; None where the policy is a Python function."""
        return None if self.behavior.arrays() is None else self.sums

    def policy(self, observation: Any) -> np.ndarray:
        return self.behavior.policy(observation)

    def hear_cut(self) -> None:
        """Forget the return of the episode under way, which was cut."""
        drop_return(self.sums)

    def learn(self, step: Step) -> None:
        add_return(self.sums, 0, step.action, float(step.reward), 0, step.terminated, step.truncated)


def policy_table(policy: Any) -> np.ndarray:
    """Return a policy as a table of float64. Raise `PolicyError` where a row of it is not a distribution."""
    try:
        table = np.atleast_2d(numbers_of(policy))
    except PolicyError as error:
        raise PolicyError(f"the policy {error}") from None
    if table.ndim != 2 or not table.size:
        raise PolicyError(f"the policy has shape {table.shape}; give (n_observations, n_actions), or (n_actions,)")
    wrong = ~(np.isfinite(table).all(1) & (table >= 0).all(1) & (np.abs(table.sum(1) - 1.0) <= TOLERANCE))
    if wrong.any():
        raise PolicyError(f"row {int(wrong.argmax())} of the policy, {table[wrong.argmax()]}, is not a distribution")
    return table
