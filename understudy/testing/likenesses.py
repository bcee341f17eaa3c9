"""One call that checks a likeness of states."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from understudy.contracts import Encoder, HasSettings, Likeness, Log, SuggestsRadii
from understudy.contracts.offering import offers
from understudy.learners import Uniform
from understudy.likeness import States
from understudy.likeness.auditing import states_in
from understudy.likeness.pairs import Lists
from understudy.runs import simulate
from understudy.settings import positive
from understudy.simulators import qbe
from understudy.simulators.ladder import checked_neighbors
from understudy.testing.rules import (
    Checked,
    Rules,
    check_described,
    check_travels,
    copy_of,
    global_randomness,
    log_or_default,
)

LISTS = "neighbors returns first, (n_states + 1,), and members, which are states"
ON_A_PART = "neighbors works on a part of the log, in which some states have no row"
SAME = "neighbors depends on nothing but its arguments"


def check_likeness(
    likeness: Likeness, log: Log | None = None, encoder: Encoder | None = None, *, radius: float | None = None
) -> Checked:
    """Check that a likeness keeps its promises. Returns the rules it keeps; raises `ContractError` at the first broken.

    `log` is one that the likeness is made for; by default one with 25 numbered observations. `encoder` gives its
    states; by default each distinct observation is one. It is asked within `radius`, by default within the radii that
    it suggests, or 1 where it suggests none. The likeness is copied, and stays as it is. Whether states that it calls
    alike lead to the same is another question, which `us.likeness.audit` answers.
    """
    log = log_or_default(log)
    rules = Rules(type(likeness).__name__)
    rules.check(
        "a likeness has neighbors(log, state, next_state, n_states, radius)",
        not isinstance(likeness, type) and offers(likeness, Likeness),
        f"this is {likeness!r}",
        "write the method, and give an object, not the class",
    )
    likeness = copy_of(likeness, "give one that can be copied")
    states = states_in(log, copy_of(encoder, "give one that can be copied"))
    radii = [positive("radius", radius)] if radius is not None else _radii(rules, likeness, log, states)
    n_alike = sum(_check_lists(rules, likeness, log, states, radius) for radius in radii)
    if not n_alike:
        reason = f"no two states are alike within {', '.join(f'{one:g}' for one in radii) or 'any radius'}"
        rules.note_unused("lists of like states", f"{reason}; give another radius=, or another log")
    _check_settings(rules, likeness)
    with rules.trying("a simulator can serve rows of states alike"):
        ladder = qbe(log, encoder, then=("like", "cut"), likeness=likeness, radius=(radii or [1.0])[-1], audit=False)
        simulate(ladder, Uniform(log.spec.n_actions), 0, 50)
    check_described(rules, "the likeness", likeness)
    check_travels(rules, "the likeness", likeness)
    return rules.checked()


def _check_settings(rules: Rules, likeness: Any) -> None:
    """Check what a likeness says of itself."""
    if offers(likeness, HasSettings):
        rules.check(
            "settings is a mapping of names to values",
            isinstance(likeness.settings, Mapping),
            f"it is {likeness.settings!r}",
            "return a dict",
        )


def _radii(rules: Rules, likeness: Any, log: Log, states: States) -> list[float]:
    """Return the radii that a likeness suggests, the smallest, the middle one and the largest; 1 where it does not."""
    if not offers(likeness, SuggestsRadii):
        return [1.0]
    rule = "radii are numbers above 0 in increasing order"
    with rules.trying(rule, "return a float array"):
        found = np.array(likeness.radii(log, states.state.copy(), states.next_state.copy(), states.n_states), float)
    rules.check(
        rule,
        found.ndim == 1 and np.isfinite(found).all() and (found > 0).all() and (np.diff(found) > 0).all(),
        f"they are {found}",
        "return a float array",
    )
    return [float(found[place]) for place in sorted({0, len(found) // 2, len(found) - 1})] if len(found) else []


def _check_lists(rules: Rules, likeness: Any, log: Log, states: States, radius: float) -> int:
    """Check what `neighbors` returns for a log and for a part of it; return how many entries the log's lists have."""
    whole = _lists(rules, likeness, log, states, radius, LISTS)
    episodes = np.arange(0, log.n_episodes, 2)
    rows = log.rows_of(episodes)
    part = States(states.state[rows], states.next_state[rows], states.n_states + 1)  # the last state has no row
    of_part = [
        _lists(rules, likeness, log.select(episodes), part, radius, ON_A_PART, randomness) for randomness in (1, 2)
    ]
    again = _lists(rules, likeness, log, states, radius, LISTS, randomness=3)
    rules.check(
        SAME,
        _equal(whole, again) and _equal(*of_part),
        "asked again, after a part of the log, it gave other states",
        "keep nothing of one log that changes the answer for another, and draw no random numbers",
    )
    return len(whole[1])


def _lists(
    rules: Rules, likeness: Any, log: Log, states: States, radius: float, rule: str, randomness: int = 0
) -> Lists:
    """Return the lists of like states, and check that they are what the contract says."""
    state, next_state = states.state.copy(), states.next_state.copy()
    with rules.trying(rule, "see understudy.contracts.Likeness"), global_randomness(randomness):
        found = likeness.neighbors(log, state, next_state, states.n_states, radius)
        first, members = checked_neighbors(found, states.n_states, rules.part)
    rules.check(
        "neighbors leaves its arguments as they are",
        np.array_equal(state, states.state) and np.array_equal(next_state, states.next_state),
        "it wrote on the arrays of states",
        "work on copies",
    )
    owner = np.repeat(np.arange(states.n_states), np.diff(first))
    own = owner == members
    rules.check(
        "no state is alike to itself",
        not own.any(),
        f"state {members[own.argmax()] if own.any() else -1} is, within {radius:g}",
        "leave it out",
    )
    unsorted = (np.diff(owner) == 0) & (np.diff(members) <= 0)
    rules.check(
        "the states that are alike to a state are in increasing order, each once",
        not unsorted.any(),
        f"those of state {owner[unsorted.argmax()] if len(owner) else -1} are not, within {radius:g}",
        "sort them, as numpy.unique does",
    )
    pairs, mirrored = owner * states.n_states + members, members.astype(np.int64) * states.n_states + owner
    one_way = np.setdiff1d(pairs, mirrored)
    one, other = divmod(int(one_way[0]), states.n_states) if len(one_way) else (-1, -1)
    rules.check(
        "states are alike both ways",
        not len(one_way),
        f"state {other} is alike to {one} and not the other way round, within {radius:g}",
        "list each pair for both of its states",
    )
    return first, members


def _equal(one: Lists, other: Lists) -> bool:
    """True if lists are the same."""
    return all(np.array_equal(ours, theirs) for ours, theirs in zip(one, other, strict=True))
