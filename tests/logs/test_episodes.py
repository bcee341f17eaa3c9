import numpy as np
import pytest

from understudy.logs.episodes import (
    common_time_limit,
    goes_on,
    inner_rows,
    later_pieces,
    ranks_by_first_appearance,
    starts_of,
    step_numbers,
)


def test_an_episode_starts_where_the_id_changes():
    assert starts_of(np.array([4, 4, 2, 4, 4])).tolist() == [0, 2, 3, 5]
    assert starts_of(np.array([9])).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("episode", "pieces"),
    [([1, 1, 2], []), ([2, 1, 1], []), ([1, 2, 1], [2]), ([1, 2, 1, 2, 1], [2, 3, 4]), ([5, 3, 5, 4], [2])],
)
def test_every_piece_after_the_first_one_is_found(episode, pieces):
    episode = np.array(episode)
    assert later_pieces(episode, starts_of(episode)).tolist() == pieces


def test_steps_count_from_zero_in_each_episode():
    steps = step_numbers(np.array([0, 3, 4, 6]))
    assert steps.tolist() == [0, 1, 2, 0, 0, 1]
    assert steps.dtype == np.int32


@pytest.mark.parametrize(
    ("truncated_rows", "limit"), [([], None), ([2], 3), ([2, 6], 3), ([2, 3], None), ([3], None), ([6], 3)]
)
def test_a_time_limit_is_the_length_of_all_truncated_episodes_if_none_is_longer(truncated_rows, limit):
    truncated = np.zeros(7, bool)
    truncated[truncated_rows] = True
    assert common_time_limit(np.array([0, 3, 4, 7]), truncated) == limit


def test_ids_are_ranked_by_first_appearance():
    assert ranks_by_first_appearance(np.array([7, 2, 2, 9, 7])).tolist() == [0, 1, 1, 2, 0]


def test_the_last_row_of_an_episode_does_not_go_on():
    assert goes_on(np.array([3, 3, 5, 5, 3]), slice(0, 4)).tolist() == [True, False, True, False]
    assert goes_on(np.array([3, 3, 5, 5, 3]), slice(2, 4)).tolist() == [True, False]


@pytest.mark.parametrize("seed", range(5))
def test_inner_rows_are_those_after_which_an_episode_goes_on(seed):
    episode = np.repeat(np.arange(30), np.random.default_rng(seed).integers(1, 5, 30))
    expected = np.flatnonzero(goes_on(episode, slice(0, len(episode) - 1)))
    places = np.random.default_rng(seed).permutation(len(expected))
    assert np.array_equal(inner_rows(starts_of(episode), places), expected[places])


@pytest.mark.parametrize("block", [1, 7, 1 << 19])
def test_blocks_change_nothing(monkeypatch, block):
    monkeypatch.setattr("understudy.logs.blocks.BLOCK", block)
    rng = np.random.default_rng(0)
    for ids in (np.sort(rng.integers(9, size=60)), rng.integers(9, size=60), rng.permutation(60)):
        starts = np.flatnonzero(np.diff(ids, prepend=-1, append=-1))
        assert np.array_equal(starts_of(ids), starts)
        seen, runs = set(), ids[starts[:-1]].tolist()
        pieces = [place for place, one in enumerate(runs) if one in seen or seen.add(one)]
        assert later_pieces(ids, starts).tolist() == pieces
        for truncated in (np.zeros(60, bool), rng.random(60) < 0.1, np.isin(np.arange(60), starts[1:] - 1)):
            lengths = np.diff(starts)
            cut = set(lengths[truncated[starts[1:] - 1]].tolist())
            assert common_time_limit(starts, truncated) == (lengths.max() if cut == {lengths.max()} else None)
