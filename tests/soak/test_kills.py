"""Kills in short form, and a lost, a changed and an unreadable run, which must be noticed."""

import shutil
import signal

import pytest

import understudy as us
from soak import kills
from soak.kills import Kill, Seen, run_kill
from soak.processes import Driver, Ended, job


def make(seed):
    return us.learners.Uniform(5)


@pytest.fixture
def folder(tmp_path):
    log = us.record(us.envs.Grid(3), episodes=20, seed=0)
    us.experiment(us.qbe(log), make, runs=3, out=tmp_path / "runs", progress=False, backend="serial")
    return tmp_path / "runs"


def test_a_killed_driver_goes_on_and_ends_as_if_nothing_had_happened(tmp_path, monkeypatch):
    monkeypatch.setattr(kills, "SIGNALS", (signal.SIGKILL,))
    monkeypatch.setattr(kills, "TARGETS", ("driver",))
    found = run_kill(0, 3, {}, tmp_path, jobs=("halves",))
    assert found.wrong == []
    assert found.kills[0].signal == "SIGKILL"
    assert found.seen >= 12


def test_runs_that_were_seen_and_are_lost_or_changed_are_noticed(folder):
    seen = Seen(folder)
    seen.look()
    assert len(seen.runs) == 3
    assert seen.check() == []
    seen.runs[".", 1] = "another digest"
    assert seen.check() == ["run 1 of . is another than it was"]
    (folder / "runs/000002.json").unlink()
    assert "run 2 of . was there and is lost" in seen.check()[1]


def test_what_a_reader_beside_the_driver_cannot_load_is_noticed(folder):
    (folder / "runs/000000.parquet").write_bytes(b"half of it")
    seen = Seen(folder)
    seen.look()
    assert "a reader beside the driver was refused" in seen.check()[0]


def test_other_runs_have_another_digest(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "other")
    assert kills.digest_of(folder) == kills.digest_of(tmp_path / "other")
    (tmp_path / "other/runs/000002.json").unlink()
    assert kills.digest_of(folder) != kills.digest_of(tmp_path / "other")


KILL = Kill("driver", "SIGTERM", "at 5%", None, 0)


@pytest.mark.parametrize(
    ("ended", "kill", "complaint"),
    [
        (None, KILL, "no end"),
        (Ended(1, "", 1.0, [], []), KILL, "exit code 1"),
        (Ended(-15, "Traceback (most recent call last):", 1.0, [], []), KILL, "it said"),
        (Ended(-15, "", 1.0, ["understudy-x"], []), KILL, "left"),
        (Ended(-15, "", 1.0, [], [7]), KILL, "stayed"),
        (Ended(-15, "", 1.0, [], []), None, "exit code -15"),
        (Ended(-9, "", 1.0, [], []), KILL._replace(target="worker"), "exit code -9"),
    ],
)
def test_what_is_wrong_with_how_a_driver_ended_is_said(ended, kill, complaint):
    assert complaint in kills._complaints(ended, kill, 9.0)[0]
    assert kills._complaints(Ended(-15, "", 1.0, [], []), KILL, 9.0) == []


def test_a_driver_that_does_not_end_is_killed_with_all_of_its_processes(tmp_path):
    driver = Driver(["sh", "-c", "sleep 60 & sleep 60"], tmp_path)
    assert driver.wait(0.3) is None
    assert not driver.running()
    assert job("halves", tmp_path)[1:3] == ["-m", "soak.jobs"]
