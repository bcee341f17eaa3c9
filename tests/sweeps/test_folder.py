"""The folder of a sweep is written by one process, whole parts at a time, and damage is named."""

import os
import subprocess
import sys

import pytest

from understudy.errors import ResultsError
from understudy.runs.failures import FailedRun
from understudy.sweeps import folder as folder_module
from understudy.sweeps.folder import SweepFolder, is_sweep
from understudy.sweeps.names import Combination
from understudy.sweeps.run_tables import failures_table, schema_of

ONE = Combination("a/b", "psrs", "identity", "may")
SETTINGS = {"seed": 0, "max_steps": None}


def numbered(numbers):
    return failures_table([FailedRun(number, 0, "no") for number in numbers])


def failed_numbers(folder):
    return sorted(number for file in folder._files("runs", ONE, "failed") for number in folder._numbers([file]))


def test_a_part_of_curves_without_its_runs_is_of_a_process_that_died(tmp_path):
    folder = SweepFolder(tmp_path)
    folder.write(ONE, numbered([1, 2]), schema_of("curves").empty_table())
    (orphan,) = folder._files("curves", ONE)
    orphan.with_name("part-0.parquet").write_bytes(orphan.read_bytes())
    orphan.with_name(".part-1.parquet.ab").write_bytes(b"half")
    folder.clean(ONE)
    assert os.listdir(orphan.parent) == [orphan.name]
    assert folder.finished(ONE) == {1, 2}


def test_an_interrupt_leaves_no_half_of_a_part(tmp_path, monkeypatch):
    folder, write = SweepFolder(tmp_path), folder_module._write_table

    def interrupted(path, content):
        if path.is_relative_to(tmp_path / "runs"):
            raise KeyboardInterrupt
        write(path, content)

    monkeypatch.setattr(folder_module, "_write_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        folder.write(ONE, numbered([1]), schema_of("curves").empty_table())
    assert folder.files("runs") == folder.files("curves") == []


def test_failures_are_dropped_when_runs_were_made_and_kept_once(tmp_path):
    folder = SweepFolder(tmp_path)
    folder.write_failures(ONE, numbered([1, 2, 3]))
    folder.write_failures(ONE, numbered([3, 4]))
    folder.drop_failures(ONE, [2])
    assert failed_numbers(folder) == [1, 3, 4]
    folder.drop_failures(ONE, [1, 3, 4])
    assert folder._files("runs", ONE, "failed") == []


def test_runs_that_were_made_are_not_failed_any_more(tmp_path):
    """A process may die between writing a run and forgetting that it failed before."""
    folder = SweepFolder(tmp_path)
    folder.write_failures(ONE, numbered([1, 2]))
    folder.write(ONE, numbered([2]), schema_of("curves").empty_table())
    folder.clean(ONE)
    assert folder.failed(ONE) == {1}


def test_another_sweep_is_refused(tmp_path):
    with SweepFolder(tmp_path).held(SETTINGS):
        assert is_sweep(tmp_path)
    with SweepFolder(tmp_path).held(SETTINGS):
        pass
    with (
        pytest.raises(ResultsError, match="seed is 0 there and 1 here"),
        SweepFolder(tmp_path).held({**SETTINGS, "seed": 1}),
    ):
        pass


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ResultsError, match="not the folder of a sweep"), SweepFolder(tmp_path).held(SETTINGS):
        pass
    assert os.listdir(tmp_path) == ["thesis.tex"]
    with pytest.raises(ResultsError, match="has no sweep"):
        SweepFolder(tmp_path).settings()


def test_errors_raised_within_are_not_taken_for_those_of_the_folder(tmp_path):
    with pytest.raises(ValueError, match="of a learner"), SweepFolder(tmp_path).held(SETTINGS):
        raise ValueError("of a learner")


def test_two_processes_do_not_write_to_one_folder(tmp_path):
    pytest.importorskip("fcntl", reason="this system has no locks of files")
    code = (
        "import sys; from understudy.sweeps.folder import SweepFolder\n"
        "with SweepFolder(sys.argv[1]).held({'seed': 0, 'max_steps': None}):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], **pipes) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ResultsError, match="another process is writing"), SweepFolder(tmp_path).held(SETTINGS):
            pass
        other.kill()
    with SweepFolder(tmp_path).held(SETTINGS):  # a lock dies with its process
        assert is_sweep(tmp_path)


def test_damage_is_refused_or_reads_as_it_was(tmp_path, damage):
    folder = SweepFolder(tmp_path)
    folder.write(ONE, numbered(range(20)), schema_of("curves").empty_table())
    (file,) = folder._files("runs", ONE)
    whole, n_refused = file.read_bytes(), 0
    for damaged in damage(whole, 150):
        file.write_bytes(damaged)
        try:
            assert folder.finished(ONE) == set(range(20))
        except ResultsError:
            n_refused += 1
    assert n_refused > 20


def test_readings_that_are_missing_are_noticed(copied):
    next((copied / "curves").rglob("part-*.parquet")).unlink()
    SweepFolder(copied).check_files("runs")
    with pytest.raises(ResultsError, match=r"readings of the runs in .*part-.* are missing in .*curves; remove it"):
        SweepFolder(copied).check_files("curves")


def test_tables_of_an_earlier_version_are_read(tmp_path):
    folder = SweepFolder(tmp_path)
    folder.write(ONE, numbered([1, 2]), schema_of("curves").empty_table())
    for table in ("runs", "curves"):
        (file,) = folder._files(table, ONE)
        file.rename(file.with_name("part-0123456789abcdef.parquet"))
        folder.check_files(table)
    folder.clean(ONE)
    assert folder.finished(ONE) == {1, 2}


def test_tables_have_the_documented_columns(made):
    folder = SweepFolder(made)
    import pyarrow.parquet as pq

    for table in ("runs", "curves"):
        files = folder.files(table)
        assert len(files) >= 4
        assert all(pq.read_schema(file).equals(schema_of(table)) for file in files)


@pytest.mark.parametrize("name", ["sweep.json", "experiment.json"])
def test_damaged_records_are_named(copied, name):
    file = next(copied.rglob(name))
    file.write_text(file.read_text().replace("0", "1", 1))
    with pytest.raises(ResultsError, match=name):
        SweepFolder(copied).settings() and SweepFolder(copied).experiments()
