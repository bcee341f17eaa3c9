"""Whose code a class, function or module is."""

import collections
import functools
import types

import numpy as np
import torch

import understudy
from understudy.learners import QLearning
from understudy.runs.describing.ownership import full_name, is_installed, is_ours, is_yours


class Mine:
    pass


def test_what_is_yours_is_neither_pythons_nor_ours_nor_installed():
    for thing in (Mine, test_what_is_yours_is_neither_pythons_nor_ours_nor_installed, lambda: 1):
        assert is_yours(thing)
        assert not is_ours(thing)
    for thing in (dict, collections.Counter, np.ndarray, torch.nn.Linear, functools.wraps, QLearning, understudy, np):
        assert not is_yours(thing)
    assert is_ours(QLearning)
    assert is_ours(understudy)


def test_a_decorated_function_belongs_to_the_module_it_was_written_in():
    @functools.wraps(np.mean)
    def mine(values):
        return values

    assert mine.__module__ == "numpy"
    assert is_yours(mine)


def test_a_module_without_a_file_is_installed_only_where_it_is_pythons():
    assert is_installed("sys")
    assert is_installed("namedtuple_Point")
    assert not is_yours(types.ModuleType("sys"))
    assert is_yours(types.ModuleType("written_in_a_notebook"))


def test_full_names_have_the_module():
    assert full_name(collections.Counter.update) == "collections.Counter.update"
    assert full_name(QLearning).startswith("understudy.learners.")
    assert full_name([].append) == "list.append"
