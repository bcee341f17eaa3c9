"""Checks of what a simulator says of itself, and of the steps that it served: fields, order, rows and states."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import EpisodeCut, HasKind, Step, owned
from understudy.contracts.offering import offers
from understudy.contracts.simulating import is_exhaustible, is_real, log_of, n_states_of, serves_rows
from understudy.testing.rules import Rules, is_whole

CHAINED = "a step begins with the observation that the step before it led to"
OPENED = "the first step of an episode begins with the observation that begin() returned"
ENOUGH = 20
"""From so many steps on, a uniform policy has had more than one action."""


class Served(NamedTuple):
    """What a rehearsal served."""

    steps: list[Step]
    openings: dict[int, Any]  # what begin() returned, by the number of the step that comes next
    states: list[Any]  # before each step; empty where the rehearsal has no states

    def take_back(self, n_steps: int) -> None:
        """Forget all but so many steps: the episode that began then was passed over."""
        del self.steps[n_steps:], self.states[n_steps:], self.openings[n_steps]


def check_fields(rules: Rules, steps: list[Step], n_actions: int) -> None:
    """Check that there are steps, and the values of their fields."""
    rules.check(
        "a simulator serves steps",
        len(steps) > 0,
        "the first step of a uniform policy raised Exhausted",
        "check it with a log in which openings are followed by all actions",
    )
    for number, step in enumerate(steps):
        rules.check(
            f"an action is a whole number from 0 to {n_actions - 1}",
            is_whole(step.action) and 0 <= step.action < n_actions,
            f"step {number} has {step.action!r}",
            "return the action's code",
        )
        rules.check(
            "a reward is a finite number",
            _is_finite(step.reward),
            f"step {number} has {step.reward!r}",
            "return a float",
        )
        rules.check(
            "terminated and truncated are truth values, and never both True",
            all(isinstance(flag, bool | np.bool_) for flag in (step.terminated, step.truncated))
            and not (step.terminated and step.truncated),
            f"step {number} has {step.terminated!r} and {step.truncated!r}",
            "truncated is True where an episode is cut off, terminated where nothing follows",
        )
        rules.check("row is a whole number", is_whole(step.row), f"step {number} has {step.row!r}", "return an int")


def check_order(rules: Rules, served: Served) -> None:
    """Check that each step begins where the one before it ended, or where its episode began."""
    for number, (one, following) in enumerate(pairwise(served.steps)):
        rules.check(
            CHAINED,
            one.terminated or one.truncated or _equal(one.next_observation, following.observation),
            f"step {number} led to {one.next_observation}, and the next begins with {following.observation}",
            "keep the observation that was returned, and begin the next step with it",
        )
    for number, opening in served.openings.items():
        if number < len(served.steps):
            observation = served.steps[number].observation
            rules.check(
                OPENED,
                _equal(opening, observation),
                f"begin() returned {opening!r}, and step {number} begins with {observation!r}",
                "let begin() return the observation alone",
            )


def check_rows(rules: Rules, simulator: Any, steps: list[Step], each_row_once: bool) -> None:
    """Check the rows that steps say they are."""
    log, rows = log_of(simulator), np.array([step.row for step in steps])
    if is_real(simulator) or not serves_rows(simulator):
        rules.check(
            "steps that are not logged rows have row -1", (rows == -1).all(), f"rows are {rows[:5]}", "return -1"
        )
        return
    if log is None:
        return
    rules.check(
        "row is the number of a logged row",
        ((rows >= 0) & (rows < len(log))).all(),
        f"rows are {rows[:5]}, and the log has {len(log):,}",
        "return the row whose action and outcome the step is",
    )
    wrong = [step for step in steps if log.action[step.row] != step.action]
    rules.check(
        "a step's action is that of its row",
        not wrong,
        f"row {wrong[0].row if wrong else 0} was logged with another action than the step has",
        "return the row's own action",
    )
    if each_row_once and is_exhaustible(simulator):
        rules.check(
            "a row is served once",
            len(np.unique(rows)) == len(rows),
            f"{len(rows) - len(np.unique(rows)):,} of {len(rows):,} steps are rows that were served before",
            "remove rows from their queue as they are served; say each_row_once=False where that is meant",
        )


def check_states(rules: Rules, simulator: Any, states: list[Any]) -> None:
    """Check the states that a rehearsal was in."""
    n_states = n_states_of(simulator)
    for number, state in enumerate(states):
        rules.check(
            "state is a whole number from 0 up, or -1 for no state",
            is_whole(state) and state >= -1,
            f"before step {number} it is {state!r}",
            "return the state's code as an int",
        )
        rules.check(
            "states are below n_states",
            n_states is None or state < n_states,
            f"before step {number} the state is {state}, and n_states is {n_states}",
            "let n_states be the number of states, or None where it is not known",
        )


def check_actions_vary(rules: Rules, simulator: Any, steps: list[Step], n_actions: int) -> None:
    """Check that a uniform policy got more than one action, where there were enough steps to tell."""
    log = log_of(simulator)
    possible = n_actions if log is None else len(np.unique(log.action))
    taken = {int(step.action) for step in steps}
    if possible > 1 and len(steps) >= ENOUGH:
        rules.check(
            "a uniform policy gets more than one action",
            len(taken) > 1,
            f"all of {len(steps):,} steps had action {min(taken)}",
            "draw the action by the policy's probabilities, instead of taking the most likely one",
        )


def check_attributes(rules: Rules, simulator: Any, n_actions: Any) -> None:
    """Check the values of what a simulator says of itself."""
    rules.check("the number of actions is a whole number", is_whole(n_actions), f"it is {n_actions!r}", "give an int")
    n_states = n_states_of(simulator)
    rules.check(
        "n_states, where a simulator has it, is a whole number or None",
        n_states is None or is_whole(n_states),
        f"it is {'a method' if callable(n_states) else repr(n_states)}",
        "make it an attribute or a property",
    )
    if offers(simulator, HasKind):
        rules.check(
            "kind is 'real' or 'simulated'",
            simulator.kind in ("real", "simulated"),
            f"it is {simulator.kind!r}",
            "leave it out, unless this is a true environment",
        )


def copied(step: Step) -> Step:
    """Return a step whose observations are copies."""
    return step._replace(observation=owned(step.observation), next_observation=owned(step.next_observation))


def overwrite(observation: Any, write: bool = True) -> None:
    """Write other numbers on an observation that is an array, if `write` is True and it can be written on."""
    if write and isinstance(observation, np.ndarray) and observation.flags.writeable:
        observation[...] = 0 if (observation != 0).any() else 1


def same_steps(steps: list[Step], others: list[Step]) -> bool:
    """True if two lists of steps are equal in every field."""
    return len(steps) == len(others) and all(
        one[1:3] == other[1:3] and one[4:] == other[4:] and _equal(one[0], other[0]) and _equal(one[3], other[3])
        for one, other in zip(steps, others, strict=True)
    )


def _equal(one: Any, other: Any) -> bool:
    """True if two observations are equal; NaN equals NaN."""
    try:
        equal_nan = np.asarray(one).dtype.kind == "f"
        return bool(np.array_equal(one, other, equal_nan=equal_nan))
    except (TypeError, ValueError):  # one of them is not an array of numbers
        return False


def _is_finite(value: Any) -> bool:
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf" and bool(np.isfinite(value))


def ends_episode(step: Step | EpisodeCut | None) -> bool:
    """True if `begin` comes after what a rehearsal returned."""
    return not isinstance(step, Step) or step.terminated or step.truncated
