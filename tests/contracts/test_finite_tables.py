import numpy as np
import pytest

from understudy.contracts.finite_tables import emit, pick, pick_outcome, pick_start
from understudy.contracts.streams import streams_of
from understudy.envs import Grid, NoisyGrid


@pytest.mark.parametrize(("u", "index"), [(0.0, 0), (0.19, 0), (0.2, 2), (0.69, 2), (0.7, 3), (0.999, 3), (1.0, 3)])
def test_pick_is_the_first_index_whose_cumulated_probability_exceeds_u(u, index):
    assert pick(np.array([0.2, 0.2, 0.7, 1.0, 1.0]), u) == (index if u < 1 else 4)


def test_a_walk_begins_emits_and_turns_within_the_tables():
    tables, streams = NoisyGrid(2, slip=0.2).tables(), streams_of(0)
    assert {pick_start(tables, streams) for _ in range(50)} == {0}
    assert {emit(tables, 3, streams) % 25 for _ in range(50)} == {3}
    assert {emit(tables, 3, streams) // 25 for _ in range(200)} == {0, 1, 2, 3}
    assert {pick_outcome(tables, 3, 1, streams) for _ in range(500)} == set(range(5))


def test_where_there_is_nothing_to_draw_no_number_is_used():
    tables, streams = Grid().tables(), streams_of(0)
    before = streams.copy()
    emit(tables, 3, streams), pick_outcome(tables, 3, 1, streams)
    assert np.array_equal(streams, before)
