"""Encoders as files: arrays and a header of plain values, never code.

A file is an .npz. Its `header` is JSON: the format's version, the encoder's class and settings, the form of the
observations it was fitted on, and a digest of each array; `digest` is the header's own.
"""

import hashlib
import json
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from understudy.contracts import LogError
from understudy.contracts.extras import opened
from understudy.encoders.form import KINDS, Form
from understudy.storage import parse_json, write_whole

FORMAT = 1

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
    path = Path(path)
    members: dict[str, Any] = {"header": octets, "digest": np.array(array_digest(octets)), **arrays}

    def write(beside: Path) -> None:
        with beside.open("wb") as file:  # a file, since a name without .npz would be given it
            np.savez(file, **members)

    try:
        write_whole(path, write)
    except OSError as error:
        raise LogError(f"cannot write {path}: {error.strerror or error}; make room, or give another path") from error


def load(path: Any) -> Any:
    """The encoder in a file that `save` wrote. Nothing in the file is run.

    >>> import tempfile
    >>> from understudy.encoders import Boxes
    >>> path = tempfile.mkdtemp() + "/boxes.npz"
    >>> Boxes(edges=[0.5]).save(path)
    >>> load(path).encode(np.array([0.2, 0.7]))
    array([0, 1])
    """
    members = _members(Path(path))
    header = _header(path, members)
    name, arrays = header["encoder"], {}
    for array, digest in header["digests"].items():
        if array not in members or array_digest(members[array]) != digest:
            raise LogError(f"{path} has been changed: its {array} is not what was saved; save the encoder again")
        arrays[array] = members[array]
    try:
        form = None if header["form"] is None else Form(header["form"][0], tuple(header["form"][1]))
        if form is not None and form.kind not in KINDS.values():
            raise LogError(f"there are no {form.kind} observations")
        return _class(name).from_contents(Contents(header["settings"], form, arrays, header.get("fitted_on")))
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise LogError(f"{path} is no {name} that fits together ({_line(error)}); save the encoder again") from error


def array_digest(array: np.ndarray) -> str:
    """A hash of an array's dtype, shape and content."""
    digest = hashlib.blake2b(f"{array.dtype.str} {array.shape}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return digest.hexdigest()


def _members(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise LogError(f"{path} is no saved encoder, or only a part of one; give a file that save wrote")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                return {name: np.asarray(archive[name]) for name in archive.files}
    except OSError as error:
        raise LogError(f"cannot read {path}: {error.strerror or error}; give a file that save wrote") from error
    except LogError:
        raise
    except Exception as error:  # archives can be damaged in more ways than can be listed
        raise LogError(f"{path} is damaged ({_line(error)}); save the encoder again") from error


def _header(path: Any, members: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The header, checked as far as every encoder shares it."""
    octets = members.get("header")
    if octets is None or octets.dtype != np.uint8 or "digest" not in members:
        raise LogError(f"{path} is no saved encoder: it has no header; give a file that save wrote")
    try:
        header = parse_json(octets.tobytes())
        version, name, _, _, digests = (header[key] for key in ("format", "encoder", "settings", "form", "digests"))
        newer = version > FORMAT
    except (KeyError, TypeError, ValueError) as error:
        raise LogError(f"{path} is no saved encoder: its header cannot be read; give a file that save wrote") from error
    if newer:  # whatever else a newer one may have changed
        raise LogError(
            f"{path} is of format {version}, and this version of Understudy reads formats up to {FORMAT}; "
            "pip install --upgrade understudy"
        )
    if str(members["digest"]) != array_digest(octets):
        raise LogError(f"{path} has been changed: its header is not what was saved; save the encoder again")
    if name not in list(HOMES) or not isinstance(digests, dict):
        raise LogError(f"{path} holds an encoder {name!r}, which is none of {', '.join(HOMES)}; save it again")
    return header


def _class(name: str) -> Any:
    if name in EXTRAS:
        return opened("understudy.encoders", name, HOMES[name], EXTRAS[name])
    return getattr(import_module(f"understudy.encoders.{HOMES[name]}"), name)


def _line(error: Exception) -> str:
    """The first line of what went wrong."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
