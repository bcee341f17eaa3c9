"""A rehearsal's manners: bad policies, calls out of turn, and what a step tells."""

import numpy as np
import pytest

from understudy.contracts import Step
from understudy.envs import CounterGrid, Grid
from understudy.errors import PolicyError, UsageError
from understudy.logs import Log
from understudy.simulators import any_row, exo_psrs, model, psrs, qbe, real

BAD = {
    "too short": [0.5, 0.5],
    "too long": [0.2] * 6,
    "a matrix": [[0.2] * 5],
    "a number": 1.0,
    "nothing": [],
    "NaN": [0.25, 0.25, 0.25, 0.25, np.nan],
    "infinite": [np.inf, 0, 0, 0, 0],
    "minus infinite": [-np.inf, 1, 0, 0, 0],
    "negative": [1.2, -0.2, 0, 0, 0],
    "barely negative": [1.0 + 1e-9, -1e-9, 0, 0, 0],
    "too much": [0.2001] * 5,
    "too little": [0.1999] * 5,
    "zeros": [0.0] * 5,
}


def sources():
    grid, counter = Grid(size=3, slip=0.1), CounterGrid(4, size=3)
    log, clocked = (
        Log.from_columns(**env.rollout(np.full((env.n_observations, 5), 0.2), 60, seed=0)) for env in (grid, counter)
    )
    oracles = {"split": counter.split, "merge": counter.merge, "reward": counter.reward}
    return {
        "psrs": psrs(log), "qbe": qbe(log), "any_row": any_row(log), "model": model(log),
        "exo_psrs": exo_psrs(clocked, **oracles), "tables": real(grid), "env": real(HiddenTables(size=3, slip=0.1)),
    }  # fmt: skip


class HiddenTables(Grid):
    """A grid that has to be stepped from Python."""

    tables = property()


SOURCES = sources()
EVENLY = np.full(5, 0.2)


@pytest.fixture(params=SOURCES)
def simulator(request):
    return SOURCES[request.param]


def test_the_env_without_tables_is_stepped_from_python():
    assert type(SOURCES["env"]).__name__ == "RealEnv"
    assert type(SOURCES["tables"]).__name__ == "RealTables"


@pytest.mark.parametrize("fault", BAD)
def test_an_invalid_policy_is_refused_and_the_rehearsal_goes_on_as_before(simulator, fault):
    rehearsal, undisturbed = simulator.start(3), simulator.start(3)
    assert rehearsal.begin() == undisturbed.begin()
    for _ in range(3):
        with pytest.raises(PolicyError, match=r"the policy .* (return|look|probabilities|divide|is no vector)"):
            rehearsal.step(BAD[fault])
        step = rehearsal.step(EVENLY)
        assert step == undisturbed.step(EVENLY)
        if step.terminated or step.truncated:
            break


def test_the_message_shows_the_policy_the_place_and_the_fault():
    rehearsal = SOURCES["psrs"].start(0)
    rehearsal.begin()
    with pytest.raises(PolicyError, match=r"at observation 0 has shape \(2,\), and there are 5 actions"):
        rehearsal.step([0.5, 0.5])
    with pytest.raises(PolicyError, match=r"0\.3 .* at observation 0 sums to 1\.1, not 1"):
        rehearsal.step([0.3, 0.2, 0.2, 0.2, 0.2])


@pytest.mark.parametrize("policy", [[0.2] * 5, tuple([0.2] * 5), np.full(5, 0.2, np.float32), np.full(10, 0.2)[::2]])
def test_a_policy_may_come_in_any_form_and_be_a_little_off(simulator, policy):
    readonly = np.full(5, 0.2 + 1e-6)
    readonly.setflags(write=False)
    one, other = simulator.start(5), simulator.start(5)
    one.begin(), other.begin()
    for given in (policy, readonly, policy):  # a form may change from step to step
        step = one.step(given)
        assert step == other.step(EVENLY)
        if step.terminated:
            one.begin(), other.begin()


def test_step_before_begin_is_refused(simulator):
    rehearsal = simulator.start(0)
    with pytest.raises(UsageError, match="begin"):
        rehearsal.step(EVENLY)
    rehearsal.begin()
    assert isinstance(rehearsal.step(EVENLY), Step)


def test_step_after_the_end_of_an_episode_is_refused(simulator):
    rehearsal = simulator.start(0)
    rehearsal.begin()
    while True:
        step = rehearsal.step(EVENLY)
        if step.terminated or step.truncated:
            break
    with pytest.raises(UsageError, match="begin"):
        rehearsal.step(EVENLY)
    rehearsal.begin()
    assert isinstance(rehearsal.step(EVENLY), Step)


def test_an_episode_goes_on_where_it_was(simulator):
    rehearsal, n = simulator.start(1), 0
    for _ in range(5):
        observation, over = rehearsal.begin(), False
        while not over:
            step, n = rehearsal.step(EVENLY), n + 1
            assert step.observation == observation
            observation, over = step.next_observation, step.terminated or step.truncated
    assert n > 5  # some episodes have a second step


def test_steps_are_plain_values(simulator):
    rehearsal = simulator.start(0)
    rehearsal.begin()
    step = rehearsal.step(EVENLY)
    assert [type(value) for value in (step.action, step.reward, step.terminated, step.truncated, step.row)] == [
        int, float, bool, bool, int,
    ]  # fmt: skip


def test_the_same_seed_gives_the_same_steps_and_another_gives_others(simulator, play):
    one, same, other = (play(simulator, lambda t, x: EVENLY, seed, max_steps=50).steps for seed in (2, 2, 3))
    assert one == same
    assert one != other


def test_where_nothing_ended_the_stop_is_max_steps(simulator):
    rehearsal = simulator.start(0)
    rehearsal.begin()
    rehearsal.step(EVENLY)
    assert rehearsal.stop().cause == "max steps"
    assert rehearsal.stop().counts["steps"] == 1
