"""The mean reward of each action, and kernels that choose by it: the greedy action, an upper bound, or a draw."""

import math
from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Encoder, Step
from understudy.contracts.compiling import kernel
from understudy.contracts.kernels import register_kernels
from understudy.contracts.streams import LEARNER, stream_key
from understudy.learners.arms import LARGEST, ArmTable
from understudy.learners.clocks import Clocked
from understudy.learners.draws import beta_draw, key_at, normal_at
from understudy.learners.schedules import Schedule, WrittenSchedule, schedule_value
from understudy.learners.tabular import greedy_action
from understudy.settings import real, seed_of

EPSILON_GREEDY, UPPER_BOUND, BERNOULLI, GAUSSIAN = range(4)
"""How an action is chosen from the means."""


class ArmMeans(NamedTuple):
    """The state of a learner that keeps means, as kernels take it."""

    taken: np.ndarray  # (n_observations, A) float64: how often each action was learned from
    mean: np.ndarray  # (n_observations, A) float64: the mean of its rewards
    rule: np.ndarray  # (1,) int64: EPSILON_GREEDY, ...
    exploration: np.ndarray  # (4,) float64: a schedule, of epsilon or of the factor of UCB1's bonus
    alpha: np.ndarray  # (4,) float64: a schedule of the step size
    averages: np.ndarray  # (1,) bool: the step size is one over the count, instead of alpha
    prior: np.ndarray  # (3,) float64: of Thompson sampling; Beta's two parameters, or mean, deviation and noise
    limits: np.ndarray  # (2,) float64: rewards between these are scaled to [0, 1]; (0, 1) leaves them as they are
    learned: np.ndarray  # (1,) int64: the number of steps learned
    key: np.ndarray  # (2,) uint64: the keys of the learner's streams, of ties and of draws


@kernel
def write_scores(arms, row, scores):
    """Write what each action's choice is decided by: its mean, an upper bound of it, or a draw of its posterior."""
    taken, mean, rule, learned = arms.taken[row], arms.mean[row], arms.rule[0], arms.learned[0]
    if rule == EPSILON_GREEDY:
        for action in range(len(scores)):
            scores[action] = mean[action]
        return
    if rule == UPPER_BOUND:
        total = 0.0
        for action in range(len(scores)):
            total += taken[action]
        exploration = schedule_value(arms.exploration, learned)
        for action in range(len(scores)):
            scores[action] = np.inf  # each action is taken once before any is taken again
            if taken[action] > 0.0:
                scores[action] = mean[action] + exploration * math.sqrt(2.0 * math.log(total) / taken[action])
        return
    for action in range(len(scores)):
        key, prior = key_at(arms.key[1], learned * len(scores) + action), arms.prior
        if rule == BERNOULLI:
            successes = taken[action] * mean[action]
            scores[action] = beta_draw(key, prior[0] + successes, prior[1] + max(0.0, taken[action] - successes))
        else:
            precision = 1.0 / prior[1] ** 2
            each = 1.0 / prior[2] ** 2
            total = precision + taken[action] * each
            center = (precision * prior[0] + taken[action] * each * mean[action]) / total
            scores[action] = center + normal_at(key, 0) / math.sqrt(total)


@kernel
def write_choice(arms, code, policy):
    """Write the policy at an observation: the action of the best score, and with epsilon-greedy some of all."""
    row = code if len(arms.taken) > 1 else 0
    write_scores(arms, row, policy)
    count = arms.learned[0]
    choice = greedy_action(policy, arms.key[0], count)
    epsilon = schedule_value(arms.exploration, count) if arms.rule[0] == EPSILON_GREEDY else 0.0
    share = epsilon / len(policy)
    for action in range(len(policy)):
        policy[action] = share + (1.0 - epsilon) if action == choice else share


