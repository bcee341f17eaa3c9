"""Accepted rows and episodes have the law of the real world, and each way to get that wrong is found by the same test.

The problems are small enough to list every history with its probability. A learner that forgets what it has learned
after each history makes histories independent, so that one long log has thousands of them; how often each was served
is compared with its probability by chi-square, at an error rate of 1e-4 for each test, with seeds that were fixed, like
the numbers of rows, before any result was seen. `by_hand` is the same algorithm in a few lines, with a switch for each
mistake: without one it passes, with any of them it is found.

The first problem has two contexts and two actions; the logger's propensities depend on the context, and the learner's
first policy on a coin of its own, the second on what the first decision earned. The second problem has episodes of one
or two steps, and a learner that learns within them.
"""

from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2

import understudy as us

RATE = 1e-4
ROWS, EPISODES = 200_000, 100_000

# Two contexts, two actions.
LOGGER = np.array([[0.9, 0.1], [0.5, 0.5]])  # by context
EARNS = np.array([[0.3, 0.7], [0.6, 0.4]])  # the probability of reward 1, by context and action
COIN = np.array([[0.9, 0.1], [0.1, 0.9]])  # the first policy of a history, by the learner's own coin


def second_policy(context, action, reward):
    """The policy at the second decision, by what the first one was and earned."""
    stay = 0.8 if reward else 0.25
    policy = np.full(2, 1 - stay)
    policy[action] = stay
    return policy if context else (policy + 0.5) / 2


class Forgetful:
    """Takes two decisions, and begins anew."""

    def __init__(self, seed=0):
        self.rng, self.seen = np.random.default_rng(seed), None
        self.draw()

    def draw(self):
        self.coin = int(self.rng.integers(2))

    def policy(self, context):
        return COIN[self.coin] if self.seen is None else second_policy(int(context), *self.seen)

    def learn(self, step):
        if self.seen is not None:
            self.seen = None
            self.draw()
        else:
            self.seen = step.action, step.reward


def law_of_histories():
    """The probability of each (context, action, reward, context, action, reward)."""
    law = {}
    for first, a, r, second, b, s in product(range(2), repeat=6):
        p = 0.5 * COIN[:, a].mean() * (EARNS[first, a] if r else 1 - EARNS[first, a])
        p *= 0.5 * second_policy(second, a, r)[b] * (EARNS[second, b] if s else 1 - EARNS[second, b])
        law[first, a, r, second, b, s] = p
    return law


def logged_decisions(seed, n=ROWS, full=True):
    rng = np.random.default_rng(seed)
    context = rng.integers(0, 2, n)
    action = (rng.random(n) >= LOGGER[context, 0]).astype(int)
    reward = (rng.random(n) < EARNS[context, action]).astype(float)
    propensity = LOGGER[context] if full else LOGGER[context, action]
    return us.Log.from_columns(
        observation=context, action=action, reward=reward, propensity=propensity, ends="every-row"
    )


def by_hand(log, learner, seed, mistake=None):
    """The rows that a replay by hand accepts."""
    rng, rows = np.random.default_rng([seed, 1]), []  # not the log's own numbers
    for row in rng.permutation(len(log)):
        context, action = int(log.observation[row]), int(log.action[row])
        if mistake == "policy drawn anew, bound of the policy" and learner.seen is None:
            learner.draw()
        policy, bound = learner.policy(context), 1 / LOGGER.min()
        if mistake == "bound of the context":
            bound = 1 / LOGGER[context].min()
        if mistake == "policy drawn anew, bound of the policy":
            bound = max((learner.policy(x) / LOGGER[x]).max() for x in range(2))
        accepted = rng.random() * bound < policy[action] / LOGGER[context, action]
        if mistake == "plain matching":
            accepted = (rng.random() >= policy[0]) == action
        if accepted:
            rows.append(row)
        if accepted or mistake == "training on rejected rows":
            learner.learn(us.Step(context, action, log.reward[row], context, True, False))
    return np.array(rows)


def p_value(seen, law):
    """The p-value of histories, each a tuple, against their law."""
    counts = np.array([sum(1 for one in seen if one == history) for history in law])
    expected = len(seen) * np.array(list(law.values()))
    assert counts.sum() == len(seen) > 1000
    assert expected.min() > 2
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), len(law) - 1)


