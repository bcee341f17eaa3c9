import numpy as np

from understudy.logs.blocks import BLOCK
from understudy.logs.repeated_rows import blocks_of, is_repeated, take_rows

VIEW = np.broadcast_to(np.array([0.25, 0.75]), (1000, 2))


def test_rows_of_a_view_are_a_view():
    taken = take_rows(VIEW, np.array([3, 5, 3]))
    assert is_repeated(taken)
    assert np.array_equal(taken, VIEW[[3, 5, 3]])
    whole = np.arange(6).reshape(3, 2)
    assert np.array_equal(take_rows(whole, np.array([2, 0])), whole[[2, 0]])


def test_blocks_are_the_column():
    for column in (VIEW, np.array(VIEW), np.arange(5)):
        assert np.array_equal(np.concatenate(list(blocks_of(column))), column)
    large = np.broadcast_to(0.5, (3 * BLOCK, 4))
    sizes = [block.size for block in blocks_of(large)]
    assert max(sizes) <= BLOCK
    assert sum(sizes) == large.size


def test_one_row_repeats_nothing():
    assert not is_repeated(VIEW[:1])
