"""What is recorded of a run, step by step and by the compiled loop."""

import numpy as np
import pytest

from understudy.contracts import Step, Stop
from understudy.errors import SettingError
from understudy.runs import probes
from understudy.runs.probes import Readings
from understudy.runs.record import BEGUN, EPISODES, ROOM, STEPS, RunRecord
from understudy.simulators import psrs, qbe, real


class Bare:
    """A simulator of promises only: it has neither a log nor a number of states."""

    def start(self, seed):
        raise NotImplementedError


def step(row=0, reward=1.0, terminated=False):
    return Step(0, 0, reward, 0, terminated, False, row=row)


def record_of(simulator=None, measured=None, every=2, **options):
    return RunRecord(simulator or Bare(), Readings(measured or {}, every, **options), 3)


def test_rows_episodes_and_returns_are_kept_in_order():
    record = record_of()
    for opening, rewards in ((5, [1.0, 2.0]), (6, [4.0])):
        record.begin(opening)
        for number, reward in enumerate(rewards):
            record.add(step(10 * opening + number, reward, number == len(rewards) - 1))
    record.begin(7)
    record.add(step(70, 8.0))
    run = record.finish(None, Stop("no row"))
    assert run.rows.tolist() == [50, 51, 60, 70]
    assert run.openings.tolist() == [5, 6, 7]
    assert (run.ends.tolist(), run.returns.tolist(), run.partial) == ([2, 3], [3.0, 4.0], 8.0)
    assert (run.seed, run.stopped, run.emissions) == (3, Stop("no row"), None)


def test_an_episode_that_is_taken_back_leaves_no_step_and_no_reading():
    read = []
    measured = {"count": lambda learner: len(learner), "returns": probes.episode_returns}
    record = record_of(measured=measured, every=2)

    def play(opening, rewards, finished):
        record.begin(opening)
        for number, reward in enumerate(rewards):
            read.append(reward)
            record.add(step(10 * opening + number, reward, finished and number == len(rewards) - 1))
            record.read_probes(read)

    play(1, [1.0, 2.0, 3.0], finished=True)
    n_read = len(read)
    play(2, [9.0] * 5, finished=False)
    assert record.partial == 45.0
    record.take_back()
    del read[n_read:]
    assert record.partial is None
    play(3, [4.0], finished=True)
    run = record.finish(read, Stop("used up"))
    assert (run.rows.tolist(), run.openings.tolist()) == ([10, 11, 12, 30], [1, 3])
    assert (run.ends.tolist(), run.returns.tolist()) == ([3, 4], [6.0, 4.0])
    assert run.steps.tolist() == [2, 4]
    assert run.curves["count"].tolist() == [2, 4]
    assert run.curves["returns"][1] == 5.0  # of both episodes: at the reading that is left, none was finished


def test_an_abandoned_episode_is_no_longer_under_way():
    record = record_of()
    record.begin(0)
    record.add(step(reward=5.0))
    record.abandon()
    assert record.partial is None
    record.abandon()  # none is under way
    record.begin(1)
    record.add(step(reward=1.0, terminated=True))
    run = record.finish(None, Stop("max steps"))
    assert (run.partial, run.returns.tolist(), run.ends.tolist()) == (None, [1.0], [2])


def test_the_compiled_loop_abandons_an_episode_once(log):
    record = record_of(psrs(log))
    arrays = record.arrays
    arrays.tally[STEPS], arrays.tally[EPISODES], arrays.tally[BEGUN], arrays.earned[0] = 7, 2, 3, 1.5
    record.count()
    record.abandon()
    assert record.partial is None
    arrays.tally[STEPS], arrays.tally[EPISODES], arrays.tally[BEGUN] = 9, 3, 4
    record.count()
    assert record.partial is None
    arrays.tally[BEGUN] = 5
    record.count()
    assert record.partial == 0.0


def test_episodes_of_copies_interleave():
    record = record_of()
    record.begin(0, copy=0)
    record.begin(1, copy=1)
    record.add(step(reward=1.0), copy=0)
    record.add(step(reward=2.0, terminated=True), copy=1)
    assert record.partial == 1.0
    record.add(step(reward=4.0, terminated=True), copy=0)
    assert record.partial is None
    assert record.returns.tolist() == [2.0, 5.0]


def test_a_new_episode_in_mid_episode_starts_from_zero():
    record = record_of()
    record.begin(0)
    record.add(step(reward=5.0))
    record.begin(1)
    record.add(step(reward=1.0, terminated=True))
    assert record.returns.tolist() == [1.0]


