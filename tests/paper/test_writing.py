import csv
import json

import numpy as np

from paper.workspace import Workspace
from paper.writing import as_json, write_csv, write_item


def test_an_item_leaves_its_pictures_tables_and_numbers(item, tmp_path):
    write_item(tmp_path / "it", "It", item, Workspace(tmp_path / "it"))
    assert {file.name for file in (tmp_path / "it").iterdir()} == {
        "line.png", "line.csv", "lengths.csv", "comparisons.csv", "item.json",
    }  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "it" / "comparisons.csv").read_text().splitlines()))
    assert [row["paper"] for row in rows] == ["134925", "about 2"]
    assert rows[1]["interval, low"] == "1"
    assert json.loads((tmp_path / "it" / "item.json").read_text())["findings"][0]["verdict"] == "Does not reproduce"


def test_a_column_of_pairs_becomes_two(tmp_path):
    write_csv(tmp_path / "t.csv", {"range": [None, (1.0, 2.0)], "n": [1, 2]})
    assert list(csv.reader((tmp_path / "t.csv").read_text().splitlines())) == [
        ["range, low", "range, high", "n"],
        ["", "", "1"],
        ["1", "2", "2"],
    ]


def test_a_column_of_texts_and_numbers_is_text(tmp_path):
    write_csv(tmp_path / "t.csv", {"paper": ["about 2", 3, None]})
    assert (tmp_path / "t.csv").read_text().split("\n")[:3] == ['"paper"', '"about 2"', '"3"']


def test_numbers_that_json_lacks_are_texts():
    assert as_json({1: (np.float64("nan"), np.int64(3), np.array([0.5, np.inf]))}) == {"1": ["nan", 3, [0.5, "inf"]]}
