import numpy as np
import pytest

import understudy as us
from benchmarks.beyond.problems import PANEL, PROBE, WINDOWS
from benchmarks.beyond.relaxed import NONE, RELAXATIONS, queues_of, relaxed_curves, rows_of, take
from understudy.contracts.streams import streams_of

Z = 3.9  # |z| above it has a probability of 1e-4


@pytest.mark.parametrize("relaxation", RELAXATIONS)
def test_they_are_exact_as_long_as_own_rows_last(relaxation):
    """Windows of 100 steps of 300 runs on one log, on which QBE lasts about 1,200 steps; an error rate of 1e-4 each."""
    problem = PANEL["slip grid"]
    log = problem.log(2, 0)
    curves, lengths = relaxed_curves(problem, log, relaxation, 300, 1, 100, WINDOWS)
    assert (lengths == 800).all()
    exact = us.experiment(
        us.qbe(log), problem.make, runs=300, seed=2, **problem.reading(2) | {"max_steps": 800, "every": 100}
    ).curve(PROBE)[1]
    for window in (1, 3):
        a, b = (found[:, window][np.isfinite(found[:, window])] for found in (curves, exact))
        assert min(len(a), len(b)) > 200
        assert abs(a.mean() - b.mean()) < Z * np.sqrt(a.var() / len(a) + b.var() / len(b))


def walked(relaxation, log, world, n=3_000):
    """Rows that are served to a uniform policy, one after another, until there is none."""
    rows, streams, rng = rows_of(log, world), streams_of(1), np.random.default_rng(2)
    queues, served = queues_of(log, rows, world.n_actions, 0), []
    state, place = rows.opening_state[0], rows.opening[0]
    for _ in range(n):
        row = take(rows, queues, state, rng.integers(world.n_actions), place, RELAXATIONS[relaxation], streams)
        if row == NONE:
            break
        served.append(int(row))
        over = rows.terminated[row]
        state = rows.opening_state[0] if over else rows.next_state[row]
        place = rows.opening[0] if over else rows.there[row]
    return np.array(served), queues


@pytest.mark.parametrize("relaxation", ["nearest", "any"])
def test_only_reuse_serves_a_row_twice(relaxation):
    problem = PANEL["inventory"]
    log = problem.log(0, 0)
    served, queues = walked(relaxation, log, problem.world)
    assert len(served) > 0.7 * len(log)
    assert len(np.unique(served)) == len(served) == queues.used.sum() == queues.taken.sum()


def test_reuse_stays_with_the_own_state_and_action():
    problem = PANEL["FrozenLake"]
    log = problem.log(0, 0)
    served, _ = walked("reuse", log, problem.world)
    assert len(served) == 3_000 > len(np.unique(served))
    goes_on = ~log.terminated[served[:-1]]
    here, there = log.observation[served[1:]], log.next_observation[served[:-1]]
    assert (here == there)[goes_on].all()


@pytest.mark.parametrize("name", ["navigation", "CartPole"])
def test_the_nearest_row_is_the_nearest(name):
    """Found as by looking at all states, also when many of them have no row left."""
    problem, rng = PANEL[name], np.random.default_rng(1)
    log, n_actions = problem.log(0, 0), problem.world.n_actions
    rows = rows_of(log, problem.world)
    queues = queues_of(log, rows, n_actions, 0)
    for _ in range(200):
        place = rows.there[rng.integers(len(log))] + 0.001
        action = int(rng.integers(n_actions))
        left = np.diff(queues.first)[action::n_actions] > queues.taken[action::n_actions]
        distance = np.where(left, ((rows.middle - place) ** 2).sum(axis=1), np.inf)
        row = take(rows, queues, NONE, action, place, RELAXATIONS["nearest"], streams_of(0))
        assert log.action[row] == action
        assert distance[rows.state[row]] == distance.min()
        queues.taken[rng.integers(len(queues.taken))] += 10**6  # no row is left there


def test_reuse_flatters_on_the_lake_and_any_row_does_not_learn():
    """What exactness.md measured: with 200 episodes, reuse earns too much by more than a third of the true range."""
    problem = PANEL["FrozenLake"]
    truth = problem.true_curves(2, 200).mean(axis=0)
    log = problem.log(0, 0)
    reuse, _ = relaxed_curves(problem, log, "reuse", 60, 1, problem.window(2), WINDOWS)
    assert (reuse.mean(axis=0) - truth)[3] > np.ptp(truth) / 3
    large, lengths = relaxed_curves(problem, problem.log(2, 0), "any", 60, 1, problem.window(2), WINDOWS)
    assert lengths.min() > 4 * problem.window(2)
    assert (large[:, :4].mean(axis=0) - truth[:4])[3] < -np.ptp(truth) / 3
