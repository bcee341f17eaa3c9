import numpy as np
import pytest

from understudy.reporting.thinning import evenly, thinned


@pytest.mark.parametrize("seed", range(20))
def test_the_edges_of_horizons_are_never_lost(seed):
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.integers(1, 9, 5000))
    edges = rng.integers(x[0], x[-1], 6)
    at = thinned(x, rng.normal(size=5000), 200, keep=edges)
    for edge in edges:
        here = np.searchsorted(x, edge)  # the first reading at or beyond the edge, and the last before it
        assert {here - 1, here} <= set(at.tolist()) | {-1}
    assert {0, 4999} <= set(at.tolist())
    assert len(at) <= 200 + 3 * len(edges) + 4
    assert (np.diff(at) > 0).all()


def test_taking_every_so_many_would_lose_them():
    x = np.arange(1, 5001)
    assert 2501 not in set(x[evenly(5000, 200)].tolist())
    assert 2501 in set(x[thinned(x, np.zeros(5000), 200, keep=[2501])].tolist())


def test_peaks_stay():
    y = np.zeros(10_000)
    y[[17, 6123]] = 5.0, -3.0
    assert {17, 6123} <= set(thinned(np.arange(10_000), y, 100).tolist())


def test_the_last_known_point_stays_where_the_rest_is_unknown():
    y = np.arange(1000.0)
    y[713:] = np.nan
    assert 712 in thinned(np.arange(1000), y, 20)
    assert len(thinned(np.arange(1000), np.full(1000, np.nan), 20)) == 2


def test_few_points_all_stay():
    assert thinned(np.arange(5), np.zeros(5), 10, keep=[None, 99.0]).tolist() == [0, 1, 2, 3, 4]
    assert evenly(0, 5).tolist() == []
