"""The reserve: its queues by hand, and the law of what is served with it, which ways to get it wrong do not have."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2

from understudy.encoders import Function
from understudy.learners import FixedPolicy
from understudy.logs import Log
from understudy.runs import simulate
from understudy.simulators import psrs
from understudy.simulators.kernels import layout, reserve
from understudy.simulators.kernels.layout import EMPTY
from understudy.simulators.kernels.tape import take

ONE_STATE = Function(lambda x: np.zeros(len(x), int))
EVENLY, LEFT, RIGHT = np.array([0.5, 0.5]), np.array([1.0, 0.0]), np.array([0.0, 1.0])


@pytest.fixture
def source(bandit):
    """Rows 0 to 5 of state 0 with actions 0 0 1 0 1 1, and row 6 of state 1, in log order."""
    log = bandit(np.array([0, 0, 1, 0, 1, 1, 1]), np.full((7, 2), 0.5), np.array([0, 0, 0, 0, 0, 0, 1]))
    rehearsal = psrs(log, reserve=True, order="log").start(0)
    reserve.begin(rehearsal.source)
    yield rehearsal.source
    del rehearsal  # its arrays are used again when it is gone


def row_at(source, position):
    return EMPTY if position == EMPTY else int(source.tape.queued[position]["row"])


def put_aside(source, form, n, state=0):
    for _ in range(n):
        form(reserve.put_aside)(source, state, take(source.tape, state))


# Queues


def test_rows_that_were_put_aside_are_taken_by_action_oldest_first(source, form):
    put_aside(source, form, 4)
    oldest = form(reserve.oldest_reserved)
    assert [row_at(source, oldest(source, 0, action)) for action in (0, 1)] == [0, 2]
    assert [row_at(source, form(reserve.take_reserved)(source, 0, 0)) for _ in range(4)] == [0, 1, 3, EMPTY]
    assert [row_at(source, oldest(source, 0, action)) for action in (0, 1)] == [EMPTY, 2]
    assert oldest(source, 1, 1) == EMPTY


def test_a_reserve_that_was_emptied_can_be_filled_again(source, form):
    put_aside(source, form, 1)
    form(reserve.take_reserved)(source, 0, 0)
    put_aside(source, form, 1)
    assert row_at(source, form(reserve.take_reserved)(source, 0, 0)) == 1


def test_a_used_source_is_rewound_to_a_new_one(source, form):
    put_aside(source, form, 6)
    put_aside(source, form, 1, state=1)
    form(reserve.take_reserved)(source, 0, 0)
    form(reserve.rewind_reserve)(source)
    assert all(form(reserve.oldest_reserved)(source, state, action) == EMPTY for state in (0, 1) for action in (0, 1))
    assert source.cursor[layout.QUEUES_FILLED] == 0
    reserve.begin(source)
    assert row_at(source, take(source.tape, 0)) == 0


def test_the_rows_that_may_come_from_the_reserve_are_listed(bandit, form):
    log = bandit(np.array([0, 0, 1, 0]), np.full((4, 2), 0.5))
    endless = Log.from_columns(**columns(log), terminated=np.array([False, True, False, False]))
    rehearsal = psrs(endless, reserve=True, order="log").start(0)
    source = rehearsal.source
    put_aside(source, form, 4)
    slot, rows = np.array([0, 0, 0, 5]), np.empty(9, np.int64)

    def listed(*needed, base=9):
        return rows[: form(reserve.next_reserved)(source, np.array(needed), slot, base, rows)].tolist()

    assert listed(9, 9) == [0, 3, 2]  # row 1 is terminal
    assert listed(9, 9, base=5) == [0, 2]  # the policy after row 3 is known
    assert listed(1, 9) == [0, 2]
    assert listed(2, 0) == [0]


def columns(log):
    names = ("observation", "action", "reward", "next_observation", "episode", "propensity")
    return {name: getattr(log, name) for name in names}


# Steps


def test_for_one_hot_policies_every_row_of_an_action_is_served_in_its_order(bandit, play):
    # as in QBE: nothing is lost when the policy changes; without a reserve rows are
    rng = np.random.default_rng(0)
    action = rng.integers(2, size=60)
    log, swings = bandit(action, np.full((60, 2), 0.5)), [LEFT, RIGHT]
    kept = play(psrs(log, order="log", reserve=True), lambda t, x: swings[t % 2], 0)
    served = {a: [row for row in kept.rows if action[row] == a] for a in (0, 1)}
    for a in (0, 1):
        assert served[a] == np.flatnonzero(action == a)[: len(served[a])].tolist()
    fewest = min(np.bincount(action))
    assert len(kept.rows) in (2 * fewest, 2 * fewest + 1)
    assert len(play(psrs(log, order="log"), lambda t, x: swings[t % 2], 0).rows) < len(kept.rows) - 10


def test_under_the_logging_policy_the_log_is_served_word_for_word(random_log, play):
    log = random_log(3, zeros=False)
    simulator = psrs(log, ONE_STATE, order="log", max_episode_steps=None, reserve=True)
    assert play(simulator, lambda t, x: log.propensity[t], 0, len(log)).rows == list(range(len(log)))


def test_a_stop_names_the_action_that_has_no_row_left(bandit, play):
    log = bandit(np.array([0, 0, 0, 1]), np.full((4, 3), 1 / 3))
    stop = play(psrs(log, reserve=True), lambda t, x: [0.0, 0.0, 1.0], 0).stop
    assert (stop.cause, stop.state, stop.action) == ("queue empty for action", 0, 2)
    assert stop.counts["rows taken"] == 4
    assert str(stop) == "observation=0 has no row left with action=2 after 0 steps"


def test_a_row_whose_logger_lacked_an_action_is_passed_over_counted_and_kept(bandit, play):
    log = bandit(np.array([0, 1, 0, 1]), np.array([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]))
    trace = play(psrs(log, reserve=True, order="log"), lambda t, x: EVENLY, 0)
    # rows 0 and 2 are put aside; with row 1 or 3 at hand both actions have a row, and the two stand for a fair draw
    assert trace.stop.counts["rows passed over"] >= 1
    assert 0 in trace.rows
    assert len(set(trace.rows)) == len(trace.rows)
    assert len(play(psrs(log, order="log"), lambda t, x: EVENLY, 0).rows) == 1  # row 1 alone has both


# The law

SWINGING = np.array([[1.0, 0.0], [0.2, 0.8]])
DESIGNS = {  # policies, which take turns; propensities, one of which each row has; rows of a log
    "two rows": (SWINGING, np.array([[0.6, 0.4], [0.4, 0.6]]), 2),
    "twelve rows": (SWINGING, np.array([[0.6, 0.4], [0.4, 0.6]]), 12),
    "three actions": (np.array([[0.9, 0.05, 0.05], [0.2, 0.6, 0.2]]), np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]), 6),
}
ALPHA = 1e-4
FAST, SLOW = 3000, pytest.param(20_000, marks=pytest.mark.slow)


def tail_of(counts, law):
    """The chance of counts as far off as these: chi-square over cells, each a Counter of what its `law` is of."""
    statistic, freedom = 0.0, 0
    for cell, count in counts.items():
        p, n = law(cell), sum(count.values())
        possible = p > 0
        seen = np.array([count[outcome] for outcome in range(len(p))])
        assert not seen[~possible].any()
        if n >= 50:
            statistic += np.sum((seen - n * p)[possible] ** 2 / (n * p[possible]))
            freedom += possible.sum() - 1
    assert freedom
    return chi2.sf(statistic, freedom)


def tail_of_actions(design, runs, rows_of, bandit, seed=0):
    """Given that a step is served its action has law pi, whatever went before: cells are step and action before.

    Each run has a log of its own, of one state, in log order; observations say whose turn it is.
    """
    policies, loggers, n = DESIGNS[design]
    rng, counts = np.random.default_rng(seed), {}
    for number in range(runs):
        p = loggers[rng.integers(len(loggers), size=n)]
        action = (p.cumsum(axis=1) <= rng.random((n, 1))).sum(axis=1)
        served = action[rows_of(bandit(action, p, np.arange(n) % len(policies)), policies, number)].tolist()
        for t, (before, now) in enumerate(pairwise([-1, *served])):
            counts.setdefault((t, before), Counter())[now] += 1
    return tail_of(counts, lambda cell: policies[cell[0] % len(policies)])


def rows_of_reserve(log, policies, seed, max_steps=None, order="log"):
    simulator = psrs(log, ONE_STATE, reserve=True, order=order, max_episode_steps=None)
    return simulate(simulator, FixedPolicy(policies), seed, max_steps).rows


@pytest.mark.parametrize("runs", [FAST, SLOW])
@pytest.mark.parametrize("design", DESIGNS)
def test_served_actions_have_the_law_of_the_policy_on_short_queues(design, runs, bandit):
    # false alarm ALPHA
    assert tail_of_actions(design, runs, rows_of_reserve, bandit) > ALPHA


@pytest.mark.parametrize(
    ("wrong", "design"),
    [("coin first", "two rows"), ("stop after the coin", "three actions"), ("whole bound", "twelve rows")],
)
def test_the_same_test_finds_a_wrong_reserve(wrong, design, bandit, reference):
    def rows_of(log, policies, seed):
        nowhere = np.zeros(len(log), int)
        rehearsal = reference("psrs", log, nowhere, nowhere, seed, order="log", reserve=wrong)
        return rehearsal.run(lambda t, x: policies[x])[0]

    assert tail_of_actions(design, FAST, rows_of, bandit) < ALPHA


SEEING = np.array([[0.9, 0.1], [0.1, 0.9]])
ACTING = np.array([[0.8, 0.2], [0.2, 0.8]])


def tail_of_outcomes(runs, rows_of, steps=8, n=80, seed=0):
    """Outcomes are fair draws whatever went before: cells are the step, its action, and the outcome before.

    The log is one episode in one state of two observations, each next one a fair draw; the logger acts by what it sees.
    """
    rng, counts = np.random.default_rng(seed), {}
    for number in range(runs):
        x = rng.integers(2, size=n + 1)
        p = SEEING[x[:-1]]
        log = Log.from_columns(
            observation=x[:-1], next_observation=x[1:], action=(rng.random(n) > p[:, 0]).astype(int),
            reward=np.zeros(n), truncated=np.arange(n) == n - 1, propensity=p,
        )  # fmt: skip
        rows = rows_of(log, ACTING, number, steps)
        assert len(rows) == steps
        outcomes = log.next_observation[rows].tolist()
        for t, (before, now) in enumerate(pairwise([-1, *outcomes])):
            counts.setdefault((t, int(log.action[rows[t]]), before), Counter())[now] += 1
    return tail_of(counts, lambda cell: np.array([0.5, 0.5]))


@pytest.mark.parametrize("runs", [FAST, SLOW])
def test_outcomes_of_the_reserve_are_as_fresh_as_any(runs):
    # false alarm ALPHA
    assert tail_of_outcomes(runs, lambda *asked: rows_of_reserve(*asked, order="episodes")) > ALPHA


@pytest.mark.parametrize("wrong", ["newest first", "accepted row first"])
def test_the_same_test_finds_a_reserve_that_does_not_serve_its_oldest_row(wrong, reference):
    # which row comes next with an action tells what those before it led to, where the logger acts by what it sees
    def rows_of(log, policies, seed, steps):
        nowhere = np.zeros(len(log), int)
        return reference("psrs", log, nowhere, nowhere, seed, reserve=wrong).run(lambda t, x: policies[x], steps)[0]

    assert tail_of_outcomes(FAST, rows_of) < ALPHA
