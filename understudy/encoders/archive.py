"""Arrays out of an .npz file that may be damaged or forged: nothing is run, and no more is held than the file has."""

import math
import re
import zipfile
from pathlib import Path

import numpy as np

from understudy.errors import LogError

NPY = re.compile(
    rb"\x93NUMPY(?:\x01\x00(..)|[\x02\x03]\x00(....))"
    rb"\{'descr': '([<>|][bifuU]\d{1,4})', 'fortran_order': (True|False), "
    rb"'shape': \((|\d{1,18},|\d{1,18}(?:, \d{1,18})+)\), \} *\n",
    re.DOTALL,
)
"""How NumPy writes what an array is, for arrays of numbers and of text; its own reader evaluates Python literals."""


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz that `np.savez` wrote, by name. Raises `LogError` for any other file.

    Members that are compressed are refused: `save` writes none, and a small file could unpack to any size.
    """
    try:
        if not path.is_file():  # a pipe would be waited for without end
            why = "it is a folder" if path.is_dir() else "No such file" if not path.exists() else "it is not a file"
            raise LogError(f"cannot read {path}: {why}; give a file that save wrote")
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise LogError(f"{path} is not a saved encoder, or only a part of one; give a file that save wrote")
            with zipfile.ZipFile(file) as archive:
                check_sizes(archive, path.stat().st_size)
                return {info.filename.removesuffix(".npy"): array_of(archive.read(info)) for info in archive.infolist()}
    except LogError:
        raise
    except OSError as error:
        raise LogError(f"cannot read {path}: {error.strerror or error}; give a file that save wrote") from error
    except Exception as error:  # archives can be damaged in more ways than can be listed
        raise LogError(f"{path} is damaged ({line_of(error)}); save the encoder again") from error


def check_sizes(archive: zipfile.ZipFile, n_bytes: int) -> None:
    """Raise `ValueError` where an archive holds more than the file has bytes, or a name twice."""
    members = archive.infolist()
    if len({info.filename for info in members}) < len(members):
        raise ValueError("it holds two arrays of one name")
    if any(info.compress_type != zipfile.ZIP_STORED for info in members):
        raise ValueError("its arrays are compressed, and save compresses none")
    if sum(info.file_size for info in members) > n_bytes:
        raise ValueError("its arrays claim more bytes than the file has")


def array_of(content: bytes) -> np.ndarray:
    """The array that the bytes of an .npy file are. Raises `ValueError` where they are not numbers or text.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(6.0).reshape(2, 3))
    >>> array_of(file.getvalue()).tolist()
    [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    found = NPY.match(content)
    if found is None:
        raise ValueError("it holds something that is not an array of numbers")
    short, long, dtype, fortran, dimensions = found.groups()
    length = short or long
    if int.from_bytes(length, "little") != found.end() - found.start(3) + len(b"{'descr': '"):
        raise ValueError("the description of an array is cut off")
    kind, shape = np.dtype(dtype.decode()), tuple(int(n) for n in dimensions.decode().split(",") if n.strip())
    if math.prod(shape) * kind.itemsize != len(content) - found.end():
        raise ValueError(f"an array of shape {shape} has {len(content) - found.end():,} bytes")
    flat = np.frombuffer(bytearray(content[found.end() :]), dtype=kind)
    return flat.reshape(shape, order="F" if fortran == b"True" else "C")


def line_of(error: Exception) -> str:
    """The first line of what went wrong, in characters that a terminal prints, and no more than a line of them."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return "".join(letter if letter.isprintable() else "?" for letter in line[:300])
