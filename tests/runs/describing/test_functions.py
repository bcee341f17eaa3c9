"""A function is its code, its defaults, its closure and, if it is yours, the globals it uses."""

import functools
import operator
import sys
import textwrap
import types

import numpy as np
import pytest

from understudy.runs.describing import describe
from understudy.runs.describing.functions import cell_content, code_parts, nested_codes


def alike(one, other):
    return describe(one).digest == describe(other).digest


def in_module(tmp_path, monkeypatch, text, **others):
    """The function `f` of a module of this text, read anew."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine", *others):
        sys.modules.pop(name, None)
    for name, content in {"mine": text, **others}.items():
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(content))
    sys.dont_write_bytecode = True
    import importlib

    importlib.invalidate_caches()
    return importlib.import_module("mine").f


CHANGES = {
    "a constant": ("RATE = 1\ndef f(x): return RATE", "RATE = 2\ndef f(x): return RATE"),
    "a constant two calls away": (
        "RATE = 1\ndef h(x): return RATE\ndef g(x): return h(x)\ndef f(x): return g(x)",
        "RATE = 2\ndef h(x): return RATE\ndef g(x): return h(x)\ndef f(x): return g(x)",
    ),
    "the code of a function that is called": (
        "def g(x): return x\ndef f(x): return g(x)",
        "def g(x): return -x\ndef f(x): return g(x)",
    ),
    "a class attribute": (
        "class A:\n    rate = 1\ndef f(x): return A().rate",
        "class A:\n    rate = 2\ndef f(x): return A().rate",
    ),
    "a class attribute of a base": (
        "class B:\n    rate = 1\nclass A(B): pass\ndef f(x): return A().rate",
        "class B:\n    rate = 2\nclass A(B): pass\ndef f(x): return A().rate",
    ),
    "a property": (
        "class A:\n    @property\n    def r(self): return 1\ndef f(x): return A().r",
        "class A:\n    @property\n    def r(self): return 2\ndef f(x): return A().r",
    ),
    "a static method": (
        "class A:\n    @staticmethod\n    def r(): return 1\ndef f(x): return A.r()",
        "class A:\n    @staticmethod\n    def r(): return 2\ndef f(x): return A.r()",
    ),
    "a cached property": (
        "import functools\nclass A:\n    @functools.cached_property\n    def r(self): return 1\ndef f(x): return A().r",
        "import functools\nclass A:\n    @functools.cached_property\n    def r(self): return 2\ndef f(x): return A().r",
    ),
    "a decorated function": (
        "import functools\n@functools.cache\ndef g(x): return 1\ndef f(x): return g(x)",
        "import functools\n@functools.cache\ndef g(x): return 2\ndef f(x): return g(x)",
    ),
    "a compiled function": (
        "import numba\n@numba.njit\ndef g(x): return 1\ndef f(x): return g(x)",
        "import numba\n@numba.njit\ndef g(x): return 2\ndef f(x): return g(x)",
    ),
    "a constant in a lambda in a function": (
        "RATE = 1\ndef f(x): return [(lambda: RATE) for _ in x]",
        "RATE = 2\ndef f(x): return [(lambda: RATE) for _ in x]",
    ),
    "an exception that is caught": (
        "def f(x):\n    try:\n        return g(x)\n    except KeyError:\n        return 0",
        "def f(x):\n    try:\n        return g(x)\n    except ValueError:\n        return 0",
    ),
    "a default": ("def f(x, rate=1): return rate", "def f(x, rate=2): return rate"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_functions_of_modules_of_yours_are_seen_with_what_they_refer_to(change, tmp_path, monkeypatch):
    before, after = CHANGES[change]
    first = describe(in_module(tmp_path, monkeypatch, before))
    assert describe(in_module(tmp_path, monkeypatch, before)) == first
    assert describe(in_module(tmp_path, monkeypatch, after)).digest != first.digest


@pytest.mark.parametrize(
    "text",
    [
        "import other\ndef f(x): return other.RATE",
        "import other as o\ndef f(x): return o.g(x)",
        "from other import g\ndef f(x): return g(x)",
        "import other\ndef f(x):\n    from other import RATE\n    return RATE",
        "import other\ndef f(x):\n    import other\n    return other.g(x)",
    ],
)
def test_what_is_taken_from_other_modules_of_yours_is_seen(text, tmp_path, monkeypatch):
    first = describe(in_module(tmp_path, monkeypatch, text, other="RATE = 1\ndef g(x): return RATE"))
    second = describe(in_module(tmp_path, monkeypatch, text, other="RATE = 2\ndef g(x): return RATE"))
    assert first.digest != second.digest
    unrelated = describe(in_module(tmp_path, monkeypatch, text, other="RATE = 1\ndef g(x): return RATE\nELSE = 3"))
    assert unrelated == first


def test_globals_that_a_function_does_not_refer_to_do_not_count(tmp_path, monkeypatch):
    first = describe(in_module(tmp_path, monkeypatch, "import threading\nLOCK = threading.Lock()\ndef f(x): return 1"))
    assert first.unknown == {}
    assert describe(in_module(tmp_path, monkeypatch, "OTHER = 3\ndef f(x): return 1")) == first


LOOKING_UP = {
    "getattr": "return getattr(settings, 'RATE')",
    "vars": "return vars(settings)['RATE']",
    "attrgetter": "return operator.attrgetter('RATE')(settings)",
    "globals": "return globals()['RATE']",
}


@pytest.mark.parametrize("text", LOOKING_UP.values(), ids=LOOKING_UP)
def test_globals_that_are_looked_up_by_a_text_are_seen(text):
    def function(rate):
        settings = types.ModuleType("settings")
        settings.RATE = rate
        space = {"__name__": "mine", "settings": settings, "operator": operator, "RATE": rate}
        exec(f"def function():\n    {text}\n", space)
        return space["function"]

    assert alike(function(1), function(1))
    assert not alike(function(1), function(2))


def test_a_function_that_takes_the_name_of_an_installed_one_is_still_yours():
    def wrapped(rate):
        space = {"__name__": "mine", "functools": functools, "np": np, "RATE": rate}
        exec("@functools.wraps(np.mean)\ndef function(x):\n    return RATE * x\n", space)
        return space["function"]

    assert alike(wrapped(1), wrapped(1))
    assert not alike(wrapped(1), wrapped(2))


def test_a_list_that_a_function_only_adds_to_is_not_part_of_what_it_does():
    def noting(notes):
        def make(seed):
            notes.append(seed)
            return seed

        return make

    def reading(notes):
        def make(seed):
            notes.append(seed)
            return notes[0]

        return make

    assert alike(noting([]), noting([1]))
    assert not alike(reading([]), reading([1]))


def test_code_is_described_without_its_file_and_line():
    texts = {"a.py": "def f(x):\n  return x + 1", "b.py": "\n\ndef f(x):\n\n  return x + 1"}
    modules = [compile(text, name, "exec") for name, text in texts.items()]
    code = [next(item for item in module.co_consts if isinstance(item, types.CodeType)) for module in modules]
    assert code_parts(code[0]) == code_parts(code[1])
    assert code_parts(code[0]) != code_parts((lambda x: x + 2).__code__)


def test_nested_codes_are_those_of_functions_within():
    def outer():
        def inner():
            return lambda: 1

        return inner

    assert sorted(code.co_name for code in nested_codes(outer.__code__)) == ["<lambda>", "inner", "outer"]


def test_an_empty_cell_has_no_value():
    assert cell_content(types.CellType()) == "(empty)"
    assert cell_content(types.CellType(3)) == 3
