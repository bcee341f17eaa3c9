"""An object is its settings where its class defines them, else its attributes and content."""

import collections
import threading
import types
from dataclasses import dataclass, field

import numpy as np
import pytest

from understudy.envs import Grid
from understudy.learners import QLearning
from understudy.logs import Log
from understudy.runs.describing import describe, plain
from understudy.runs.describing.objects import (
    attributes_of,
    content_parts,
    instance_dict,
    is_global,
    reduced_parts,
    settings_of,
)
from understudy.simulators import psrs

LOG = Log.from_columns(**Grid(3).rollout(np.full((9, 5), 0.2), 3, seed=0))


def alike(one, other):
    return describe(one).digest == describe(other).digest


def warm(value):
    learner = QLearning(3, 2)
    learner.q[1] = value
    return learner


def test_settings_are_believed_about_what_cannot_be_described():
    class Locked:
        def __init__(self, rate):
            self.rate, self._lock = rate, threading.Lock()

        def policy(self, observation):
            return LOCK

    class Told(Locked):
        @property
        def settings(self):
            return {"rate": self.rate}

    assert set(describe(Locked(1)).unknown) == {"_lock", "code.policy.global LOCK"}
    assert describe(Told(1)).unknown == {}
    assert describe(Told(1)) == describe(Told(1))
    assert describe(Told(1)).digest != describe(Told(2)).digest


LOCK = threading.Lock()


def test_settings_that_raise_are_not_taken_for_none():
    class Broken:
        @property
        def settings(self):
            raise RuntimeError("not yet")

    assert "RuntimeError" in describe([Broken()]).unknown[""]


class Delegating:
    """Hands on whatever it has not, settings included."""

    def __init__(self, inner, bonus):
        self.inner, self.bonus = inner, bonus

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.inner, name)


class Noted:
    """Keeps a table of its own under that name, which says nothing of the rest."""

    def __init__(self, rate):
        self.settings = {"layers": 2}
        self.rate = rate


class NotedInSlots:
    __slots__ = ("rate", "settings")

    def __init__(self, rate):
        self.settings = {"layers": 2}
        self.rate = rate


@dataclass
class NotedAsData:
    rate: float
    settings: dict = field(default_factory=dict)


class NotedOver:
    settings = types.MappingProxyType({})

    def __init__(self, rate):
        self.settings = {"layers": 2}
        self.rate = rate


class NotedReplay(type(psrs(LOG))):
    """A simulator of ours, with something that its settings do not tell."""

    def __init__(self, rate):
        vars(self).update(vars(psrs(LOG)))
        self.settings = self.settings | {"own": True}
        self.rate = rate


@pytest.mark.parametrize(
    "kind", [lambda rate: Delegating(warm(0.0), rate), Noted, NotedInSlots, NotedAsData, NotedOver, NotedReplay]
)
def test_settings_are_believed_only_where_the_class_defines_them(kind):
    assert alike(kind(1), kind(1))
    assert not alike(kind(1), kind(2))


def test_settings_of_a_class_may_be_a_property_or_a_mapping():
    class AsProperty:
        def __init__(self, lock):
            self.lock = lock

        @property
        def settings(self):
            return {"rate": 1}

    class AsMapping(AsProperty):
        settings = {"rate": 1}  # noqa: RUF012

    for kind in (AsProperty, AsMapping):
        assert not describe(kind(threading.Lock())).unknown
        assert plain(kind(threading.Lock()))["rate"] == 1


@pytest.mark.parametrize("error", [KeyError, RuntimeError, ZeroDivisionError])
def test_what_raises_when_it_is_asked_is_described_without_asking(error):
    class Odd:
        __slots__ = ("rate",)

        def __init__(self, rate):
            self.rate = rate

        def __getattr__(self, name):
            raise error(name)

    assert not describe(Odd(1)).unknown
    assert alike(Odd(1), Odd(1))
    assert not alike(Odd(1), Odd(2))


def test_objects_that_pickle_by_name_are_found_under_it():
    assert is_global(np.add, "add")
    assert not is_global(np.add, "subtract")
    assert reduced_parts(iter([1])) is None
    assert reduced_parts(threading.Lock()) is None
    assert dict(reduced_parts(types.SimpleNamespace(a=1)))["state"] == {"a": 1}


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        (collections.deque([1], 2), ["items", "maxlen"]), (collections.defaultdict(list), ["missing", "entries"]),
        (frozenset({1}), ["items"]), (np.ma.array([1]), ["value"]), (types.CellType(1), ["holds"]),
        (property(), ["get", "set", "delete"]),
    ],
)  # fmt: skip
def test_containers_show_their_content(value, labels):
    assert [label for label, _ in content_parts(value)] == labels
    assert content_parts(object()) is None


def test_attributes_are_read_without_getattr_and_include_slots():
    class Odd:
        __slots__ = ("__dict__", "rate", "unset")

        def __init__(self):
            self.rate, self.own = 1, 2

        def __getattr__(self, name):
            raise ZeroDivisionError(name)

    assert attributes_of(Odd()) == {"rate": 1, "own": 2}
    assert instance_dict(Odd()) == {"own": 2}
    assert settings_of(Odd()) is None
