import datetime

import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs.recognition import needs_coding, recognize
from understudy.logs.texts import plain_array


def kind(*parts, as_category=False):
    arrays = {f"part {at}": plain_array(pa.array(values)) for at, values in enumerate(parts)}
    return recognize("x", arrays, as_category)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["yes", "no"], "x: truth, no or yes"),
        (["NO", "YES"], "x: truth, NO or YES"),
        (["yes", "Yes", "no"], "x: category, 3 labels"),
        (["yes"], "x: category, 1 label"),
        (["NO", "SE"], "x: category, 2 labels"),
        (["true"], "x: truth, false or true"),
        (["TRUE", "False"], "x: truth, false or true"),
        (["0", "1"], "x: integer"),
        (["0.5", "1"], "x: number"),
        (["+5", "1e3", ".5", "5."], "x: number"),
        (["123456789012345678901"], "x: number"),
        (["007", "8"], "x: category, 2 labels"),
        (["0.5", "0"], "x: number"),
        (["0x10", "0x11"], "x: category, 2 labels"),
        (["1", "b"], "x: category, 2 labels"),
        (["2024-01-02", "2024-01-01"], "x: date, days since 2024-01-01"),
        (["2024-01-02 10:00", "2024-01-01"], "x: date, seconds since 2024-01-01T00:00:00"),
        (["2024-01-02T10:00:00.25Z"], "x: date, seconds since 2024-01-02T10:00:00.250000Z"),
        (["2024-01-02T10:00:00+0200"], "x: date, seconds since 2024-01-02T08:00:00Z"),
        (["9999-12-31"], "x: date, days since 9999-12-31"),
        (["01/02/2024", "2024/01/02"], "x: category, 2 labels"),
        (["20240102"], "x: integer"),
        (["08:30", "23:59:59.5"], "x: time, seconds since midnight"),
        (["8:30"], "x: category, 1 label"),
        ([datetime.timedelta(1)], "x: duration, seconds"),
        ([True, False], "x: truth, false or true"),
        ([1, 2], "x: integer"),
        ([1.0], "x: number"),
    ],
)
def test_what_values_look_like_decides_their_kind(values, expected):
    assert str(kind(values)) == expected


def test_observations_and_next_observations_are_one_column():
    assert kind(["yes"], ["no"]).labels == ("no", "yes")
    assert kind(["b"], ["a", "c"]).labels == ("a", "b", "c")
    assert kind([1], [0.5]).kind == "number"
    assert kind([True], [2]).kind == "integer"
    assert kind([1], ["2"]).kind == "integer"
    assert kind(["a", "b"], pa.array(["z", "b"]).dictionary_encode()).labels == ("z", "b", "a")
    with pytest.raises(LogError, match="part 0 holds integers and part 1 holds dates; write both alike"):
        kind([1], [datetime.date(2024, 1, 1)])


def test_labels_that_differ_only_in_spaces_are_refused():
    for values in (["a", "a "], pa.array(["a", "a "]).dictionary_encode()):
        with pytest.raises(
            LogError, match="labels 'a' and 'a ', which differ only in spaces around them; clean the column"
        ):
            kind(values)


def test_zones_are_in_all_rows_or_in_none():
    with pytest.raises(
        LogError, match="part 0 is '2024-01-02T10:00' in row 1; it has no time zone and others have one"
    ):
        kind(["2024-01-02T10:00Z", "2024-01-02T10:00"])


def test_dates_that_no_calendar_has_are_refused():
    with pytest.raises(LogError, match="dates outside of the years 1 to 9999"):
        kind(pa.array([4_000_000], pa.date32()))


def test_types_that_are_not_numbers_need_a_coding():
    needing = [pa.string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.date32(), pa.duration("s")]
    assert all(map(needs_coding, needing))
    assert not any(map(needs_coding, [pa.int64(), pa.float32(), pa.bool_(), pa.binary(), pa.list_(pa.string())]))
