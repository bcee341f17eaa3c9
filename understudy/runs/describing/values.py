"""Nodes of values without parts, such as numbers and texts, and digests of arrays."""

import math
from hashlib import blake2b
from typing import Any

import numpy as np

from understudy.logs import Log
from understudy.runs.describing.graph import Node, digest

PLAIN_TYPES = {type(None), bool, int, float, str}
NUMPY_PLAIN_TYPES = {np.float64, np.int64, np.bool_, np.str_}
"""NumPy's types that act as Python's own do."""


def value_node(value: Any) -> Any:
    """Return the node of a value without parts; None for an object that has parts."""
    if type(value) in NUMPY_PLAIN_TYPES:
        value = value.item()
    kind = type(value)
    if kind is int and abs(value).bit_length() > 256:
        return _node(f"int {value:x}", f"int of {value.bit_length()} bits {digest(f'{value:x}'.encode())}")
    if kind is float and not math.isfinite(value):
        return _node(f"float {value}", str(value))
    if kind is str and len(value) > 200:
        content = digest(value.encode("utf-8", "surrogatepass"))
        return _node(f"str {content}", f"text of {len(value):,} characters {content}")
    if kind in PLAIN_TYPES:
        return _node(f"{kind.__name__} {value!r}", value)
    if kind is bytes or kind is bytearray:
        content = f"{kind.__name__} of {len(value):,} {digest(value)}"
        return _node(content, content)
    if kind is complex or value is Ellipsis or value is NotImplemented:
        return _node(f"{kind.__name__} {value!r}", repr(value))
    if isinstance(value, np.generic) and not isinstance(value, np.void | np.object_):
        content = f"{value.dtype} {value.item()!r}"
        return _node(content, content)
    if isinstance(value, Log):
        return _node(f"log {value.fingerprint}", f"log {value.fingerprint}")
    return None


def _node(tag: str, plain: Any) -> Node:
    return Node(tag, display="value", plain=plain, digest=digest(tag.encode("utf-8", "surrogatepass")))


def key_label(key: Any) -> str | None:
    """Return a key of a dict as a text that no other key has; None where there is no such text."""
    node = value_node(key)
    if node is not None:
        return node.tag
    if type(key) is tuple:
        parts = [node.tag for item in key if (node := value_node(item)) is not None]
        return repr(tuple(parts)) if len(parts) == len(key) else None
    return None


def json_numbers(value: Any) -> Any:
    """Return numbers as JSON can hold them: infinities and NaN as texts."""
    if isinstance(value, list):
        return [json_numbers(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def digest_of_array(array: np.ndarray) -> str:
    """Return a hash of an array's content, whatever its layout in memory."""
    if array.flags.c_contiguous:
        return digest(array.reshape(-1).view(np.uint8).data if array.size else b"")
    content = blake2b(digest_size=8)
    chunks: Any = np.nditer(array, ["external_loop", "buffered", "zerosize_ok"], order="C", buffersize=1 << 16)
    for chunk in chunks:  # a copy of the whole array might not fit into memory
        content.update(chunk.tobytes())
    return content.hexdigest()
