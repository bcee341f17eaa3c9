"""What an experiment is, in plain values, so that results of different ones are never mixed."""

import functools
import hashlib
import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import CodeType
from typing import Any

import numpy as np

from understudy.logs import Log

ALREADY = "(itself)"


def plain(value: Any, within: tuple[int, ...] = ()) -> Any:
    """A value as JSON can hold it: equal for what acts alike, as far as that can be told.

    >>> plain({"gamma": np.float64(0.5), "sizes": (1, 2), "rate": float("nan")})
    {'gamma': 0.5, 'sizes': [1, 2], 'rate': 'nan'}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if id(value) in within:
        return ALREADY
    within = (*within, id(value))
    if isinstance(value, Log):
        return f"log {value.fingerprint}"
    if isinstance(value, np.ndarray):
        if value.size <= 64 and value.dtype.kind in "iufb":
            return plain(value.tolist(), within)
        return f"{value.dtype} {value.shape} {digest(np.ascontiguousarray(value).tobytes())}"
    if isinstance(value, Mapping):
        return {str(key): plain(item, within) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(item, within) for item in value), key=repr)
    if isinstance(value, list | tuple):
        return [plain(item, within) for item in value]
    return _plain_object(value, within)


def _plain_object(value: Any, within: tuple[int, ...]) -> Any:
    if isinstance(value, functools.partial):
        return plain({"partial": value.func, "arguments": value.args, "keywords": value.keywords}, within)
    if inspect.ismethod(value):
        return plain({"method": value.__func__, "of": value.__self__}, within)
    if inspect.isfunction(value):
        held = [cell.cell_contents for cell in value.__closure__ or ()]
        parts = [_plain_code(value.__code__), held, value.__defaults__, value.__kwdefaults__]
        return f"{value.__module__}.{value.__qualname__} {digest(json.dumps(plain(parts, within)).encode())}"
    if inspect.isroutine(value) or isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    name = {"class": type(value).__name__}
    if is_dataclass(value) and not isinstance(value, type):
        return name | {field.name: plain(getattr(value, field.name), within) for field in fields(value)}
    if isinstance(getattr(value, "settings", None), Mapping):
        # Functions are often told by their names only, which says too little.
        functions = {key: plain(item, within) for key, item in vars(value).items() if inspect.isroutine(item)}
        return name | functions | plain(value.settings, within)
    # What is not public may change as the thing is used, and says less about what it is.
    public = {key: item for key, item in getattr(value, "__dict__", {}).items() if not key.startswith("_")}
    return name | plain(public, within)


def _plain_code(code: CodeType) -> list[Any]:
    constants = [_plain_code(item) if isinstance(item, CodeType) else plain(item) for item in code.co_consts]
    return [code.co_code.hex(), code.co_names, code.co_freevars, constants]


def digest(content: bytes) -> str:
    """A short hash."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def learner_settings(learner: Any) -> dict[str, Any]:
    """What a learner is: its class and settings, or what it holds where it tells none; with its code if it is yours."""
    settings = getattr(learner, "settings", None)
    held = settings if isinstance(settings, Mapping) else getattr(learner, "__dict__", {})
    code = [
        {name: part for name, part in sorted(vars(kind).items()) if inspect.isfunction(part)}
        for kind in type(learner).__mro__
        if not kind.__module__.startswith(("understudy.", "builtins", "typing", "abc"))
    ]
    told = {"class": type(learner).__name__} | plain(held, (id(learner),))
    return told | ({"code": digest(json.dumps(plain(code)).encode())} if any(code) else {})


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
        elif json.dumps(one) != json.dumps(other):
            found.append(f"{prefix}{key} is {one} there and {other} here")
    return found
