"""Graphs of Python objects: a node for each object, with all that Python shows of it."""

import functools
import inspect
import types
from collections.abc import Iterable, Mapping
from logging import Logger
from typing import Any

import gymnasium
import numpy as np

from understudy.contracts.learning import HasLearnedState
from understudy.contracts.offering import members_of, offers
from understudy.contracts.simulating import HasStatesFingerprint
from understudy.logs import Log
from understudy.runs.describing.classes import (
    attributes_beyond_settings,
    base_with_c_state,
    changed_parts,
    class_parts,
    defines_reduce,
)
from understudy.runs.describing.environments import env_parts
from understudy.runs.describing.functions import C_CALLABLES, Parts, function_parts
from understudy.runs.describing.graph import Node, compute_digests, digest
from understudy.runs.describing.objects import (
    added_attributes,
    attributes_of,
    content_parts,
    is_global,
    is_numba_function,
    is_tensor,
    reduced_parts,
    settings_of,
)
from understudy.runs.describing.ownership import full_name, is_ours, is_yours
from understudy.runs.describing.values import PLAIN_TYPES, digest_of_array, json_numbers, key_label, value_node

SMALL = 64
"""Items of a list or array up to which it is written out."""

MOST_NODES, MOST_SETTINGS = 1_000_000, 50_000
"""The largest number of nodes, and of objects with `settings`, which may make new objects without end; an object with
more cannot be described."""

(LEARNED,) = members_of(HasLearnedState)
LEARNED_STATE, CHANGED = ".knows", ".changed"
"""Labels of parts that are digested and not shown: what a learner of ours has learned, and what was changed in its
class."""


