"""Where torch computes, and in how many threads."""

from collections.abc import Callable, Iterator
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


def replayed(work: Callable[[], None], device: torch.device | str) -> Callable[[], None]:
    """Return a function that does the same work on the same memory; on CUDA the work is recorded, and launched as one.

    A GPU waits for small operations that are launched one by one. `work` must neither look at numbers of the GPU nor
    draw random ones. It is done three times before it is recorded, so that libraries have loaded what they need.
    """
    if torch.device(device).type != "cuda":
        return work
    with torch.cuda.device(device):
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            work()
    return graph.replay
