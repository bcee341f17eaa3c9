"""Bandit learners meet on a log the histories they would have met in the real world: exact laws of three steps.

Two contexts, two actions, rewards 0 or 1, and a logger that prefers other actions in each context: 512 histories. 1,500
runs on logs of their own are compared with 1,500 real ones, by a chi-square test with a false alarm of 1e-4 each. The
same test finds `states_only`, which serves the logger's actions whatever the learner does.

A second problem has a logger that learns: logs of two rows, the second of which follows what the first one earned. The
law of the one step that is served is known exactly, and compared with by chi-square at the same rate. What lets a row's
chance depend on what happened in others is found: PSRS in another order than the log's, and a bound found in the log.
"""

from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

import understudy as us

REWARD, LOGGER, SECOND = np.array([[0.2, 0.7], [0.8, 0.3]]), np.array([[0.25, 0.75], [0.6, 0.4]]), 0.7
RUNS, STEPS, ROWS, FEWEST = 1500, 3, 300, 20
LEARNERS = {
    "thompson": lambda seed: us.learners.Thompson(2, n_observations=2, seed=seed),
    "thompson that ignores contexts": lambda seed: us.learners.Thompson(2, seed=seed),
    "ucb1": lambda seed: us.learners.UCB1(2, n_observations=2, seed=seed),
    "exp3": lambda seed: us.learners.Exp3(2, n_observations=2, epsilon=0.9, seed=seed),
    "linear thompson": lambda seed: us.learners.LinearThompson(1, 2, seed=seed),
}


@cache  # making logs takes longer than running on them
def recorded(seed):
    rng = np.random.default_rng([1, seed])
    x = (rng.random(ROWS) < SECOND).astype(int)
    action = (rng.random(ROWS) < LOGGER[x, 1]).astype(int)
    reward = rng.random(ROWS) < REWARD[x, action]
    return us.Log.from_columns(observation=x, action=action, reward=reward, propensity=LOGGER[x], ends="every-row")


def history(contexts, actions, rewards):
    """The number of a history: contexts, actions and rewards as binary digits."""
    return int("".join(f"{x}{a}{int(r)}" for x, a, r in zip(contexts, actions, rewards, strict=True)), 2)


def simulated(make, simulator):
    """Histories of runs on logs of their own, long enough for all of them to have an answer for three steps."""
    for seed in range(RUNS):
        log = recorded(seed)
        rows = us.simulate(simulator(log), make(seed), seed, STEPS).rows
        assert len(rows) == STEPS
        yield history(log.observation[rows], log.action[rows], log.reward[rows])


def real(make):
    for seed in range(RUNS):
        rng, learner, steps = np.random.default_rng([2, seed]), make(10**6 + seed), []
        for _ in range(STEPS):
            x = int(rng.random() < SECOND)
            action = int(rng.random() < learner.policy(x)[1])
            steps.append((x, action, float(rng.random() < REWARD[x, action])))
            learner.learn(us.Step(x, *steps[-1][1:], x, True, False))
        yield history(*zip(*steps, strict=True))


def p_value(one, other):
    counts = np.array([np.bincount(list(histories), minlength=8**STEPS) for histories in (one, other)])
    rare = counts.sum(axis=0) < FEWEST
    table = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    return chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


@pytest.mark.parametrize("name", LEARNERS)
def test_histories_have_the_law_of_real_ones(name):
    truth = list(real(LEARNERS[name]))
    assert p_value(simulated(LEARNERS[name], us.psrs), truth) > 1e-4
    assert p_value(simulated(LEARNERS[name], us.replay), truth) > 1e-4


def test_a_simulator_that_ignores_the_policy_is_found():
    assert p_value(simulated(LEARNERS["ucb1"], us.states_only), real(LEARNERS["ucb1"])) < 1e-4


# A logger that learns: even at first, then it repeats what earned something with probability .9.
EARNS, REPEATED, LOGS = np.array([0.4, 0.6]), 0.9, 2000


@cache
def logged_by_a_learner(seed):
    """A log of two decisions, with the propensities of all actions."""
    rng, even = np.random.default_rng([3, seed]), np.full(2, 0.5)
    first = int(rng.integers(2))
    earned = rng.random() < EARNS[first]
    propensity = np.where(np.arange(2) == first, REPEATED, 1 - REPEATED) if earned else even
    second = int(rng.random() < propensity[1])
    return us.Log.from_columns(
        observation=[0, 0], action=[first, second], reward=[earned, rng.random() < EARNS[second]],
        propensity=[even, propensity], ends="every-row",
    )  # fmt: skip


def p_value_of_one_step(simulator):
    """The p-value of the first step that is served, against its law: an even action, and what it earns."""
    counts = np.zeros((2, 2))
    for seed in range(LOGS):
        log = logged_by_a_learner(seed)
        for row in us.simulate(simulator(log), us.learners.FixedPolicy([[0.5, 0.5]]), seed, 1).rows:
            counts[log.action[row], int(log.reward[row])] += 1
    assert counts.sum() > 300
    return chisquare(counts.ravel(), counts.sum() * 0.5 * np.column_stack([1 - EARNS, EARNS]).ravel()).pvalue


@pytest.mark.parametrize("order", ["log", "episodes"])
def test_replay_is_right_where_the_logger_learned_if_its_bound_is_given(order):
    assert p_value_of_one_step(lambda log: us.replay(log, bound=1 / (1 - REPEATED), order=order)) > 1e-4


@pytest.mark.parametrize("order", ["log", "episodes"])
def test_a_bound_found_in_the_log_of_a_logger_that_learned_is_found(order):
    """In logs of two rows: the smallest propensity tells what the first one earned. In long ones it hardly does."""
    assert p_value_of_one_step(lambda log: us.replay(log, order=order)) < 1e-4


@pytest.mark.parametrize(("order", "found"), [("log", False), ("episodes", True)])
def test_psrs_needs_the_order_of_the_log_where_the_logger_learned(order, found):
    assert (p_value_of_one_step(lambda log: us.psrs(log, order=order)) < 1e-4) == found
