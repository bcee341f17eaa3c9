"""Whole episodes as kernels offer them, against a few lines of Python that draw the same numbers."""

import numpy as np
import pytest

from understudy.contracts import Exhausted
from understudy.contracts.streams import ACCEPTANCE, ORDER, Stream
from understudy.logs import Log
from understudy.simulators import pers, replay
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.whole_episodes import BOUND, LOST, begin, step


def offered(log, policy_at, seed, bound, order):
    """The rows that are accepted, one episode after another, with one uniform number for each."""
    orders, uniforms = Stream(seed, ORDER), Stream(seed, ACCEPTANCE)
    episodes, rows = list(range(log.n_episodes)), []
    blocks = np.append(np.flatnonzero(log.unfinished), log.n_episodes)
    for position in range(log.n_episodes):
        end = blocks[np.searchsorted(blocks, position)]
        if order == "episodes" and position < end:
            other = position + orders.below(end - position)
            episodes[position], episodes[other] = episodes[other], episodes[position]
        episode = episodes[position]
        own = range(log.starts[episode], log.starts[episode + 1])
        weight = np.prod([policy_at(log.observation[r])[log.action[r]] / log.propensity[r, log.action[r]] for r in own])
        if uniforms.uniform() * bound < weight:
            rows.extend(own)
            if log.unfinished[episode]:
                break
    return rows


def played(simulator, policy_at, seed):
    """The rows that are accepted, by the rehearsal, and its stop."""
    rehearsal, rows = simulator.start(seed), []
    try:
        while True:
            observation, own, over = rehearsal.begin(), [], False
            while not over:
                found = rehearsal.step(policy_at(observation))
                if found is None:
                    own = []
                    break
                own.append(found.row)
                observation, over = found.next_observation, found.terminated or found.truncated
            rows.extend(own)
    except Exhausted as exhausted:
        return rows + own * (exhausted.stop.cause == "cut off"), exhausted.stop


@pytest.mark.parametrize("order", ["episodes", "log"])
@pytest.mark.parametrize("zeros", [False, True])
def test_accepted_episodes_are_those_of_a_few_lines_of_python(order, zeros, random_log):
    rng, causes, n_rows = np.random.default_rng(0), set(), 0
    for seed in range(40):
        log = random_log(seed, episodes=60, zeros=zeros)
        table = rng.dirichlet(np.ones(3), 8)
        bound = 3.0  # far below the largest product of ratios: some episodes are accepted for sure
        found, stop = played(pers(log, bound=bound, order=order), table.__getitem__, seed)
        assert found == offered(log, table.__getitem__, seed, bound, order)
        assert stop.counts["steps"] == len(found)
        n_rows += len(found)
        causes.add(stop.cause)
    assert n_rows > 200
    assert causes == {"used up", "cut off"}


def decisions(n=50, propensity=0.5):
    action = np.arange(n) % 2
    return Log.from_columns(
        observation=np.arange(n), action=action, reward=action, propensity=np.full(n, propensity), ends="every-row"
    )


def test_both_forms_of_the_kernel_do_the_same(form):
    source = replay(decisions()).start(3).source
    policy, rows = np.array([0.25, 0.75]), []
    while True:
        opening = form(begin)(source)
        if source.cursor[layout.CAUSE]:
            break
        assert source.cursor[layout.CANDIDATE_ROW] == opening
        outcome = form(step)(source, policy)
        assert outcome.row in (opening, layout.PASSED_OVER)
        assert source.cursor[layout.EPISODE_OVER] == 1
        rows.append(outcome.row)
    compiled = played(replay(decisions()), lambda _: policy, 3)[0]
    assert [row for row in rows if row >= 0] == compiled
    assert 10 < len(compiled) < 40


def test_a_row_that_cannot_be_accepted_is_not_offered():
    """With a bound of 8 and a propensity of one half, three numbers of four are too large for any policy."""
    asked = []

    def policy_at(observation):
        asked.append(observation)
        return np.array([0.5, 0.5])

    rows, stop = played(replay(decisions(400), bound=8), policy_at, 0)
    assert 60 < len(asked) < 140
    assert len(rows) < len(asked)
    assert stop.counts["episodes offered"] == 400


def test_a_running_bound_is_the_largest_before_the_row():
    propensity = np.where(np.arange(6) < 2, 0.5, 0.05)  # below, rows that cannot be accepted are left out
    log = Log.from_columns(
        observation=np.arange(6), action=np.zeros(6, int), reward=np.zeros(6), propensity=propensity, n_actions=2,
        ends="every-row",
    )  # fmt: skip
    source = replay(log, bound="running", order="log").start(0).source
    bounds = []
    for _ in range(6):
        begin(source)
        bounds.append(source.weights[BOUND])
        step(source, np.array([1.0, 0.0]))
    assert bounds == pytest.approx([2, 2, 2, 20, 20, 20])
    assert source.cursor[layout.BOUNDS_EXCEEDED] == 1
    assert source.weights[LOST] == pytest.approx(20 / 2 - 1)


def test_policies_are_scaled_by_their_sum():
    log, policy = decisions(2000), np.array([0.3, 0.7])
    exact, scaled = (played(replay(log), lambda _, p=p: p, 1)[0] for p in (policy, policy * (1 + 9e-6)))
    assert exact == scaled
