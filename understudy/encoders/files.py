"""Encoders as files: arrays and a header of plain values, never code.

A file is an .npz. Its `header` is JSON: the format's version, the encoder's class and settings, the form of the
observations it was fitted on, and a digest of each array; `digest` is the header's own.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from understudy.contracts.extras import how_to_install, opened
from understudy.encoders.archive import line_of, read_arrays
from understudy.encoders.form import KINDS, Form
from understudy.errors import LogError
from understudy.storage import parse_json, write_whole

FORMAT = 1
MOST_DIMENSIONS = 32  # of an observation's shape, as NumPy has them

HOMES = {"Boxes": "boxes", "Forward": "forward", "Homer": "homer", "Identity": "identity", "KMeans": "kmeans"}
"""The module of every encoder that can be saved."""

EXTRAS = {"Forward": "torch", "Homer": "torch"}
"""What some of them need beyond the core."""


class Contents(NamedTuple):
    """All that a fitted encoder is."""

    settings: dict[str, Any]  # what it was made with, as JSON holds it
    form: Form | None  # of the observations it was fitted on
    arrays: Mapping[str, np.ndarray]  # what it learned
    fitted_on: str | None = None  # the fingerprint of the log it learned from


class Savable(Protocol):
    """An encoder that can be taken apart, and put together again as it was."""

    def contents(self) -> Contents:
        """What it is. Raises `LogError` where `fit` has still to come."""

    @classmethod
    def from_contents(cls, contents: Contents) -> "Savable":
        """The encoder that these are the contents of. Raises `LogError` where they do not fit together."""


def save(encoder: Savable, path: Any) -> None:
    """Write the encoder to a file that `encoders.load` reads: whole, or not at all."""
    settings, form, arrays, fitted_on = encoder.contents()
    header = {
        "format": FORMAT,
        "encoder": type(encoder).__name__,
        "settings": settings,
        "form": None if form is None else [form.kind, list(form.shape)],
        "fitted_on": fitted_on,
        "digests": {name: array_digest(array) for name, array in arrays.items()},
    }
    octets = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    members: dict[str, Any] = {"header": octets, "digest": np.array(array_digest(octets)), **arrays}

    def write(beside: Path) -> None:
        with beside.open("wb") as file:  # a file, since a name without .npz would be given it
            np.savez(file, **members)

    try:
        write_whole(Path(path), write)
    except (OSError, TypeError, ValueError) as error:  # a name with NUL, or none, is a ValueError
        why = (error.strerror if isinstance(error, OSError) else None) or line_of(error)
        raise LogError(f"cannot write {path!s}: {why}; make room, or give another path") from error


def load(path: Any) -> Any:
    """The encoder in a file that `save` wrote. Nothing in the file is run.

    >>> import tempfile
    >>> from understudy.encoders import Boxes
    >>> path = tempfile.mkdtemp() + "/boxes.npz"
    >>> Boxes(edges=[0.5]).save(path)
    >>> load(path).encode(np.array([0.2, 0.7]))
    array([0, 1])
    """
    try:
        members = read_arrays(Path(path))
    except TypeError as error:
        raise LogError(f"cannot read {path!r}: it is not a path; give a file that save wrote") from error
    header = _header(path, members)
    name, arrays = header["encoder"], {}
    for array, digest in header["digests"].items():
        if array not in members or array_digest(members[array]) != digest:
            raise LogError(f"{path} has been changed: its {array!r} is not what was saved; save the encoder again")
        arrays[array] = members.pop(array)
    try:
        contents = Contents(header["settings"], _form(header["form"]), arrays, header.get("fitted_on"))
        return _class(name).from_contents(contents)
    except ImportError:
        raise  # what it needs is not installed
    except Exception as error:  # a file can be forged in more ways than can be listed
        raise LogError(
            f"{path} is not a {name} that fits together ({line_of(error)}); save the encoder again"
        ) from error


def array_digest(array: np.ndarray) -> str:
    """A hash of an array's dtype, shape and content."""
    digest = hashlib.blake2b(f"{array.dtype.str} {array.shape}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return digest.hexdigest()


def only(what: str, given: Mapping[str, Any], expected: Iterable[str]) -> None:
    """Raise `LogError` where names are not the expected ones."""
    if set(given) != set(expected):
        raise LogError(f"{what} are {sorted(given)}, not {sorted(expected)}")


def _header(path: Any, members: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The header, checked as far as every encoder shares it."""
    octets = members.get("header")
    if octets is None or octets.dtype != np.uint8 or "digest" not in members:
        raise LogError(f"{path} is not a saved encoder: it has no header; give a file that save wrote")
    try:
        header = parse_json(octets.tobytes())
        version, name = header["format"], header["encoder"]
        if type(version) is not int or version < 1:  # True and 1.5 are numbers, too
            raise ValueError(f"there is no format {version!r}")
    except (KeyError, TypeError, ValueError) as error:
        raise LogError(
            f"{path} is not a saved encoder: its header cannot be read; give a file that save wrote"
        ) from error
    if version > FORMAT:  # whatever else a newer one may have changed
        raise LogError(
            f"{path} is of format {version}, and this version of Understudy reads formats up to {FORMAT}; get the "
            f"newer source, then {how_to_install()}"
        )
    if str(members["digest"]) != array_digest(octets):
        raise LogError(f"{path} has been changed: its header is not what was saved; save the encoder again")
    if name not in list(HOMES):
        raise LogError(f"{path} holds an encoder {name!r}, which is none of {', '.join(HOMES)}; save it again")
    wanted = {"settings": dict, "form": list | None, "digests": dict, "fitted_on": str | None}
    wrong = [key for key, kind in wanted.items() if not isinstance(header.get(key), kind)]
    if wrong or {*header["digests"], "header", "digest"} != set(members):
        what = f"its {wrong[0]} is missing or wrong" if wrong else "its header is of other arrays"
        raise LogError(f"{path} is not a {name} that fits together ({what}); save the encoder again")
    return header


def _form(given: Any) -> Form | None:
    """The form of observations that a header tells."""
    if given is None:
        return None
    kind, shape = given
    if kind not in KINDS.values():
        raise LogError(f"there are no {kind!r} observations")
    if type(shape) is not list or len(shape) > MOST_DIMENSIONS or any(type(n) is not int or n < 1 for n in shape):
        raise LogError(f"there are no observations of shape {shape!r}")
    return Form(kind, tuple(shape))


def _class(name: str) -> Any:
    if name in EXTRAS:
        return opened("understudy.encoders", name, HOMES[name], EXTRAS[name])
    return getattr(import_module(f"understudy.encoders.{HOMES[name]}"), name)