def histories(log, rows):
    rows = rows[: len(rows) // 2 * 2].reshape(-1, 2)
    parts = [(log.observation[r], log.action[r], log.reward[r]) for r in rows.T]
    return [tuple(map(int, history)) for history in zip(*parts[0], *parts[1], strict=True)]


@pytest.mark.parametrize(("seed", "full", "order"), [(1, True, "episodes"), (2, False, "episodes"), (3, True, "log")])
def test_accepted_rows_are_what_the_learner_would_have_met(seed, full, order):
    log = logged_decisions(seed, full=full)
    run = us.simulate(us.replay(log, order=order), Forgetful(seed), seed=seed)
    assert p_value(histories(log, run.rows), law_of_histories()) > RATE


def test_by_hand_without_a_mistake():
    log = logged_decisions(4)
    assert p_value(histories(log, by_hand(log, Forgetful(4), 4)), law_of_histories()) > RATE


@pytest.mark.parametrize(
    "mistake",
    ["bound of the context", "policy drawn anew, bound of the policy", "training on rejected rows", "plain matching"],
)
def test_each_mistake_is_found(mistake):
    log = logged_decisions(5)
    assert p_value(histories(log, by_hand(log, Forgetful(5), 5, mistake)), law_of_histories()) < RATE


# Episodes of one or two steps: the first observation, then, unless the episode has ended, the second.
START, ENDS = np.array([0.4, 0.6]), np.array([[0.7, 0.2], [0.1, 0.5]])  # ends after the first step, by context, action
SECOND = np.array([[0.2, 0.8], [0.7, 0.3]])  # the second observation, by the first action
LOGGER_OF_EPISODES = np.array([[0.7, 0.3], [0.4, 0.6]])
LEARNED = {None: np.array([[0.5, 0.5], [0.2, 0.8]]), 0: np.array([[0.1, 0.9]] * 2), 1: np.array([[0.6, 0.4]] * 2)}
"""The policy by what was learned, the first action of the episode."""


class LearnsWithinEpisodes:
    """Acts at the second step by what it did at the first, and begins anew with the next episode."""

    def __init__(self):
        self.learned = None

    def policy(self, context):
        return LEARNED[self.learned][int(context)]

    def learn(self, step):
        self.learned = None if step.terminated else int(step.action)


class NeverStepsBack(LearnsWithinEpisodes):
    """Keeps what it learned outside of what is put back."""

    learned = property(lambda self: self.kept[0], lambda self, value: self.kept.__setitem__(0, value))

    def __init__(self):
        self.kept = Kept([None])


class Kept(list):
    """A list that copies share."""

    def __deepcopy__(self, memo):
        return self


def law_of_episodes():
    """The probability of each (context, action, -1, -1) and (context, action, context, action)."""
    law = {}
    for x, a in product(range(2), repeat=2):
        p = START[x] * LEARNED[None][x, a]
        law[x, a, -1, -1] = p * ENDS[x, a]
        for y, b in product(range(2), repeat=2):
            law[x, a, y, b] = p * (1 - ENDS[x, a]) * SECOND[a, y] * LEARNED[a][y, b]
    return law


def logged_episodes(seed, n=EPISODES, full=True):
    rng = np.random.default_rng(seed)
    first = (rng.random(n) < START[1]).astype(int)
    action = (rng.random(n) >= LOGGER_OF_EPISODES[first, 0]).astype(int)
    ended = rng.random(n) < ENDS[first, action]
    second = (rng.random(n) < SECOND[action, 1]).astype(int)
    last = (rng.random(n) >= LOGGER_OF_EPISODES[second, 0]).astype(int)
    kept = np.column_stack([np.ones(n, bool), ~ended]).ravel()
    observation = np.column_stack([first, second]).ravel()[kept]
    actions = np.column_stack([action, last]).ravel()[kept]
    propensity = LOGGER_OF_EPISODES[observation]
    return us.Log.from_columns(
        observation=observation, action=actions, reward=np.zeros(len(actions)),
        terminated=np.column_stack([ended, np.ones(n, bool)]).ravel()[kept],
        propensity=propensity if full else propensity[np.arange(len(actions)), actions],
    )  # fmt: skip


def played(log, run):
    """The accepted episodes."""
    found = []
    for first, last in zip(np.append(0, run.ends[:-1]), run.ends, strict=True):
        rows = run.rows[first:last]
        steps = [(int(log.observation[row]), int(log.action[row])) for row in rows]
        found.append((*steps[0], *(steps[1] if len(steps) > 1 else (-1, -1))))
    return found


@pytest.mark.parametrize(("seed", "full"), [(6, True), (7, False)])
def test_accepted_episodes_are_what_the_learner_would_have_met(seed, full):
    log = logged_episodes(seed, full=full)
    run = us.simulate(us.pers(log), LearnsWithinEpisodes(), seed=seed)
    assert p_value(played(log, run), law_of_episodes()) > RATE


def test_a_learner_that_does_not_step_back_is_found():
    log = logged_episodes(8)
    run = us.simulate(us.pers(log), NeverStepsBack(), seed=8)
    assert p_value(played(log, run), law_of_episodes()) < RATE


@pytest.mark.parametrize(("by_length", "found"), [(False, False), (True, True)])
def test_a_bound_that_depends_on_the_length_of_the_episode_is_found(by_length, found):
    """By hand: LearnsWithinEpisodes needs no state of its own here, as its policy follows from the first action."""
    log, seen, rng = logged_episodes(9), [], np.random.default_rng([9, 1])  # not the log's own numbers
    for first, end in zip(log.starts[:-1], log.starts[1:], strict=True):
        weight, learned = 1.0, None
        for row in range(first, end):
            x, a = int(log.observation[row]), int(log.action[row])
            weight *= LEARNED[learned][x, a] / LOGGER_OF_EPISODES[x, a]
            learned = a
        if rng.random() * (1 / LOGGER_OF_EPISODES.min()) ** (end - first if by_length else 2) < weight:
            steps = [(int(log.observation[row]), int(log.action[row])) for row in range(first, end)]
            seen.append((*steps[0], *(steps[1] if len(steps) > 1 else (-1, -1))))
    assert (p_value(seen, law_of_episodes()) < RATE) == found


# Bounds that are too small, and loggers that could not take every action.


def law_served(logger, policy, bound):
    """The law of (context, action) that is served with a bound, (2, 2), and the mass that acceptance loses."""
    true = 0.5 * policy
    kept = np.minimum(true, 0.5 * bound * logger)
    return kept / kept.sum(), true, 1 - kept.sum()


@pytest.mark.parametrize(
    ("logger", "bound"),
    [
        (LOGGER, 3.0),
        (LOGGER, 1.5),
        (np.array([[1.0, 0.0], [0.5, 0.5]]), 2.0),
        (np.array([[1.0, 0.0], [0.3, 0.7]]), 1.5),
    ],
)
def test_the_bias_that_is_stated_is_at_least_the_one_there_is(logger, bound):
    """delta / (1 - delta) is estimated, delta the lost mass; the total variation is at most delta. Within 5 sd."""
    policy, rng = np.array([[0.4, 0.6], [0.25, 0.75]]), np.random.default_rng(10)
    n = 50_000
    context = rng.integers(0, 2, n)
    action = (rng.random(n) >= logger[context, 0]).astype(int)
    log = us.Log.from_columns(
        observation=context, action=action, reward=np.zeros(n), propensity=logger[context], ends="every-row"
    )
    run = us.simulate(us.replay(log, bound=bound), us.learners.FixedPolicy(policy), seed=10)
    served, true, lost = law_served(logger, policy, bound)
    counts = np.bincount(2 * log.observation[run.rows] + log.action[run.rows], minlength=4)
    assert np.abs(counts / len(run) - served.ravel()).max() < 5 * np.sqrt(0.25 / len(run))
    variation = np.abs(served - true).sum() / 2
    assert 0.01 < variation <= lost
    largest = max(1, 1 / logger[logger > 0].min() / bound)  # what one row adds is at most this
    assert abs(run.stopped.bias - lost / (1 - lost)) < 5 * largest * np.sqrt(lost / len(run))
