"""Python's values and objects as the nodes of a graph: each thing once, with all that can be seen of it."""

import copyreg
import functools
import inspect
import sys
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from logging import Logger
from typing import Any

import gymnasium
import numpy as np

from understudy.logs import Log
from understudy.runs import anatomy
from understudy.runs.graph import Node, digest, settle
from understudy.runs.leaves import LEAVES, digest_of_array, json_numbers, label_of, leaf_of

SMALL = 64
"""Items of a list or array up to which it is shown whole."""

MOST_NODES, MOST_TOLD = 1_000_000, 50_000
"""Parts of a thing that are looked at, and how many of them may tell `settings`, which may be made of ever new parts;
a thing with more cannot be described."""

KNOWS, CHANGED = ".knows", ".changed"
"""Labels of what counts and is not shown: what a learner of ours has learned, and what was changed in its class."""

DESCRIPTORS = property | staticmethod | classmethod | functools.cached_property

RANDOM = {"_np_random", "_np_random_seed"}
WRAPPED = {"env", "_cached_spec", "_action_space", "_observation_space", "_metadata", "_reward_range", *RANDOM}
"""Attributes of Gymnasium's wrappers, envs and spaces that are described elsewhere, or come and go with use."""

MADE_WITH = {"spec", "_saved_kwargs", "render_mode", "metadata", *WRAPPED}
"""The same, where an environment knows what it was made with."""


