import errno
import json
import os
import threading

import pytest

from understudy.storage import DEEPEST, parse_json, read_plain, write_first, write_whole


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


def test_of_many_writers_the_first_one_writes(tmp_path):
    path, barrier, won = tmp_path / "f", threading.Barrier(8), []

    def write(number):
        def content(beside):
            beside.write_text(str(number) * 1000)
            barrier.wait()

        if write_first(path, content):
            won.append(number)

    for _ in range(20):
        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert path.read_text() == str(won.pop()) * 1000
        assert [file.name for file in tmp_path.iterdir()] == ["f"]
        path.unlink()


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_is_there_is_not_written(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "f"
    assert write_first(path, lambda beside: beside.write_text("first"))
    assert not write_first(path, lambda beside: beside.write_text("second"))
    assert path.read_text() == "first"
    assert [file.name for file in tmp_path.iterdir()] == ["f"]


def refuse(*arguments):
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def test_only_plain_files_are_read(tmp_path):
    (tmp_path / "file").write_bytes(b"text")
    os.symlink(tmp_path / "file", tmp_path / "link")
    assert read_plain(tmp_path / "link") == b"text"
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none", type(tmp_path)("/dev/zero")):
        with pytest.raises(OSError, match=r"not a plain file|Is a directory|No such file"):
            read_plain(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError, match="a pipe or a device, not a file"):
        write_whole(tmp_path / "pipe", lambda path: path.write_text("x"))
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
