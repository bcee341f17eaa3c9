"""Observations and actions in words."""

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.logs import Coding, ColumnCoding, Spec
from understudy.logs.naming import action_label, action_words, is_category, is_date, observation_words, value_words


def spec(shape=(), features=None, actions=None):
    return Spec(3, actions, shape, np.dtype(float), None, features=features)


@pytest.mark.parametrize(
    ("shape", "features", "observation", "words"),
    [
        ((), None, 3, "observation=3"),
        ((), ("page",), np.int64(3), "page=3"),
        ((), ("page",), 0.123456, "page=0.1235"),
        ((), ("page",), -0.0, "page=0"),
        ((), ("page",), np.nan, "page=nan"),
        ((), ("id",), 2**63 - 1, "id=9223372036854775807"),
        ((2,), None, [0.5, 1e-9], "observation_0=0.5, observation_1=1e-09"),
        ((2,), ("x", "v"), [-4.0, 123456.0], "x=-4, v=123456"),
        ((2,), ("position",), [1, 2], "position_0=1, position_1=2"),
        ((1,), ("page",), [3], "page=3"),
        ((2, 2), None, [[1, 2], [3, 4]], "observation_0_0=1, observation_0_1=2, observation_1_0=3, observation_1_1=4"),
        ((2, 2), ("a", "b"), [[1, 2], [3, 4]], "observation_0_0=1, observation_0_1=2, observation_1_0=3, "
         "observation_1_1=4"),
        ((2,), ("x" * 99, "v"), [1, 2], f"{'x' * 20}...{'x' * 20}=1, v=2"),
        ((2,), None, [True, False], "observation_0=True, observation_1=False"),
    ],
)  # fmt: skip
def test_an_observation_is_its_columns_and_values(shape, features, observation, words):
    assert observation_words(spec(shape, features), np.asarray(observation)) == words


def test_a_long_one_is_shown_in_short():
    words = observation_words(spec((84, 84)), np.zeros((84, 84), np.uint8))
    assert words.startswith("observation_0_0=0, observation_0_1=0, ")
    assert words.endswith(", ... (7,056 numbers)")
    assert len(words) < 200


def test_an_action_is_its_label():
    labeled = spec(actions=("wait", "buy", "z" * 99))
    assert action_label(labeled, 1) == "buy"
    assert action_label(labeled, 2) == "z" * 20 + "..." + "z" * 20
    assert action_label(labeled, 7) is None
    assert action_label(spec(), 1) is None


def test_coded_columns_are_shown_by_their_values():
    columns = [ColumnCoding(f"c{at}", "category", ("a", "b" * 60)) for at in range(8)]
    one = Spec(2, None, (), np.dtype(int), 2, coding=Coding((columns[0],)))
    assert observation_words(one, 1) == f"c0={'b' * 20}...{'b' * 20}"
    assert value_words(one, 0, 0) == "a"
    assert is_category(one, 0)
    many = Spec(2, None, (8,), np.dtype(int), None, coding=Coding(tuple(columns)))
    assert observation_words(many, np.zeros(8)) == "c0=a, c1=a, c2=a, c3=a, c4=a, c5=a, ... (8 columns)"
    one_hot = Spec(2, None, (2,), np.dtype(float), None, coding=Coding((columns[0],), form="one-hot"))
    assert observation_words(one_hot, [1.0, 0.0]) == "c0=a"
    assert value_words(one_hot, 1, 1.0) == "1"
    assert not is_category(one_hot, 0)


def test_dates_are_known_in_both_forms():
    day = ColumnCoding("day", "date", origin="2026-03-01", unit="days")
    both = (ColumnCoding("page", "category", ("a", "b")), day)
    for form, dates in (("codes", [False, True]), ("one-hot", [False, False, True])):
        coded = Spec(2, None, (len(dates),), np.dtype(int), None, coding=Coding(both, form=form))
        assert [is_date(coded, entry) for entry in range(len(dates))] == dates
    assert not is_date(spec(), 0)


def test_an_action_is_named_by_the_column_it_was_read_from_also_after_it_was_written_and_joined(tmp_path):
    frame = pd.DataFrame({"page": [0, 1, 0], "arm": ["a", "b", "a"], "reward": 1.0, "terminated": True})
    log = us.read(frame, observation="page", action="arm")
    assert [action_words(log.spec, action) for action in (0, 1)] == ["arm=a", "arm=b"]
    us.write(log, tmp_path / "log.parquet")
    assert action_words(us.read(tmp_path / "log.parquet").spec, 1) == "arm=b"
    assert action_words(us.concatenate([log, log]).spec, 1) == "arm=b"
    other = us.read(frame.rename(columns={"arm": "action"}), observation="page")
    assert action_words(us.concatenate([log, other]).spec, 1) == "action=b"
