"""Rehearsals that share a log: an episode each, no row twice."""

from itertools import pairwise

import numpy as np
import pytest

from understudy.contracts import Exhausted
from understudy.contracts.simulating import start_copies
from understudy.envs import CounterGrid, Grid
from understudy.logs import Log
from understudy.simulators import any_row, exo_psrs, model, psrs, qbe, real, states_only

GRID, COUNTER = Grid(size=3, slip=0.1), CounterGrid(4, size=3)
LOG, CLOCKED = (
    Log.from_columns(**env.rollout(np.full((env.n_observations, 5), 0.2), 60, seed=0)) for env in (GRID, COUNTER)
)
ORACLES = {"split": COUNTER.split, "merge": COUNTER.merge, "reward": COUNTER.reward}
SIMULATORS = {
    "psrs": psrs(LOG), "reserve": psrs(LOG, reserve=True), "rows": psrs(LOG, order="rows"), "qbe": qbe(LOG),
    "states_only": states_only(LOG),
    "any_row": any_row(LOG), "exo_psrs": exo_psrs(CLOCKED, **ORACLES), "model": model(LOG), "real": real(GRID),
}  # fmt: skip


def in_turn(simulator, n, n_turns=10_000):
    """Steps of n rehearsals in turn, each in its own list, until one has no answer."""
    rehearsals = start_copies(simulator, 0, n)
    steps = [[] for _ in rehearsals]
    over = [True] * n
    try:
        for _ in range(n_turns):
            for number, rehearsal in enumerate(rehearsals):
                if over[number]:
                    rehearsal.begin()
                step = rehearsal.step(np.full(5, 0.2))
                steps[number].append((step, over[number]))
                over[number] = step.terminated or step.truncated
    except Exhausted:
        pass
    assert all(len(served) > 20 for served in steps)
    return steps


@pytest.mark.parametrize("name", SIMULATORS)
def test_an_episode_goes_on_from_where_it_is(name):
    for steps in in_turn(SIMULATORS[name], 3, 300):
        for (before, _), (after, begun) in pairwise(steps):
            assert begun or np.all(before.next_observation == after.observation)


@pytest.mark.parametrize("name", ["psrs", "reserve", "rows", "qbe", "states_only", "any_row", "exo_psrs"])
def test_no_row_is_served_twice_between_them(name):
    steps = in_turn(SIMULATORS[name], 4)
    for column in ("row", "emission") if name == "exo_psrs" else ("row",):
        rows = [getattr(step, column) for served in steps for step, _ in served]
        assert len(np.unique(rows)) == len(rows) > 40


@pytest.mark.parametrize("name", ["psrs", "qbe", "states_only", "exo_psrs"])
def test_rows_are_of_the_state_that_the_rehearsal_is_in(name):
    log = SIMULATORS[name].log
    for steps in in_turn(SIMULATORS[name], 3):
        for step, _ in steps:
            seen, logged = np.array([step.observation, log.observation[step.row]])
            assert seen == logged if name != "exo_psrs" else COUNTER.split(seen)[0] == COUNTER.split(logged)[0]


def test_each_rehearsal_counts_its_own_time_limit():
    for steps in in_turn(psrs(LOG, max_episode_steps=5), 3, 100):
        lengths = np.diff(np.flatnonzero([begun for _, begun in steps]))
        assert lengths.max() == 5


def test_one_alone_is_the_rehearsal():
    rows = [step.row for step, _ in in_turn(SIMULATORS["psrs"], 1)[0]]
    rehearsal = SIMULATORS["psrs"].start(0)
    rehearsal.begin()
    for row in rows[:200]:
        step = rehearsal.step(np.full(5, 0.2))
        assert step.row == row
        if step.terminated:
            rehearsal.begin()


def test_no_opening_for_one_is_no_end_for_the_others():
    one, other = start_copies(qbe(LOG.select([0])), 0, 2)
    one.begin()
    with pytest.raises(Exhausted, match="every logged opening"):
        other.begin()
    action = int(LOG.select([0]).action[0])
    assert one.step(np.eye(5)[action]).row == 0