@kernel
def update_mean(arms, code, action, reward, next_code, terminated, truncated):
    """Move the mean of one action toward its reward, scaled where a range of rewards is given."""
    row = code if len(arms.taken) > 1 else 0
    low, high = arms.limits[0], arms.limits[1]
    if arms.rule[0] == BERNOULLI:
        reward = min(1.0, max(0.0, (reward - low) / (high - low)))  # a log with other rewards is refused beforehand
    arms.taken[row, action] += 1.0
    size = 1.0 / arms.taken[row, action] if arms.averages[0] else schedule_value(arms.alpha, arms.learned[0])
    arms.mean[row, action] += size * (reward - arms.mean[row, action])
    arms.learned[0] += 1


register_kernels(ArmMeans, act=write_choice, learn=update_mean)


class MeanLearner(Clocked, ArmTable):
    """A learner that keeps the mean reward of each action; subclasses differ in how they choose."""

    def __init__(
        self,
        n_actions: int,
        n_observations: int | None,
        encoder: Encoder | None,
        seed: int,
        *,
        rule: int,
        exploration: tuple[str, Schedule, float],
        alpha: Schedule | None = None,
        initial: float = 0.0,
        prior: tuple[float, ...] = (),
    ) -> None:
        super().__init__(n_actions, n_observations, encoder)
        seed = seed_of(seed)
        self._exploration = WrittenSchedule(*exploration)
        self._alpha = WrittenSchedule("alpha", 0.0 if alpha is None else alpha, 1.0)
        self._arms = ArmMeans(
            taken=np.zeros(self.shape),
            mean=np.full(self.shape, real("initial", initial, -LARGEST, LARGEST)),
            rule=np.array([rule]),
            exploration=self._exploration.array,
            alpha=self._alpha.array,
            averages=np.array([alpha is None]),
            prior=np.array([*prior, *[0.0] * (3 - len(prior))]),
            limits=np.array(self.reward_range or (0.0, 1.0)),
            learned=np.zeros(1, dtype=np.int64),
            key=np.array([stream_key(seed, LEARNER), stream_key(seed, LEARNER, 1)], dtype=np.uint64),
        )

    @property
    def _count(self) -> np.ndarray:
        return self._arms.learned

    @property
    def counts(self) -> np.ndarray:
        """How often each action was learned from, (n_observations, n_actions); (1, n_actions) where all share a row."""
        return self._arms.taken

    @property
    def means(self) -> np.ndarray:
        """The mean reward of each action so far, like `counts`; scaled to [0, 1] where `reward_range` is given."""
        return self._arms.mean

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does, except its seed."""
        raise NotImplementedError

    @property
    def learned_state(self) -> dict[str, Any]:
        """The counts and means and the number of steps; with `settings` and the seed they decide what it does."""
        return {"counts": self.counts, "means": self.means, "learned": self._arms.learned}

    def arrays(self) -> ArmMeans | None:
        """Return the arrays that the compiled loop works on; None where a schedule is a Python function."""
        return self._arms if self._exploration.compilable and self._alpha.compilable else None

    def value(self, observation: Any) -> float:
        """Return the largest mean reward of an action at an observation."""
        return float(self._unscaled(self.means[self.row(observation)].max()))

    def values(self, observations: Any) -> np.ndarray:
        """Return the largest mean reward of an action at each observation of a batch."""
        return self._unscaled(self.means[self.rows(observations)].max(axis=1))

    def _unscaled(self, means: Any) -> Any:
        low, high = self._arms.limits
        return low + (high - low) * means

    def policy(self, observation: Any) -> np.ndarray:
        self._write_python_schedules()
        policy = np.empty(self.n_actions)
        write_choice(self._arms, self.row(observation), policy)
        return policy

    def learn(self, step: Step) -> None:
        self._write_python_schedules()
        reward = self.checked_reward(step.reward)
        update_mean(self._arms, self.row(step.observation), step.action, reward, 0, step.terminated, step.truncated)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.settings.items())})"

    def _write_python_schedules(self) -> None:
        for schedule in (self._exploration, self._alpha):
            schedule.write(int(self._arms.learned[0]))
