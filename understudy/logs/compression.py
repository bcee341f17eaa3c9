"""Files that may be compressed, unpacked piece by piece, with progress and a limit on what a small file can become."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from understudy.errors import LogError, visible
from understudy.progress import progress_bar

CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
"""The endings of compressed files, and what Arrow calls their compression."""

PIECE = 2**22  # bytes unpacked at a time
LARGE = 2**26  # bytes of a file from which on progress is shown unless told otherwise
LONGEST_LINE = 2**26
FREE = 2**28  # bytes that any file may unpack to
RATIO = 200  # beyond these, how many times its size a file may unpack to: logs have 5 to 50


def codec_of(name: str) -> str | None:
    """Return what Arrow calls the compression of a file of this name, which may be a suffix; None if there is none.

    >>> codec_of("clicks.csv.zst"), codec_of("clicks.csv")
    ('zstd', None)
    """
    return next((codec for ending, codec in CODECS.items() if name.lower().endswith(ending)), None)


def without_codec(name: str) -> str:
    """Return a name in small letters, without the ending of its compression.

    >>> without_codec("Clicks.CSV.gz")
    'clicks.csv'
    """
    name = name.lower()
    return name[: name.rindex(".")] if codec_of(name) else name


def pieces_of(path: Path, progress: bool | None = None) -> Iterator[bytes]:
    """Yield the content of a file in pieces, unpacked if its name says that it is compressed.

    `progress` is as in `read`. Raise `LogError` for a file that unpacks to far more than logs do, `OSError` for one
    that cannot be unpacked.
    """
    import pyarrow as pa

    size = path.stat().st_size
    show = False if progress is None and size < LARGE else progress
    unpacked, most = 0, max(FREE, RATIO * size)
    # A file, not a path, since Arrow takes no path that is not UTF-8.
    with (
        open(path, "rb") as file,
        pa.input_stream(file, compression=codec_of(path.name)) as stream,
        progress_bar(visible(f"reading {path.name}, MiB")[:60], max(1, size >> 20), show) as report,
    ):
        while piece := stream.read_buffer(PIECE).to_pybytes():  # where `read` raises, Arrow loses its 4 MiB
            unpacked += len(piece)
            if unpacked > most:
                raise LogError(
                    f"the file has {size:,} bytes and unpacks to more than {most:,}, which no log does; unpack it "
                    "yourself if that is meant, and read what comes out",
                    "file",
                )
            yield piece
            report(file.tell() >> 20)


def lines_of(path: Path, progress: bool | None = None) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file without their ends, each with its number from 1 up; empty ones too.

    Raise `LogError` for a line that is not UTF-8 or has no end.
    """
    number, rest = 0, b""
    for piece in pieces_of(path, progress):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            number += 1
            yield number, _text(line, number)
        if len(rest) > LONGEST_LINE:
            raise LogError(f"line {number + 1} has more than {LONGEST_LINE:,} bytes; is it text?", "file")
    if rest:
        yield number + 1, _text(rest, number + 1)


def _text(line: bytes, number: int) -> str:
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise LogError(f"line {number} is not UTF-8 (is it Latin-1?); save the file as UTF-8", "file") from None
    if "\0" in text:
        raise LogError(f"line {number} holds a NUL, so this is not text; check which file it is", "file")
    return text.removesuffix("\r")


def packed_stream(file: Any, name: str) -> Any:
    """Return a stream that compresses what is written to it into an open file, or the file, as the name says."""
    import gzip

    import pyarrow as pa

    codec = codec_of(name)
    if codec == "gzip":  # which must not hold the time, so that equal logs give equal files
        return gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0)
    return file if codec is None else pa.CompressedOutputStream(file, codec)
