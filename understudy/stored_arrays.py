"""Arrays in a folder with a manifest that is written last: they are there as a whole, or not at all."""

import atexit
import json
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.locks import locked_file
from understudy.mapped import ArrayRoom, blocks, file_below, made_in, open_array
from understudy.storage import NO_ROOM, error_reason, parse_json, write_whole

VERSION = 1
PIECE = 2**24  # bytes that are hashed together
DAMAGED = "a {} on disk that cannot be used ({}); remove the folder, and make it again"


@dataclass(frozen=True)
class Manifest:
    """What is told of arrays in a folder: the kind of thing they are, where they are, and facts beside them."""

    kind: str
    folder: str  # of the arrays, beside the manifest
    arrays: dict[str, dict[str, Any]]  # of each its file, dtype, shape, bytes, time of change and digest
    facts: dict[str, Any]  # values of JSON

    @property
    def digest(self) -> str:
        """A hash of all of it: of other arrays it would be another."""
        content = [VERSION, self.kind, self.folder, self.arrays, self.facts]
        return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16).hexdigest()


def store_arrays(folder: Path, arrays: Mapping[str, np.ndarray], room: ArrayRoom) -> dict[str, dict[str, Any]]:
    """Write arrays into a new folder, each into a file of its own, and return what a manifest tells of them.

    Those that are files of the room already are moved. Where all rows are one in memory, one is written.
    """
    folder.mkdir()
    found: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        repeated = len(array) > 1 and array.strides[0] == 0
        stored = np.ascontiguousarray(array[:1]) if repeated else array
        path = folder / f"{name}.array"
        if room.holds(stored):
            room.keep(stored, path)
        else:
            with open(path, "xb") as file:
                for rows in blocks(len(stored)):
                    file.write(np.ascontiguousarray(stored[rows]).data.cast("B") if stored[rows].size else b"")
        with open(path, "r+b") as file:
            os.fsync(file.fileno())  # before the manifest is
        found[name] = {
            "dtype": stored.dtype.str if stored.dtype.names is None else stored.dtype.descr,
            "shape": list(array.shape), "repeated": repeated, "stamp": list(_stamp(path)), "digest": digest_of(path),
        }  # fmt: skip
        room.give_back()
    return found


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest, as a whole or not at all."""
    known = {"version": VERSION, "kind": manifest.kind, "folder": manifest.folder, "arrays": manifest.arrays}
    known |= {"facts": manifest.facts, "digest": manifest.digest}
    text = json.dumps(known, indent=1)
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def read_manifest(path: Path, kind: str) -> Manifest:
    """Return the manifest in a file. Raise `OSError` or `ValueError` where it cannot be read, or is of another kind."""
    known = parse_json(path.read_bytes())
    if not isinstance(known, dict) or known.get("kind") != kind:
        raise ValueError(f"{path.name} is not the manifest of a {kind}")
    if known.get("version") != VERSION:
        raise ValueError(f"{path.name} is of another version of understudy")
    folder, arrays, facts = known.get("folder"), known.get("arrays"), known.get("facts")
    if not isinstance(folder, str) or not isinstance(arrays, dict) or not isinstance(facts, dict):
        raise ValueError(f"{path.name} is damaged")
    if os.path.basename(folder) != folder or folder in ("", ".", ".."):
        raise ValueError(f"{path.name} names a folder elsewhere")
    manifest = Manifest(kind, folder, arrays, facts)
    if known.get("digest") != manifest.digest:
        raise ValueError(f"{path.name} was changed")
    return manifest


def remembered(path: Path, of: str, make: Callable[[], str]) -> str:
    """Return a text that takes long to make, from a file that has it of the same thing; else it is made and written."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = parse_json(path.read_bytes())
        if known["of"] == of and isinstance(known["text"], str):
            return known["text"]
    text = make()
    with suppress(OSError):
        content = json.dumps({"of": of, "text": text})
        write_whole(path, lambda temporary: temporary.write_text(content, encoding="utf-8"))
    return text


def opened_arrays(folder: Path, manifest: Manifest) -> dict[str, np.ndarray]:
    """Return the arrays of a manifest, mapped from their files. Raise `OSError` or `ValueError` where one was changed.

    A file whose time of change is another, such as a copy, is compared with its digest.
    """
    found = {}
    for name, told in manifest.arrays.items():
        if os.path.basename(name) != name or not isinstance(told, dict) or not isinstance(told.get("shape"), list):
            raise ValueError("the manifest is damaged")
        path = folder / manifest.folder / f"{name}.array"
        shape = tuple(told["shape"])
        if not shape or not all(isinstance(size, int) and 0 <= size < 2**40 for size in shape):
            raise ValueError(f"{name} has shape {shape}")
        dtype = _dtype(told["dtype"])
        stored = (1, *shape[1:]) if told["repeated"] else shape
        array = open_array(path, dtype, stored)
        if list(_stamp(path)) != told["stamp"] and digest_of(path) != told["digest"]:
            raise ValueError(f"{path.name} was changed")
        found[name] = np.broadcast_to(array[0], shape) if told["repeated"] else array
    return found


