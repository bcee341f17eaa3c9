"""Every run is in one block, no block is too large, and no worker is without one where there are runs for it."""

import pytest

from understudy.runs.blocks import even_blocks, whole_blocks


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 20, 79, 80, 81, 100, 1000])
@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("most", [1, 5, 10])
def test_blocks_are_even(n, workers, most):
    blocks = even_blocks(list(range(0, 2 * n, 2)), most, workers)
    assert [number for block in blocks for number in block] == list(range(0, 2 * n, 2))
    longest = max(map(len, blocks))
    assert longest <= most
    rounds = -(-len(blocks) // workers)
    assert rounds == -(-n // (workers * most))  # as few as blocks of the largest size need
    assert rounds * longest < n / workers + rounds  # no worker waits for longer than a run in each round


def test_twenty_runs_keep_eight_cores_busy():
    """Blocks of ten would keep two of them busy, for more than three times as long."""
    assert max(map(len, even_blocks(range(20), 10, 8))) == 3
    assert len(whole_blocks(range(20), 10)) == 2


def test_without_runs_there_is_no_block():
    assert even_blocks([], 10, 2) == whole_blocks([], 10) == []


def test_whole_blocks_are_the_same_whatever_is_missing():
    assert whole_blocks([0, 9, 10, 25], 10) == [(0, 9), (10,), (25,)]
