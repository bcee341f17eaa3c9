"""What Python shows of a function: its code, its defaults, the variables it closes over, and the globals it uses."""

import dis
import importlib.util
import sys
import types
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

from understudy.runs.describing.ownership import is_installed, is_yours

Parts = list[tuple[str, Any]]
"""Labels, and the parts they stand for. Digests cover labels: where one is changed, earlier results are refused."""

C_CALLABLES = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType,
    types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
)  # fmt: skip
"""Functions and descriptors that are written in C: described by their names."""

LOOKUPS_BY_NAME = {"getattr", "attrgetter", "vars", "__dict__", "globals"}
"""Functions and attributes that look up what a text names."""

GLOBAL_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
CLOSURE_LOADS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")


def function_parts(function: types.FunctionType) -> Parts:
    """Return a function's code, defaults and closure and, of a function of yours, the globals it uses."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    append_only = _append_only_variables(function)
    parts: Parts = [
        ("code", code_parts(function.__code__)),
        ("closure", ["(added to)" if name in append_only else cell_content(cell) for name, cell in cells]),
        ("defaults", function.__defaults__),
        ("keywords", function.__kwdefaults__),
    ]
    if vars(function) and (is_yours(function) or not is_installed(str(function.__module__))):
        parts += [("attributes", vars(function))]
    if is_yours(function):
        parts += [(f"global {name}", value) for name, value in used_globals(function).items()]
    return parts


def code_parts(code: types.CodeType) -> list[Any]:
    """Return instructions, names and constants of compiled code, without the file and line it was written in."""
    constants = [code_parts(item) if isinstance(item, types.CodeType) else item for item in code.co_consts]
    n_arguments = code.co_argcount + code.co_kwonlyargcount
    arguments = [code.co_argcount, code.co_posonlyargcount, code.co_flags, code.co_varnames[:n_arguments]]
    return [code.co_code, code.co_exceptiontable, code.co_names, code.co_freevars, arguments, constants]


def used_globals(function: types.FunctionType) -> dict[str, Any]:
    """Return the globals that a function refers to, by name; of modules of yours, what it may use of them."""
    codes = list(nested_codes(function.__code__))
    names = {name for code in codes for name in code.co_names}
    texts = _identifiers_in_texts(codes) if names & LOOKUPS_BY_NAME else set()
    loaded = {
        instruction.argval
        for code in codes
        for instruction in instructions_of(code)
        if instruction.opname in GLOBAL_LOADS and not instruction.argval.startswith("__")
    } | (texts if "globals" in names else set())
    names |= texts
    loaded -= _append_only_variables(function)
    found = {name: function.__globals__[name] for name in loaded if name in function.__globals__}
    found |= {f"import {name}": module for name, module in _imported_modules(function, codes).items()}
    return {name: _used_part(value, names) for name, value in found.items()}


@lru_cache(maxsize=1024)
def instructions_of(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """Return the instructions of compiled code. Experiments describe the same functions many times."""
    return tuple(dis.get_instructions(code))


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object, and those of the functions and classes defined within it."""
    remaining = [code]
    while remaining:
        code = remaining.pop()
        yield code
        remaining += [item for item in code.co_consts if isinstance(item, types.CodeType)]


def cell_content(cell: types.CellType) -> Any:
    """Return the value of a closure's variable."""
    try:
        return cell.cell_contents
    except ValueError:
        return "(empty)"


def _append_only_variables(function: types.FunctionType) -> set[str]:
    """Return the names of outside variables that a function only appends to, such as a list of its arguments.

    They do not change what it does, and would make each call differ from the one before.
    """
    appended: set[str] = set()
    read: set[str] = set()
    for code in nested_codes(function.__code__):
        instructions = instructions_of(code)
        for one, following in pairwise([*instructions, instructions[-1]]):
            if one.opname in (*GLOBAL_LOADS, *CLOSURE_LOADS):
                appends = following.opname in ("LOAD_METHOD", "LOAD_ATTR") and following.argval in ("append", "add")
                (appended if appends else read).add(one.argval)
    return appended - read


def _identifiers_in_texts(codes: list[types.CodeType]) -> set[str]:
    """Return the identifiers among a function's text constants, which it may look something up by."""
    texts = [item for code in codes for item in code.co_consts if isinstance(item, str)]
    return {name for text in texts for name in text.split(".") if name.isidentifier()}


def _imported_modules(function: types.FunctionType, codes: list[types.CodeType]) -> dict[str, Any]:
    """Return the modules that a function imports when it is called, where they are loaded already."""
    found: dict[str, Any] = {}
    for code in codes:
        constants: list[Any] = []
        for instruction in instructions_of(code):
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


def _used_part(value: Any, names: set[str], within: tuple[Any, ...] = ()) -> Any:
    """Return a global as it is; of a module of yours, only what has one of these names."""
    if not isinstance(value, types.ModuleType) or not is_yours(value) or value in within:
        return value.__name__ if isinstance(value, types.ModuleType) else value
    return {name: _used_part(vars(value)[name], names, (*within, value)) for name in names & vars(value).keys()}