def _dtype(told: Any) -> np.dtype:
    """Return a dtype of numbers or truth values, or of named fields of these. Raise `ValueError` for others."""
    fields = told if isinstance(told, list) else [["", told]]
    kinds = [field[1] for field in fields if len(field) == 2 and all(isinstance(part, str) for part in field)]
    if len(kinds) != len(fields) or not all(kind in KINDS for kind in kinds):
        raise ValueError("an array is of an unknown type")
    return np.dtype(told if isinstance(told, str) else [tuple(field) for field in told])


KINDS = {np.dtype(kind).str for kind in "?bBhHiIlLqQfd"}
"""The dtypes of arrays in files, and of their fields."""


def _stamp(path: Path) -> tuple[int, int]:
    stat = os.stat(path)
    return stat.st_size, stat.st_mtime_ns


def digest_of(path: Path) -> str:
    """Return a hash of a file's content."""
    digest = blake2b(digest_size=16)
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Context manager: let one process at a time make things in a folder; what one left that was killed is removed.

    The system unlocks the folder where a process dies. Where there are no locks, each process makes its own.
    """
    with locked_file(folder / ".lock") as alone:
        for left in folder.glob(".making-*") if alone else ():
            shutil.rmtree(left, ignore_errors=True)
        yield


SCRATCH = ".scratch-"
_ROOMS: dict[Path, ArrayRoom] = {}
"""The rooms of this process for arrays that are gone with it, by the folder they are in."""

_ROOMS_LOCK = threading.Lock()
"""Runs in threads ask for a room at the same time."""


def in_scratch(array: np.ndarray) -> bool:
    """True if an array is in a file that is gone with this process."""
    found = file_below(array)
    return found is not None and found.parent.name.startswith(SCRATCH)


def scratch_beside(array: np.ndarray) -> ArrayRoom:
    """Return a room beside the files of a log on disk, of which this is a column: its arrays are gone with it.

    What processes left that were killed is removed.
    """
    found = file_below(array)
    assert found is not None
    home = found.parent.parent
    with _ROOMS_LOCK:
        return _ROOMS.get(home) or _new_room(home)


def _new_room(home: Path) -> ArrayRoom:
    name = f"{SCRATCH}{secrets.token_hex(8)}"
    _remove_abandoned(home)
    _LOCKS[home] = ExitStack()
    _LOCKS[home].enter_context(locked_file(home / f"{name}.lock"))
    _ROOMS[home] = ArrayRoom(home / name)
    atexit.register(_remove_room, home, os.getpid())
    return _ROOMS[home]


_LOCKS: dict[Path, ExitStack] = {}
"""The locks that say that this process lives, by the folder they are in."""


def _remove_abandoned(home: Path) -> None:
    for path in home.glob(f"{SCRATCH}*.lock"):
        with suppress(OSError), locked_file(path, wait=False) as alone:
            if alone:
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                path.unlink()


def _remove_room(home: Path, process: int) -> None:
    if process == os.getpid():
        room = _ROOMS.pop(home)
        room.close()
        with _LOCKS.pop(home), suppress(OSError):
            os.unlink(f"{room.folder}.lock")


@contextmanager
def made_beside(*columns: np.ndarray) -> Iterator[None]:
    """Context manager: arrays are made beside the files of a log on disk, of which these are columns; else in memory.

    The first one is no repeated value. Raise `LogError` where the disk has no room, or cannot be written.
    """
    found = file_below(columns[0])
    if found is None or not found.parent.name.startswith((SCRATCH, COLUMNS)):
        yield
        return
    home = found.parent.parent
    try:
        with made_in(scratch_beside(columns[0]), *columns):
            yield
    except OSError as error:
        if error.errno not in NO_ROOM and not str(error.filename).startswith(str(home)):
            raise  # of an encoder, say, which reads files of its own
        raise LogError(
            f"{home} cannot hold what is made of its log ({error_reason(error)}); free space there, or read the log "
            "into a folder on a larger disk",
            "file",
        ) from None


COLUMNS = "columns-"
"""How the names of folders begin that hold the columns of a log."""


def remove_others(folder: Path, prefix: str, kept: str) -> None:
    """Remove the folders and files whose names begin like this, a pattern, but one."""
    for other in folder.glob(f"{prefix}*"):
        if other.name != kept and other.is_dir():
            shutil.rmtree(other, ignore_errors=True)
        elif other.name != kept:
            other.unlink(missing_ok=True)
