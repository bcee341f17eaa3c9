"""Q-learning and Expected SARSA over a table, exploring epsilon-greedily."""

from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Encoder, Step
from understudy.contracts.compiling import kernel
from understudy.contracts.kernels import register_kernels
from understudy.contracts.streams import LEARNER, stream_key, uniform_at
from understudy.errors import SettingError
from understudy.learners.clocks import Clocked
from understudy.learners.codes import Codes
from understudy.learners.schedules import Schedule, may_be_in_unit_interval, schedule_array, schedule_value
from understudy.settings import real, seed_of, whole

MOST_ENTRIES = 2**28
"""The most entries of a table, 2 GiB of them."""


class Values(NamedTuple):
    """The state of a tabular learner, as kernels take it."""

    q: np.ndarray  # (n_observations, A) float64
    epsilon: np.ndarray  # (4,) float64: a schedule
    alpha: np.ndarray  # (4,) float64: a schedule
    gamma: np.ndarray  # (1,) float64
    expected: np.ndarray  # (1,) bool: the target is the policy's value (Expected SARSA), not the greedy one
    learned: np.ndarray  # (1,) int64: the number of steps learned
    key: np.ndarray  # (1,) uint64: the key of the learner's stream


@kernel
def greedy_action(q, key, count):
    """Return the action of the largest value; ties are broken by the number at position `count` of the stream."""
    best = q[0]
    for action in range(1, len(q)):
        best = max(best, q[action])
    ties, choice = 0, 0
    for action in range(len(q)):  # without a branch, since a processor cannot predict which action is best
        ties += q[action] == best
        choice = action if q[action] == best else choice
    if ties > 1:
        skip = np.int64(uniform_at(key, count) * ties)
        for action in range(len(q)):
            if q[action] == best:
                if skip == 0:
                    return action
                skip -= 1
    return choice


@kernel
def write_epsilon_greedy(values, code, policy):
    """Write the epsilon-greedy policy: with probability epsilon a uniformly drawn action, else the greedy one."""
    q, count = values.q[code], values.learned[0]
    epsilon = schedule_value(values.epsilon, count)
    choice = greedy_action(q, values.key[0], count)
    share = epsilon / len(q)
    for action in range(len(q)):
        policy[action] = share + (1.0 - epsilon) if action == choice else share


@kernel
def update_value(values, code, action, reward, next_code, terminated, truncated):
    """Move one value toward its target. A terminal step does not bootstrap; a truncated one does."""
    target = reward
    if not terminated:
        q = values.q[next_code]
        best, total = q[0], q[0]
        for a in range(1, len(q)):
            best = max(best, q[a])
            total += q[a]
        if values.expected[0]:
            epsilon = schedule_value(values.epsilon, values.learned[0])
            best = epsilon * (total / len(q)) + (1.0 - epsilon) * best
        target += values.gamma[0] * best
    alpha = schedule_value(values.alpha, values.learned[0])
    values.q[code, action] += alpha * (target - values.q[code, action])
    values.learned[0] += 1


register_kernels(Values, act=write_epsilon_greedy, learn=update_value)


