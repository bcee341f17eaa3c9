"""A class is what it defines, with what a program changed in it."""

import collections
import functools
import threading

import numpy as np
import pytest
import torch

from understudy.learners import QLearning
from understudy.runs.describing import describe
from understudy.runs.describing.classes import (
    attributes_beyond_settings,
    base_with_c_state,
    class_parts,
    defines_reduce,
    functions_in,
    is_python_class,
)


class Slotted:
    __slots__ = ("a", "b")


class Derived(QLearning):
    def __init__(self):
        super().__init__(2, 2)
        self.own = 1


class Silent(QLearning):
    pass


def alike(one, other):
    return describe(one).digest == describe(other).digest


def warm(value):
    learner = QLearning(3, 2)
    learner.q[1] = value
    return learner


def test_a_function_that_is_put_into_a_class_of_ours_is_seen(monkeypatch):
    before = describe(warm(0.0)).digest
    monkeypatch.setattr(QLearning, "learn", lambda self, step: None)
    patched = describe(warm(0.0)).digest
    monkeypatch.setattr(QLearning, "learn", lambda self, step: 1)
    assert len({before, patched, describe(warm(0.0)).digest}) == 3
    monkeypatch.undo()
    assert describe(warm(0.0)).digest == before
    monkeypatch.setattr(QLearning, "expected", True)
    assert describe(warm(0.0)).digest != before


def test_cached_properties_and_their_like_can_be_described():
    def kind(number):
        class Mine:
            @functools.cached_property
            def table(self):
                return number

            @staticmethod
            def still():
                return number

            @classmethod
            def made(cls):
                return number

        return Mine()

    used = kind(1)
    assert not describe(used).unknown
    assert alike(used, kind(1))
    assert not alike(used, kind(2))


@pytest.mark.parametrize("kind", [Slotted, Derived, collections.UserDict, type("Made", (), {"__slots__": ("x",)})])
def test_objects_of_python_classes_show_all_they_hold(kind):
    assert base_with_c_state(kind) is None


@pytest.mark.parametrize("kind", [dict, np.ndarray, torch.Tensor, np.random.Generator, type("Sub", (list,), {})])
def test_objects_of_c_do_not(kind):
    assert base_with_c_state(kind) is not None
    assert base_with_c_state(type(threading.Lock())) is not None


def test_settings_that_are_inherited_do_not_cover_what_was_added():
    assert attributes_beyond_settings(Derived, vars(Derived())) == {"own": 1}
    assert attributes_beyond_settings(Silent, vars(Silent(2, 2))) == {}
    assert attributes_beyond_settings(QLearning, vars(QLearning(2, 2))) == {}


def test_class_parts_leave_out_what_python_adds():
    class Mine:
        """Words."""

        rate = 1

        def __call__(self):
            return self.rate

    assert {label for label, _ in class_parts(Mine)} == {"rate", "__call__"}
    assert {label for label, _ in class_parts(Slotted)} <= {"__doc__"}


def test_functions_are_found_in_descriptors():
    def one(self):
        return 1

    for part in (one, property(one), staticmethod(one), classmethod(one), functools.cached_property(one)):
        assert functions_in(part) == [one]
    assert functions_in(3) == []


def test_classes_of_c_and_of_python_are_told_apart():
    assert is_python_class(Slotted)
    assert not is_python_class(dict)


def test_only_installed_classes_are_asked_how_they_are_copied():
    class Mine:
        def __reduce__(self):
            return Mine, ()

    assert defines_reduce(np.random.Generator)
    assert not defines_reduce(Mine)
    assert not defines_reduce(collections.UserDict)
