from argparse import Namespace
from types import SimpleNamespace

import pytest

from benchmarks.measuring import lines_of, measured, write_table

OPTIONS = Namespace(only="", first=0, logs=2, workers=1)


def part(**cases):
    return SimpleNamespace(cases=lambda: cases, measure=max, LOGS=1)  # the larger of a case and the log's number


def test_what_was_measured_is_kept_and_not_measured_again(tmp_path):
    file = tmp_path / "results" / "part.jsonl"
    assert measured(file, part(a=7, b=0), OPTIONS) == {"a": [7, 7], "b": [0, 1]}
    assert measured(file, part(a=100, b=0), OPTIONS) == {"a": [7, 7], "b": [0, 1]}
    assert len(list(lines_of(file))) == 4
    more = measured(file, part(a=100, b=0), Namespace(**vars(OPTIONS) | {"logs": 3, "only": "a"}))
    assert more == {"a": [7, 7, 100]}


def test_a_line_that_was_cut_off_is_measured_again(tmp_path):
    file = tmp_path / "part.jsonl"
    file.write_text('{"case": "a", "log": 0, "found": 5}\n{"case": "a", "lo')
    assert [line["found"] for line in lines_of(file)] == [5]
    assert list(lines_of(tmp_path / "none.jsonl")) == []


def test_tables_are_written_where_the_page_names_them(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a -->\nold\n<!-- /a -->\nbetween\n<!-- b -->\n<!-- /b -->\n")
    write_table(page, "a", "new")
    assert page.read_text() == "before\n<!-- a -->\nnew\n<!-- /a -->\nbetween\n<!-- b -->\n<!-- /b -->\n"
    with pytest.raises(SystemExit, match="has no place for c"):
        write_table(page, "c", "new")
