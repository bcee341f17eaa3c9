"""Queues have room for exactly the rows that wait in them."""

import numpy as np
import pytest

from understudy.encoders import Function
from understudy.errors import EncoderError
from understudy.logs import Log
from understudy.simulators.index import index
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.tape import END, HEAD, START, TAIL
from understudy.simulators.queues import empty_queues, queue_ends, queue_numbers


def test_rows_wait_by_state_or_by_state_and_action_or_all_together(walk_log):
    indexed = index(
        walk_log([0, 1, 2, 0, 9], action=np.array([0, 1, 1, 0])), Function(lambda x: np.where(x == 2, -1, x))
    )
    for accept, by_state, numbers, n_queues in (
        (layout.REJECTION, True, [0, 1, -1, 0], 10),
        (layout.DRAWN_ACTION, True, [0, 3, -1, 0], 20),
        (layout.REJECTION, False, [0, 0, 0, 0], 1),
    ):
        found, n = queue_numbers(indexed, accept, by_state)
        assert (found.tolist(), n) == (numbers, n_queues)


def test_too_many_queues_are_refused():
    n = 2**11
    columns = {"observation": np.arange(n), "next_observation": np.arange(n), "action": np.zeros(n, int)}
    many = index(Log.from_columns(**columns, reward=np.zeros(n), ends="every-row", n_actions=2**20), None)
    with pytest.raises(EncoderError, match="too many queues; merge states"):
        queue_numbers(many, layout.DRAWN_ACTION, True)


def test_queues_are_empty_and_end_where_the_next_begins():
    queues = empty_queues(queue_ends(np.array([2, 0, 2, -1]), 4))
    assert queues[:, START].tolist() == [0, 1, 1, 3]
    assert queues[:, END].tolist() == [1, 1, 3, 3]
    assert np.array_equal(queues[:, HEAD], queues[:, START])
    assert np.array_equal(queues[:, TAIL], queues[:, START])
