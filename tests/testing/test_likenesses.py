"""Our likenesses keep every rule, and each rule catches a likeness that breaks it."""

import threading
from typing import ClassVar

import numpy as np
import pytest

import understudy as us
from understudy.errors import ContractError, SettingError
from understudy.testing import check_likeness

GRID = us.envs.ContinuousGrid(3)
LOG = us.record(GRID, episodes=60, seed=0, max_episode_steps=200)
BOXES = us.encoders.Boxes(bins=4)
OURS = {
    "observations": us.likeness.observations(),
    "transitions": us.likeness.transitions(),
    "function": us.likeness.function(lambda some, others: abs(some[:, None] - others).sum(axis=2)),
}


@pytest.mark.parametrize("likeness", OURS.values(), ids=OURS)
def test_our_likenesses_keep_the_rules(likeness):
    checked = check_likeness(likeness, LOG, BOXES)
    assert len(checked.rules) >= 11
    assert not checked.not_used
    assert likeness.settings.get("spreads") in (None, {})  # it was a copy that was asked


class Line:
    """A likeness of numbered states that keeps the rules; subclasses break one each."""

    def lists(self, n_states, radius):
        return [[z for z in range(n_states) if 0 < abs(z - state) <= radius] for state in range(n_states)]

    def neighbors(self, log, state, next_state, n_states, radius):
        lists = self.lists(n_states, radius)
        return np.cumsum([0, *map(len, lists)]), np.array([z for one in lists for z in one], np.int32)


class Suggests(Line):
    def radii(self, log, state, next_state, n_states):
        return np.array([1.0, 2.0, 3.0])


class OneWay(Line):
    def lists(self, n_states, radius):
        return [[z for z in range(n_states) if 0 < z - state <= radius] for state in range(n_states)]


class Itself(Line):
    def lists(self, n_states, radius):
        return [[z for z in range(n_states) if abs(z - state) <= radius] for state in range(n_states)]


class NearestFirst(Line):
    def lists(self, n_states, radius):
        return [one[::-1] for one in super().lists(n_states, radius)]


class Twice(Line):
    def lists(self, n_states, radius):
        return [sorted(2 * one) for one in super().lists(n_states, radius)]


class OutOfRange(Line):
    def lists(self, n_states, radius):
        return [[n_states]] * n_states


class Pairs(Line):
    def neighbors(self, log, state, next_state, n_states, radius):
        return np.array([[0, 1], [1, 0]])


class CountsStatesOfTheLog(Line):
    def neighbors(self, log, state, next_state, n_states, radius):
        return super().neighbors(log, state, next_state, int(max(state.max(), next_state.max())) + 1, radius)


class Draws(Line):
    def lists(self, n_states, radius):
        one, other = np.random.permutation(n_states)[:2]  # noqa: NPY002 (what a likeness must not do)
        return [[other] if z == one else [one] if z == other else [] for z in range(n_states)]


class RemembersRows(Line):
    fewest = np.inf

    def neighbors(self, log, state, next_state, n_states, radius):
        self.fewest = min(self.fewest, len(log))
        return super().neighbors(log, state, next_state, n_states, 1 if self.fewest == len(log) else 2)


class Writes(Line):
    def neighbors(self, log, state, next_state, n_states, radius):
        state += 1
        return super().neighbors(log, state, next_state, n_states, radius)


class Fails(Line):
    def neighbors(self, log, state, next_state, n_states, radius):
        raise ValueError("no such state")


class Backwards(Line):
    def radii(self, log, state, next_state, n_states):
        return np.array([2.0, 1.0])


class Described(Line):
    settings: ClassVar = {"likeness": "line"}


class NoMapping(Line):
    settings = "line"


class Secret(Line):
    """Has a part that cannot be described, and no settings."""

    def __init__(self):
        self.lock = threading.local()

    def __deepcopy__(self, memo):
        return type(self)()


WRONG = {
    OneWay: "states are alike both ways: state .* is alike to .* and not the other way round",
    Itself: "no state is alike to itself: state 0 is",
    NearestFirst: "in increasing order, each once",
    Twice: "in increasing order, each once",
    OutOfRange: "members, which are states",
    Pairs: "members, which are states",
    CountsStatesOfTheLog: "works on a part of the log, in which some states have no row",
    Draws: "depends on nothing but its arguments",
    RemembersRows: "depends on nothing but its arguments",
    Writes: "leaves its arguments as they are",
    Fails: "it raised ValueError: no such state",
    Backwards: "radii are numbers above 0 in increasing order",
    NoMapping: "settings is a mapping of names to values",
    Secret: "a results folder can tell the likeness from others",
}


@pytest.mark.parametrize("likeness", [Line(), Suggests(), Described()])
def test_a_likeness_of_ones_own_keeps_the_rules(likeness):
    shown = repr(check_likeness(likeness))
    assert "states are alike both ways" in shown
    assert "a simulator can serve rows of states alike" in shown


@pytest.mark.parametrize("kind", WRONG)
def test_a_likeness_that_breaks_a_rule_is_caught(kind):
    with pytest.raises(ContractError, match=WRONG[kind]):
        check_likeness(kind())


def test_what_is_not_a_likeness_is_refused():
    for wrong in (Line, object(), None):
        with pytest.raises(ContractError, match="has neighbors"):
            check_likeness(wrong)
    with pytest.raises(SettingError, match="log is a list"):
        check_likeness(Line(), [])
    with pytest.raises(SettingError, match="radius"):
        check_likeness(Line(), radius=-1)


def test_lists_that_are_all_empty_are_noted():
    checked = check_likeness(Line(), radius=0.5)
    assert "no two states are alike within 0.5; give another radius=" in checked.not_used[0]
