"""What Python lets us see of functions, classes, and objects that C code keeps something in."""

import dis
import functools
import importlib.util
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

Parts = list[tuple[str, Any]]

NAMED = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType,
    types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
)  # fmt: skip
"""Functions of C, and descriptors: their names tell what they are."""

WRITTEN = (types.FunctionType, staticmethod, classmethod, property, functools.cached_property)
BY_NAME = {"getattr", "attrgetter", "vars", "__dict__", "globals"}
"""Functions and attributes that give what is asked for by a text."""

LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
HEAP, IMMUTABLE = 1 << 9, 1 << 8
"""Flags of types: made as the program runs, as Python's own classes are; and fixed by C code."""


def name_of(thing: Any) -> str:
    """The full name of a class or function."""
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", type(thing).__name__)
    return f"{module}.{name}" if module else str(name)


def is_ours(thing: Any) -> bool:
    """Whether a class, function or module is this library's."""
    return _module_of(thing).partition(".")[0] == "understudy"


def is_yours(thing: Any) -> bool:
    """Whether a class, function or module is the user's: neither Python's, nor ours, nor an installed library's."""
    return not _is_installed(_module_of(thing))  # code that was made without a module is yours, too


def _module_of(thing: Any) -> str:
    if isinstance(thing, types.FunctionType):  # where it was written: a decorator copies __module__ from another
        return str(thing.__globals__.get("__name__"))
    return str(thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None))


@functools.cache
def _is_installed(module: str) -> bool:
    root = module.partition(".")[0]
    file = getattr(sys.modules.get(module), "__file__", None)
    if root.startswith("namedtuple_"):  # what Python itself writes for a named tuple
        return True
    if root == "understudy" or file is None:
        return root in ("understudy", *sys.builtin_module_names) or root in sys.stdlib_module_names
    path = Path(file)
    python = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    return bool({"site-packages", "dist-packages"} & set(path.parts)) or any(map(path.is_relative_to, python))


# Functions


def function_parts(function: types.FunctionType) -> Parts:
    """What a function does: its code and defaults, what it closes over and, of one of yours, the globals it uses."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    notes = _only_added_to(function)
    parts: Parts = [
        ("code", code_parts(function.__code__)),
        ("closure", ["(added to)" if name in notes else cell_content(cell) for name, cell in cells]),
        ("defaults", function.__defaults__),
        ("keywords", function.__kwdefaults__),
    ]
    if vars(function) and (is_yours(function) or not _is_installed(str(function.__module__))):
        parts += [("attributes", vars(function))]
    if is_yours(function):
        parts += [(f"global {name}", value) for name, value in globals_of(function).items()]
    return parts


def code_parts(code: types.CodeType) -> list[Any]:
    """What is compiled: instructions, names and constants; not where it was written."""
    constants = [code_parts(item) if isinstance(item, types.CodeType) else item for item in code.co_consts]
    n_arguments = code.co_argcount + code.co_kwonlyargcount
    arguments = [code.co_argcount, code.co_posonlyargcount, code.co_flags, code.co_varnames[:n_arguments]]
    return [code.co_code, code.co_exceptiontable, code.co_names, code.co_freevars, arguments, constants]


def globals_of(function: types.FunctionType) -> dict[str, Any]:
    """The globals that a function refers to; of modules of yours, what it may take from them."""
    codes = list(_codes(function.__code__))
    names = {name for code in codes for name in code.co_names}
    spelled = _spelled(codes) if names & BY_NAME else set()
    loaded = {
        instruction.argval
        for code in codes
        for instruction in dis.get_instructions(code)
        if instruction.opname in LOADS and not instruction.argval.startswith("__")
    } | (spelled if "globals" in names else set())
    names |= spelled
    loaded -= _only_added_to(function)
    found = {name: function.__globals__[name] for name in loaded if name in function.__globals__}
    found |= {f"import {name}": module for name, module in _imported(function, codes).items()}
    return {name: _taken(value, names) for name, value in found.items()}


def _only_added_to(function: types.FunctionType) -> set[str]:
    """Variables from outside that a function adds to and never reads, as one that keeps a list of what it was given.

    They say nothing of what it does, and would tell each call from the one before.
    """
    added: set[str] = set()
    read: set[str] = set()
    for code in _codes(function.__code__):
        instructions = list(dis.get_instructions(code))
        for one, following in pairwise([*instructions, instructions[-1]]):
            if one.opname in (*LOADS, "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
                adds = following.opname in ("LOAD_METHOD", "LOAD_ATTR") and following.argval in ("append", "add")
                (added if adds else read).add(one.argval)
    return added - read


def _spelled(codes: list[types.CodeType]) -> set[str]:
    """The names among the texts of a function, which it may look things up by."""
    texts = [item for code in codes for item in code.co_consts if isinstance(item, str)]
    return {name for text in texts for name in text.split(".") if name.isidentifier()}


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    ahead = [code]
    while ahead:
        code = ahead.pop()
        yield code
        ahead += [item for item in code.co_consts if isinstance(item, types.CodeType)]


def _imported(function: types.FunctionType, codes: list[types.CodeType]) -> dict[str, Any]:
    """Modules that a function imports as it is called, where they are loaded already."""
    found: dict[str, Any] = {}
    for code in codes:
        constants: list[Any] = []
        for instruction in dis.get_instructions(code):
            if instruction.opname.startswith("LOAD_") and "CONST" in instruction.opname:
                constants.append(instruction.argval)
            elif instruction.opname == "IMPORT_NAME":
                level = constants[-2] if len(constants) > 1 and isinstance(constants[-2], int) else 0
                package = function.__globals__.get("__package__")
                name = "." * level + instruction.argval
                if level and not package:
                    continue
                name = importlib.util.resolve_name(name, package)
                found |= {name: sys.modules[name]} if name in sys.modules else {}
    return found


def _taken(value: Any, names: set[str], within: tuple[Any, ...] = ()) -> Any:
    """A global; of a module of yours, only what goes by one of these names."""
    if not isinstance(value, types.ModuleType) or not is_yours(value) or value in within:
        return value.__name__ if isinstance(value, types.ModuleType) else value
    return {name: _taken(vars(value)[name], names, (*within, value)) for name in names & vars(value).keys()}


def cell_content(cell: types.CellType) -> Any:
    """What a closure's variable holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return "(empty)"