class _Tabular(Clocked):
    """Q-learning, and Expected SARSA where `expected` is True."""

    expected: bool

    def __init__(
        self,
        n_observations: int,
        n_actions: int,
        *,
        epsilon: Schedule = 0.1,
        alpha: Schedule = 0.5,
        gamma: float = 0.99,
        initial: float = 0.0,
        encoder: Encoder | None = None,
        seed: int = 0,
    ) -> None:
        self.codes = Codes(whole("n_observations", n_observations, least=None), encoder)
        self.n_actions = whole("n_actions", n_actions)
        self.epsilon, self.alpha = epsilon, alpha
        self.gamma, self.initial = real("gamma", gamma, 0, 1), real("initial", initial)
        for name, number in (("epsilon", epsilon), ("alpha", alpha)):
            if not may_be_in_unit_interval(number):
                raise SettingError(f"{name} is {number!r}; give {name}=, a number from 0 to 1 or a schedule of such")
        if n_observations * n_actions > MOST_ENTRIES:
            raise SettingError(
                f"a table of {n_observations:,} observations and {n_actions:,} actions does not fit; "
                "give the learner encoder=, with fewer states"
            )
        schedules = [schedule_array(epsilon), schedule_array(alpha)]
        self.compilable = all(schedule is not None for schedule in schedules)
        self._values = Values(
            q=np.full((n_observations, n_actions), self.initial),
            epsilon=np.zeros(4) if schedules[0] is None else schedules[0],
            alpha=np.zeros(4) if schedules[1] is None else schedules[1],
            gamma=np.array([self.gamma]),
            expected=np.array([self.expected]),
            learned=np.zeros(1, dtype=np.int64),
            key=np.array([stream_key(seed_of(seed), LEARNER)], dtype=np.uint64),
        )

    @property
    def _count(self) -> np.ndarray:
        return self._values.learned

    @property
    def q(self) -> np.ndarray:
        """The values learned so far, (n_observations, n_actions)."""
        return self._values.q

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does, except its seed."""
        names = ("n_actions", "epsilon", "alpha", "gamma", "initial")
        return self.codes.settings | {name: getattr(self, name) for name in names}

    @property
    def learned_state(self) -> dict[str, Any]:
        """The values and the number of steps so far; with `settings` and the seed they decide what it does."""
        return {"q": self.q, "learned": self._values.learned}

    def arrays(self) -> Values | None:
        """Return the arrays that the compiled loop works on; None where a schedule is a Python function."""
        return self._values if self.compilable else None

    def value(self, observation: Any) -> float:
        """Return the value of the best action at an observation."""
        return float(self.q[self.codes(observation)].max())

    def values(self, observations: Any) -> np.ndarray:
        """Return the value of the best action at each observation of a batch."""
        return self.q[self.codes.batch(np.asarray(observations))].max(axis=1)

    def policy(self, observation: Any) -> np.ndarray:
        self._write_python_schedules()
        policy = np.empty(self.n_actions)
        write_epsilon_greedy(self._values, self.codes(observation), policy)
        return policy

    def learn(self, step: Step) -> None:
        self._write_python_schedules()
        code = self.codes(step.observation)
        next_code = 0 if step.terminated else self.codes(step.next_observation)
        update_value(self._values, code, step.action, float(step.reward), next_code, step.terminated, step.truncated)

    def _write_python_schedules(self) -> None:
        """Write the present value of schedules that are Python functions as constants, which kernels can read."""
        if not self.compilable:
            values = self._values
            for name, schedule, array in (
                ("epsilon", self.epsilon, values.epsilon),
                ("alpha", self.alpha, values.alpha),
            ):
                if callable(schedule) and schedule_array(schedule) is None:
                    array[1] = schedule(int(values.learned[0]))
                    if not 0.0 <= array[1] <= 1.0:
                        raise SettingError(f"{name} is {array[1]} after {values.learned[0]:,} steps, not in [0, 1]")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.settings.items())})"


class QLearning(_Tabular):
    """Tabular Q-learning (Watkins), epsilon-greedy.

    Epsilon is the share of *exploring* steps: with .9 and five actions the greedy action has probability .28 and the
    others .18. Epsilon and alpha may be schedules. Ties between values are broken at random, afresh at every step.

    >>> learner = QLearning(25, 5, epsilon=0.9, alpha=0.5, gamma=0.95)
    >>> sorted(learner.policy(0).round(2).tolist())
    [0.18, 0.18, 0.18, 0.18, 0.28]
    """

    expected = False


class ExpectedSarsa(_Tabular):
    """Tabular Expected SARSA, epsilon-greedy: bootstraps from the value of the policy it follows."""

    expected = True
