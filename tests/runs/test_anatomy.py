"""Whose a class or function is, and what C code keeps in an object."""

import collections
import functools
import threading

import numpy as np
import pytest
import torch

import understudy
from understudy.learners import QLearning
from understudy.runs.anatomy import beyond_settings, is_ours, is_yours, kept_by_c


class Mine:
    __slots__ = ("a", "b")


class Derived(QLearning):
    def __init__(self):
        super().__init__(2, 2)
        self.own = 1


class Silent(QLearning):
    pass


def test_what_is_yours_is_neither_pythons_nor_ours_nor_installed():
    for thing in (Mine, test_what_is_yours_is_neither_pythons_nor_ours_nor_installed, lambda: 1):
        assert is_yours(thing)
        assert not is_ours(thing)
    for thing in (dict, collections.Counter, np.ndarray, torch.nn.Linear, functools.wraps, QLearning, understudy, np):
        assert not is_yours(thing)
    assert is_ours(QLearning)
    assert is_ours(understudy)


@pytest.mark.parametrize("kind", [Mine, Derived, collections.UserDict, type("Made", (), {"__slots__": ("x",)})])
def test_objects_of_python_classes_show_all_they_hold(kind):
    assert kept_by_c(kind) is None


@pytest.mark.parametrize("kind", [dict, np.ndarray, torch.Tensor, np.random.Generator, type("Sub", (list,), {})])
def test_objects_of_c_do_not(kind):
    assert kept_by_c(kind) is not None
    assert kept_by_c(type(threading.Lock())) is not None


def test_settings_that_are_inherited_do_not_tell_of_what_was_added():
    learner = Derived()
    assert beyond_settings(Derived, vars(learner)) == {"own": 1}
    assert beyond_settings(Silent, vars(Silent(2, 2))) == {}
    assert beyond_settings(QLearning, vars(QLearning(2, 2))) == {}
