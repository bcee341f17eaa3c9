import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import LogError, SettingError
from understudy.logs import Log
from understudy.logs.coding import Coding
from understudy.logs.column_coding import OTHER, ColumnCoding

PAGE = ColumnCoding("page", "category", ("cart", "home"))
VIP = ColumnCoding("vip", "truth", ("no", "yes"))
DAY = ColumnCoding("day", "date", origin="2024-01-01", unit="days")
CODING = Coding((PAGE, ColumnCoding("age", "integer"), VIP, DAY))
ROWS = [("home", 31, "yes", "2024-01-03"), ("cart", 20, "no", "2023-12-31")]
CODES = [[1, 31, 1, 2], [0, 20, 0, -1]]


def test_rows_are_coded_in_whatever_form_they_come():
    columns = dict(zip(CODING.names, zip(*ROWS, strict=True), strict=True))
    mappings = [dict(zip(CODING.names, row, strict=True)) for row in ROWS]
    lists = {name: list(values) for name, values in columns.items()}
    for rows in (ROWS, [list(row) for row in ROWS], np.array(ROWS, object), mappings, lists, pa.table(lists)):
        assert CODING.encode(rows).tolist() == CODES
    assert Coding((PAGE,)).encode(["home", "cart"]).tolist() == [1, 0]
    for library in (pytest.importorskip("pandas"), pytest.importorskip("polars")):
        assert CODING.encode(library.DataFrame(lists)).tolist() == CODES
        assert Coding((PAGE,)).encode(library.Series(["home", "cart"])).tolist() == [1, 0]
        log = Log.from_columns(
            observation=library.Series(["home", "cart"]), action=[0, 0], reward=[0, 0], ends="every-row"
        )
        assert log.observation.tolist() == [1, 0]
    assert Coding((PAGE,)).encode([("home",), ("cart",)]).tolist() == [1, 0]


def test_a_category_without_a_label_follows_the_rule_for_it():
    with pytest.raises(
        LogError, match=r"page is 'pay' in row 1; the coding of page has no such value \(it has cart, home\)"
    ):
        Coding((PAGE,)).encode(["home", "pay"])
    assert Coding((PAGE,)).encode(["home", "pay"], unseen="other").tolist() == [1, 2]
    other = Coding((PAGE,), unseen="other")
    assert other.encode(["home", "pay"]).tolist() == [1, 2]
    assert (Coding((PAGE,)).n_observations, other.n_observations) == (2, 3)
    assert other.decode(np.array([2])).column("page").to_pylist() == [OTHER]
    assert other.one_hot([1, 2]).tolist() == [[0, 1], [0, 0]]
    with pytest.raises(LogError, match="page is 'pay' in row 0"):
        other.encode(["pay"], unseen="error")
    with pytest.raises(LogError, match="vip is 'maybe' in row 0; give no or yes"):
        Coding((VIP,), unseen="other").encode(["maybe"])


def test_one_hot_is_the_same_states_in_columns_of_labels():
    one_hot = Coding(CODING.columns, form="one-hot")
    assert one_hot.features == ("page=cart", "page=home", "age", "vip", "day")
    matrix = one_hot.encode(ROWS)
    assert matrix.tolist() == [[0, 1, 31, 1, 2], [1, 0, 20, 0, -1]]
    assert matrix.tolist() == CODING.one_hot(CODES).tolist()
    assert one_hot.one_hot(matrix).tolist() == matrix.tolist()
    assert one_hot.decode(matrix).to_pylist() == CODING.decode(CODES).to_pylist()
    assert one_hot.words(matrix[0]) == {"page": "home", "age": "31", "vip": "yes", "day": "2024-01-03"}
    assert one_hot.n_observations is None
    with pytest.raises(SettingError, match="2 GiB are the most"):
        Coding((ColumnCoding("id", "category", tuple(map(str, range(2**16)))),)).one_hot(np.zeros(2**16))
    with pytest.raises(LogError, match="float64 would round"):
        CODING.one_hot(np.array([[0, 2**53 + 1, 0, 0]]))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "there are no rows"),
        ([("home", 31)], "row 0 does not have 4 values; give rows of page, age, vip, day, in this order"),
        (["home", 31], "row 0 does not have 4 values"),
        ({"page": ["home"]}, "there is no column age"),
        ([{"page": "home", "age": 3, "vip": "no"}], "day has no value in row 0"),
        ([("home", "old", "no", "2024-01-01")], "age is 'old' in row 0"),
        ([("home", 3, "no", "soon")], "day is 'soon' in row 0"),
        ([("home", 3, "no", "2024-01-01T00:00:00Z")], "day is coded as dates without time zones"),
        (3, "cannot read a int"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_coded_are_refused(rows, message):
    with pytest.raises(LogError, match=message):
        CODING.encode(rows)


def test_observations_of_another_coding_are_refused():
    with pytest.raises(SettingError, match="an observation has 2 entries, and the coding 4"):
        CODING.decode([[1, 2]])
    assert CODING.accepts(np.array(CODES))
    for wrong in ([[2.5, 1, 0, 0]], [[3, 1, 0, 0]], [[-1, 1, 0, 0]], [[0, 1, 2, 0]], [[0, 1, 0]], [0, 1]):
        assert not CODING.accepts(np.array(wrong))
    assert Coding((PAGE,)).accepts(np.array([0, 1]))
    assert CODING.accepts(np.array(CODES).reshape(2, 2, 2))


def test_a_coding_survives_json_and_shows_itself():
    for coding in (CODING, Coding((PAGE,), "other", "one-hot")):
        assert Coding.from_json(coding.to_json()) == coding
    for known in ({}, {"columns": [], "unseen": "error", "form": "codes"}, {**CODING.to_json(), "form": "no"}):
        with pytest.raises((ValueError, KeyError)):
            Coding.from_json(known)
    assert (
        str(CODING) == "page: category, 2 labels; age: integer; vip: truth, no or yes; day: date, days since 2024-01-01"
    )
    assert CODING.to_frame().to_pylist()[1] == {
        "column": "page", "kind": "category", "code": 1, "label": "home", "origin": None, "unit": None,
    }  # fmt: skip
    assert CODING.to_frame().num_rows == 6


def test_a_one_hot_matrix_above_two_gibibytes_is_refused_before_it_is_made():
    labels = tuple(f"city {number}" for number in range(5000))
    coding = Coding((ColumnCoding("age", "integer"), ColumnCoding("city", "category", labels)), form="codes")
    message = r"60,000 rows of 5,001 columns need 2\.2 GiB, and 2 GiB are the most: city alone has 5,000 values; group"
    with pytest.raises(SettingError, match=message):
        coding.one_hot(np.zeros((60_000, 2), np.int64))
    assert coding.one_hot(np.zeros((100, 2), np.int64)).shape == (100, 5001)
