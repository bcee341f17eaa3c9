"""States of a log in a folder: written in blocks, each with a digest, so that whoever is killed can be followed.

A folder holds `states.json`, which says of what the states are; `state` and `next_state`, raw integers, one a row; and
`blocks`, a digest of each block that was written. A block counts only if its bytes have that digest, so nothing that is
half written is ever used. One process at a time writes to a folder; others wait, and use what it has written.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from understudy.errors import EncoderError
from understudy.locks import take_lock
from understudy.storage import error_reason, parse_json, write_whole

FORMAT = 1
HEADER, DIGESTS = "states.json", "blocks"
COLUMNS = ("state", "next_state")
DIGEST_SIZE = 16
DTYPES = ("<i4", "<i8")


class StatesOf(NamedTuple):
    """What the states in a folder are of. Folders of anything else are refused."""

    log: str  # the log's fingerprint
    encoder: str  # a digest of the encoder
    rows: int


class StateFiles:
    """The files of states in a folder. Raise `EncoderError` where they are of something else, or cannot be written."""

    def __init__(self, folder: Any, of: StatesOf, blocks: Sequence[slice]) -> None:
        self.folder, self.of, self.blocks = Path(folder), of, list(blocks)
        self.height = self.blocks[0].stop if self.blocks else 0
        self.dtype = DTYPES[0]
        self.stamps: list[list[int]] | None = None  # of the two files, once they were whole
        header = self._read_header()
        if header is None:
            self._begin()
            return
        self.dtype, self.stamps = header["dtype"], header["stamps"]

    @property
    def is_unfinished(self) -> bool:
        """True if the files have changed since they were whole, or never were."""
        return self.stamps is None or self.stamps != self._stamps()

    def missing(self) -> list[int]:
        """Return the numbers of the blocks that are not there as they were written.

        Files that nobody has touched since they were whole are not read again.
        """
        if not self.is_unfinished:
            return []
        with self._errors():
            digests = self._path(DIGESTS).read_bytes() if self._path(DIGESTS).exists() else b""
            return [number for number in range(len(self.blocks)) if not self._is_written(number, digests)]

    def write(self, number: int, states: Sequence[np.ndarray]) -> None:
        """Write the two columns of a block, and then its digest; begin anew where they need wider integers."""
        if self.dtype == DTYPES[0] and max(int(column.max()) for column in states) > np.iinfo(np.int32).max:
            self.dtype = DTYPES[1]
            self._begin()
        columns = [np.ascontiguousarray(column, self.dtype) for column in states]
        with self._errors():
            for name, column in zip(COLUMNS, columns, strict=True):
                _write_at(self._path(name), self.blocks[number].start * column.itemsize, column.data.cast("B"))
            _write_at(self._path(DIGESTS), number * DIGEST_SIZE, _digest(columns))

    def arrays(self, mode: Any = "r") -> tuple[np.ndarray, np.ndarray]:
        """Return the two columns, mapped from their files."""
        with self._errors():
            maps = [np.memmap(self._path(name), self.dtype, mode, shape=(self.of.rows,)) for name in COLUMNS]
        return np.asarray(maps[0]), np.asarray(maps[1])

    def finish(self) -> None:
        """Note that the files are whole, after what was changed in their arrays."""
        state, next_state = self.arrays()
        digests = b"".join(_digest([state[rows], next_state[rows]]) for rows in self.blocks)
        with self._errors():
            self._path(DIGESTS).write_bytes(digests)
            for name in COLUMNS:
                with self._path(name).open("rb+") as file:
                    os.fsync(file.fileno())
        self.stamps = self._stamps()
        self._write_header()

    def _begin(self) -> None:
        """Write the header, so that other experiments are refused, and make room for the columns."""
        with self._errors():
            self.folder.mkdir(parents=True, exist_ok=True)
            self.stamps = None
            self._path(DIGESTS).unlink(missing_ok=True)
            self._write_header()
            for name in COLUMNS:
                with self._path(name).open("ab") as file:
                    file.truncate(self.of.rows * np.dtype(self.dtype).itemsize)

    def _read_header(self) -> dict[str, Any] | None:
        """Return the header of the folder; None where there is none, or one that cannot be read."""
        path = self.folder / HEADER
        with self._errors():
            if not path.exists():
                found = [one.name for one in self.folder.iterdir()] if self.folder.exists() else []
                others = [name for name in found if name not in (*COLUMNS, DIGESTS) and not name.startswith(".")]
                if others:
                    raise EncoderError(
                        f"{self.folder} holds other files ({min(others)}); give an empty or a new folder"
                    )
                return None
            text = path.read_bytes()
        try:
            header = parse_json(text)
            version, known = header["format"], StatesOf(header["log"], header["encoder"], header["rows"])
            if header["dtype"] not in DTYPES or type(header["height"]) is not int:
                raise ValueError("it is of another kind")
            stamps = header["stamps"]
            if stamps is not None and not (isinstance(stamps, list) and len(stamps) == len(COLUMNS)):
                raise ValueError("it is of another kind")
        except (KeyError, TypeError, ValueError) as error:
            raise EncoderError(
                f"{path} cannot be read ({error_reason(error)}); remove the folder, and encode the log again"
            ) from None
        if version != FORMAT:
            raise EncoderError(
                f"{path} is of format {version!r}, not {FORMAT}; give another folder, or remove this one"
            )
        if known != self.of:
            what = "another log" if (known.log, known.rows) != (self.of.log, self.of.rows) else "another encoder"
            raise EncoderError(
                f"{self.folder} holds states of {what}, or of one that has changed since; give another folder, or "
                "remove this one"
            )
        if header["height"] != self.height:  # another version encodes in other blocks
            return None
        return header

    def _write_header(self) -> None:
        header = {"format": FORMAT, **self.of._asdict(), "dtype": self.dtype, "height": self.height}
        text = json.dumps(header | {"stamps": self.stamps})
        with self._errors():
            write_whole(self.folder / HEADER, lambda path: path.write_text(text, encoding="utf-8"))

    def _is_written(self, number: int, digests: bytes) -> bool:
        told, rows = digests[number * DIGEST_SIZE : (number + 1) * DIGEST_SIZE], self.blocks[number]
        if len(told) < DIGEST_SIZE or not any(told):
            return False
        itemsize = np.dtype(self.dtype).itemsize
        found = []
        for name in COLUMNS:
            if not self._path(name).exists():
                return False
            with self._path(name).open("rb") as file:
                file.seek(rows.start * itemsize)
                content = file.read((rows.stop - rows.start) * itemsize)
            found.append(np.frombuffer(content, np.uint8))
        return _digest(found) == told

    def _stamps(self) -> list[list[int]] | None:
        """Return the size and the time of change of each file of states; None where one is missing."""
        try:
            found = [os.stat(self._path(name)) for name in COLUMNS]
        except OSError:
            return None
        return [[one.st_size, one.st_mtime_ns] for one in found]

    def _path(self, name: str) -> Path:
        return self.folder / name

    def _errors(self) -> "_AsEncoderErrors":
        return _AsEncoderErrors(self.folder)


@contextmanager
def locked(folder: Any) -> Iterator[None]:
    """Context manager: let one process at a time write to a folder. The system unlocks it where a process dies."""
    with _AsEncoderErrors(Path(folder)):
        Path(folder).mkdir(parents=True, exist_ok=True)
        file = (Path(folder) / ".lock").open("wb")
    with file:
        take_lock(file)  # without locks, two processes may encode the same blocks
        yield


class _AsEncoderErrors:
    """Context manager: raise an `EncoderError` with the next move where the system has no room, or no permission."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, OSError):
            raise EncoderError(
                f"states cannot be kept in {self.folder}: {error_reason(error)}; make room there, or give another "
                "folder with out=; what was encoded so far is kept"
            ) from error


def _digest(columns: Sequence[np.ndarray]) -> bytes:
    digest = blake2b(digest_size=DIGEST_SIZE)
    for column in columns:
        digest.update(np.ascontiguousarray(column).data.cast("B"))
    return digest.digest()


def _write_at(path: Path, place: int, content: Any) -> None:
    with path.open("rb+" if path.exists() else "wb") as file:
        file.seek(place)
        _write_all(file, content)


def _write_all(file: BinaryIO, content: Any) -> None:
    if file.write(content) != len(content):
        raise OSError("only a part could be written")
