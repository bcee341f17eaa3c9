"""Descriptions of objects: plain values for people, and a digest that covers everything."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.runs.describing.graph import Node, compute_digests, unknown_paths
from understudy.runs.describing.nodes import CHANGED, LEARNED_STATE, SMALL, NodeBuilder

MOST_HEIGHT, MOST_PARTS, MOST_DEPTH, MOST_OPENED = 8, 32, 5, 64
"""An object is shown whole up to this height and the weight SMALL. A larger one is opened where it has few parts, down
to this depth and up to this many objects; others are shown by their names and digests."""


@dataclass(frozen=True)
class Description:
    """What an object is."""

    plain: Any  # as JSON can hold it, for people; large parts by their names and digests
    digest: str  # of all of it
    unknown: dict[str, str]  # what could not be described: a path of attributes and keys -> what is there
    parts: dict[str, str]  # the name and the digest of each part, by its label


def describe(value: Any) -> Description:
    """Return a description of an object: equal for objects that act alike, as far as Python can see, else different.

    Seen are: numbers, texts, arrays, tensors, collections, random generators; all attributes of objects, in `__dict__`
    and in `__slots__`, private ones too; of functions, methods and classes the code, defaults, closures, and the
    globals they refer to, through functions and classes of your own modules. An object whose class defines a mapping
    `settings` (most often a property) is described by it, by the functions among its attributes and by its class's
    code; a learner of this library by its settings and what it has learned so far. A Gymnasium environment that
    was made by its id is described by that id, its options, and the numbers, texts, arrays and collections that only
    its `__init__` sets.

    Not seen are: the code of installed libraries and of Python itself, described by their names; files and other
    things that are read at run time; modules that a function imports only when it is called; globals and attributes of
    modules that are looked up by a text which the program puts together; a list or set that a function only adds to;
    the order of a dict; private attributes of this library's own objects; of an environment that was made by its id,
    attributes that its other methods set. What Python cannot look into (locks, open files, generators, handles of C
    libraries), and any object of more than a million parts, is listed in `unknown`.
    """
    root = NodeBuilder().build(value)
    compute_digests(root)
    unknown = {path: node.name for path, node in unknown_paths(root).items()}
    return Description(
        plain_node(root), root.digest, unknown, {label: _name_and_digest(part) for label, part in root.parts}
    )


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it, for people: a small one whole, others by their kind and a digest.

    >>> import numpy as np
    >>> plain({"gamma": np.float64(0.5), "sizes": (1, 2), "rate": float("nan")})
    {'gamma': 0.5, 'sizes': [1, 2], 'rate': 'nan'}
    """
    return describe(value).plain


def learner_settings(learner: Any) -> dict[str, Any]:
    """Return what a learner is, for people: its class, its settings or attributes, and its code if it is yours."""
    return plain(learner)


def plain_node(root: Node) -> Any:
    """Return a node as JSON can hold it."""
    opened = 0

    def show(node: Node, depth: int) -> Any:
        nonlocal opened
        if node.display == "value":
            return node.plain
        if node.display == "opaque":
            return _name_and_digest(node)
        if node.weight > SMALL or node.height > MOST_HEIGHT:
            opened += 1
            outer = depth < 2 and node.display == "object"
            if not outer and (depth > MOST_DEPTH or opened > MOST_OPENED or len(node.parts) > MOST_PARTS):
                return _name_and_digest(node)
        if node.display == "list":
            items = [show(part, depth + 1) for _, part in node.parts]
            return items if node.ordered else sorted(items, key=repr)
        named = {"class": node.name} if node.display == "object" else {}
        parts = [(label, part) for label, part in node.parts if label not in (LEARNED_STATE, CHANGED)]
        return named | {label.removeprefix("."): show(part, depth + 1) for label, part in parts}

    return show(root, 0)


def _name_and_digest(node: Node) -> str:
    return node.name if node.unknown else f"{node.name} {node.digest}"


def differences(there: Mapping[str, Any], here: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return how two tables of plain values differ, a phrase for each difference.

    >>> differences({"seed": 1, "learner": {"gamma": 0.9}}, {"seed": 1, "learner": {"gamma": 0.5}})
    ['learner gamma is 0.9 there and 0.5 here']
    """
    found = []
    for key in dict.fromkeys([*there, *here]):
        one, other = there.get(key), here.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += differences(one, other, f"{prefix}{key} ")
        elif json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True):
            found.append(f"{prefix}{key} is {_shortened(one)} there and {_shortened(other)} here")
    return found


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
