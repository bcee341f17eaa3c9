import math

import numpy as np
import pytest

from understudy.errors import SettingError
from understudy.logs.column_coding import OTHER, ColumnCoding

COUNTRY = ColumnCoding("country", "category", ("DE", "FR"))
VIP = ColumnCoding("vip", "truth", ("no", "yes"))
SINCE = ColumnCoding("since", "date", origin="2024-02-28", unit="days")
AT = ColumnCoding("at", "date", origin="2024-01-01T10:00:00Z", unit="seconds")


@pytest.mark.parametrize(
    ("coding", "value", "word"),
    [
        (COUNTRY, 0, "DE"),
        (COUNTRY, 2, OTHER),
        (COUNTRY, 0.5, OTHER),
        (COUNTRY, -1, OTHER),
        (COUNTRY, math.nan, OTHER),
        (VIP, 1.0, "yes"),
        (SINCE, 2.0, "2024-03-01"),
        (SINCE, 0.5, "2024-02-28T12:00:00"),
        (SINCE, math.inf, "inf"),
        (AT, 1.5, "2024-01-01T10:00:01.500000Z"),
        (AT, 1e300, "1e+300"),
        (ColumnCoding("t", "time", unit="seconds"), 3600.0, "01:00:00"),
        (ColumnCoding("t", "time", unit="seconds"), -1.0, "1969-12-31T23:59:59"),
        (ColumnCoding("d", "duration", unit="seconds"), 90.5, "90.5 s"),
        (ColumnCoding("n", "integer"), 123456.0, "123456"),
        (ColumnCoding("n", "integer"), 2**60 + 1, str(2**60 + 1)),
        (ColumnCoding("n", "integer"), math.nan, "nan"),
        (ColumnCoding("x", "number"), -0.0, "0"),
    ],
)
def test_every_number_has_a_word(coding, value, word):
    assert coding.word(value) == word


@pytest.mark.parametrize("coding", [COUNTRY, VIP, SINCE, AT, ColumnCoding("t", "time", unit="seconds")])
def test_a_coding_survives_json(coding):
    assert ColumnCoding.from_json(coding.to_json()) == coding


@pytest.mark.parametrize(
    "known",
    [
        {"name": "x"},
        {"name": "x", "kind": "guess"},
        {"name": 3, "kind": "number"},
        {"name": "x", "kind": "category"},
        {"name": "x", "kind": "category", "labels": "ab"},
        {"name": "x", "kind": "category", "labels": ["a", "a"]},
        {"name": "x", "kind": "category", "labels": ["a", 1]},
        {"name": "x", "kind": "truth", "labels": ["a"]},
        {"name": "x", "kind": "number", "labels": ["a"]},
        {"name": "x", "kind": "number", "unit": "days"},
        {"name": "x", "kind": "number", "origin": "2024-01-01"},
        {"name": "x", "kind": "date", "unit": "days"},
        {"name": "x", "kind": "date", "unit": "days", "origin": "2024-02-30"},
        {"name": "x", "kind": "date", "unit": "years", "origin": "2024-02-03"},
        {"name": "x", "kind": "date", "unit": "days", "origin": 7},
        {"name": "x\ud800", "kind": "number"},
        {"name": "x", "kind": "number", "more": 1},
    ],
)
def test_what_describes_no_coding_is_refused(known):
    with pytest.raises((SettingError, ValueError, TypeError)):
        ColumnCoding.from_json(known)


def test_values_have_their_own_types():
    assert COUNTRY.values(np.array([1, 0, 9])).to_pylist() == ["FR", "DE", OTHER]
    assert ColumnCoding("b", "truth", ("false", "true")).values(np.array([1, 0])).to_pylist() == [True, False]
    assert str(SINCE.values(np.array([1.0])).type) == "date32[day]"
    assert str(SINCE.values(np.array([1.5])).type) == "timestamp[us]"
    assert str(AT.values(np.array([1.0])).type) == "timestamp[us, tz=UTC]"
    assert ColumnCoding("n", "integer").values(np.array([2.0])).to_pylist() == [2]
