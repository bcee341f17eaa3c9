"""What Python shows of a class: what it defines, what a program changed in it, and which attributes its code uses."""

import functools
import types
from typing import Any

from understudy.runs.describing.functions import Parts, nested_codes
from understudy.runs.describing.ownership import is_ours, is_yours

DESCRIPTORS = (staticmethod, classmethod, property, functools.cached_property)

HEAP_TYPE, IMMUTABLE_TYPE = 1 << 9, 1 << 8
"""Flags of types in CPython: made while the program runs, as by class statements; and fixed by C code."""


def class_parts(kind: type) -> Parts:
    """Return the functions and attributes that a class of yours itself defines, without what Python adds."""
    parts: Parts = [("metaclass", type(kind))] if is_yours(type(kind)) else []
    for name, part in vars(kind).items():
        added = name == "_abc_impl" or isinstance(part, types.MemberDescriptorType | types.GetSetDescriptorType)
        if not (added or (is_special(name) and _is_bookkeeping(name, part))):
            parts.append((name, part))
    return parts


def is_special(name: str) -> bool:
    """True for names such as `__init__`."""
    return name.startswith("__") and name.endswith("__")


def _is_bookkeeping(name: str, part: Any) -> bool:
    """True if a part under a special name only records how the class was written, unlike `__call__`, which acts."""
    if isinstance(part, (types.FunctionType, *DESCRIPTORS)):
        return False
    for_tools = name in ("__signature__", "__firstlineno__", "__annotate__") or name.startswith("__pydantic")
    # `__get__` is Python's own mark of a descriptor.
    acts = callable(part) or hasattr(type(part), "__get__") or type(part) in (bool, int, float, type(None))
    return for_tools or not acts


def changed_parts(kind: type) -> dict[str, Any]:
    """Return what a program may have changed in classes of this library: functions of yours, and plain attributes."""
    return {
        f"{base.__name__}.{name}": part
        for base in kind.__mro__
        if is_ours(base)
        for name, part in vars(base).items()
        if (type(part) in (bool, int, float, str) and not is_special(name)) or any(map(is_yours, functions_in(part)))
    }


def descriptor_parts(part: Any) -> Parts:
    """Return the functions of a property, cached or not, of a static method or a class method."""
    if isinstance(part, property):
        return [("get", part.fget), ("set", part.fset), ("delete", part.fdel)]
    return [("function", part.func if isinstance(part, functools.cached_property) else part.__func__)]


def functions_in(part: Any) -> list[types.FunctionType]:
    """Return the functions that an attribute of a class consists of; an empty list where it is not a function."""
    parts = [function for _, function in descriptor_parts(part)] if isinstance(part, DESCRIPTORS) else [part]
    return [function for function in parts if isinstance(function, types.FunctionType)]


def attributes_beyond_settings(kind: type, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that a subclass has added to a class whose `settings` it inherits: these do not cover them.

    They are the ones that no function of the class with the settings, or of its bases, uses.
    """
    lineage = list(kind.__mro__)
    used = [_used_names(base) for base in lineage]
    has_settings = [
        "settings" in (names if is_ours(base) else vars(base)) for base, names in zip(lineage, used, strict=True)
    ]
    first = has_settings.index(True) if True in has_settings else 0
    covered = set().union(*used[first:])
    return {name: part for name, part in attributes.items() if name not in covered} if first else {}


def _used_names(kind: type) -> set[str]:
    """Return the names of a class's attributes, and those that its functions use."""
    names = set(vars(kind))
    for part in vars(kind).values():
        for function in functions_in(part):
            names |= {name for code in nested_codes(function.__code__) for name in code.co_names}
    return names


def is_python_class(kind: type) -> bool:
    """True if a class was made by a class statement, as far as its flags show."""
    return bool(kind.__flags__ & HEAP_TYPE) and not kind.__flags__ & IMMUTABLE_TYPE


def base_with_c_state(kind: type) -> type | None:
    """Return the class, if any, in whose objects C code keeps something that is not an attribute."""
    for base in kind.__mro__[:-1]:
        n_slots = sum(isinstance(part, types.MemberDescriptorType) for part in vars(base).values())
        inherited = max(parent.__basicsize__ for parent in base.__bases__)
        if (
            not is_python_class(base)
            or base.__basicsize__ > inherited + 8 * (n_slots + 2)
            or "pybind11" in type(base).__name__
        ):
            return base
    return None


def defines_reduce(kind: type) -> bool:
    """True if a class of an installed library says what its objects are made of, and so leaves out what is cached."""
    names = {"__reduce__", "__reduce_ex__", "__getstate__"}
    return not (is_yours(kind) or is_ours(kind)) and any(names & vars(base).keys() for base in kind.__mro__[:-1])
