import os

import pyarrow as pa
import pytest

from understudy.errors import LogError, SettingError
from understudy.logs import Log, check, read, write

ENDED = {
    "observation": [0, 1, 2, 5],
    "action": [0, 1, 0, 1],
    "reward": [0.0, 0.5, 1.0, 0.0],
    "terminated": [False, False, True, True],
}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_read(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({**ENDED, "action": ["b", "a", "b", "a"], "visit": ["x", "x", "x", "y"]})
    log = read(frame, episode="visit")
    assert log.episode.tolist() == [0, 0, 0, 1]
    assert log.action.tolist() == [1, 0, 1, 0]


def test_frames_that_arrow_cannot_hold_are_refused():
    pandas = pytest.importorskip("pandas")
    for column in ([2**64] * 4, [1j] * 4, [object()] * 4):
        with pytest.raises(LogError, match="has no Arrow form"):
            read(pandas.DataFrame({**ENDED, "x": column}))
    with pytest.raises(
        LogError, match=r"column x holds text \('a' in row 1\) and other values \(1 in row 0\); make all"
    ):
        read(pandas.DataFrame({**ENDED, "x": [1, "a", 2.5, None]}))


def test_what_is_no_table_is_refused():
    with pytest.raises(LogError, match="cannot read a list; give a path or a DataFrame"):
        read([1, 2, 3])


def unreadable(tmp_path):
    write(Log.from_columns(**ENDED), tmp_path / "whole.parquet")
    content = (tmp_path / "whole.parquet").read_bytes()
    return {
        "cut.parquet": content[: len(content) // 2],
        "damaged.parquet": content[:4] + bytes(200) + content[204:],
        "garbage.parquet": b"what is this",
        "empty.parquet": b"",
        "empty.csv": b"",
        "header.csv": b"observation,action,reward\n",
        "ragged.csv": b"observation,action,reward\n1,2,3\n1,2\n",
        "latin.csv": b"observation,\xe9action,reward\n1,2,3\n",
        "label.csv": b"observation,action,reward\n1,\xe9,3\n",
        "words.csv": b"observation,action,reward\nhere,1,2\n",
        "cut.csv.gz": b"\x1f\x8b\x08\x00",
        "log.txt": b"observation,action,reward\n1,2,3\n",
        "log": b"PAR1 and nothing else",
    }


def test_a_file_that_is_no_log_is_refused_in_one_sentence_that_names_it(tmp_path):
    for name, content in unreadable(tmp_path).items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(LogError) as refused:
            read(path)
        assert str(path) in str(refused.value), name
        assert "\n" not in str(refused.value), name
        assert "; " in str(refused.value), name


@pytest.mark.parametrize(("name", "words"), [("none.parquet", "does not exist"), ("", "is a folder")])
def test_a_path_that_is_no_file_is_refused(tmp_path, name, words):
    with pytest.raises(LogError, match=words):
        read(tmp_path / name)


@pytest.mark.parametrize("ending", [b".csv", b".csv.gz", b".parquet"])
def test_a_path_that_is_not_utf8_is_read(tmp_path, ending):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/b\xff" + ending)
    try:
        write(Log.from_columns(**ENDED), path)
    except LogError:
        pytest.skip("the file system takes no such name")
    assert read(path).fingerprint == Log.from_columns(**ENDED).fingerprint


IMPOSSIBLE = ["a\0b{}", "\ud800{}", "x" * 5000 + "{}", "y/" * 3000 + "{}", "none/{}", "a\x1b[31m/{}"]


@pytest.mark.parametrize("path", IMPOSSIBLE, ids=ascii)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_paths_that_cannot_be_are_refused_in_a_short_sentence(tmp_path, path, ending):
    for call in (read, check, lambda where: write(Log.from_columns(**ENDED), where)):
        if call is check:
            message = str(check(f"{tmp_path}/{path.format(ending)}").findings[0])
        else:
            with pytest.raises(LogError) as refused:
                call(f"{tmp_path}/{path.format(ending)}")
            message = str(refused.value)
        assert message.isprintable()
        assert len(message) < 600
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    for name in ("log.csv", "log.parquet", "log"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(LogError, match="is not a plain file"):
            read(tmp_path / name)


def test_a_format_is_named_or_known_by_the_name_or_content(tmp_path):
    log = Log.from_columns(**ENDED)
    write(log, tmp_path / "log.parquet")
    write(log, tmp_path / "log.csv")
    (tmp_path / "log.parquet").rename(tmp_path / "log.bin")
    (tmp_path / "log.csv").rename(tmp_path / "log.txt")
    assert read(tmp_path / "log.bin").fingerprint == log.fingerprint
    assert read(tmp_path / "log.txt", format="csv").fingerprint == log.fingerprint
    with pytest.raises(LogError, match=r"log\.txt is in no format that is known by its name or content.*say format="):
        read(tmp_path / "log.txt")


def test_the_wrong_format_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "log.csv").write_text("observation,action,reward\n1,0,1\n")
    for name in ("vw", "dsjson", "parquet", "open-bandit"):
        with pytest.raises(LogError, match=r"log\.csv") as refused:
            read(tmp_path / "log.csv", format=name)
        assert "\n" not in str(refused.value)
    with pytest.raises(SettingError, match="format='excel' is unknown; give one of parquet, csv, open-bandit, vw"):
        read(tmp_path / "log.csv", format="excel")
    with pytest.raises(SettingError, match="format='vw' is about files, not a Table"):
        read(pa.table(ENDED), format="vw")
