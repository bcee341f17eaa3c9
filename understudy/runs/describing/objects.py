"""What Python shows of an object: its attributes, its settings, and what it holds beside them."""

import copyreg
import functools
import sys
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import gymnasium
import numpy as np

from understudy.runs.describing.classes import DESCRIPTORS, descriptor_parts, is_python_class, is_special
from understudy.runs.describing.environments import RANDOM_STATE
from understudy.runs.describing.functions import Parts, cell_content
from understudy.runs.describing.ownership import is_ours


def instance_dict(value: Any) -> dict[str, Any]:
    """Return the `__dict__` of an object, without calling its `__getattr__`."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return dict(found) if isinstance(found, Mapping) else {}


def attributes_of(value: Any) -> dict[str, Any]:
    """Return all attributes of an object, slots included; of this library's own, which have caches, the public ones."""
    kind, found = type(value), instance_dict(value)
    if isinstance(value, DESCRIPTORS):  # beside their functions: copies of these functions' names, and a lock
        copied = ("func", "attrname", "lock", "__wrapped__")
        return {name: part for name, part in found.items() if name not in copied and not is_special(name)}
    for base in kind.__mro__:
        for name, part in vars(base).items():
            if isinstance(part, types.MemberDescriptorType) and is_python_class(base):  # those of C show addresses
                try:
                    found.setdefault(name, part.__get__(value))
                except AttributeError:
                    continue  # never set
    if is_ours(kind):
        if is_dataclass(value):
            return {field.name: found[field.name] for field in fields(value) if field.name in found}
        found = {name: part for name, part in found.items() if not name.startswith("_")}
    if isinstance(value, gymnasium.Env | gymnasium.Space):
        found = {name: part for name, part in found.items() if name not in RANDOM_STATE}
    return found


def added_attributes(value: Any) -> Parts:
    """Return what a program has set on a function that is an object of C, without what Python copies to it."""
    found = {name: part for name, part in instance_dict(value).items() if not is_special(name)}
    return [("attributes", found)] if found else []


def settings_of(value: Any) -> Mapping[Any, Any] | None:
    """Return the mapping `settings` that an object's class defines, most often as a property; None without one.

    What only the object holds, or what its `__getattr__` gives (another object's settings, perhaps), does not count;
    objects of this library's own classes may hold theirs.
    """
    kind = type(value)
    defined = next((vars(base)["settings"] for base in kind.__mro__ if "settings" in vars(base)), None)
    found: Any = None
    if isinstance(defined, Mapping):
        found = None if "settings" in instance_dict(value) else defined
    elif isinstance(defined, property) or (hasattr(type(defined), "__get__") and is_python_class(type(defined))):
        found = value.settings
    elif defined is None and any(map(is_ours, kind.__mro__)):
        found = instance_dict(value).get("settings")
    return found if isinstance(found, Mapping) else None


def is_numba_function(value: Any) -> bool:
    """True for a function that Numba compiles."""
    return type(value).__module__.partition(".")[0] == "numba" and hasattr(value, "py_func")  # Numba's attribute


def is_tensor(value: Any) -> bool:
    """True for a tensor or a generator of torch."""
    torch = sys.modules.get("torch")  # where torch is not loaded there is no tensor
    return torch is not None and isinstance(value, torch.Tensor | torch.Generator)


def content_parts(value: Any) -> Parts | None:
    """Return what an object of a known kind holds beside its attributes; None for other kinds."""
    if isinstance(value, list | tuple | deque):
        return [("items", list(value)), *([("maxlen", value.maxlen)] if isinstance(value, deque) else [])]
    if isinstance(value, set | frozenset):
        return [("items", set(value))]
    if isinstance(value, dict):
        missing: Parts = [("missing", value.default_factory)] if isinstance(value, defaultdict) else []
        ordered = isinstance(value, OrderedDict)
        return [*missing, ("entries", [list(pair) for pair in value.items()] if ordered else dict(value))]
    if isinstance(value, int | float | str | bytes | complex):
        return [("value", _builtin_value(value))]
    if isinstance(value, np.ndarray):
        return [("value", np.asarray(value))]
    if isinstance(value, weakref.ref):
        return [("to", value())]
    if isinstance(value, types.CellType):
        return [("holds", cell_content(value))]
    if isinstance(value, DESCRIPTORS):
        return descriptor_parts(value)
    return _tensor_parts(value) if is_tensor(value) else None


def reduced_parts(value: Any) -> Parts | str | None:
    """Return what `copy` would make an object from: parts, or the name of a global; None where it cannot be copied."""
    kind = type(value)
    reduce = copyreg.dispatch_table.get(kind, lambda value: value.__reduce_ex__(4))
    if hasattr(kind, "__next__"):  # an iterator, of Python's protocol, is a position in something else
        return None
    try:
        reduced = reduce(value)
    except Exception:  # code of others
        return None
    if isinstance(reduced, str):
        return reduced
    labels = ("by", "from", "state", "items", "entries")
    return [
        (label, list(part) if label in ("items", "entries") and part is not None else part)
        for label, part in zip(labels, reduced, strict=False)
    ]


def is_global(value: Any, name: str) -> bool:
    """True if an object is found under this name in its own module, where it names one, or in that of its class."""
    module = sys.modules.get(getattr(value, "__module__", None) or type(value).__module__)  # as pickle looks for it
    return functools.reduce(lambda at, part: getattr(at, part, None), name.split("."), module) is value


def _builtin_value(value: Any) -> Any:
    """Return the number or text that an object of a derived class is, as an object of Python's own class."""
    if isinstance(value, bytes):
        return memoryview(value).tobytes()
    if isinstance(value, str):
        return str.__str__(value)
    return next(own for own in (int, float, complex) if isinstance(value, own)).__pos__(value)


def _tensor_parts(value: Any) -> Parts:
    """Return what a tensor of torch holds, or the state of its generator."""
    import torch

    if isinstance(value, torch.Generator):
        return [("device", value.device.type), ("state", value.get_state())]
    content = value.detach().cpu().contiguous().resolve_conj().resolve_neg().reshape(-1).view(torch.uint8).numpy()
    like = [str(value.dtype), tuple(value.shape), value.device.type, value.requires_grad]
    return [("like", like), ("content", content), ("gradient", value.grad if value.is_leaf else None)]
