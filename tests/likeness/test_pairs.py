"""Lists of pairs are symmetric, sorted and complete, and too many of them are refused."""

import numpy as np
import pytest

from understudy.errors import SettingError
from understudy.likeness import pairs


def brute_force(positions, states, n_states, radius):
    """The lists by comparing every state with every other."""
    near = np.linalg.norm(positions[:, None] - positions[None], axis=2) <= radius
    near[np.diag_indices(len(near))] = False
    members = [np.sort(states[near[list(states).index(z)]]) if z in states else [] for z in range(n_states)]
    return np.cumsum([0, *map(len, members)]), np.concatenate(members)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("radius", [1e-9, 0.3, 5.0])
def test_lists_are_those_of_comparing_all_pairs(seed, radius):
    rng = np.random.default_rng(seed)
    states, positions = np.sort(rng.choice(40, 25, replace=False)), rng.random((25, 2))
    expected = brute_force(positions, states, 40, radius)
    distance = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    by_tree = pairs.lists_within(positions, states, 40, radius)
    by_matrix = pairs.lists_of_distances(lambda part: distance[part], states, 40, radius, chunk=7)
    for first, members in (by_tree, by_matrix):
        assert first.dtype == np.int64
        assert members.dtype == np.int32
        assert first.tolist() == expected[0].tolist()
        assert members.tolist() == expected[1].tolist()


def test_too_many_pairs_name_the_radius(monkeypatch):
    monkeypatch.setattr(pairs, "MOST_PAIRS", 10)
    positions, states = np.zeros((5, 1)), np.arange(5)
    with pytest.raises(SettingError, match=r"radius 0\.5 makes 20 like states"):
        pairs.lists_within(positions, states, 5, 0.5)
    with pytest.raises(SettingError, match=r"radius 0\.5 makes"):
        pairs.lists_of_distances(lambda part: np.zeros((5, 5))[part], states, 5, 0.5)


def test_no_state_and_one_state_have_empty_lists():
    for n in (0, 1):
        first, members = pairs.lists_within(np.zeros((n, 2)), np.arange(n), 3, 1.0)
        assert first.tolist() == [0, 0, 0, 0]
        assert not len(members)
    assert not len(pairs.lists_of_distances(lambda part: np.zeros((0, 0)), np.arange(0), 3, 1.0)[1])


def test_suggested_radii_reach_one_two_four_neighbors():
    line = np.abs(np.arange(100.0)[:, None] - np.arange(100.0))
    nearest = np.sort(line, axis=1)[:, 1:65]
    found = pairs.radii_of_distances(nearest)
    assert np.round(found).tolist() == [1, 2, 4, 8]  # the first and second neighbor are both at distance 1
    assert (found > np.round(found)).all()  # what lies at exactly that distance is within it


def test_radii_may_be_of_other_ranks():
    line = np.sort(np.abs(np.arange(100.0)[:, None] - np.arange(100.0)), axis=1)[:, 1:]
    assert np.round(pairs.radii_of_distances(line, (4, 8))).tolist() == [2, 4]


def test_radii_of_equal_or_unrelated_states_are_left_out():
    assert not len(pairs.radii_of_distances(np.zeros((10, 8))))
    assert not len(pairs.radii_of_distances(np.full((10, 8), np.inf)))
    assert not len(pairs.radii_of_distances(np.empty((0, 8))))
