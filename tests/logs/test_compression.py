import bz2
import gzip

import numpy as np
import pytest

from understudy.errors import LogError
from understudy.logs import Log, compression, read, write
from understudy.logs.compression import lines_of, pieces_of

ENDED = {
    "observation": [0, 1, 2, 5],
    "action": [0, 1, 0, 1],
    "reward": [0.0, 0.5, 1.0, 0.0],
    "terminated": [0, 0, 1, 1],
}


def packed(content, ending):
    import pyarrow as pa

    if ending == ".gz":
        return gzip.compress(content)
    return bz2.compress(content) if ending == ".bz2" else pa.compress(content, codec="zstd", asbytes=True)


@pytest.mark.parametrize("ending", ["", ".gz", ".zst", ".bz2"])
def test_a_csv_comes_back_from_every_compression(tmp_path, ending):
    log = Log.from_columns(**ENDED)
    write(log, tmp_path / f"log.csv{ending}")
    assert read(tmp_path / f"log.csv{ending}").fingerprint == log.fingerprint
    content = b"observation,action,reward\n7,0,1\n"
    (tmp_path / f"other.CSV{ending}").write_bytes(packed(content, ending) if ending else content)
    assert read(tmp_path / f"other.CSV{ending}", ends="every-row").observation.tolist() == [7]


@pytest.mark.parametrize("ending", [".gz", ".zst", ".bz2"])
def test_equal_logs_give_equal_files(tmp_path, ending):
    for name in ("one", "two"):
        write(Log.from_columns(**ENDED), tmp_path / f"{name}.csv{ending}")
    assert (tmp_path / f"one.csv{ending}").read_bytes() == (tmp_path / f"two.csv{ending}").read_bytes()


@pytest.mark.parametrize("ending", [".gz", ".zst", ".bz2"])
@pytest.mark.parametrize("damage", ["cut", "garbage after it", "not packed at all"])
def test_damaged_files_are_refused_in_a_sentence(tmp_path, ending, damage):
    rows = np.random.default_rng(0).integers(10**9, size=2000)
    content = b"observation,action,reward\n" + b"".join(b"%d,0,1\n" % row for row in rows)
    whole = packed(content, ending)
    path = tmp_path / f"log.csv{ending}"
    path.write_bytes({"cut": whole[:-200], "garbage after it": whole + b"garbage" * 9}.get(damage, content))
    with pytest.raises(LogError, match="cannot be read") as refused:
        read(path, ends="every-row")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["bomb.csv.gz", "bomb.dsjson.gz", "bomb.vw.gz", "bomb.gz"])
@pytest.mark.parametrize("filling", [b"\0", b"a", b"\n"])
def test_a_small_file_that_unpacks_without_end_is_refused(tmp_path, monkeypatch, name, filling):
    monkeypatch.setattr(compression, "FREE", 2**20)
    monkeypatch.setattr(compression, "PIECE", 2**18)
    (tmp_path / name).write_bytes(gzip.compress(filling * 2**24))
    with pytest.raises(LogError):
        read(tmp_path / name)
    with pytest.raises(LogError, match="unpacks to more than"):
        list(pieces_of(tmp_path / name))


def test_a_log_of_equal_rows_may_unpack_to_much(tmp_path):
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(b"observation,action,reward\n" + b"1,0,0.5\n" * 10**6))
    assert len(read(tmp_path / "log.csv.gz", ends="every-row")) == 10**6


def test_lines_have_their_numbers_whatever_the_pieces(tmp_path, monkeypatch):
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfone\r\n\nthree\nfo\xc3\xbcr")
    for piece in (1, 2, 3, 100):
        monkeypatch.setattr(compression, "PIECE", piece)
        assert list(lines_of(tmp_path / "text")) == [(1, "one"), (2, ""), (3, "three"), (4, "foür")]


@pytest.mark.parametrize(
    ("content", "message"), [(b"one\n\xff\n", "line 2 is not UTF-8"), (b"a\0b", "line 1 holds a NUL")]
)
def test_what_is_not_text_is_refused_by_its_line(tmp_path, content, message):
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(LogError, match=message):
        list(lines_of(tmp_path / "text"))


def test_a_line_without_an_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "LONGEST_LINE", 1000)
    monkeypatch.setattr(compression, "PIECE", 100)
    (tmp_path / "text").write_bytes(b"short\n" + b"x" * 5000)
    with pytest.raises(LogError, match="line 2 has more than 1,000 bytes"):
        list(lines_of(tmp_path / "text"))


def test_progress_counts_the_bytes_of_the_file(tmp_path, capsys, monkeypatch):
    (tmp_path / "log.csv").write_bytes(b"observation,action,reward\n" + b"1,0,0.5\n" * 200_000)
    read(tmp_path / "log.csv", ends="every-row", progress=True)
    assert "reading log.csv, MiB" in capsys.readouterr().err
    read(tmp_path / "log.csv", ends="every-row")
    assert capsys.readouterr().err == ""