# Classes


def class_parts(kind: type) -> Parts:
    """What a class of yours itself defines: functions and attributes, without what Python adds."""
    parts: Parts = [("metaclass", type(kind))] if is_yours(type(kind)) else []
    for name, part in vars(kind).items():
        added = name == "_abc_impl" or isinstance(part, types.MemberDescriptorType | types.GetSetDescriptorType)
        if not (added or (_is_special(name) and _is_bookkeeping(name, part))):
            parts.append((name, part))
    return parts


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_bookkeeping(name: str, part: Any) -> bool:
    """Whether a part under a special name only records how the class was written; `__call__` and its like act."""
    if isinstance(part, WRITTEN):
        return False
    kept_for_tools = name in ("__signature__", "__firstlineno__", "__annotate__") or name.startswith("__pydantic")
    acts = callable(part) or hasattr(type(part), "__get__") or type(part) in (bool, int, float, type(None))
    return kept_for_tools or not acts


def changed_parts(kind: type) -> dict[str, Any]:
    """What a program may have changed in classes of this library: functions of yours, and plain attributes."""
    return {
        f"{base.__name__}.{name}": part
        for base in kind.__mro__
        if is_ours(base)
        for name, part in vars(base).items()
        if (type(part) in (bool, int, float, str) and not _is_special(name)) or any(map(is_yours, _functions(part)))
    }


def descriptor_parts(part: Any) -> Parts:
    """The functions of a property, cached or not, of a static method or a class method."""
    if isinstance(part, property):
        return [("get", part.fget), ("set", part.fset), ("delete", part.fdel)]
    return [("function", part.func if isinstance(part, functools.cached_property) else part.__func__)]


