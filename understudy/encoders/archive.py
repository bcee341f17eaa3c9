"""Arrays out of an .npz file that may be damaged or forged: nothing is run, and no more is held than the file has."""

import math
import re
import zipfile
from pathlib import Path

import numpy as np

from understudy.errors import EncoderError

DTYPE_KINDS = "bifuU"
"""Kinds of NumPy dtype that a file may hold: numbers and text."""

NPY = re.compile(
    rb"\x93NUMPY(?:\x01\x00(..)|[\x02\x03]\x00(....))"
    rb"\{'descr': '([<>|][bifuU]\d{1,4})', 'fortran_order': (True|False), "
    rb"'shape': \((|\d{1,18},|\d{1,18}(?:, \d{1,18})+)\), \} *\n",
    re.DOTALL,
)
"""The header of an .npy file, as NumPy writes it for numbers and text; its own reader evaluates Python literals."""


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz that `np.savez` wrote, by name. Raise `EncoderError` for any other file.

    Compressed members are refused: `save` writes none, and a small file could unpack to any size.
    """
    try:
        if not path.is_file():  # opening a pipe would block
            why = "it is a folder" if path.is_dir() else "No such file" if not path.exists() else "it is not a file"
            raise EncoderError(f"cannot read {path}: {why}; give a file that save wrote")
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise EncoderError(f"{path} is not a saved encoder, or only a part of one; give a file that save wrote")
            with zipfile.ZipFile(file) as archive:
                check_sizes(archive, path.stat().st_size)
                return {info.filename.removesuffix(".npy"): array_of(archive.read(info)) for info in archive.infolist()}
    except EncoderError:
        raise
    except OSError as error:
        raise EncoderError(f"cannot read {path}: {error.strerror or error}; give a file that save wrote") from error
    except Exception as error:  # archives can be damaged in more ways than can be listed
        raise EncoderError(f"{path} is damaged ({first_line(error)}); save the encoder again") from error


def check_sizes(archive: zipfile.ZipFile, n_bytes: int) -> None:
    """Raise `ValueError` where members are compressed, larger together than the file, or two have one name."""
    members = archive.infolist()
    if len({info.filename for info in members}) < len(members):
        raise ValueError("it holds two arrays of one name")
    if any(info.compress_type != zipfile.ZIP_STORED for info in members):
        raise ValueError("its arrays are compressed, and save compresses none")
    if sum(info.file_size for info in members) > n_bytes:
        raise ValueError("its arrays claim more bytes than the file has")


def array_of(content: bytes) -> np.ndarray:
    """Return the array in the bytes of an .npy file. Raise `ValueError` where it is not one of numbers or text.

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


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, at most 300 characters, each of which a terminal can print."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return "".join(letter if letter.isprintable() else "?" for letter in line[:300])
