"""Values without parts: numbers, texts and arrays, as the leaves of a graph."""

import math
from hashlib import blake2b
from typing import Any

import numpy as np

from understudy.logs import Log
from understudy.runs.graph import Node, digest

LEAVES = {type(None), bool, int, float, str}
VALUES = {np.float64, np.int64, np.bool_, np.str_}
"""Kinds of NumPy's that act as Python's own do."""


def leaf_of(value: Any) -> Any:
    """The node of a value without parts, or None."""
    if type(value) in VALUES:
        value = value.item()
    kind = type(value)
    if kind is int and abs(value).bit_length() > 256:
        return _told(f"int {value:x}", f"int of {value.bit_length()} bits {digest(f'{value:x}'.encode())}")
    if kind is float and not math.isfinite(value):
        return _told(f"float {value}", str(value))
    if kind is str and len(value) > 200:
        content = digest(value.encode("utf-8", "surrogatepass"))
        return _told(f"str {content}", f"text of {len(value):,} characters {content}")
    if kind in LEAVES:
        return _told(f"{kind.__name__} {value!r}", value)
    if kind is bytes or kind is bytearray:
        content = f"{kind.__name__} of {len(value):,} {digest(value)}"
        return _told(content, content)
    if kind is complex or value is Ellipsis or value is NotImplemented:
        return _told(f"{kind.__name__} {value!r}", repr(value))
    if isinstance(value, np.generic) and not isinstance(value, np.void | np.object_):
        content = f"{value.dtype} {value.item()!r}"
        return _told(content, content)
    if isinstance(value, Log):
        return _told(f"log {value.fingerprint}", f"log {value.fingerprint}")
    return None


def _told(tag: str, shown: Any) -> Node:
    return Node(tag, form="leaf", shown=shown, digest=digest(tag.encode("utf-8", "surrogatepass")))


def label_of(key: Any) -> str | None:
    """A key of a dict as text that no other key has, or None."""
    leaf = leaf_of(key)
    if leaf is not None:
        return leaf.tag
    if type(key) is tuple:
        parts = [leaf.tag for item in key if (leaf := leaf_of(item)) is not None]
        return repr(tuple(parts)) if len(parts) == len(key) else None
    return None


def json_numbers(value: Any) -> Any:
    """Numbers as JSON can hold them."""
    if isinstance(value, list):
        return [json_numbers(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def digest_of_array(array: np.ndarray) -> str:
    """A hash of what is in an array, whatever its layout."""
    if array.flags.c_contiguous:
        return digest(array.reshape(-1).view(np.uint8).data if array.size else b"")
    content = blake2b(digest_size=8)
    chunks: Any = np.nditer(array, ["external_loop", "buffered", "zerosize_ok"], order="C", buffersize=1 << 16)
    for chunk in chunks:  # a copy of the whole might not fit
        content.update(chunk.tobytes())
    return content.hexdigest()
