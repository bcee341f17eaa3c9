import json
import os
import threading

import numpy as np
import pytest

from understudy.errors import EncoderError
from understudy.runs.state_files import HEADER, StateFiles, StatesOf, locked

OF = StatesOf("log", "encoder", 10)
BLOCKS = [slice(0, 4), slice(4, 8), slice(8, 10)]
STATES = np.arange(20).reshape(2, 10)


def files_in(folder, **of):
    return StateFiles(folder, OF._replace(**of), BLOCKS)


def written(folder, numbers=(0, 1, 2)):
    files = files_in(folder)
    for number in numbers:
        files.write(number, STATES[:, BLOCKS[number]])
    return files


def test_blocks_may_be_written_in_any_order_and_by_several_processes(tmp_path):
    folder = tmp_path / "a" / "states"
    written(folder, (2,))
    assert files_in(folder).missing() == [0, 1]
    written(folder, (1, 0))
    files = files_in(folder)
    assert files.missing() == []
    assert files.is_unfinished
    files.finish()
    assert not files_in(folder).is_unfinished
    assert np.array_equal(files.arrays(), STATES)


def test_a_block_that_is_not_as_it_was_written_is_missing(tmp_path):
    written(tmp_path).finish()
    for name in ("state", "next_state"):
        content = bytearray((tmp_path / name).read_bytes())
        content[4 * 5] ^= 1
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (1, 1))
        assert files_in(tmp_path).missing() == [1]
        written(tmp_path, (1,)).finish()
        assert files_in(tmp_path).missing() == []
    (tmp_path / "blocks").write_bytes(b"")
    os.utime(tmp_path / "state", (2, 2))
    assert files_in(tmp_path).missing() == [0, 1, 2]
    (tmp_path / "state").unlink()
    assert files_in(tmp_path).missing() == [0, 1, 2]


def test_a_copy_is_read_again_and_whole(tmp_path):
    written(tmp_path).finish()
    os.utime(tmp_path / "state", (1, 1))
    files = files_in(tmp_path)
    assert files.is_unfinished
    assert files.missing() == []


def test_wider_states_begin_anew(tmp_path):
    files = written(tmp_path, (0, 1))
    files.write(2, STATES[:, BLOCKS[2]] + 2**40)
    assert files.missing() == [0, 1]
    assert files_in(tmp_path).missing() == [0, 1]
    for number in (0, 1):
        files.write(number, STATES[:, BLOCKS[number]])
    files.finish()
    assert files_in(tmp_path).arrays()[1].tolist() == [*range(10, 18), 18 + 2**40, 19 + 2**40]


@pytest.mark.parametrize(("of", "what"), [({"log": "b"}, "log"), ({"encoder": "b"}, "encoder"), ({"rows": 11}, "log")])
def test_states_of_something_else_are_refused(tmp_path, of, what):
    written(tmp_path)
    with pytest.raises(EncoderError, match=f"holds states of another {what}"):
        files_in(tmp_path, **of)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"format": 1}', "[" * 99, "null", '{"format": 9, "log": 1}'])
def test_a_damaged_header_is_refused_with_the_next_move(tmp_path, content):
    written(tmp_path)
    (tmp_path / HEADER).write_text(content)
    with pytest.raises(EncoderError, match="remove the folder"):
        files_in(tmp_path)


@pytest.mark.parametrize(("name", "value"), [("dtype", "|O"), ("height", "4"), ("stamps", 3), ("stamps", [1])])
def test_a_forged_header_is_refused(tmp_path, name, value):
    written(tmp_path)
    header = json.loads((tmp_path / HEADER).read_text())
    (tmp_path / HEADER).write_text(json.dumps(header | {name: value}))
    with pytest.raises(EncoderError, match="cannot be read"):
        files_in(tmp_path)


def test_other_formats_and_blocks(tmp_path):
    written(tmp_path)
    header = json.loads((tmp_path / HEADER).read_text())
    assert StateFiles(tmp_path, OF, [slice(0, 10)]).missing() == [0]
    (tmp_path / HEADER).write_text(json.dumps(header | {"format": 2}))
    with pytest.raises(EncoderError, match="format 2"):
        files_in(tmp_path)


def test_folders_of_other_things_are_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(EncoderError, match=r"holds other files \(thesis.tex\)"):
        files_in(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(EncoderError, match="states cannot be kept in"), locked(tmp_path / "thesis.tex"):
        pass


def test_a_full_disk_is_told_with_the_next_move(tmp_path, monkeypatch):
    def no_room(*_):
        raise OSError(28, "No space left on device")

    files = written(tmp_path, (0,))
    monkeypatch.setattr("understudy.runs.state_files._write_all", no_room)
    with pytest.raises(EncoderError, match="No space left on device; make room"):
        files.write(1, STATES[:, BLOCKS[1]])
    monkeypatch.undo()
    assert files_in(tmp_path).missing() == [1, 2]


def test_one_process_at_a_time_writes(tmp_path):
    order = []

    def second():
        with locked(tmp_path):
            order.append("second")

    thread = threading.Thread(target=second)
    with locked(tmp_path):
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
