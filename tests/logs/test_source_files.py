"""Which files folders, patterns and lists stand for, in which order, and what their folders say."""

import os
import time
from pathlib import Path

import pytest

from understudy.errors import LogError
from understudy.logs.source_files import files_of, is_pattern, natural_key, partition_of, shown_path


@pytest.fixture
def folder(tmp_path):
    """A folder as Spark leaves one: files in folders of days, out of order, and files of its own beside them."""
    names = ["day=10/part-0", "day=9/part-10", "day=9/part-2", "_SUCCESS", ".crc", "_temporary/part-0", "day=9/.crc"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


def found(source, folder):
    return [str(file.path.relative_to(folder)) for file in files_of(source)]


def test_files_of_a_folder_are_in_natural_order_without_hidden_ones(folder):
    assert found(folder, folder) == ["day=9/part-2", "day=9/part-10", "day=10/part-0"]
    assert [file.partition for file in files_of(folder)] == [{"day": "9"}, {"day": "9"}, {"day": "10"}]


def test_folders_above_the_one_that_is_given_say_nothing(folder):
    assert [file.partition for file in files_of(folder / "day=9")] == [{}, {}]


@pytest.mark.parametrize("pattern", ["day=*/*", "*", "**", "**/part*", "day=*"])
def test_a_pattern_finds_what_the_folder_does(folder, pattern):
    assert found(f"{folder}/{pattern}", folder) == found(folder, folder)
    assert [file.partition["day"] for file in files_of(f"{folder}/{pattern}")] == ["9", "9", "10"]


def test_a_pattern_may_ask_for_hidden_files_and_a_file_named_like_a_pattern_is_itself(folder):
    assert found(f"{folder}/_S*", folder) == ["_SUCCESS"]
    (folder / "log[1].parquet").write_text("x")
    assert not is_pattern(folder / "log[1].parquet")
    assert files_of(folder / "log[1].parquet") is None


def test_a_pattern_ends_where_links_lead_around_in_circles(folder):
    for name in "abcdefgh":
        os.symlink(folder, folder / f"link-{name}")
    began = time.process_time()
    assert set(found(folder, folder)) <= set(found(f"{folder}/**/part*", folder))
    assert set(found(f"{folder}/**", folder)) == set(found(folder, folder))
    assert time.process_time() - began < 5  # Python's own way takes longer than anyone waits


def test_a_list_keeps_its_order_and_names_each_file_once(folder):
    paths = [folder / "day=10/part-0", str(folder / "day=9/part-2")]
    assert [file.path for file in files_of(paths)] == [Path(path) for path in paths]
    with pytest.raises(LogError, match="is in the list twice; name each file once"):
        files_of([paths[0], folder / "day=9" / ".." / "day=10" / "part-0"])


def test_a_link_to_a_folder_is_followed_and_one_to_where_it_lies_is_not(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "part-7").write_text("x")
    os.symlink(elsewhere, folder / "day=8")
    os.symlink(folder, folder / "day=9" / "again")
    assert found(folder, folder) == ["day=8/part-7", "day=9/part-2", "day=9/part-10", "day=10/part-0"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "is a folder without files; put Parquet files there"),
        ("*.parquet", "no file matches .*; check the pattern"),
        ([], "the list of files is empty; give at least one path"),
    ],
)
def test_where_there_is_no_file_the_next_move_is_said(tmp_path, source, words):
    with pytest.raises(LogError, match=words):
        files_of(f"{tmp_path}/{source}" if isinstance(source, str) else source)


def test_one_path_and_other_objects_are_not_several_files(folder):
    assert files_of(folder / "day=9" / "part-2") is files_of(folder / "nothing") is files_of({"action": [0]}) is None
    assert files_of([0, 1]) is None


def test_numbers_in_paths_are_numbers_and_equal_ones_are_still_in_an_order():
    paths = [Path(name) for name in ("b-01", "b-1", "b-0", "a/z", "10", "9", "b-1/x")]
    for given in (paths, list(reversed(paths))):
        given.sort(key=natural_key)
        assert [str(path) for path in given] == ["9", "10", "a/z", "b-0", "b-01", "b-1", "b-1/x"]


def test_partitions_are_unquoted_and_the_name_of_the_file_is_not_one():
    assert partition_of(Path("country=New%20Zealand/a=b=c/x=1.parquet")) == {"country": "New Zealand", "a": "b=c"}


def test_a_long_path_is_shown_without_its_middle():
    assert len(shown_path("x" * 5000)) < 400
