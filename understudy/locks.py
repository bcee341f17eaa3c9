"""Locks on files: one process at a time has one, and the system takes it back when the process ends, however it does.

Some systems, and some file systems that clusters share, have none. Then nothing is locked: callers say what follows.
"""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)
"""The errors of file systems that have no locks."""


def take_lock(file: Any, wait: bool = True) -> bool:
    """Lock an open file, or wait for it; return False where there are no locks.

    The lock is given back when the file is closed. Raise `BlockingIOError` where another process has it and none waits.
    """
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    return True


@contextmanager
def locked_file(path: Path, wait: bool = True) -> Iterator[bool]:
    """Context manager: hold the lock of a file, which is made if need be. Yield and raise what `take_lock` does."""
    with open(path, "ab") as file:
        yield take_lock(file, wait)
