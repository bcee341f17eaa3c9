import datetime

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs.coded_values import coded_values
from understudy.logs.column_coding import ColumnCoding
from understudy.logs.texts import plain_array

DAYS = ColumnCoding("d", "date", origin="2024-01-01", unit="days")
SECONDS = ColumnCoding("d", "date", origin="2024-01-01T00:00:00", unit="seconds")


def coded(coding, values, unseen="error"):
    return coded_values(coding, "x", plain_array(pa.array(values)), unseen)


def test_a_coding_takes_the_same_values_in_other_types():
    category = ColumnCoding("c", "category", ("7", "8"))
    assert coded(category, [8, 7]).tolist() == coded(category, ["8", "7"]).tolist() == [1, 0]
    truth = ColumnCoding("t", "truth", ("no", "yes"))
    assert coded(truth, [1, 0]).tolist() == coded(truth, ["yes", "no"]).tolist() == coded(truth, [True, False]).tolist()
    assert coded(truth, ["yes", "no"]).dtype == np.uint8
    words = ColumnCoding("t", "truth", ("false", "true"))
    assert coded(words, ["True", "false"]).tolist() == [1, 0]
    number = ColumnCoding("n", "number")
    assert coded(number, ["1.5", " 2"]).tolist() == coded(number, [1.5, 2]).tolist() == [1.5, 2.0]


def test_dates_are_days_or_seconds_from_the_origin_on():
    date = datetime.date(2024, 1, 3)
    noon = datetime.datetime(2024, 1, 3, 12)
    assert coded(DAYS, [date, datetime.date(2023, 12, 31)]).tolist() == [2.0, -1.0]
    assert coded(DAYS, [noon]).tolist() == coded(DAYS, ["2024-01-03 12:00"]).tolist() == [2.5]
    assert coded(SECONDS, [noon, date.strftime("%Y-%m-%d")][:1]).tolist() == [2.5 * 86400]


@pytest.mark.parametrize(
    ("coding", "values", "message"),
    [
        (DAYS, [3, 4], r"x holds int64, and d is coded as dates without time zones; convert it"),
        (DAYS, ["08:30"], r"x holds time64\[us\], and d is coded as dates"),
        (DAYS, [pa.scalar(1, pa.timestamp("ns"))], "finer than microseconds; round them"),
        (ColumnCoding("t", "truth", ("no", "yes")), [0, 2], "x is 2 in row 1; give no or yes"),
        (ColumnCoding("c", "category", ("a",)), [[1]], "x holds list<item: int64>, which cannot be categories"),
        (ColumnCoding("n", "number"), ["1", "nan"], "x is 'nan' in row 1"),
        (ColumnCoding("n", "integer"), [1, None], "x has no value in row 1"),
    ],
)
def test_values_of_another_kind_are_refused(coding, values, message):
    with pytest.raises(LogError, match=message):
        coded(coding, values)


def test_times_that_float64_would_make_equal_are_refused():
    far = ColumnCoding("d", "date", origin="0001-01-01T00:00:00", unit="seconds")
    near = np.array(["2024-01-01T00:00:00.000001"], "M8[us]")
    assert coded(SECONDS, near).tolist() == [1e-6]
    with pytest.raises(LogError, match="which float64 would round"):
        coded(far, near)
