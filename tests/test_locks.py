import errno
import subprocess
import sys

import pytest

from understudy import locks
from understudy.locks import locked_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no locks of files")

HOLDING = """
import sys, time
from pathlib import Path
from understudy.locks import locked_file
with locked_file(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_process_at_a_time_has_a_lock_and_a_killed_one_gives_it_back(tmp_path):
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError), locked_file(path, wait=False):
            pass
        other.kill()
    with locked_file(path, wait=False) as alone:
        assert alone
        with pytest.raises(BlockingIOError), locked_file(path, wait=False):
            pass
    with locked_file(path) as alone:
        assert alone


@pytest.mark.parametrize("wait", [True, False])
def test_where_there_are_no_locks_nothing_is_locked_and_other_errors_are_raised(wait, tmp_path, monkeypatch):
    def refuse(number):
        def flock(file, kind):
            raise OSError(number, "refused")

        return flock

    monkeypatch.setattr(locks.fcntl, "flock", refuse(errno.ENOLCK))
    with locked_file(tmp_path / "lock", wait) as alone:
        assert not alone
    monkeypatch.setattr(locks.fcntl, "flock", refuse(errno.EIO))
    with pytest.raises(OSError, match="refused"), locked_file(tmp_path / "lock", wait):
        pass
