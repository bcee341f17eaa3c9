"""What an experiment is, in plain values and a digest, so that results of different ones are never mixed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.runs.graph import Node, settle, unknown_paths
from understudy.runs.nodes import CHANGED, KNOWS, SMALL, Nodes

SHALLOW, FEW, DEPTH, OPENED = 8, 32, 5, 64
"""A value is shown whole up to this height and the weight SMALL. Of larger ones, those of few parts are opened, down to
this depth and up to so many of them; others are shown by their names and digests."""


@dataclass(frozen=True)
class Description:
    """What a thing is: what people are shown, a digest of all of it, and what could not be described."""

    shown: Any
    digest: str
    unknown: dict[str, str]  # a path of attributes and keys -> what is there
    parts: dict[str, str]  # of each part: its name, and a digest of it


def describe(value: Any) -> Description:
    """Describe a thing, equal for what acts alike, different for what does not, as far as Python can see.

    Seen are: numbers, texts, arrays, tensors, collections, random generators; all attributes of objects, in `__dict__`
    and in `__slots__`, private ones too; of functions, methods and classes the code, defaults, closures, and the
    globals they refer to, through functions and classes of your own modules. An object whose class defines a mapping
    `settings` (a property, most often) is what that says, with the functions among its attributes and its class's
    code; a learner of this library is its settings and what it has learned so far. A Gymnasium environment that was
    made by its id is that id, its options, and the numbers, texts, arrays and collections that only its `__init__`
    sets.

    Not seen are: the code of installed libraries and of Python itself, told by their names; files and other things that
    are read at run time; modules that a function imports only once it is called; globals and attributes of modules that
    are looked up by a text which is put together as the program runs; a list or set that a function only adds to; the
    order of a dict; private attributes of this library's own objects; of an environment that was made by its id,
    attributes that its other methods set. What Python cannot look into (locks, open files, generators, handles of C
    libraries), and all of a thing of more than a million parts, is listed in `unknown`.
    """
    root = Nodes().of(value)
    settle(root)
    unknown = {path: node.name for path, node in unknown_paths(root).items()}
    return Description(shown(root), root.digest, unknown, {label: _named(part) for label, part in root.parts})


def plain(value: Any) -> Any:
    """A value as JSON can hold it, for people: small ones whole, others by their kind and a digest.

    >>> import numpy as np
    >>> plain({"gamma": np.float64(0.5), "sizes": (1, 2), "rate": float("nan")})
    {'gamma': 0.5, 'sizes': [1, 2], 'rate': 'nan'}
    """
    return describe(value).shown


def learner_settings(learner: Any) -> dict[str, Any]:
    """What a learner is, for people: its class, its settings or what it holds, and its code if it is yours."""
    return plain(learner)


def shown(root: Node) -> Any:
    """A node as JSON can hold it."""
    opened = 0

    def show(node: Node, depth: int) -> Any:
        nonlocal opened
        if node.form == "leaf":
            return node.shown
        if node.form == "opaque":
            return _named(node)
        if node.weight > SMALL or node.height > SHALLOW:
            opened += 1
            outer = depth < 2 and node.form == "object"
            if not outer and (depth > DEPTH or opened > OPENED or len(node.parts) > FEW):
                return _named(node)
        if node.form == "list":
            items = [show(part, depth + 1) for _, part in node.parts]
            return items if node.ordered else sorted(items, key=repr)
        told = {"class": node.name} if node.form == "object" else {}
        parts = [(label, part) for label, part in node.parts if label not in (KNOWS, CHANGED)]
        return told | {label.removeprefix("."): show(part, depth + 1) for label, part in parts}

    return show(root, 0)


def _named(node: Node) -> str:
    return node.name if node.unknown else f"{node.name} {node.digest}"


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
        elif json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True):
            found.append(f"{prefix}{key} is {_cut(one)} there and {_cut(other)} here")
    return found


def _cut(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
