"""One call that checks a probe."""

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.contracts import Learner, LoopOwner, Probe, Simulator
from understudy.contracts.offering import offers
from understudy.errors import ContractError
from understudy.learners import QLearning
from understudy.runs import simulate
from understudy.runs.probes import History
from understudy.simulators import psrs
from understudy.testing.rules import (
    Checked,
    Rules,
    can_be_called_with,
    check_described,
    check_travels,
    default_log,
    global_randomness,
    same_run,
)


def check_probe(
    probe: Any,
    make: Callable[[int], Learner | LoopOwner] | None = None,
    simulator: Simulator | None = None,
    *,
    max_steps: int = 300,
) -> Checked:
    """Check that a probe keeps its promises. Returns the rules it keeps; raises `ContractError` at the first broken.

    It is read in runs of the learners of `make(seed)` in a simulator; by default of Q-learning on a small log.
    """
    if (make is None) != (simulator is None):
        raise ContractError("check_probe needs both make and simulator, or neither: the learner has to fit the log")
    log = default_log()
    make = make or (lambda seed: QLearning(25, log.spec.n_actions, epsilon=0.3, seed=seed))
    simulator = simulator or psrs(log)
    name = probe.__name__ if isinstance(probe, type(check_probe)) else type(probe).__name__
    rules = Rules(f"the probe {name}")
    rules.check(
        "a probe is a function of the learner, or a History",
        not isinstance(probe, type) and (isinstance(probe, History) or offers(probe, Probe)),
        f"it is {probe!r}",
        "write a function f(learner) that returns a number or an array of numbers",
    )
    if isinstance(probe, History):
        rules.check(
            "the measure of a History is a function of a Progress",
            callable(probe.measure) and can_be_called_with(probe.measure, 1),
            f"it is {probe.measure!r}",
            "write a function f(progress) that returns a number or an array of numbers",
        )
    else:
        rules.check(
            "a probe is called with the learner alone",
            can_be_called_with(probe, 1),
            "it takes other arguments",
            "write f(learner), and give what else it needs by a closure or functools.partial",
        )
    every = max(1, max_steps // 10)
    rule = "a probe returns a number, or an array of numbers that has the same shape each time"
    with rules.trying(rule, "return a float or an array of floats; NaN stands for nothing to measure yet"):
        with global_randomness(0):
            read = simulate(simulator, make(0), 0, max_steps, probes={"probe": probe}, every=every)
        with global_randomness(1):
            again = simulate(simulator, make(0), 0, max_steps, probes={"probe": probe}, every=every)
    bare = simulate(simulator, make(0), 0, max_steps, every=every)
    unread = np.array_equal(read.rows, bare.rows) and np.array_equal(read.returns, bare.returns)
    rules.check(
        "reading a probe changes nothing",
        unread,
        "a run in which it was read was served other rows than one in which it was not",
        "do not write on the learner or its arrays, and draw from no generator of its",
    )
    rules.check(
        "readings depend on the learner and the run alone",
        same_run(read, again),
        "two runs with the same seed gave different curves",
        "draw from a generator that is seeded in the probe, or from the seed of a History's Progress",
    )
    check_described(rules, "the probe", probe)
    check_travels(rules, "the probe", probe)
    return rules.checked()
