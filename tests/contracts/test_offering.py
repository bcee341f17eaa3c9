"""Capabilities are looked for by protocols only: no room guesses at names of attributes."""

import ast
from pathlib import Path
from typing import Protocol, runtime_checkable

import pytest

import understudy
from understudy.contracts.offering import members_of, offers

ALLOWED = {
    "contracts/wrappers.py": {
        "envs": "of vector environments of Gymnasium and Stable-Baselines3",
        "_max_episode_steps": "of Gymnasium's TimeLimit",
    },
    "encoders/function.py": {"__qualname__": "Python's, of any function"},
    "learners/ppo.py": {
        "observation_space": "Gymnasium's, of an environment in place of a log's spec",
        "action_space": "likewise",
        "n": "of Gymnasium's Discrete",
        "start": "of Gymnasium's Discrete",
    },
    "logs/arrays.py": {"dtype": "NumPy's, of anything like an array"},
    "logs/policies.py": {"detach": "torch's, so that torch need not be imported"},
    "results.py": {"strerror": "of Python's OSError"},
    "runs/backends.py": {"sched_getaffinity": "Python's, where the system has it"},
    "runs/describing/classes.py": {"__get__": "Python's, of descriptors"},
    "runs/describing/nodes.py": {
        "targetoptions": "Numba's, of compiled functions",
        "__self__": "Python's, of bound functions of C",
    },
    "runs/describing/objects.py": {
        "__get__": "Python's, of descriptors",
        "py_func": "Numba's, of compiled functions",
        "__next__": "Python's, of iterators",
        "__module__": "Python's, of what pickles by name",
    },
    "runs/describing/ownership.py": {
        "__module__": "Python's, of classes and functions",
        "__qualname__": "likewise",
        "__name__": "likewise",
        "__file__": "Python's, of modules",
    },
    "runs/folder.py": {"strerror": "of Python's OSError"},
    "runs/sending.py": {"__notes__": "Python's, of exceptions with notes"},
    "runs/forked.py": {"pthread_sigmask": "Python's, where the system has it"},
    "simulators/kernels/__init__.py": {"instance_class": "Numba's, of the types of named tuples"},
}
"""Attributes of others' objects that are looked for by name, and whose they are."""


def literal_names(source):
    """The names that a text looks for with getattr or hasattr, and their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
            name = node.args[1] if len(node.args) > 1 else None
            if isinstance(name, ast.Constant):
                yield name.value, node.lineno


ROOT = Path(understudy.__file__).parent
FILES = {path.relative_to(ROOT).as_posix(): path for path in sorted(ROOT.rglob("*.py"))}


@pytest.mark.parametrize("file", FILES)
def test_no_attribute_is_looked_for_by_a_name_that_no_protocol_has(file):
    found = {f"{name} in line {line}" for name, line in literal_names(FILES[file].read_text())}
    allowed = ALLOWED.get(file, {})
    assert {one for one in found if one.split(" in line ")[0] not in allowed} == set()


def test_the_scan_finds_what_it_looks_for():
    text = "x = getattr(part, 'policies', None)\nif hasattr(part, 'note'):\n    getattr(part, name)"
    assert sorted(literal_names(text)) == [("note", 2), ("policies", 1)]


@runtime_checkable
class Greets(Protocol):
    language: str

    def greet(self) -> str: ...

    def _hidden(self) -> str: ...


@runtime_checkable
class Shouts(Greets, Protocol):
    @property
    def volume(self) -> int: ...

    def __call__(self) -> str: ...


class Host:
    language = "en"

    def greet(self):
        return "hello"


class Delegating:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


def test_members_are_those_of_a_protocol_and_of_what_it_extends():
    assert members_of(Greets) == ("greet", "language")
    assert members_of(Shouts) == ("__call__", "greet", "language", "volume")


def test_members_count_wherever_an_object_has_them():
    assert offers(Host(), Greets)
    assert offers(Delegating(Host()), Greets)
    assert not offers(Host(), Shouts)
    assert not offers(Delegating(object()), Greets)
    host = Host()
    host.volume = 3
    assert not offers(host, Shouts)  # it cannot be called
