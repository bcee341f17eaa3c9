"""Learners that do not learn: a fixed policy, and its Monte-Carlo evaluation."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Encoder, Step
from understudy.contracts.compiling import kernel
from understudy.errors import PolicyError
from understudy.learners.codes import Codes
from understudy.logs.policies import TOLERANCE, numbers_of
from understudy.settings import real, whole


class Table(NamedTuple):
    """A policy for each observation; a table of one row is for all of them."""

    policy: np.ndarray  # (n_observations or 1, A) float64


class Ledger(NamedTuple):
    """A fixed policy and the returns it has had."""

    table: Table
    gamma: np.ndarray  # (1,) float64
    book: np.ndarray  # (5,) float64: this episode's return and discount; episodes, sum of returns, sum of squares
    truncated: np.ndarray  # (1,) int64: episodes whose return was cut off


RETURN, DISCOUNT, EPISODES, SUM, SQUARES = range(5)


@kernel
def look_up(table, code, policy):
    """Write the policy at an observation."""
    row = table.policy[code if len(table.policy) > 1 else 0]
    for action in range(len(policy)):
        policy[action] = row[action]


@kernel
def look_up_first(ledger, code, policy):
    """Write the policy at an observation."""
    look_up(ledger.table, code, policy)


@kernel
def ignore(table, code, action, reward, next_code, terminated, truncated):
    """Learn nothing."""


@kernel
def book(ledger, code, action, reward, next_code, terminated, truncated):
    """Add a step to the episode's return; at its end, the return to the books."""
    cells = ledger.book
    cells[RETURN] += cells[DISCOUNT] * reward
    cells[DISCOUNT] *= ledger.gamma[0]
    if terminated or truncated:
        cells[EPISODES] += 1.0
        cells[SUM] += cells[RETURN]
        cells[SQUARES] += cells[RETURN] ** 2
        cells[RETURN], cells[DISCOUNT] = 0.0, 1.0
        ledger.truncated[0] += truncated


class FixedPolicy:
    """Acts by one policy for ever.

    The policy is a table (n_observations, n_actions), one vector for all observations, or a callable
    `observation -> probabilities`, which Python evaluates at each step.

    >>> FixedPolicy([[0.5, 0.5], [1.0, 0.0]]).policy(1)
    array([1., 0.])
    """

    def __init__(self, policy: Any, *, encoder: Encoder | None = None) -> None:
        self.function: Callable | None = policy if callable(policy) else None
        self.table = Table(np.ones((1, 1)) if callable(policy) else table_of(policy))
        self.codes = Codes(len(self.table.policy), encoder) if len(self.table.policy) > 1 else None
        self.n_actions = None if callable(policy) else self.table.policy.shape[1]

    @property
    def settings(self) -> dict[str, Any]:
        """What makes this learner what it is."""
        return (self.codes.settings if self.codes else {}) | {"policy": self.function or self.table.policy}

    def arrays(self) -> Table | None:
        """What the compiled loop works on; None where the policy is known to Python only."""
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
        self.table = Table(np.full((1, self.n_actions), 1.0 / self.n_actions))

    @property
    def settings(self) -> dict[str, Any]:
        """What makes this learner what it is."""
        return {"n_actions": self.n_actions}

    @property
    def knows(self) -> Table:
        """The policy it acts by."""
        return self.table

    def arrays(self) -> Table:
        """What the compiled loop works on."""
        return self.table

    def policy(self, observation: Any) -> np.ndarray:
        return self.table.policy[0].copy()

    def learn(self, step: Step) -> None:
        pass


class MonteCarlo:
    """Evaluates a fixed policy by the mean discounted return of its episodes.

    Takes a learner that never changes, `Uniform` or `FixedPolicy`. Episodes that a time limit cut off count with the
    return they had, and are counted in `n_truncated`; one that is not over yet does not count.

    >>> from understudy.contracts import Step
    >>> evaluation = MonteCarlo(Uniform(2), gamma=0.5)
    >>> for reward, over in [(1.0, False), (2.0, True), (4.0, True)]:
    ...     evaluation.learn(Step(0, 0, reward, 0, over, False))
    >>> evaluation.estimate, evaluation.n_episodes
    (3.0, 2)
    """

    def __init__(self, behavior: FixedPolicy | Uniform, *, gamma: float = 0.99) -> None:
        if not isinstance(behavior, FixedPolicy | Uniform):
            raise TypeError(f"MonteCarlo evaluates a Uniform or a FixedPolicy, not {behavior!r}")
        self.behavior, self.gamma = behavior, real("gamma", gamma, 0, 1)
        self.codes, self.n_actions = behavior.codes, behavior.n_actions
        self.ledger = Ledger(
            table=behavior.table,
            gamma=np.array([self.gamma]),
            book=np.array([0.0, 1.0, 0.0, 0.0, 0.0]),
            truncated=np.zeros(1, dtype=np.int64),
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What makes this learner what it is."""
        return self.behavior.settings | {"behavior": type(self.behavior).__name__, "gamma": self.gamma}

    @property
    def knows(self) -> Ledger:
        """The policy it evaluates, and the returns so far."""
        return self.ledger

    @property
    def n_episodes(self) -> int:
        """Episodes that are over."""
        return int(self.ledger.book[EPISODES])

    @property
    def n_truncated(self) -> int:
        """How many of them a time limit cut off."""
        return int(self.ledger.truncated[0])

    @property
    def estimate(self) -> float:
        """The mean return so far; NaN before the first episode is over."""
        return float(self.ledger.book[SUM] / self.n_episodes) if self.n_episodes else float("nan")

    @property
    def standard_error(self) -> float:
        """Of the estimate, over episodes; NaN before the second one is over."""
        n = self.n_episodes
        if n < 2:
            return float("nan")
        return float(np.sqrt(max(0.0, self.ledger.book[SQUARES] / n - self.estimate**2) / (n - 1)))

    def arrays(self) -> Ledger | None:
        """What the compiled loop works on; None where the policy is known to Python only."""
        return None if self.behavior.arrays() is None else self.ledger

    def policy(self, observation: Any) -> np.ndarray:
        return self.behavior.policy(observation)

    def learn(self, step: Step) -> None:
        book(self.ledger, 0, step.action, float(step.reward), 0, step.terminated, step.truncated)


def table_of(policy: Any) -> np.ndarray:
    """A policy table, checked: each row a distribution."""
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
