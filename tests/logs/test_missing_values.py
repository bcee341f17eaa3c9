"""All columns that lack values are named at once."""

import pandas as pd
import pyarrow as pa
import pytest

import understudy as us
from understudy.errors import LogError

ROWS = 40


def frame():
    return pd.DataFrame(
        {
            "country": ["DE", "FR"] * 20, "days": range(ROWS), "rate": [0.5] * ROWS, "offer": ["none", "some"] * 20,
            "paid": [1.0] * ROWS, "trip": range(ROWS),
        }
    )  # fmt: skip


def told(table, **more):
    with pytest.raises(LogError) as error:
        us.read(table, observation=["country", "days", "rate"], action="offer", reward="paid", episode="trip",
                ends="every-row", **more)  # fmt: skip
    return str(error.value)


@pytest.mark.parametrize("form", ["csv", "parquet", "frame", "categories"])
def test_columns_without_values_are_named_together_with_their_rows(form, tmp_path):
    rows = frame().astype({"days": "Int64"})
    rows.loc[[3, 7, 8, 9, 20, 33], "country"] = None
    rows.loc[5, "days"] = pd.NA
    rows.loc[[1, 2], "rate"] = float("nan")
    rows.loc[[4, 11], "offer"] = None
    rows.loc[30, "paid"] = float("nan")  # a finding of check
    if form == "categories":
        rows["country"] = rows["country"].astype("category")
    source = rows
    if form in ("csv", "parquet"):
        source = tmp_path / f"log.{form}"
        rows.to_csv(source, index=False) if form == "csv" else rows.to_parquet(source)
    assert (
        "values are missing: observation column country in 6 rows (3, 7, 8, 9, 20, ...), observation column days in "
        "row 5, observation column rate in 2 rows (1, 2), action column offer in 2 rows (4, 11) (rows are counted "
        "from 0); fill them in, or drop the rows"
    ) in told(source)


def test_a_single_value_is_named_by_its_row():
    rows = frame()
    rows.loc[6, "country"] = None
    assert told(rows) == "observation column country has no value in row 6; fill it in, or drop the row"


def test_a_column_of_another_kind_is_not_counted():
    """Next observations of rows that end an episode may have none, and rewards are a finding of check."""
    rows = frame()
    rows.loc[[6, 9], "country"] = None
    rows.loc[2, "paid"] = float("nan")
    assert "observation column country in 2 rows (6, 9) (rows" in told(pa.Table.from_pandas(rows))


def test_many_columns_are_not_all_named():
    table = {f"x{at}": [None, "a", "b"] for at in range(15)} | {"action": [0, 1, 0], "reward": [0, 0, 0]}
    with pytest.raises(LogError, match=r"observation column x11 in row 0, and 3 more columns \(rows are"):
        us.read(pa.table(table), observation=list(table)[:15], ends="every-row")
