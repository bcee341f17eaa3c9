import numpy as np
import pytest

from understudy.logs.episodes import (
    common_time_limit,
    goes_on,
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
    assert goes_on(np.array([3, 3, 5, 5, 3])).tolist() == [True, False, True, False]
