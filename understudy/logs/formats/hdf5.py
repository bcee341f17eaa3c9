"""HDF5 files in D4RL's form: arrays of observations, actions, rewards, terminals and timeouts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.extras import require
from understudy.logs.action_kinds import refuse_continuous
from understudy.logs.arrow_columns import to_arrow
from understudy.logs.compression import FREE, LARGE, RATIO
from understudy.logs.formats.loaded import LoadedTable
from understudy.logs.labels import listing
from understudy.progress import progress_bar
from understudy.storage import error_reason

MAGIC = b"\x89HDF\r\n\x1a\n"
ROLES = {
    "observations": "observation", "actions": "action", "rewards": "reward", "terminals": "terminated",
    "timeouts": "truncated", "next_observations": "next_observation",
}  # fmt: skip
NEEDED = ("observations", "actions", "rewards")
PIECE = 2**24  # bytes read at a time


def load_hdf5(path: Path, names: Sequence[str] = (), progress: bool | None = None) -> LoadedTable:
    """Return the arrays of a file in D4RL's form as a table; `names` are further arrays that were asked for.

    `terminals` are `terminated`, `timeouts` are `truncated`. Only arrays of numbers in this file are read: no object,
    and nothing that a link in it points to. D4RL has no propensities; `propensity=` can name an array of them.
    """
    require("HDF5", "hdf5")
    import h5py

    try:
        with h5py.File(path, "r") as file:
            wanted = [name for name in ROLES if _holds(file, name)]
            if missing := [name for name in NEEDED if name not in wanted]:
                raise LogError(
                    f"there is no array {', '.join(missing)}, and D4RL's form needs {', '.join(NEEDED)}: the file has "
                    f"{listing(sorted(map(str, file)))}; convert it, or give its arrays to Log.from_columns"
                )
            wanted += [name for name in names if name not in wanted and _holds(file, name)]
            arrays = {name: _array(path, file, name, progress) for name in wanted}
    except LogError:
        raise
    except (OSError, RuntimeError, KeyError, TypeError, ValueError) as error:  # what h5py raises for damaged files
        raise LogError(f"the file cannot be read ({error_reason(error)}); get it again", "file") from None
    n_rows = len(arrays["actions"])
    for name, array in arrays.items():
        if len(array) != n_rows:
            raise LogError(f"{name} has {len(array):,} rows and actions {n_rows:,}; give all the same", "lengths")
    if arrays["actions"].ndim == 2 and arrays["actions"].shape[1] == 1:
        arrays["actions"] = arrays["actions"][:, 0]
    refuse_continuous("actions", arrays["actions"])
    import pyarrow as pa

    table = pa.table({name: to_arrow(array) for name, array in arrays.items()})
    return LoadedTable(table, {ROLES[name]: name for name in wanted if name in ROLES})


def _holds(file: Any, name: str) -> bool:
    """True if the file itself has an array of this name. Raise `LogError` where it is elsewhere, or not an array."""
    import h5py

    found: Any = file
    for part in name.split("/"):
        link = found.get(part, getlink=True) if isinstance(found, h5py.Group) else None  # `in` would follow links
        if link is None:
            return False
        if not isinstance(link, h5py.HardLink):
            raise LogError(f"{name} is a link, which could lead to any file; copy the array into this one")
        found = found[part]
    if not isinstance(found, h5py.Dataset):
        return False
    if found.is_virtual or found.external:
        raise LogError(f"{name} is stored in other files; copy the array into this one")
    if found.dtype.kind not in "biuf" or found.ndim == 0:
        raise LogError(f"{name} is not an array of numbers but of {found.dtype}; convert it, or leave it out")
    return True


def _array(path: Path, file: Any, name: str, progress: bool | None) -> np.ndarray:
    """Return an array of the file, read piece by piece."""
    stored, size = file[name], path.stat().st_size
    if stored.nbytes > max(FREE, RATIO * size):
        raise LogError(f"{name} would have {stored.nbytes:,} bytes, and the file has {size:,}; get it again", "file")
    array = np.empty(stored.shape, stored.dtype)
    height = max(1, PIECE // max(1, stored.nbytes // max(1, len(stored))))
    show = False if progress is None and stored.nbytes < LARGE else progress
    with progress_bar(f"reading {name}"[:60], len(stored), show) as report:
        for at in range(0, len(stored), height):
            array[at : at + height] = stored[at : at + height]
            report(min(at + height, len(stored)))
    return array
