"""Which queue each row waits in, and queues without rows."""

import numpy as np

from understudy.errors import EncoderError
from understudy.mapped import reserved
from understudy.simulators.index import Index
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.tape import END, HEAD, START, TAIL


def queue_numbers(index: Index, accept: int, by_state: bool) -> tuple[np.ndarray, int]:
    """Return the queue of each row, (N,), -1 for none, and the number of queues."""
    if not by_state:
        return reserved(len(index.log), np.int32), 1
    if accept != layout.DRAWN_ACTION:
        return index.state, index.n_states
    n_actions = index.log.spec.n_actions
    if index.n_states * n_actions >= 2**31:
        raise EncoderError(f"{index.n_states:,} states with {n_actions:,} actions are too many queues; merge states")
    if index.on_disk is not None:
        return index.on_disk.queues(index), index.n_states * n_actions
    return np.where(index.state < 0, -1, index.state * n_actions + index.log.action), index.n_states * n_actions


def ends_of(index: Index, queue_of: np.ndarray, n_queues: int, accept: int, by_state: bool) -> np.ndarray:
    """Return where the queues of `queue_numbers` end, as `queue_ends` does."""
    if index.on_disk is None:
        return queue_ends(queue_of, n_queues)
    if not by_state:
        return np.array([len(index.log)])
    counts = index.on_disk.counts
    return np.cumsum(counts if accept == layout.DRAWN_ACTION else counts.sum(axis=1))


def reserve_ends(index: Index) -> np.ndarray:
    """Return where the reserves of all states and actions end: each has room for all of its rows."""
    if index.on_disk is not None:
        return np.cumsum(index.on_disk.counts)
    return queue_ends(*queue_numbers(index, layout.DRAWN_ACTION, by_state=True))


def queue_ends(queue_of: np.ndarray, n_queues: int) -> np.ndarray:
    """Return where each queue ends, (n_queues,), in an array that has room for the rows of all of them.

    >>> queue_ends(np.array([1, 0, -1, 1]), 3).tolist()
    [1, 3, 3]
    """
    return np.cumsum(np.bincount(queue_of[queue_of >= 0], minlength=n_queues))


def empty_queues(end: np.ndarray) -> np.ndarray:
    """Return empty queues that end there, as `Tape.queues` has them, (n_queues, 4)."""
    queues = np.empty((len(end), 4), np.int32)
    queues[:, START] = queues[:, HEAD] = queues[:, TAIL] = np.append(0, end[:-1])
    queues[:, END] = end
    return queues
