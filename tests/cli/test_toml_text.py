"""What is written as TOML reads back as it was."""

import tomllib

import pytest

from understudy.cli.toml_text import toml_text

TABLES = [
    {},
    {"runs": 3, "rate": 0.1, "quick": True, "names": ["a", "b"], "none": []},
    {"text": 'a "quoted" \\ back\nline\ttab \x7f \x00 ünï ☃ 😀'},
    {"logs": {"of may": {"log": "may.parquet"}, "": {}, "a.b": {"x": {"y": 1}}}, "runs": 1},
    {"leave_out": [{"learner": "q", "log": ["a", "b"]}, {"simulator": "qbe"}], "seed": -2},
    {"large": 1e300, "small": 5e-324, "whole": 2**62},
]


@pytest.mark.parametrize("table", TABLES)
def test_tables_read_back_as_they_were(table):
    assert tomllib.loads(toml_text(table)) == table


def test_what_toml_cannot_hold_is_refused():
    with pytest.raises(TypeError, match="cannot hold None"):
        toml_text({"x": None})