def test_there_is_room_for_any_number_of_steps_and_episodes():
    record = record_of()
    n = 2 * ROOM + 1
    for row in range(n):
        record.begin(row)
        record.add(step(row, float(row), terminated=True))
    run = record.finish(None, Stop("max steps"))
    assert run.rows.tolist() == run.openings.tolist() == run.returns.tolist() == list(range(n))
    assert run.ends.tolist() == list(range(1, n + 1))


def test_what_the_compiled_loop_counted_is_taken_over(log):
    record = record_of(psrs(log))
    arrays = record.arrays
    arrays.tally[STEPS], arrays.tally[EPISODES], arrays.tally[BEGUN], arrays.earned[0] = 7, 2, 3, 1.5
    assert not record.count()
    assert (record.n_steps, record.n_finished, record.n_begun, record.partial) == (7, 2, 3, 1.5)
    arrays.tally[EPISODES] = 3
    record.count()
    assert record.partial is None
    arrays.tally[BEGUN] = len(arrays.openings)
    assert record.count()
    assert len(record.arrays.openings) == len(record.arrays.ends) == 2 * len(arrays.openings)


def test_probes_are_read_when_they_are_due():
    record = record_of(measured={"steps": lambda learner: learner["steps"]}, every=2)
    record.begin(0)
    for n in range(1, 6):
        record.add(step())
        record.read_probes({"steps": n})
    run = record.finish({"steps": 9}, Stop("max steps"))
    assert (run.steps.tolist(), run.curves["steps"].tolist(), run.final["steps"]) == ([2, 4], [2.0, 4.0], 9.0)


def test_without_keep_rows_only_their_number_is_kept():
    record = record_of(keep_rows=False)
    record.begin(0)
    for _ in range(3):
        record.add(step())
    run = record.finish(None, Stop("max steps"))
    assert (len(run), len(run.openings), run.has_rows, len(record.arrays.rows)) == (3, 1, False, 0)


def test_a_true_environment_serves_no_rows(grid):
    record = record_of(real(grid))
    record.begin(-1)
    record.add(step(-1))
    assert len(record.arrays.rows) == 0
    assert record.finish(None, Stop("max steps")).rows.tolist() == [-1]


def test_visits_are_counted_where_a_probe_needs_them(log):
    record = record_of(psrs(log), {"v": probes.visitation})
    record.begin(0)
    for state in (3, 3, 1):
        record.add(step(), state)
    assert record.arrays.visits[[1, 3]].tolist() == [1, 2]
    assert len(record_of(psrs(log)).arrays.visits) == 0
    with pytest.raises(SettingError, match="does not know its number of states"):
        record_of(Bare(), {"v": probes.visitation})


def test_rows_that_do_not_fit_into_memory_are_refused():
    with pytest.raises(SettingError, match="do not fit into memory"):
        RunRecord(Bare(), Readings({}, 2), 0, 2**62)
    assert len(RunRecord(Bare(), Readings({}, 2, keep_rows=False), 0, 2**62).arrays.rows) == 0


def test_on_a_ladder_a_byte_a_step_is_kept_without_rows_too(log):
    ladder, readings = qbe(log, then="reuse", audit=False), Readings({}, 2, keep_rows=False)
    arrays = RunRecord(ladder, readings, 0, 1_000).arrays
    assert (arrays.rungs.nbytes, arrays.rows.nbytes) == (1_000, 0)
    with pytest.raises(SettingError, match=r"the rungs of .* do not fit into memory; give a smaller max_steps=$"):
        RunRecord(ladder, readings, 0, 2**62)


def test_a_log_that_runs_out_bounds_what_there_is_room_for(log):
    arrays = record_of(psrs(log)).arrays
    assert (len(arrays.rows), len(arrays.openings)) == (len(log), log.n_episodes + 1)
    np.testing.assert_array_equal(arrays.tally, 0)


def test_emissions_find_room_where_no_rows_are_served():
    class Emits(Bare):
        serves_rows, serves_emissions = False, True

    record = record_of(Emits())
    record.begin(-1)
    for number in range(ROOM + 3):
        record.add(step()._replace(emission=number))
    run = record.finish(None, Stop("max steps"))
    np.testing.assert_array_equal(run.emissions, np.arange(ROOM + 3))
    assert set(run.rows.tolist()) == {-1}
