"""Whose code a class, function or module is: this library's, the user's, or an installed library's."""

import functools
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any


def full_name(thing: Any) -> str:
    """Return the name of a class or function, with its module."""
    # Attributes that Python gives to classes and functions; some objects of C have only a part of them.
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", type(thing).__name__)
    return f"{module}.{name}" if module else str(name)


def is_ours(thing: Any) -> bool:
    """True if a class, function or module is this library's."""
    return _module_name(thing).partition(".")[0] == "understudy"


def is_yours(thing: Any) -> bool:
    """True if a class, function or module is the user's: neither Python's, nor ours, nor an installed library's."""
    return not is_installed(_module_name(thing))  # code that was made without a module is the user's, too


def _module_name(thing: Any) -> str:
    if isinstance(thing, types.FunctionType):  # where it was written: a decorator copies __module__ from another
        return str(thing.__globals__.get("__name__"))
    return str(thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None))


@functools.cache
def is_installed(module: str) -> bool:
    """True if a module of this name is Python's, ours, or an installed library's."""
    root = module.partition(".")[0]
    file = getattr(sys.modules.get(module), "__file__", None)
    if root.startswith("namedtuple_"):  # what Python itself writes for a named tuple
        return True
    if root == "understudy" or file is None:
        return root in ("understudy", *sys.builtin_module_names) or root in sys.stdlib_module_names
    path = Path(file)
    python = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    return bool({"site-packages", "dist-packages"} & set(path.parts)) or any(map(path.is_relative_to, python))