class Nodes:
    """Nodes of things, each made once, so that what is referred to from many places costs no more."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._kept: list[Any] = []  # alive, so that no other thing is given its id
        self._ahead: list[tuple[Node, Any]] = []
        self._n_told = 0

    def of(self, value: Any) -> Node:
        """The node of a thing, and of all that it refers to."""
        root = self._node(value)
        while self._ahead:
            node, item = self._ahead.pop()
            if len(self._nodes) > MOST_NODES or self._n_told > MOST_TOLD:
                _give_up(node, item, f" among more than {min(len(self._nodes), MOST_NODES):,} parts")
                self._ahead.clear()
                break
            try:
                self._fill(node, item)
            except Exception as error:  # whatever code of others raises when it is asked
                _give_up(node, item, f" whose attributes raise {type(error).__name__}")
        return root

    def _node(self, value: Any) -> Node:
        try:
            leaf = leaf_of(value)
        except Exception:  # of others' code, which says so again when its parts are asked for
            leaf = None
        if leaf is not None:
            return leaf
        if id(value) not in self._nodes:
            self._nodes[id(value)] = Node(type(value).__name__)
            self._kept.append(value)
            self._ahead.append((self._nodes[id(value)], value))
        return self._nodes[id(value)]

    def _add(self, node: Node, parts: Iterable[tuple[str, Any]]) -> None:
        node.parts += [(label, self._node(part)) for label, part in parts]

    def _fill(self, node: Node, value: Any) -> None:
        kind = type(value)
        node.tag = node.name = anatomy.name_of(kind)
        if kind in (list, tuple):
            node.tag, node.name = kind.__name__, f"{len(value):,} items"
            self._items(node, value)
        elif kind in (set, frozenset):
            node.tag, node.name, node.ordered = kind.__name__, f"{kind.__name__} of {len(value):,}", False
            self._items(node, value)
        elif kind in (dict, types.MappingProxyType):
            node.tag, node.name = kind.__name__, f"{len(value):,} entries"
            self._entries(node, value)
        elif kind is np.ndarray:
            self._array(node, value)
        elif isinstance(value, type | types.GenericAlias):
            self._class(node, value)
        elif isinstance(value, types.ModuleType):
            self._module(node, value)
        elif not self._callable(node, value):
            self._object(node, value, kind)
        elif anatomy.is_yours(kind):
            self._add(node, [("code of its class", kind)])

    def _items(self, node: Node, items: Any) -> None:
        node.form = "list"
        if set(map(type, items)) <= LEAVES and _together(node, map(repr, items)):
            leaves = [leaf_of(item).shown for item in items] if len(items) <= SMALL else None
            node.form, node.shown = ("opaque", None) if leaves is None else ("leaf", leaves)
            if not node.ordered and leaves is not None:
                leaves.sort(key=repr)
        else:
            self._add(node, (("", item) for item in items))

    def _entries(self, node: Node, table: Mapping[Any, Any]) -> None:
        node.form = "table"
        if len(table) > SMALL and {type(item) for pair in table.items() for item in pair} <= LEAVES:
            node.ordered = False
            if _together(node, (f"{key!r}: {item!r}" for key, item in table.items())):
                node.form = "opaque"
                return
            node.ordered = True
        if all(type(key) is str for key in table):
            self._add(node, table.items())
            return
        labels = {key: label_of(key) for key in table}
        node.tag += " by keys"
        if None not in labels.values():
            self._add(node, ((str(labels[key]), item) for key, item in table.items()))
            return
        node.form, node.ordered = "list", False
        self._add(node, (("", [key, item]) for key, item in table.items()))

    def _array(self, node: Node, array: np.ndarray) -> None:
        node.tag, node.name = f"array {array.dtype.str} {array.shape}", f"{array.dtype} {array.shape}"
        if array.dtype.hasobject:
            self._add(node, [("", array.ravel().tolist())])
            return
        if array.dtype.fields is not None:  # whatever lies between fields says nothing
            self._add(node, ((name, array[name]) for name in array.dtype.names or ()))
            return
        node.tag += f" {digest_of_array(array)}"
        if array.size <= SMALL and array.dtype.kind in "iufb":
            node.form, node.shown = "leaf", json_numbers(array.tolist())

    def _class(self, node: Node, kind: Any) -> None:
        node.tag = node.name = f"class {anatomy.name_of(kind)}"
        if isinstance(kind, type) and anatomy.is_yours(kind):
            self._add(node, (("base", base) for base in kind.__bases__ if anatomy.is_yours(base)))
            self._add(node, anatomy.class_parts(kind))
        elif not isinstance(kind, type):  # list[int]
            node.tag = node.name = str(kind)
        else:
            node.form, node.shown = "leaf", anatomy.name_of(kind)

    def _module(self, node: Node, module: types.ModuleType) -> None:
        node.tag = node.name = f"module {module.__name__}"
        if anatomy.is_yours(module):
            self._add(node, ((name, part) for name, part in vars(module).items() if not name.startswith("__")))

    def _callable(self, node: Node, value: Any) -> bool:
        """Fill the node of a function or method, of Python's or of C's; False where it is none of them."""
        if anatomy.is_compiled(value):
            self._add(node, [("wraps", value.py_func), ("options", getattr(value, "targetoptions", None))])
        elif isinstance(value, functools._lru_cache_wrapper):
            self._add(node, [("wraps", value.__wrapped__), *anatomy.own_attributes(value)])
        elif isinstance(value, functools.partial):
            node.form = "table"
            self._add(node, [("partial", value.func), ("arguments", value.args), ("keywords", value.keywords)])
            self._add(node, anatomy.own_attributes(value))
        elif isinstance(value, np.vectorize):
            parts = ("pyfunc", "otypes", "excluded", "signature")
            self._add(node, [(part, getattr(value, part)) for part in parts])
        elif inspect.ismethod(value):
            node.form = "table"
            self._add(node, [("method", value.__func__), ("of", value.__self__)])
        elif inspect.isfunction(value):
            node.tag = node.name = anatomy.name_of(value)
            self._add(node, anatomy.function_parts(value))
        elif isinstance(value, np.ufunc):
            node.name = f"numpy.{value.__name__}"
            if getattr(np, value.__name__, None) is not value:  # made of a function, which it does not show
                return False
            node.tag, node.form, node.shown = node.name, "leaf", node.name
        elif isinstance(value, anatomy.NAMED):
            node.tag = node.name = anatomy.name_of(value)
            owner = getattr(value, "__self__", None)
            if owner is not None and not isinstance(owner, types.ModuleType):
                self._add(node, [("of", owner)])
            else:
                node.form, node.shown = "leaf", node.name
        else:
            return False
        return True

    def _object(self, node: Node, value: Any, kind: type) -> None:
        node.name, node.form = kind.__name__, "object"
        if isinstance(value, Logger):
            node.tag, node.form, node.name = f"logger {value.name}", "opaque", f"logger {value.name}"
            return
        attributes = _attributes(value, kind)
        settings = anatomy.settings_of(value)
        believed: set[str] = set()
        if settings is not None:
            self._n_told += 1
            # Functions are often told by their names only, and logs not at all, which says too little.
            told = {name: part for name, part in attributes.items() if _is_function(part, kind)}
            told |= {name: part for name, part in attributes.items() if isinstance(part, Log)}
            told |= anatomy.beyond_settings(kind, attributes)
            table = {str(key): part for key, part in settings.items()}
            states = getattr(attributes.get("index"), "fingerprint", None)
            told |= {"states": states} if isinstance(states, str) else {}
            self._add(node, ((f".{name}", part) for name, part in told.items() if name not in table))
            self._add(node, table.items())
            if anatomy.is_ours(kind) and "env" in attributes and "tables" not in table:  # told in a few words only
                self._add(node, [(".env_holds", attributes["env"])])
            believed.add("code")
        elif isinstance(value, gymnasium.Env):
            believed |= self._env(node, value, attributes)
        else:
            whole = not self._content(node, value) and anatomy.tells_its_state(kind)
            if whole or (not node.parts and anatomy.kept_by_c(kind)):
                self._reduced(node, value, kind)
            if not (whole or node.unknown):
                self._add(node, ((f".{name}", part) for name, part in attributes.items()))
        yours = [base for base in kind.__mro__ if anatomy.is_yours(base)]
        self._add(node, [("code", yours[0])] if yours else [])
        if any(anatomy.is_ours(base) and "learned_state" in vars(base) for base in kind.__mro__):
            self._add(node, [(KNOWS, digest_of(value.learned_state))])
        changed = anatomy.changed_parts(kind)
        self._add(node, [(CHANGED, changed)] if changed else [])
        node.believed = frozenset(believed)
        node.parts.sort(key=lambda part: part[0] == "code")

    def _env(self, node: Node, env: gymnasium.Env, attributes: dict[str, Any]) -> set[str]:
        """An environment: what it was made with where it knows that, and how it is set up; else all that it holds.

        Returns the labels of its set-up, which is taken for what can be seen of it.
        """
        spec = None if isinstance(env, gymnasium.Wrapper) else env.spec
        made_with: list[tuple[str, Any]] = []
        if spec is not None:
            made_with = [("id", spec.id), ("kwargs", spec.kwargs)]
        elif "_saved_kwargs" in attributes and not anatomy.is_yours(type(env)):
            made_with = [("made_with", attributes["_saved_kwargs"])]
        known = MADE_WITH if made_with else WRAPPED
        told = {name: part for name, part in attributes.items() if name not in known}
        told = anatomy.steady_parts(type(env), told) if made_with else told
        self._add(node, made_with + [(f".{name}", part) for name, part in told.items()])
        if isinstance(env, gymnasium.Wrapper):
            self._add(node, [(".env", env.env)])
        return {f".{name}" for name in told} if made_with else set()

    def _content(self, node: Node, value: Any) -> bool:
        """Add what an object holds beside its attributes, where it is of a kind that is known; else False."""
        if isinstance(value, list | tuple | deque):
            self._add(node, [("items", list(value))])
            self._add(node, [("maxlen", value.maxlen)] if isinstance(value, deque) else [])
        elif isinstance(value, set | frozenset):
            self._add(node, [("items", set(value))])
        elif isinstance(value, dict):
            ordered = isinstance(value, OrderedDict)
            self._add(node, [("missing", value.default_factory)] if isinstance(value, defaultdict) else [])
            self._add(node, [("entries", [list(pair) for pair in value.items()] if ordered else dict(value))])
        elif isinstance(value, int | float | str | bytes | complex):
            self._add(node, [("value", anatomy.value_of(value))])
        elif isinstance(value, np.ndarray):
            self._add(node, [("value", np.asarray(value))])
        elif isinstance(value, weakref.ref):
            self._add(node, [("to", value())])
        elif isinstance(value, types.CellType):
            self._add(node, [("holds", anatomy.cell_content(value))])
        elif isinstance(value, DESCRIPTORS):
            self._add(node, anatomy.descriptor_parts(value))
        elif _is_tensor(value):
            node.form = "opaque"
            self._add(node, anatomy.tensor_parts(value))
        else:
            return False
        return True

    def _reduced(self, node: Node, value: Any, kind: type) -> None:
        """What an object would be copied from; what cannot be copied cannot be described."""
        node.form = "opaque"
        reduce = copyreg.dispatch_table.get(kind, lambda value: value.__reduce_ex__(4))
        try:
            if hasattr(kind, "__next__"):
                raise TypeError("an iterator is a place in something else")
            made = reduce(value)
        except Exception:
            _give_up(node, value)
            return
        if isinstance(made, str):
            home = sys.modules.get(getattr(value, "__module__", None) or kind.__module__)
            if functools.reduce(lambda at, name: getattr(at, name, None), made.split("."), home) is not value:
                _give_up(node, value)
            node.tag += f" {made}"
            return
        labels = ("by", "from", "state", "items", "entries")
        parts = [list(part) if label in ("items", "entries") and part is not None else part
                 for label, part in zip(labels, made, strict=False)]  # fmt: skip
        self._add(node, zip(labels, parts, strict=False))


def _give_up(node: Node, value: Any, why: str = "") -> None:
    """Say what a thing is that cannot be described; it is taken for no other."""
    kind = type(value)
    what = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    node.tag, node.name, node.form, node.unknown = f"unknown {what}", f"a {what}{why}", "opaque", True
    node.parts.clear()


def _together(node: Node, told: Iterable[str]) -> bool:
    """Add many numbers or texts to a node at once: a node for each would take long."""
    try:
        lines = list(told) if node.ordered else sorted(told)
    except ValueError:  # an integer of more digits than Python writes
        return False
    node.tag += f" {digest(chr(10).join(lines).encode())}"
    return True


def _is_function(part: Any, kind: type) -> bool:
    """Whether a part of an object is a function; in this library's own objects, anything that is called."""
    return inspect.isroutine(part) or (anatomy.is_ours(kind) and callable(part) and anatomy.settings_of(part) is None)


