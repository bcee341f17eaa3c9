from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from understudy.errors import LogError, SettingError
from understudy.logs import Log, check
from understudy.logs.columns import (
    action_codes,
    common_length,
    episode_ids,
    flags,
    floats,
    integers,
    observations,
    propensities,
)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(np.int8, np.int8), (np.uint64, np.uint64), (bool, np.uint8), (np.float16, np.float32), (np.float32, np.float32)],
)
def test_observations_keep_the_dtypes_a_learner_can_use(given, kept):
    assert observations("observation", np.zeros((4, 2), given)).dtype == kept


def test_foreign_byte_order_is_turned_into_ours():
    swapped = observations("observation", np.arange(3, dtype=">i4"))
    assert swapped.dtype.isnative
    assert swapped.tolist() == [0, 1, 2]


def test_a_list_of_arrays_is_stacked():
    assert observations("observation", [np.zeros((2, 3)), np.ones((2, 3))]).shape == (2, 2, 3)


def test_an_object_column_of_lists_is_stacked():
    column = np.empty(2, object)
    column[:] = [[1, 2], [3, 4]]
    assert observations("observation", column).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("values", [[[1, 2], [3, 4], [5]], [np.zeros(2), np.zeros(2), np.zeros(1)]])
def test_rows_of_unequal_shape_are_refused_by_row(values):
    with pytest.raises(LogError, match=r"observation has shape \(1,\) in row 2 and \(2,\) in row 0"):
        observations("observation", values)


@pytest.mark.parametrize("values", [np.array(["2020", "2021"], "M8[Y]"), [b"x", b"y"], [{}, {}]])
def test_observations_that_are_no_numbers_are_refused_with_a_way_out(values):
    with pytest.raises(LogError, match=r"not numbers; |convert the column"):
        observations("observation", values)


def test_lists_of_words_are_refused_as_observations_with_a_way_out():
    with pytest.raises(
        LogError, match=r"observation holds lists of text \('home' in row 0\); give each of their entries"
    ):
        observations("observation", [["home", "de"]] * 2)


def test_masked_values_are_refused():
    with pytest.raises(LogError, match="reward is masked in row 1"):
        floats("reward", np.ma.masked_equal([0.0, 9.0], 9.0))


def test_the_word_among_numbers_is_named():
    with pytest.raises(LogError, match="reward is 'n/a' in row 2, not a number"):
        floats("reward", np.array(["0.5", "1", "n/a", "x"], object))
    with pytest.raises(LogError, match="observation is 'n/a' in row 1, not a number"):
        observations("observation", np.array([["0.5", "1"], [2.0, "n/a"]], object))


def test_none_is_a_missing_number():
    assert np.isnan(floats("reward", [1.0, None])[1])


@pytest.mark.parametrize(("values", "row"), [([0.0, 1.5], 1), ([np.nan, 1.0], 0), ([0, 2**40], 1), ([0, None], 1)])
def test_actions_that_are_no_integers_are_refused_by_row(values, row):
    with pytest.raises(LogError, match=f"action is .* in row {row}; "):
        action_codes(values, None)


def test_a_column_of_one_entry_rows_is_a_column():
    assert integers("action", [[1], [0]]).tolist() == [1, 0]


def test_a_matrix_is_no_column_of_actions():
    with pytest.raises(LogError, match=r"action is \[0, 0\] in row 0, which is several at once"):
        action_codes(np.zeros((2, 2), int), None)


def test_labels_take_the_codes_they_are_given():
    codes, labels = action_codes(["up", "down"], ["up", "down", "stay"])
    assert codes.tolist() == [0, 1]
    assert labels == ("up", "down", "stay")


def test_labels_that_look_like_numbers_are_labels_when_named():
    assert action_codes([20, 10], ["10", "20", "other"])[0].tolist() == [1, 0]
    with pytest.raises(LogError, match="action is '0' in row 0"):
        action_codes([0, 1], ["10", "20"])


