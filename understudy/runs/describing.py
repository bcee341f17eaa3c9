"""What an experiment is, in plain values, so that results of different ones are never mixed."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value as JSON can hold it: equal for what acts alike, as far as that can be told.

    >>> plain({"gamma": np.float64(0.5), "sizes": (1, 2)})
    {'gamma': 0.5, 'sizes': [1, 2]}
    """
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        if value.size <= 64 and value.dtype.kind in "iufb":
            return value.tolist()
        return f"{value.dtype} {value.shape} {digest(np.ascontiguousarray(value).tobytes())}"
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {"class": type(value).__name__} | plain(asdict(value))
    if hasattr(value, "settings"):
        return {"class": type(value).__name__} | plain(value.settings)
    if callable(value) and hasattr(value, "__code__"):
        code = value.__code__
        held = [cell.cell_contents for cell in value.__closure__ or ()] + list(value.__defaults__ or ())
        text = code.co_code + repr([c for c in code.co_consts if not hasattr(c, "co_code")]).encode()
        return f"{value.__module__}.{value.__qualname__} {digest(text + repr([plain(item) for item in held]).encode())}"
    return f"{type(value).__module__}.{type(value).__qualname__}"


def digest(content: bytes) -> str:
    """A short hash."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def learner_settings(learner: Any) -> dict[str, Any]:
    """What a learner is: its class and settings, or what it holds where it tells none."""
    settings = learner.settings if hasattr(learner, "settings") else getattr(learner, "__dict__", {})
    return {"class": type(learner).__name__} | plain(settings)


def differences(there: Mapping[str, Any], here: Mapping[str, Any], prefix: str = "") -> list[str]:
    """What differs between two descriptions, a phrase each.

    >>> differences({"seed": 1, "learner": {"gamma": 0.9}}, {"seed": 1, "learner": {"gamma": 0.5}})
    ['learner gamma is 0.9 there and 0.5 here']
    """
    found = []
    for key in dict.fromkeys([*there, *here]):
        one, other = there.get(key), here.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += differences(one, other, f"{prefix}{key} ")
        elif one != other:
            found.append(f"{prefix}{key} is {one} there and {other} here")
    return found
