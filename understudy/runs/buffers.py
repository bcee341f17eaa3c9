"""What a run needs, pickled for an object store: one pickle, and the buffers of its large arrays beside it.

A store keeps the buffers once on each machine, and workers read them where they are.
"""

import io
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import cloudpickle
import numpy as np

from understudy.errors import RunError
from understudy.runs.sending import reduced_repetition

LARGE = 1 << 16
"""Arrays of this many bytes or more are kept beside the pickle: all workers of a machine share them."""


@dataclass(frozen=True)
class InPieces:
    """An object in pieces. Arrays that can be written on are in `pickled`: each worker has its own."""

    pickled: bytes
    buffers: tuple[np.ndarray, ...]  # of bytes; of arrays that cannot be written on, large ones
    version: str  # of the library that packed it


class _BufferPickler(cloudpickle.Pickler):
    """Leaves the memory of large arrays that cannot be written on out of the pickle."""

    def __init__(self, file: Any) -> None:
        self.buffers: list[np.ndarray] = []
        super().__init__(file, protocol=5, buffer_callback=self._is_kept_in)

    def _is_kept_in(self, buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < LARGE or not raw.readonly:
            return True
        self.buffers.append(np.frombuffer(raw, np.uint8))
        return False

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, np.ndarray) and not thing.dtype.hasobject and thing.nbytes >= LARGE:
            if (reduced := reduced_repetition(thing)) is not None:
                return reduced
            if type(thing) is not np.ndarray or not thing.flags.forc:  # NumPy would copy these into the pickle
                whole = np.asarray(thing).view() if thing.flags.forc else np.ascontiguousarray(thing)
                whole.setflags(write=thing.flags.writeable)
                return whole.__reduce_ex__(5)
        return super().reducer_override(thing)


def packed(needed: Any) -> InPieces:
    """Return an object in pieces; the buffers are memory of its own arrays, where these are in one piece."""
    file = io.BytesIO()
    pickler = _BufferPickler(file)
    try:
        pickler.dump(needed)
    except Exception as error:
        error.add_note(
            "what a run needs cannot be sent to other processes; make it in the factory, or use backend='serial'"
        )
        raise
    return InPieces(file.getvalue(), tuple(pickler.buffers), _version())


def unpacked(found: InPieces) -> Any:
    """Return the object. Its large arrays are the buffers that were found, and cannot be written on.

    Raise `RunError` where another version of the library packed it: runs would not be the same.
    """
    if found.version != _version():
        raise RunError(
            f"this worker has understudy {_version()}, and the experiment was started by {found.version}; "
            "install the same version on every machine"
        )
    return pickle.loads(found.pickled, buffers=_read_only(found.buffers))


def _read_only(buffers: Sequence[np.ndarray]) -> list[memoryview]:
    return [buffer.data.toreadonly() for buffer in buffers]


def _version() -> str:
    return import_module("understudy").__version__  # not imported above: that module names everything below it
