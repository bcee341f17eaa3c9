"""The log that a number of steps needs, against logs of that size."""

from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.contracts import LogUse, Stop
from understudy.trust.needed import PreRun, needed_for, summary

ENV = us.envs.Grid(slip=0.1)
LOG = us.record(ENV, episodes=60, seed=3)


def greedy(seed):
    return us.learners.QLearning(25, 5, epsilon=0.1, alpha=0.5, gamma=0.99, seed=seed)


@pytest.mark.parametrize("make_simulator", [us.psrs, us.qbe])
def test_a_log_of_the_needed_size_lasts_so_long_and_one_in_proportion_does_not(make_simulator):
    """A learner that grows greedy uses up some queues sooner and sooner: six times the steps need far more log.

    The median over five logs, of the steps that runs on fresh logs of the needed size reach.
    """
    needed, proportional = [], []
    for number in range(5):
        simulator = make_simulator(us.record(ENV, episodes=60, seed=number))
        target = 6 * us.forecast(simulator, greedy).steps
        episodes = us.forecast(simulator, greedy, steps=target).episodes_needed
        needed.append(reached(make_simulator, episodes, number) / target)
        proportional.append(reached(make_simulator, 6 * 60, number) / target)
    assert 0.8 < np.median(needed) < 1.25
    assert np.median(proportional) < 0.65


def reached(make_simulator, episodes, number):
    """Return the median length of runs on fresh logs of so many episodes."""
    logs = [us.record(ENV, episodes=episodes, seed=100 * (number + 1) + one) for one in range(3)]
    return np.median([len(us.simulate(make_simulator(log), greedy(seed), seed)) for log in logs for seed in range(5)])


def test_steps_that_the_log_can_serve_need_a_part_of_it():
    found = us.forecast(us.psrs(LOG), greedy)
    few = us.forecast(us.psrs(LOG), greedy, steps=found.interval[0] // 2).needed
    assert 0 < few.episodes <= few.episodes_for_most < 60
    assert f"{few.episodes} of its episodes" in str(few)


def test_what_the_log_itself_can_serve_is_found_without_copies_of_it():
    simulator, seeds = us.psrs(LOG), range(5)
    alone = needed_for(100, simulator, greedy, seeds, usual=100)
    copied = needed_for(100, simulator, greedy, seeds, usual=20)
    assert (alone.copies, copied.copies) == (1, 11)
    assert replace(alone, copies=11) == copied


def test_more_steps_need_more_episodes_and_name_what_is_scarce():
    needs = [us.forecast(us.qbe(LOG), greedy, steps=steps).needed for steps in (1000, 2000, 4000)]
    assert needs[0].episodes < needs[1].episodes < needs[2].episodes
    last = needs[-1]
    assert last.rows > last.logged > 0
    rows = (LOG.observation == int(last.what.split("=")[1].split(",")[0])) & (LOG.action == int(last.what[-1]))
    assert rows.sum() == last.logged
    assert f"{last.episodes - 60:,} more episodes like these" in str(last)


def test_compiled_and_plain_loops_need_the_same():
    compiled = us.forecast(us.qbe(LOG), greedy, steps=1500, pre_runs=3).needed

    class Plain(us.learners.QLearning):
        def learn(self, step):
            super().learn(step)

    def plain(seed):
        return Plain(25, 5, epsilon=0.1, alpha=0.5, gamma=0.99, seed=seed)

    assert us.forecast(us.qbe(LOG), plain, steps=1500, pre_runs=3, workers=1).needed == compiled


def test_copies_of_a_log_lack_what_the_log_lacks():
    rows = (LOG.observation != 7) | (LOG.action != 2)
    keep = [episode for episode in range(60) if rows[LOG.starts[episode] : LOG.starts[episode + 1]].all()]
    lacking = LOG.select(keep)
    found = us.forecast(us.qbe(lacking), lambda seed: us.learners.Uniform(5), steps=10**6)
    assert found.episodes_needed is None
    assert "cannot be told from this log" in str(found)
    assert found.needed.what in str(found.needed)


def test_a_learner_that_ends_before_the_steps_is_named():
    def walk(env, seed):
        env.reset()
        for _ in range(20):
            if any(env.step(1)[2:4]):
                env.reset()

    make = us.learners.script(walk)
    with pytest.raises(us.SettingError, match="ends by itself after 20 steps"):
        us.forecast(us.qbe(LOG), make, steps=50, pre_runs=2, workers=1)
    assert us.forecast(us.qbe(LOG), make, steps=20, pre_runs=2, workers=1).episodes_needed <= 60


@pytest.mark.parametrize("make_simulator", [us.any_row, us.actions_only, us.states_only])
def test_baselines_need_log_in_proportion(make_simulator):
    found = us.forecast(make_simulator(LOG), lambda seed: us.learners.Uniform(5), steps=3 * len(LOG), pre_runs=5)
    assert 170 <= found.episodes_needed <= 200


def test_half_of_the_runs_and_nine_of_ten():
    uses = [PreRun(LogUse(n, Stop("no opening"), n, 50), Stop("max steps"), 3) for n in range(1, 20)]
    found = summary(100, uses, log_episodes=5)
    assert (found.episodes, found.episodes_for_most, found.rows, found.logged, found.what) == (
        10,
        18,
        10,
        50,
        "openings",
    )
    stopped = [PreRun(None, Stop("no row"), 9)] * 3
    found = summary(100, [*uses, *stopped], log_episodes=5)
    assert (found.episodes, found.episodes_for_most) == (11, None)
    found = summary(100, [*uses[:2], *stopped], log_episodes=5)
    assert (found.episodes, found.what, found.copies) == (None, "every logged row has been used", 9)
