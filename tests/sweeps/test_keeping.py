"""Runs are kept together, in time, once, and what is reported is kept."""

import pytest

from understudy.errors import RunError
from understudy.runs.failures import FailedRun
from understudy.sweeps import keeping
from understudy.sweeps.folder import SweepFolder
from understudy.sweeps.keeping import Keeper, failures_in_words
from understudy.sweeps.making import Group
from understudy.sweeps.names import Combination
from understudy.sweeps.run_tables import failures_table, schema_of

ONE, TWO = (Combination(name, "psrs", "identity", "may") for name in ("one", "two"))


def group(*numbers, failed=()):
    """A group with rows of runs that say nothing but their numbers."""
    made = tuple((number,) for number in (*numbers, *failed))
    rows = failures_table([FailedRun(number, 0, "") for number in numbers])
    reasons = tuple(FailedRun(number, 0, "no") for number in failed)
    return Group(0, made, rows, schema_of("curves").empty_table(), reasons)


@pytest.fixture
def folder(tmp_path):
    return SweepFolder(tmp_path)


def test_runs_are_gathered_and_reported_when_they_are_kept(folder, monkeypatch):
    monkeypatch.setattr(keeping, "KEPT_EVERY", 1000.0)
    reported = []
    keeper = Keeper(folder, reported.append, 10, raises=False)
    for first in range(0, 9, 3):
        keeper.add(ONE, group(first, first + 1, first + 2))
    keeper.add(TWO, group(0))
    assert reported == folder.files("runs") == []
    keeper.close()
    assert reported == [20]
    assert (folder.finished(ONE), folder.finished(TWO)) == (set(range(9)), {0})
    assert len(folder.files("runs")) == 2
    keeper.close()
    assert len(folder.files("runs")) == 2


def test_runs_are_kept_when_it_is_time_or_there_are_many(folder, monkeypatch):
    monkeypatch.setattr(keeping, "KEPT_EVERY", -1.0)
    keeper = Keeper(folder, lambda done: None, 0, raises=False)
    keeper.add(ONE, group(0))
    assert folder.finished(ONE) == {0}
    monkeypatch.setattr(keeping, "KEPT_EVERY", 1000.0)
    monkeypatch.setattr(keeping, "MOST_ROWS", -1)
    keeper.add(ONE, group(1))
    assert folder.finished(ONE) == {0, 1}


def test_a_run_that_failed_before_is_failed_once_or_made(folder):
    folder.write_failures(ONE, failures_table([FailedRun(number, 0, "before") for number in (1, 2, 3)]))
    keeper = Keeper(folder, lambda done: None, 0, raises=False)
    keeper.add(ONE, group(0, 1, failed=(2,)))
    keeper.close()
    assert folder.finished(ONE) == {0, 1}
    assert sorted(folder._numbers(folder._files("runs", ONE, "failed"))) == [2, 3]


def test_runs_that_could_not_begin_are_failed_with_their_seeds(folder):
    keeper = Keeper(folder, lambda done: None, 0, raises=False)
    keeper.fail({ONE: [4, 5]}, ValueError("no such log"), seed=0)
    assert folder.failed(ONE) == {4, 5}
    assert [one.reason for _, one in keeper.failed] == ["ValueError: no such log"] * 2
    assert len({one.seed for _, one in keeper.failed}) == 2
    with pytest.raises(ValueError, match="no such log"):
        Keeper(folder, lambda done: None, 0, raises=True).fail({ONE: [4]}, ValueError("no such log"), seed=0)


def test_a_failure_is_kept_before_it_is_raised(folder):
    keeper = Keeper(folder, lambda done: None, 0, raises=True)
    with pytest.raises(RunError, match=r"learner 'one'.*run 3"):
        keeper.add(ONE, group(1, failed=(3,)))
    assert (folder.finished(ONE), folder.failed(ONE)) == ({1}, {3})


def test_what_an_interrupt_cut_short_is_not_written_twice(folder, monkeypatch):
    keeper = Keeper(folder, lambda done: None, 0, raises=False)
    keeper.add(ONE, group(1))
    write = folder.write

    def interrupted(*arguments):
        write(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(folder, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        keeper.close()
    monkeypatch.undo()
    keeper.close()
    assert list(folder._numbers(folder.files("runs"))) == [1]


def test_failures_are_told_in_words():
    failed = [(ONE, FailedRun(number, 7, "ValueError: no")) for number in range(5)]
    told = failures_in_words(failed, 1234)
    assert told.startswith("5 of 1,234 runs of the sweep failed: learner 'one', simulator 'psrs'")
    assert told.endswith("; and 2 more")
