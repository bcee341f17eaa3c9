"""Columns of a table as arrays in the dtypes of a log."""

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs import arrow_columns
from understudy.logs.coded_observations import CodingRules
from understudy.logs.selection import select
from understudy.logs.streamed import StreamedTable
from understudy.logs.table_columns import actions_of, clean_columns, observations_of

COLUMNS = {
    "x": pa.array([0.5, 1.5, 2.5]),
    "y": pa.array([3.0, 4.0, 5.0]),
    "z": pa.array([1, 2, 3]),
    "action": pa.array(["b", "a", "b"]),
    "reward": pa.array([1, 0, 1]),
    "episode": pa.array(["v", "v", "w"]),
    "terminated": pa.array(["no", "yes", "yes"]),
    "p_a": pa.array([0.25, 0.5, 0.75]),
    "p_b": pa.array([0.75, 0.5, 0.25]),
}


def streamed(columns):
    """The columns in chunks of one row, and how often each was read."""
    reads = []

    def read(names):
        reads.extend(names)
        for row in range(3):
            yield pa.table({name: columns[name].slice(row, 1) for name in names})

    schema = pa.schema({name: column.type for name, column in columns.items()})
    return StreamedTable(schema, 3, read), reads


def cleaned(table, **wanted):
    names = {"observation": ["x", "y"], "action": "action", "reward": "reward", **wanted}
    selections = select(table, names)
    columns, labels, are_codes = clean_columns(table, selections, actions_of(table, selections["action"]), None)
    observed, coding = observations_of(table, selections, CodingRules(), None)
    assert coding is None
    return columns | observed, labels, are_codes


@pytest.mark.parametrize("in_memory", [True, False])
def test_each_column_is_read_once_and_in_its_dtype(in_memory):
    table, reads = streamed(COLUMNS)
    wanted = {"episode": "episode", "terminated": "terminated", "propensity": ["p_a", "p_b"]}
    columns, labels, are_codes = cleaned(pa.table(COLUMNS) if in_memory else table, **wanted)
    assert (labels, are_codes) == (("a", "b"), True)
    assert {name: column.dtype.str[1:] for name, column in columns.items()} == {
        "observation": "f8", "action": "i4", "reward": "f8", "episode": "i8", "terminated": "b1", "propensity": "f8"
    }  # fmt: skip
    assert columns["observation"].tolist() == [[0.5, 3.0], [1.5, 4.0], [2.5, 5.0]]
    assert columns["action"].tolist() == [1, 0, 1]
    assert columns["episode"].tolist() == [0, 0, 1]
    assert columns["terminated"].tolist() == [False, True, True]
    assert columns["propensity"].tolist() == [[0.25, 0.75], [0.5, 0.5], [0.75, 0.25]]
    assert in_memory or len(set(reads)) == len(reads) == 8


@pytest.mark.parametrize("at_once", [1, 2, 64])
def test_columns_are_read_some_at_a_time(monkeypatch, at_once):
    monkeypatch.setattr(arrow_columns, "AT_ONCE", at_once)
    wide = {f"observation_{at}": pa.array([at, at + 10, at + 20]) for at in range(5)}
    table, reads = streamed({**COLUMNS, **wide})
    columns, _, _ = cleaned(table, observation=None)
    assert columns["observation"].tolist() == [[0, 1, 2, 3, 4], [10, 11, 12, 13, 14], [20, 21, 22, 23, 24]]
    assert len(reads) == len(set(reads))


def test_columns_of_several_types_are_stacked_in_one_that_holds_all():
    table, _ = streamed(COLUMNS)
    columns, _, _ = cleaned(table, observation=["z", "x"])
    assert columns["observation"].tolist() == [[1.0, 0.5], [2.0, 1.5], [3.0, 2.5]]
    columns, _, _ = cleaned(table, observation=["z"])
    assert (columns["observation"].dtype, columns["observation"].shape) == (np.int64, (3, 1))


def test_actions_that_share_a_propensity_have_it_both():
    table, reads = streamed(COLUMNS)
    columns, _, _ = cleaned(table, propensity=["p_a", "p_b", "p_a"])
    assert columns["propensity"][0].tolist() == [0.25, 0.75, 0.25]
    assert reads.count("p_a") == 1


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("action", ["a", "b", None], "column action has no value in row 2"),
        ("action", ["a", " ", "b"], "action is ' ' in row 1; give every row a label"),
        ("episode", ["v", "v", ""], "episode is '' in row 2; give every row its episode"),
        ("terminated", ["no", "perhaps", "yes"], "terminated is 'perhaps' in row 1; give true and false, or 1 and 0"),
        ("reward", [0, 1, None], "column reward has no value in row 2"),
        ("reward", ["1", "1", "x"], "reward is 'x' in row 2, not a number"),
        ("x", [1, 2, None], "column x has no value in row 2"),
    ],
)
def test_messages_name_the_row_counted_through_all_chunks(name, values, words):
    columns = {**COLUMNS, name: pa.array(values)}
    for table in (streamed(columns)[0], pa.table(columns)):
        with pytest.raises(LogError, match=words):
            cleaned(table, observation=["x", "z"], episode="episode", terminated="terminated")
