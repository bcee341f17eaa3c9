import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs.spellings import numbers_in, times_in
from understudy.logs.texts import Texts


def texts(*values):
    return Texts("x", pa.array(values, pa.large_string()))


def test_whole_numbers_are_integers_as_far_as_they_fit():
    assert numbers_in(texts("+5", "-3", " 7 ")).dtype == np.int64
    assert numbers_in(texts("+5", "-3", " 7 ")).tolist() == [5, -3, 7]
    assert numbers_in(texts(str(2**63 - 1))).tolist() == [2**63 - 1]
    assert numbers_in(texts(str(2**64))).tolist() == [2.0**64]
    assert numbers_in(texts("1e3", ".5", "5.")).tolist() == [1000.0, 0.5, 5.0]


def test_whole_numbers_that_float64_would_round_are_refused():
    for other in ("0.5", str(2**70)):
        with pytest.raises(LogError, match="x is '9007199254740993' in row 1, which float64 would round"):
            numbers_in(texts(other, "9007199254740993"))


def test_dates_with_zones_are_held_in_utc():
    times = times_in(texts("2024-01-02T10:00:00+02:00", "2024-01-02T08:00Z", "2024-01-02 08:00:00.000000000Z"))
    assert times.cast(pa.int64()).to_pylist() == [1704182400 * 10**6] * 3
    assert str(times.type) == "timestamp[us, tz=UTC]"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["08:30", "25:00"], "x is '25:00' in row 1; there is no such date or time"),
        (["08:30", "noon"], "x is 'noon' in row 1; the other values are a time of day each"),
        (["2024-01-01", "2024-13-01"], "x is '2024-13-01' in row 1; there is no such"),
        (["2024-01-01T00:00:00.123456789"], "round times to microseconds"),
        (["2024-01-01T00:00:00Z", "2024-01-01"], "x is '2024-01-01' in row 1; it has no time zone"),
    ],
)
def test_what_is_no_date_or_time_is_named_by_its_row(values, message):
    with pytest.raises(LogError, match=message):
        times_in(texts(*values))
