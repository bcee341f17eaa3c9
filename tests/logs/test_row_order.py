import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs.row_order import sorted_rows, with_episodes_together


def test_rows_are_sorted_by_several_columns_and_ties_keep_their_order():
    table = pa.table({"day": ["10", "9", "10", "9"], "hour": [1, 1, 0, 1]})
    assert sorted_rows(table, ["day", "hour"]).tolist() == [1, 3, 2, 0]
    with pytest.raises(LogError, match="rows cannot be sorted by x; give order_by numbers, dates or text"):
        sorted_rows(pa.table({"x": [[1], [2]]}), ["x"])


def test_rows_of_an_episode_come_together_by_first_appearance():
    order, how = with_episodes_together(np.array([2, 0, 1]), np.array([7, 8, 8]))
    assert order.tolist() == [2, 1, 0]
    assert how == " and, since episodes overlapped, gathered by episode"
    assert with_episodes_together(np.array([1, 0]), None)[1] == ""
    assert with_episodes_together(np.array([1, 0]), np.array([7, 8]))[0].tolist() == [1, 0]


@pytest.mark.parametrize(
    "texts",
    [
        ["20/12/2025 00:00", "01/01/2026 00:00"],
        ["1,000", "20"],
        ["5.6.24", "1.7.24"],
        ["2024/9/1", "2024/10/1"],
        ["9000,5", "10000,5"],
    ],
)
def test_text_whose_letters_do_not_sort_as_its_meaning_is_refused(texts):
    with pytest.raises(LogError, match=r"order_by column at holds texts such as .* letter by letter"):
        sorted_rows(pa.table({"at": texts}), ["at"])


@pytest.mark.parametrize("texts", [["2025/12/20", "2026/01/01"], ["2025-12-20 10:00", "2026-01-01 09:00"], ["a", "b"]])
def test_text_that_sorts_by_its_letters_is_sorted(texts):
    assert sorted_rows(pa.table({"at": texts[::-1]}), ["at"]).tolist() == [1, 0]
