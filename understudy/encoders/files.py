"""Encoders as files: arrays and a header of plain values, never code.

A file is an .npz. Its `header` is JSON: the format's version, the name under which the encoder's class is registered,
its settings, the type and shape of the observations it was fitted on (`form`), and a digest of each array; `digest` is
the header's own. `load` makes objects of registered classes, and imports nothing that a file names.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from understudy.contracts.encoding import EncoderContents, ObservationSpec, Savable
from understudy.contracts.offering import offers
from understudy.encoders.archive import DTYPE_KINDS, first_line, read_arrays
from understudy.encoders.observations import KINDS
from understudy.encoders.registry import class_of, known_names, name_of
from understudy.errors import ContractError, EncoderError
from understudy.storage import parse_json, write_whole

FORMAT = 1
MOST_DIMENSIONS = 32  # of an observation's shape, as NumPy has them
RESERVED = ("header", "digest", "file")  # names that an array cannot have; NumPy takes "file" for the path


def save(encoder: Savable, path: Any) -> None:
    """Write an encoder to a file that `encoders.load` reads: whole, or not at all.

    Raise `EncoderError` where the file cannot be written or the encoder is not fitted, and `ContractError` where its
    class is not registered or its contents cannot be held by a file.
    """
    members = _members(encoder)

    def write(beside: Path) -> None:
        with beside.open("wb") as file:  # a file, since NumPy would add .npz to a name
            np.savez(file, **members)

    try:
        write_whole(Path(path), write)
    except (OSError, TypeError, ValueError) as error:  # a name with NUL, or none, is a ValueError
        why = (error.strerror if isinstance(error, OSError) else None) or first_line(error)
        raise EncoderError(f"cannot write {path!s}: {why}; make room, or give another path") from error


def load(path: Any) -> Any:
    """Return the encoder in a file that `save` wrote. Raise `EncoderError` for any other file; no code in it is run.

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
        raise EncoderError(f"cannot read {path!r}: it is not a path; give a file that save wrote") from error
    header = _header(path, members)
    name, arrays = header["encoder"], {}
    for array, digest in header["digests"].items():
        if array not in members or array_digest(members[array]) != digest:
            raise EncoderError(f"{path} has been changed: its {array!r} is not what was saved; save the encoder again")
        arrays[array] = members.pop(array)
    try:
        spec = _observation_spec(header["form"])
        contents = EncoderContents(header["settings"], arrays, spec, header.get("fitted_on"))
        return class_of(name).from_contents(contents)
    except ImportError:
        raise  # what it needs is not installed
    except Exception as error:  # a file can be forged in more ways than can be listed
        raise EncoderError(
            f"{path} is not a {name} that fits together ({first_line(error)}); save the encoder again"
        ) from error


def array_digest(array: np.ndarray) -> str:
    """Return a hash of an array's dtype, shape and content."""
    digest = hashlib.blake2b(f"{array.dtype.str} {array.shape}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return digest.hexdigest()


def contents_digest(encoder: Savable) -> str:
    """Return a hash of what a file of an encoder would hold: equal for encoders with the same states."""
    contents = encoder.contents()
    digests = {name: array_digest(array) for name, array in contents.arrays.items()}
    told = [type(encoder).__qualname__, contents.settings, digests, contents.observation]
    return hashlib.blake2b(json.dumps(told, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()


def _members(encoder: Savable) -> dict[str, Any]:
    """Return the arrays of an encoder's file, by name. Raise `ContractError` where a file cannot hold them."""
    kind = type(encoder).__name__
    if not offers(encoder, Savable):
        raise ContractError(
            f"a {kind} cannot be saved: it needs contents() and from_contents(contents); see "
            "understudy.contracts.encoding.Savable"
        )
    name, contents = name_of(type(encoder)), encoder.contents()
    for key, array in contents.arrays.items():
        if key in RESERVED or not isinstance(array, np.ndarray) or array.dtype.kind not in DTYPE_KINDS:
            found = f"a {array.dtype} array" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
            raise ContractError(
                f"contents of {kind} has {key!r}, {found}; arrays are NumPy's, of numbers or text, and not named "
                f"{', '.join(RESERVED)}"
            )
    spec = contents.observation
    header = {
        "format": FORMAT,
        "encoder": name,
        "settings": contents.settings,
        "form": None if spec is None else [spec.kind, list(spec.shape)],
        "fitted_on": contents.fitted_on,
        "digests": {name: array_digest(array) for name, array in contents.arrays.items()},
    }
    try:
        octets = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    except (TypeError, ValueError) as error:
        raise ContractError(
            f"contents of {kind} has settings that JSON cannot hold ({first_line(error)}); give Python's own numbers, "
            "text, lists and dictionaries, and arrays as arrays"
        ) from error
    return {"header": octets, "digest": np.array(array_digest(octets)), **contents.arrays}


def _header(path: Any, members: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the header of a file, with all checked that does not depend on the class of the encoder."""
    octets = members.get("header")
    if octets is None or octets.dtype != np.uint8 or "digest" not in members:
        raise EncoderError(f"{path} is not a saved encoder: it has no header; give a file that save wrote")
    try:
        header = parse_json(octets.tobytes())
        version, name = header["format"], header["encoder"]
        if type(version) is not int or version < 1:  # True and 1.5 are numbers, too
            raise ValueError(f"there is no format {version!r}")
    except (KeyError, TypeError, ValueError) as error:
        raise EncoderError(
            f"{path} is not a saved encoder: its header cannot be read; give a file that save wrote"
        ) from error
    if version > FORMAT:  # before anything else that a newer format may have changed
        raise EncoderError(
            f"{path} is of format {version}, and this version of Understudy reads formats up to {FORMAT}; install "
            "a newer Understudy"
        )
    if str(members["digest"]) != array_digest(octets):
        raise EncoderError(f"{path} has been changed: its header is not what was saved; save the encoder again")
    if name not in known_names():
        raise EncoderError(
            f"{path} holds an encoder {name!r}, which is not one of {', '.join(known_names())}; import the package "
            "that registers it, or save the encoder again"
        )
    expected = {"settings": dict, "form": list | None, "digests": dict, "fitted_on": str | None}
    wrong = [key for key, kind in expected.items() if not isinstance(header.get(key), kind)]
    if wrong or {*header["digests"], "header", "digest"} != set(members):
        what = f"its {wrong[0]} is missing or wrong" if wrong else "its header is of other arrays"
        raise EncoderError(f"{path} is not a {name} that fits together ({what}); save the encoder again")
    return header


def _observation_spec(given: Any) -> ObservationSpec | None:
    """Return the type and shape of observations in a header."""
    if given is None:
        return None
    kind, shape = given
    if kind not in KINDS.values():
        raise EncoderError(f"there are no {kind!r} observations")
    if type(shape) is not list or len(shape) > MOST_DIMENSIONS or any(type(n) is not int or n < 1 for n in shape):
        raise EncoderError(f"there are no observations of shape {shape!r}")
    return ObservationSpec(kind, tuple(shape))
