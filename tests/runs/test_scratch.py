"""Folders of processes that were killed are removed by the next one, and those of living processes never."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from understudy.envs import Grid
from understudy.learners import Uniform
from understudy.runs import experiment, scratch
from understudy.simulators import real

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked there")

HOLDER = """
import time
from understudy.runs import scratch
print(scratch.new_folder(), flush=True)
time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_living_one_is_not(folder):
    ours = scratch.new_folder()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], env={**os.environ, "TMPDIR": str(folder)}, text=True, stdout=subprocess.PIPE
    ) as child:
        theirs = child.stdout.readline().strip()
        (folder / theirs / "x.array").write_text("large")
        scratch.remove_abandoned()
        assert os.path.exists(theirs)
        child.send_signal(signal.SIGKILL)
    scratch.remove_abandoned()
    assert not os.path.exists(theirs)
    assert os.path.exists(ours)
    scratch.remove_folder(ours)
    assert os.listdir(folder) == []


def test_what_is_not_such_a_folder_stays(folder):
    (folder / "understudy-other").mkdir()
    (folder / f"{scratch.PREFIX}file").write_text("mine")
    (folder / "elsewhere").mkdir()
    (folder / f"{scratch.PREFIX}link").symlink_to(folder / "elsewhere")
    scratch.remove_abandoned()
    assert len(os.listdir(folder)) == 4


def test_folders_of_other_users_stay(folder, monkeypatch):
    abandoned = folder / f"{scratch.PREFIX}abandoned"
    abandoned.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(os, "getuid", lambda: os.stat(abandoned).st_uid + 1)
        scratch.remove_abandoned()
    assert abandoned.exists()
    scratch.remove_abandoned()
    assert not abandoned.exists()


@pytest.mark.parametrize("is_open", [True, False])
def test_a_folder_that_is_removed_before_it_is_held_is_made_again(is_open, folder, monkeypatch):
    """Another process may find a new folder in the moment before its own holds it."""
    made, real = [], tempfile.mkdtemp

    def removed_at_once(prefix):
        made.append(real(prefix=prefix))
        if len(made) == 1:
            file = os.open(made[0], os.O_RDONLY)
            if is_open:
                monkeypatch.setattr(os, "open", lambda *given: file)
            else:
                os.close(file)
            os.rmdir(made[0])
        else:
            monkeypatch.undo()
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", removed_at_once)
    found = scratch.new_folder()
    assert found == made[1]
    assert os.path.isdir(found)
    scratch.remove_folder(found)


def test_an_experiment_removes_what_was_abandoned(folder):
    abandoned = folder / f"{scratch.PREFIX}abandoned"
    abandoned.mkdir()
    scratch.remove_abandoned_once.cache_clear()
    experiment(real(Grid()), lambda seed: Uniform(5), runs=1, max_steps=5)
    assert not abandoned.exists()