class NodeBuilder:
    """Makes the nodes of objects, one for each, so that an object that many refer to is looked at once."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}  # by the id of the object
        self._kept_alive: list[Any] = []  # so that no other object is given one of these ids
        self._remaining: list[tuple[Node, Any]] = []
        self._n_with_settings = 0

    def build(self, value: Any) -> Node:
        """Return the node of an object; its parts are nodes of all that the object refers to."""
        root = self._node(value)
        while self._remaining:
            node, item = self._remaining.pop()
            if len(self._nodes) > MOST_NODES or self._n_with_settings > MOST_SETTINGS:
                _mark_unknown(node, item, f" among more than {min(len(self._nodes), MOST_NODES):,} parts")
                self._remaining.clear()
                break
            try:
                self._fill(node, item)
            except Exception as error:  # code of others can raise anything
                _mark_unknown(node, item, f" whose attributes raise {type(error).__name__}")
        return root

    def _node(self, value: Any) -> Node:
        try:
            found = value_node(value)
        except Exception:  # code of others, which raises again when its parts are looked at
            found = None
        if found is not None:
            return found
        if id(value) not in self._nodes:
            self._nodes[id(value)] = Node(type(value).__name__)
            self._kept_alive.append(value)
            self._remaining.append((self._nodes[id(value)], value))
        return self._nodes[id(value)]

    def _add(self, node: Node, parts: Iterable[tuple[str, Any]]) -> None:
        node.parts += [(label, self._node(part)) for label, part in parts]

    def _fill(self, node: Node, value: Any) -> None:
        """Complete the node of an object that has parts."""
        kind = type(value)
        node.tag = node.name = full_name(kind)
        if kind in (list, tuple):
            node.tag, node.name = kind.__name__, f"{len(value):,} items"
            self._fill_items(node, value)
        elif kind in (set, frozenset):
            node.tag, node.name, node.ordered = kind.__name__, f"{kind.__name__} of {len(value):,}", False
            self._fill_items(node, value)
        elif kind in (dict, types.MappingProxyType):
            node.tag, node.name = kind.__name__, f"{len(value):,} entries"
            self._fill_entries(node, value)
        elif kind is np.ndarray:
            self._fill_array(node, value)
        elif isinstance(value, type | types.GenericAlias):
            self._fill_class(node, value)
        elif isinstance(value, types.ModuleType):
            node.tag = node.name = f"module {value.__name__}"
            if is_yours(value):
                self._add(node, ((name, part) for name, part in vars(value).items() if not name.startswith("__")))
        elif not self._fill_callable(node, value):
            self._fill_object(node, value)
        elif is_yours(kind):
            self._add(node, [("code of its class", kind)])

    def _fill_items(self, node: Node, items: Any) -> None:
        node.display = "list"
        if set(map(type, items)) <= PLAIN_TYPES and _add_texts(node, map(repr, items)):
            values = [item_node.plain for item_node in map(value_node, items)] if len(items) <= SMALL else None
            node.display, node.plain = ("opaque", None) if values is None else ("value", values)
            if not node.ordered and values is not None:
                values.sort(key=repr)
        else:
            self._add(node, (("", item) for item in items))

    def _fill_entries(self, node: Node, table: Mapping[Any, Any]) -> None:
        node.display = "table"
        if len(table) > SMALL and {type(item) for pair in table.items() for item in pair} <= PLAIN_TYPES:
            node.ordered = False
            if _add_texts(node, (f"{key!r}: {item!r}" for key, item in table.items())):
                node.display = "opaque"
                return
            node.ordered = True
        if all(type(key) is str for key in table):
            self._add(node, table.items())
            return
        labels = {key: key_label(key) for key in table}
        node.tag += " by keys"
        if None not in labels.values():
            self._add(node, ((str(labels[key]), item) for key, item in table.items()))
            return
        node.display, node.ordered = "list", False
        self._add(node, (("", [key, item]) for key, item in table.items()))

    def _fill_array(self, node: Node, array: np.ndarray) -> None:
        node.tag, node.name = f"array {array.dtype.str} {array.shape}", f"{array.dtype} {array.shape}"
        if array.dtype.hasobject:
            self._add(node, [("", array.ravel().tolist())])
            return
        if array.dtype.fields is not None:  # the bytes between fields have no meaning
            self._add(node, ((name, array[name]) for name in array.dtype.names or ()))
            return
        node.tag += f" {digest_of_array(array)}"
        if array.size <= SMALL and array.dtype.kind in "iufb":
            node.display, node.plain = "value", json_numbers(array.tolist())

    def _fill_class(self, node: Node, kind: Any) -> None:
        node.tag = node.name = f"class {full_name(kind)}"
        if isinstance(kind, type) and is_yours(kind):
            self._add(node, (("base", base) for base in kind.__bases__ if is_yours(base)))
            self._add(node, class_parts(kind))
        elif not isinstance(kind, type):  # list[int]
            node.tag = node.name = str(kind)
        else:
            node.display, node.plain = "value", full_name(kind)

    def _fill_callable(self, node: Node, value: Any) -> bool:
        """Complete the node of a function or method, of Python or of C. Return False for any other object."""
        if is_numba_function(value):
            # Numba's own attribute, which not all of its compiled objects have.
            self._add(node, [("wraps", value.py_func), ("options", getattr(value, "targetoptions", None))])
        elif isinstance(value, functools._lru_cache_wrapper):
            self._add(node, [("wraps", value.__wrapped__), *added_attributes(value)])
        elif isinstance(value, functools.partial):
            node.display = "table"
            self._add(node, [("partial", value.func), ("arguments", value.args), ("keywords", value.keywords)])
            self._add(node, added_attributes(value))
        elif isinstance(value, np.vectorize):
            parts = ("pyfunc", "otypes", "excluded", "signature")
            self._add(node, [(part, getattr(value, part)) for part in parts])
        elif inspect.ismethod(value):
            node.display = "table"
            self._add(node, [("method", value.__func__), ("of", value.__self__)])
        elif inspect.isfunction(value):
            node.tag = node.name = full_name(value)
            self._add(node, function_parts(value))
        elif isinstance(value, np.ufunc):
            node.name = f"numpy.{value.__name__}"
            if getattr(np, value.__name__, None) is not value:  # made from a function, which it does not show
                return False
            node.tag, node.display, node.plain = node.name, "value", node.name
        elif isinstance(value, C_CALLABLES):
            node.tag = node.name = full_name(value)
            owner = getattr(value, "__self__", None)  # Python's attribute, which descriptors do not have
            if owner is not None and not isinstance(owner, types.ModuleType):
                self._add(node, [("of", owner)])
            else:
                node.display, node.plain = "value", node.name
        else:
            return False
        return True

    def _fill_object(self, node: Node, value: Any) -> None:
        kind = type(value)
        node.name, node.display = kind.__name__, "object"
        if isinstance(value, Logger):
            node.tag, node.display, node.name = f"logger {value.name}", "opaque", f"logger {value.name}"
            return
        attributes, settings, trusted = attributes_of(value), settings_of(value), set[str]()
        if settings is not None:
            self._n_with_settings += 1
            self._add(node, _parts_by_settings(kind, settings, attributes))
            trusted.add("code")
        elif isinstance(value, gymnasium.Env):
            parts, trusted = env_parts(value, attributes)
            self._add(node, parts)
        else:
            self._fill_by_attributes(node, value, attributes)
        yours = [base for base in kind.__mro__ if is_yours(base)]
        self._add(node, [("code", yours[0])] if yours else [])
        if any(LEARNED in vars(base) for base in kind.__mro__):
            self._add(node, [(LEARNED_STATE, digest_of(value.learned_state))])
        changed = changed_parts(kind)
        self._add(node, [(CHANGED, changed)] if changed else [])
        node.trusted = frozenset(trusted)
        node.parts.sort(key=lambda part: part[0] == "code")

    def _fill_by_attributes(self, node: Node, value: Any, attributes: dict[str, Any]) -> None:
        """Add what an object without settings holds: its content, and its attributes or what it is copied from."""
        kind, content = type(value), content_parts(value)
        self._add(node, content or [])
        if is_tensor(value):
            node.display = "opaque"
        by_reduce = content is None and defines_reduce(kind)
        if by_reduce or (not node.parts and base_with_c_state(kind)):
            node.display = "opaque"
            reduced = reduced_parts(value)
            if reduced is None or (isinstance(reduced, str) and not is_global(value, reduced)):
                _mark_unknown(node, value)
            if isinstance(reduced, str):
                node.tag += f" {reduced}"
            else:
                self._add(node, reduced or [])
        if not (by_reduce or node.unknown):
            self._add(node, ((f".{name}", part) for name, part in attributes.items()))


def _parts_by_settings(kind: type, settings: Mapping[Any, Any], attributes: dict[str, Any]) -> Parts:
    """Return the parts of an object that has settings: these, and the attributes that settings say too little of.

    Settings often name functions without saying what they do, and leave out logs and states.
    """
    table = {str(key): part for key, part in settings.items()}
    beside = {name: part for name, part in attributes.items() if _is_function(part, kind)}
    beside |= {name: part for name, part in attributes.items() if isinstance(part, Log)}
    beside |= attributes_beyond_settings(kind, attributes)
    index = attributes.get("index")
    states = index.fingerprint if offers(index, HasStatesFingerprint) else None
    beside |= {"states": states} if isinstance(states, str) else {}
    parts = [(f".{name}", part) for name, part in beside.items() if name not in table] + list(table.items())
    if is_ours(kind) and "env" in attributes and "tables" not in table:  # settings name it in a few words only
        parts.append((".env_holds", attributes["env"]))
    return parts


def digest_of(value: Any) -> str:
    """Return a digest of an object and of all that it refers to."""
    root = NodeBuilder().build(value)
    compute_digests(root)
    return root.digest


def _mark_unknown(node: Node, value: Any, why: str = "") -> None:
    """Make a node that of an object which cannot be described: it equals no other."""
    kind = type(value)
    what = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    node.tag, node.name, node.display, node.unknown = f"unknown {what}", f"a {what}{why}", "opaque", True
    node.parts.clear()


def _add_texts(node: Node, texts: Iterable[str]) -> bool:
    """Add many numbers or texts to a node at once: a node for each would take long. Return False where it fails."""
    try:
        lines = list(texts) if node.ordered else sorted(texts)
    except ValueError:  # an integer of more digits than Python writes
        return False
    node.tag += f" {digest(chr(10).join(lines).encode())}"
    return True


def _is_function(part: Any, kind: type) -> bool:
    """True if an attribute is a function; for objects of this library's own classes, any callable without settings."""
    return inspect.isroutine(part) or (is_ours(kind) and callable(part) and settings_of(part) is None)
