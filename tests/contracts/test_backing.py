"""Backends pass each block to the function once, and yield it with what that returned."""

import pytest

from understudy.contracts import Backend
from understudy.contracts.backing import Closable
from understudy.contracts.offering import offers
from understudy.runs.backends import BACKENDS

BLOCKS = [(0, 1), (2,), (3, 4, 5)]


def doubled(block, keep_going):
    assert keep_going()
    return [2 * number for number in block]


@pytest.mark.parametrize("name", BACKENDS)
def test_ours_keep_the_promise(name):
    assert offers(BACKENDS[name], Backend)
    results = list(BACKENDS[name](doubled, BLOCKS, 2))
    assert sorted(results) == [((0, 1), [0, 2]), ((2,), [4]), ((3, 4, 5), [6, 8, 10])]


@pytest.mark.parametrize("name", BACKENDS)
def test_ours_can_be_closed_early(name):
    results = BACKENDS[name](doubled, BLOCKS, 1)
    assert offers(results, Closable)
    next(results)
    results.close()
    assert list(results) == []


def test_lists_of_results_need_not_be_closed():
    assert not offers([], Closable)
