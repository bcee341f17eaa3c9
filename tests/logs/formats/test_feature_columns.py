import pytest

from understudy.errors import LogError
from understudy.logs.formats import feature_columns
from understudy.logs.formats.feature_columns import FeatureColumns


def columns_of(*rows):
    columns = FeatureColumns()
    for row, features in enumerate(rows):
        columns.add(row, row + 1, features)
    return {name: column.to_pylist() for name, column in columns.to_arrow(len(rows)).items()}


def test_a_row_without_a_feature_has_zero_or_none():
    found = columns_of([("x", 2)], [("page", "home")], [], [("x", 1), ("page", "cart")])
    assert found == {"x": [2, 0, 0, 1], "page": ["(none)", "home", "(none)", "cart"]}


def test_integers_stay_integers_and_one_float_makes_floats():
    found = columns_of([("a", 1), ("b", 1)], [("a", 2), ("b", 0.5)])
    assert [type(value) for value in (*found["a"], *found["b"])] == [int, int, float, float]


def test_integers_that_would_be_rounded_are_refused():
    assert columns_of([("id", 2**53)])["id"] == [2**53]
    with pytest.raises(LogError, match="the feature id is 9007199254740993 in line 1, which would be rounded"):
        columns_of([("id", 2**53 + 1)])


def test_a_feature_is_a_number_or_text_and_one_text_a_row():
    with pytest.raises(LogError, match="the feature x is text in line 2 and a number before"):
        columns_of([("x", 1)], [("x", "one")])
    with pytest.raises(LogError, match="the feature tag has two values in line 1"):
        columns_of([("tag", "a"), ("tag", "b")])


def test_too_many_features_are_refused(monkeypatch):
    monkeypatch.setattr(feature_columns, "MOST_FEATURES", 2)
    with pytest.raises(LogError, match="more than 2 different features by line 3"):
        columns_of([("a", 1)], [("b", 1)], [("c", 1)])