def test_codes_are_codes_when_labels_are_words():
    assert action_codes([1, 0], ["left", "right"])[0].tolist() == [1, 0]


def test_an_unknown_label_is_refused_by_row():
    with pytest.raises(LogError, match="action is 'jump' in row 1; give actions= every label"):
        action_codes(["up", "jump"], ["up", "down"])


def test_a_missing_label_is_refused_by_row():
    with pytest.raises(LogError, match="action is None in row 1"):
        action_codes(["up", None], None)


@pytest.mark.parametrize("labels", [[], ["a", "a"], [1, 2], "ab", 2])
def test_labels_must_be_distinct_strings(labels):
    with pytest.raises(SettingError, match="list of distinct strings"):
        action_codes([0, 1], labels)


@pytest.mark.parametrize(
    "values",
    [[True, False], [1, 0], [1.0, 0.0], np.array([True, False], object), ["yes", "no"], ["TRUE", "False"], ["1", "0"]],
)
def test_flags_may_be_ones_and_zeros_or_words(values):
    assert flags("terminated", values).tolist() == [True, False]


@pytest.mark.parametrize("values", [[0, 2], [0, np.nan], [0, None], ["yes", "maybe"]])
def test_other_flags_are_refused_by_row(values):
    with pytest.raises(LogError, match=r"terminated is .* in row 1"):
        flags("terminated", values)


@pytest.mark.parametrize(
    ("values", "ids"),
    [([7, 7, 3], [7, 7, 3]), ([7.0, 3.0], [7, 3]), (["b", "a", "b"], [0, 1, 0]), ([0.5, 0.25, 0.5], [0, 1, 0])],
)
def test_integer_ids_stay_and_others_are_coded_by_first_appearance(values, ids):
    assert episode_ids("episode", values).tolist() == ids


def test_huge_unsigned_ids_are_coded():
    assert episode_ids("episode", np.array([2**64 - 1, 5], np.uint64)).tolist() == [0, 1]


def test_a_missing_id_is_refused_by_row():
    with pytest.raises(LogError, match="episode is nan in row 2"):
        episode_ids("episode", [1.0, 1.0, np.nan])


def test_lengths_are_named():
    with pytest.raises(LogError, match="observation 2, action 2, reward 3;"):
        common_length({"observation": [0, 1], "action": [0, 1], "reward": [0, 1, 2]})


def test_a_scalar_is_no_column():
    with pytest.raises(LogError, match="reward is a single float"):
        common_length({"observation": [0], "action": [0], "reward": 0.0})


def test_too_many_rows_are_refused_before_they_are_looked_at():
    with pytest.raises(LogError, match=r"2,147,483,647 rows, and 2,147,483,646 is the most"):
        common_length(dict.fromkeys(["observation", "action", "reward"], np.broadcast_to(np.int8(0), 2**31 - 1)))


@pytest.mark.parametrize("values", ["abc", {1, 2, 3}, {"a": 1}])
def test_what_is_no_column_is_refused(values):
    with pytest.raises(LogError, match="not a column; give an array or a list"):
        floats("reward", values)


def test_what_every_log_needs_is_asked_for():
    with pytest.raises(LogError, match="action, reward is missing; give at least observation, action, reward"):
        common_length({"observation": [0]})


@pytest.mark.parametrize("clean", [observations, propensities])
def test_rows_of_nothing_are_refused(clean):
    with pytest.raises(LogError, match=r"has shape \(3, 0\)"):
        clean("column", np.zeros((3, 0)))