def digest_of(value: Any) -> str:
    """A digest of a value, which stands for it in a description."""
    root = Nodes().of(value)
    settle(root)
    return root.digest


def _attributes(value: Any, kind: type) -> dict[str, Any]:
    """All that an object holds by name; of this library's own, which have caches, what is public."""
    found = anatomy.held(value)
    if isinstance(value, DESCRIPTORS):  # beside their functions: copies of these functions' names, and a lock
        return {name: part for name, part in found.items() if name not in ("func", "attrname", "lock", "__wrapped__")
                and not (name.startswith("__") and name.endswith("__"))}  # fmt: skip
    for base in kind.__mro__:
        for name, part in vars(base).items():
            if isinstance(part, types.MemberDescriptorType) and anatomy.is_pythons(base):  # those of C tell addresses
                try:
                    found.setdefault(name, part.__get__(value))
                except AttributeError:
                    continue  # never set
    if anatomy.is_ours(kind):
        if is_dataclass(value):
            return {field.name: found[field.name] for field in fields(value) if field.name in found}
        found = {name: part for name, part in found.items() if not name.startswith("_")}
    if isinstance(value, gymnasium.Env | gymnasium.Space):
        found = {name: part for name, part in found.items() if name not in RANDOM}
    return found


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")  # where torch is not loaded there is no tensor
    return torch is not None and isinstance(value, torch.Tensor | torch.Generator)
