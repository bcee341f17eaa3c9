"""What a run needs, as it is sent to other processes: pickled, large arrays as files that workers map into memory."""

import io
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

LARGE = 1 << 20
"""Arrays of this many bytes or more are sent to other processes as memory maps."""


class _Pickler(cloudpickle.Pickler):
    """Pickles for our own workers, over a pipe; large arrays are written to files that workers map into memory."""

    def __init__(self, file: Any, folder: Path) -> None:
        super().__init__(file)
        self.folder, self.n_files = folder, 0

    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is np.ndarray and thing.nbytes >= LARGE and not thing.dtype.hasobject and 0 not in thing.strides:
            self.n_files += 1
            path = self.folder / f"{self.n_files}.npy"
            np.save(path, thing, allow_pickle=False)
            return _mapped_array, (str(path), thing.flags.writeable)
        return super().reducer_override(thing)


def _mapped_array(path: str, writeable: bool) -> np.ndarray:
    # Copy on write: each worker may write on its array, and no other sees it.
    array = np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    array.setflags(write=writeable)
    return array


def pickled_for_workers(needed: Any, folder: Path) -> bytes:
    """Return an object as workers receive it, with its large arrays in files in this folder."""
    file = io.BytesIO()
    try:
        _Pickler(file, folder).dump(needed)
    except Exception as error:
        error.add_note(
            "what a run needs cannot be sent to other processes; make it in the factory, or use backend='serial'"
        )
        raise
    return file.getvalue()