def beyond_settings(kind: type, attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes that a class has added to one whose `settings` it inherits: those settings cannot tell of them.

    They are the ones that no function of the class with the settings, or of its bases, mentions.
    """
    lineage = list(kind.__mro__)
    mentioned = [_mentioned(base) for base in lineage]
    told = [
        "settings" in (names if is_ours(base) else vars(base)) for base, names in zip(lineage, mentioned, strict=True)
    ]
    teller = told.index(True) if True in told else 0
    covered = set().union(*mentioned[teller:])
    return {name: part for name, part in attributes.items() if name not in covered} if teller else {}


def _mentioned(kind: type) -> set[str]:
    """The names of a class's attributes, and those that its functions use."""
    names = set(vars(kind))
    for part in vars(kind).values():
        for function in _functions(part):
            names |= {name for code in _codes(function.__code__) for name in code.co_names}
    return names


def _functions(part: Any) -> list[types.FunctionType]:
    """The functions that a part of a class consists of."""
    parts = [function for _, function in descriptor_parts(part)] if isinstance(part, WRITTEN[1:]) else [part]
    return [function for function in parts if isinstance(function, types.FunctionType)]


def steady_parts(kind: type, attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes of an environment that say how it is set up, not where it is: plain data that only `__init__` sets.

    Left out are those that any other function of its classes sets, or may write on.
    """
    changing: set[str] = set()
    for base in kind.__mro__:
        for name, part in vars(base).items():
            codes = [code for function in _functions(part) for code in _codes(function.__code__)]
            for code in codes if name != "__init__" else ():
                instructions = list(dis.get_instructions(code))
                changing |= {one.argval for one in instructions if one.opname in ("STORE_ATTR", "DELETE_ATTR")}
                if any(one.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") for one in instructions) or (
                    WRITES & set(code.co_names)
                ):
                    changing |= set(code.co_names)
    return {name: part for name, part in attributes.items() if name not in changing and _is_data(part)}


WRITES = {"append", "extend", "insert", "pop", "popleft", "clear", "update", "remove", "add", "setdefault", "fill",
          "sort", "shuffle", "copyto"}  # fmt: skip
"""Methods and functions that write on what they are given."""


def _is_data(value: Any) -> bool:
    kinds = bool | int | float | complex | str | bytes | list | tuple | dict | set | frozenset | np.ndarray | np.generic
    return isinstance(value, kinds)


# Objects


def held(value: Any) -> dict[str, Any]:
    """The `__dict__` of an object, without asking its `__getattr__`."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return dict(found) if isinstance(found, Mapping) else {}


def own_attributes(value: Any) -> Parts:
    """What was set on a function that is an object of C, beside what Python copies to it."""
    found = {name: part for name, part in held(value).items() if not _is_special(name)}
    return [("attributes", found)] if found else []


def settings_of(value: Any) -> Mapping[Any, Any] | None:
    """What an object says of itself: the mapping `settings` that its class defines, most often as a property.

    None where there is none. What only the object holds, or what its `__getattr__` gives (another object's settings,
    perhaps), does not count; objects of this library's own classes may hold theirs.
    """
    kind = type(value)
    defined = next((vars(base)["settings"] for base in kind.__mro__ if "settings" in vars(base)), None)
    found: Any = None
    if isinstance(defined, Mapping):
        found = None if "settings" in held(value) else defined
    elif isinstance(defined, property) or (hasattr(type(defined), "__get__") and is_pythons(type(defined))):
        found = value.settings
    elif defined is None and any(map(is_ours, kind.__mro__)):
        found = held(value).get("settings")
    return found if isinstance(found, Mapping) else None


def is_compiled(value: Any) -> bool:
    """Whether this is a function that Numba compiles."""
    return type(value).__module__.partition(".")[0] == "numba" and hasattr(value, "py_func")


def is_pythons(kind: type) -> bool:
    """Whether a class was made by a class statement, as far as that can be told."""
    return bool(kind.__flags__ & HEAP) and not kind.__flags__ & IMMUTABLE


def kept_by_c(kind: type) -> type | None:
    """The class, if any, in whose objects C code keeps what is no attribute."""
    for base in kind.__mro__[:-1]:
        n_slots = sum(isinstance(part, types.MemberDescriptorType) for part in vars(base).values())
        inherited = max(parent.__basicsize__ for parent in base.__bases__)
        if (
            not is_pythons(base)
            or base.__basicsize__ > inherited + 8 * (n_slots + 2)
            or "pybind11" in type(base).__name__
        ):
            return base
    return None


def tells_its_state(kind: type) -> bool:
    """Whether a class of an installed library says what its objects are made of, and so leaves out what is cached."""
    names = {"__reduce__", "__reduce_ex__", "__getstate__"}
    return not (is_yours(kind) or is_ours(kind)) and any(names & vars(base).keys() for base in kind.__mro__[:-1])


def value_of(value: Any) -> Any:
    """The number or text that an object of a class derived from one is, as Python's own."""
    if isinstance(value, bytes):
        return memoryview(value).tobytes()
    if isinstance(value, str):
        return str.__str__(value)
    return next(own for own in (int, float, complex) if isinstance(value, own)).__pos__(value)


def tensor_parts(value: Any) -> Parts:
    """What a tensor of torch holds, or the state of its generator."""
    import torch

    if isinstance(value, torch.Generator):
        return [("device", value.device.type), ("state", value.get_state())]
    content = value.detach().cpu().contiguous().resolve_conj().resolve_neg().reshape(-1).view(torch.uint8).numpy()
    like = [str(value.dtype), tuple(value.shape), value.device.type, value.requires_grad]
    return [("like", like), ("content", content), ("gradient", value.grad if value.is_leaf else None)]
