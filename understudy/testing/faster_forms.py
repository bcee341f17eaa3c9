"""Checks of the faster forms that a learner may offer: each gives the runs that `policy` and `learn` give."""

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.contracts import (
    CompiledEpochs,
    CompiledLearner,
    EpochLearner,
    ReadsObservations,
    Rehearsal,
    Simulator,
    StackedLearner,
    owned,
)
from understudy.contracts.learning import defined_with_policy
from understudy.contracts.offering import members_of, offers
from understudy.runs import Run, experiment, simulate
from understudy.runs.look_ahead import can_look_ahead
from understudy.runs.loop import can_compile
from understudy.runs.stacked import can_stack
from understudy.testing.batches import some_observations
from understudy.testing.rules import CLOSE, Rules, is_whole, same_run

COUNTED = "steps_until_update is a whole number from 1 between two updates"
FORMS: dict[str, tuple[type, tuple[str, ...]]] = {
    "the compiled form": (CompiledLearner, ("arrays",)),
    "the compiled form on vectors": (ReadsObservations, ("arrays_on",)),
    "the compiled epochs": (CompiledEpochs, members_of(CompiledEpochs)),
    "the look-ahead form": (EpochLearner, members_of(EpochLearner)),
    "the stacked form": (StackedLearner, members_of(StackedLearner)),
}
"""The protocol of each form, and the members that must not be inherited past a new `policy` or `learn`."""


def check_faster_forms(rules: Rules, make: Callable[[int], Any], simulator: Simulator, max_steps: int) -> None:
    """Check that the compiled and the look-ahead form give the run of the plain one."""
    learner, left = make(0), make(0)
    if offers(learner, EpochLearner):
        _check_counted(rules, learner, "before the first step")
    plain = simulate(simulator, left, 0, max_steps, compiled=False)
    if offers(left, EpochLearner):
        _check_counted(rules, left, "after a run")
    compiled = can_compile(simulator, learner)
    if not compiled and not can_look_ahead(simulator, learner):
        return
    form = "compiled" if compiled else "look-ahead"
    what = "act and learn as registered" if compiled else "policies, collect and update"
    rule = f"the {form} form ({what}) does what policy and learn do"
    with rules.trying(rule, "run it with compiled=False to see whether the plain form works"):
        fast = simulate(simulator, learner, 0, max_steps)
    rules.check(
        rule,
        same_run(plain, fast),
        f"from step {_first_difference(plain, fast):,} on, the {form} run is not the plain one",
        "let both forms read and write the same arrays, in the same order",
    )
    for observation in some_observations(simulator.log, 10):  # type: ignore[attr-defined]
        one, other = (np.asarray(each.policy(owned(observation)), float) for each in (learner, left))
        rules.check(
            rule,
            np.allclose(one, other, rtol=0, atol=CLOSE),
            f"after the same rows the two forms have the policies {one} and {other} at observation {observation}",
            "let both forms read and write the same arrays, in the same order",
        )


def _check_counted(rules: Rules, learner: Any, when: str) -> None:
    count = learner.steps_until_update
    rules.check(
        COUNTED,
        is_whole(count) and count >= 1,
        f"it is {'a method' if callable(count) else repr(count)} {when}",
        "make it a property that returns a whole number: count down in collect, and begin again in update",
    )


def check_stacks(rules: Rules, make: Callable[[int], Any], simulator: Simulator, max_steps: int) -> None:
    """Check that learners that are stacked end up as they would alone, with look-ahead and without.

    Without look-ahead, policies are asked for by `stacked_policies`; with it, by `policies`.
    """
    if not can_stack(make(0)):
        return
    rule = "stacked learners end up as they would alone"
    for which in (simulator, WithoutLookAhead(simulator)):
        with rules.trying(
            rule,
            "stacked_policies(learners) and update_all(learners) are static methods; the first returns a function of a "
            "list, with one observation for each learner, to an array with their policies",
        ):
            runs = experiment(which, make, runs=3, max_steps=max_steps, backend="serial", progress=False)
        rules.check(
            rule,
            all(same_run(simulate(which, make(run.seed), run.seed, max_steps), run) for run in runs),
            "a run of three that were stacked is not the run it is by itself",
            "let nothing in stacked_policies and update_all depend on which learners are together",
        )


class WithoutLookAhead:
    """A simulator that serves what another one serves, and offers no compiled form and no look-ahead."""

    def __init__(self, simulator: Any) -> None:
        self._simulator, self.log, self.n_actions = simulator, simulator.log, simulator.n_actions

    def start(self, seed: int) -> Rehearsal:
        return self._simulator.start(seed)


def note_unused_forms(rules: Rules, learner: Any) -> None:
    """Note the faster forms that a learner offers and runs do not use, each with the reason."""
    for form, (protocol, members) in FORMS.items():
        if not offers(learner, protocol):
            continue
        reasons = [_why_unused(learner, member) for member in members if not defined_with_policy(learner, member)]
        if reasons:
            rules.note_unused(form, "; ".join(reasons))
        elif protocol is CompiledLearner and learner.arrays() is None:
            rules.note_unused(form, "arrays() returned None")


def _why_unused(learner: Any, member: str) -> str:
    """Return why a member is not used, as a clause."""
    lineage = type(learner).__mro__
    defining = next((cls for cls in lineage if member in vars(cls)), None)
    if defining is None:
        return f"{member} is set on the object; define it in the class, for example as a property"
    plain = next(cls for cls in lineage if vars(cls).keys() & {"policy", "learn"})
    named = " and ".join(name for name in ("policy", "learn") if name in vars(plain))
    return f"{member} is defined in {defining.__name__}, a base class of {plain.__name__}, which defines {named}"


def _first_difference(one: Run, other: Run) -> int:
    """Return the number of the first step in which two runs were served different rows."""
    n = min(len(one), len(other))
    apart = np.flatnonzero(one.rows[:n] != other.rows[:n])
    return int(apart[0]) if len(apart) else n
