"""What a run needs, as it is sent to other processes: pickled, large arrays as files that workers map into memory."""

import io
from typing import Any

import cloudpickle
import numpy as np

from understudy.errors import UnderstudyError
from understudy.runs import array_files
from understudy.runs.array_files import ArrayPlace

LARGE = 1 << 20
"""Arrays of this many bytes or more are sent to other processes as memory maps."""


class _Pickler(cloudpickle.Pickler):
    """Pickles for our own workers, over a pipe; large arrays are in files that workers map into memory."""

    def __init__(self, file: Any) -> None:
        self.in_files: list[np.ndarray] = []
        super().__init__(file)

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, np.ndarray) and (reduced := reduced_repetition(thing)) is not None:
            return reduced
        if isinstance(thing, np.ndarray) and type(thing) in (np.ndarray, np.memmap) and is_large(thing):
            self.in_files.append(thing)
            return _mapped_array, (array_files.FILES.place_of(thing), thing.flags.writeable)
        return super().reducer_override(thing)


def is_large(array: np.ndarray) -> bool:
    """True if an array is large, holds numbers alone, and is not a few of them that are repeated."""
    return array.nbytes >= LARGE and not array.dtype.hasobject and 0 not in array.strides


def reduced_repetition(array: np.ndarray) -> tuple[Any, tuple] | None:
    """Return an array that repeats a few numbers, as all rows of uniform propensities are one, as pickle takes it:
    without the repetitions. None for any other.
    """
    if array.nbytes < 4096 or array.dtype.hasobject or 0 not in array.strides:
        return None
    one = array[tuple(slice(1 if stride == 0 else None) for stride in array.strides)]
    return np.broadcast_to, (np.array(one), array.shape)


def _mapped_array(place: ArrayPlace, writeable: bool) -> np.ndarray:
    return place.mapped(writeable)


def pickled_for_workers(needed: Any) -> tuple[bytes, list[np.ndarray]]:
    """Return an object as workers receive it, and its large arrays, to be held until they have.

    These are in files, which are removed when the arrays are gone; some may have been made for the pickle alone.
    """
    file = io.BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump(needed)
    except UnderstudyError:
        raise
    except Exception as error:
        error.add_note(
            "what a run needs cannot be sent to other processes; make it in the factory, or use backend='serial'"
        )
        raise
    return file.getvalue(), pickler.in_files


def sendable(error: Exception) -> Exception:
    """Return an exception as it can be sent to another process: some classes need more than the message to be made."""
    try:
        cloudpickle.loads(cloudpickle.dumps(error))
    except Exception:
        instead = RuntimeError(f"{type(error).__name__}: {error}")  # code of others raised it, not a rule of ours
        instead.__notes__ = getattr(error, "__notes__", [])  # Python's attribute, there once a note was added
        return instead
    return error
