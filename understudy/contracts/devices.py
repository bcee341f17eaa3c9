"""Where torch computes, and in how many threads."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from understudy.errors import SettingError


def device_of(device: str | None) -> torch.device:
    """Return the torch device of this name; by default a GPU, else the CPU. Raise `SettingError` without one."""
    try:
        chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except (RuntimeError, TypeError) as error:
        raise SettingError(f"there is no device {device!r}; leave it out, or give cpu or cuda") from error
    try:
        torch.empty(1, device=chosen)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        raise SettingError(f"torch finds no GPU here for device {device!r}; leave it out, or give cpu") from error
    return chosen


@contextmanager
def one_thread() -> Iterator[None]:
    """Context manager: torch works in one thread. Several would split tensors, and rounding depends on where."""
    n_threads = torch.get_num_threads()
    if n_threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