@pytest.mark.parametrize(
    "values",
    [
        [2**53, 2**53 + 1],
        [2**63, 1],
        [2**64, 2**64 + 1],
        [1, "1"],
        [2**53 + 1, 0.5],
        [Decimal("0.1"), Decimal("0.10000000000000000001")],
        np.array([2**64 - 1, 2**64 - 2], np.uint64),
        np.array(["2020-01-01T00:00:00.000000001", "2020-01-01T00:00:00.000000002"], "M8[ns]"),
        np.array(["9999", "30000"], "M8[Y]"),
        np.array([1, 2], "m8[ns]"),
        [date(2020, 1, 1), date(2020, 1, 2)],
        ["a", "a\0"],
        [b"a", b"b"],
        ["01", "1"],
    ],
)
def test_different_episodes_stay_different(values):
    one, other = episode_ids("episode", values)
    assert one != other


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, 2.0**53]),
        np.array([1, 2**24], np.float32),
        np.array([1, 2**11], np.float16),
        np.array([1.0, np.inf]),
        [1.0, 2.0**53],
    ],
)
def test_floats_that_cannot_tell_neighbors_apart_are_no_ids(values):
    with pytest.raises(LogError, match=r"episode is .* in row 1; floats of .* so give integers or text"):
        episode_ids("episode", values)


@pytest.mark.parametrize(
    "values",
    [
        ["a", ""],
        ["a", " "],
        [1, None],
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None], dtype="string"),
        np.array(["2020", "NaT"], "M8[ns]"),
        [Decimal(1), Decimal("NaN")],
    ],
)
def test_every_kind_of_missing_id_is_refused_by_row(values):
    with pytest.raises(LogError, match=r"episode is .* in row 1; give every row its episode"):
        episode_ids("episode", values)


@pytest.mark.parametrize(
    "values", [[2**64, 2**64 + 1], [2**53 + 1, 0.5], [Decimal("0.3"), Decimal("0.30000000000000000001")]]
)
def test_different_observations_stay_different_or_are_refused(values):
    with pytest.raises(LogError, match="which float64 would round"):
        observations("observation", values)


def test_integers_of_any_size_are_observations_where_a_dtype_holds_them():
    assert observations("observation", [2**63, 2**64 - 1]).tolist() == [2**63, 2**64 - 1]
    assert observations("observation", np.array([2**53 + 1, 3], object)).dtype == np.int64
    assert observations("observation", [Decimal("0.1"), Decimal("0.7")]).tolist() == [0.1, 0.7]


def test_fractions_as_actions_are_told_of_labels():
    with pytest.raises(LogError, match=r"action is 0.5 in row 0; give every row an integer, or .* with actions="):
        action_codes([0.5, 1.0], None)


def small(**changes):
    columns = {"observation": [0, 1, 2, 5, 6], "action": [0, 1, 0, 1, 1], "reward": [0, 0, 1, 0, 0]}
    return Log.from_columns(**{**columns, **changes})


@pytest.mark.parametrize("also", [{"n_actions": 4}, {"actions": ["a", "b"]}])
def test_the_number_of_actions_must_be_one_number(also):
    with pytest.raises(LogError, match="propensity has a column for 3"):
        small(propensity=np.full((5, 3), 1 / 3), **also)


@pytest.mark.parametrize("n_actions", [0, -1, True, 2.0, "2", [2]])
def test_a_number_of_actions_is_a_positive_integer(n_actions):
    with pytest.raises(SettingError, match="must be a positive integer"):
        small(n_actions=n_actions)


@pytest.mark.parametrize("n_actions", [2**40, 10**30])
def test_more_actions_than_a_policy_can_have_are_refused_at_once(n_actions):
    with pytest.raises(LogError, match="is the most; number them from 0 up"):
        small(n_actions=n_actions)


def test_codes_that_leave_a_billion_gaps_are_refused_at_once():
    with pytest.raises(LogError, match="1,048,576 is the most; number them from 0 up without gaps"):
        small(action=[0, 1, 2 * 10**9, 1, 0])


def test_steps_that_are_dates_are_to_be_sorted_by(clean):
    dates = np.arange(len(clean["step"])).astype("M8[s]")
    assert "sort the rows by it with order_by=" in check({**clean, "step": dates}).findings[0].sentence
