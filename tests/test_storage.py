import json

import pytest

from understudy.storage import DEEPEST, parse_json, write_whole


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    write_whole(path, lambda beside: beside.write_text("new"))
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write(beside):
        beside.write_text("half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        write_whole(path, write)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("value", [{"a": [1, {"b": None}]}, [], 3, "text", [[[[1.5]]]]])
def test_json_is_read_as_it_was_written(value):
    assert parse_json(json.dumps(value)) == value


def test_as_many_levels_as_allowed_are_read():
    text = "[" * DEEPEST + "]" * DEEPEST
    assert parse_json(text) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 500 + "1" + "}" * 500, "[" * (DEEPEST + 1) + "]" * 65,
     "", "{", "nul", b"\xff\xfe{", '{"a": 1e400' , "1" * 5000],
)  # fmt: skip
def test_whatever_is_wrong_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)
