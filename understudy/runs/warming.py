"""Loads compiled code in a process before workers are forked from it, by a few steps of a run that is not kept."""

from contextlib import suppress
from typing import Any

import cloudpickle
import numpy as np

from understudy.contracts import HasDevice, Learner, LoopOwner
from understudy.contracts.offering import offers
from understudy.contracts.simulating import is_compiled, is_real
from understudy.runs.loop import simulate
from understudy.runs.sending import LARGE

STEPS = 2
"""Steps of the run that loads compiled code."""


def is_safe_learner(learner: Any) -> bool:
    """True if a learner, and what it wraps, is ours, owns no loop and uses no GPU.

    Steps of it can be taken before workers are forked. What learners of others do is done in workers only.
    """
    is_ours = type(learner).__module__.split(".")[0] == "understudy" and not offers(learner, LoopOwner)
    on_cpu = not offers(learner, HasDevice) or learner.device == "cpu"
    return is_ours and on_cpu and all(map(is_safe_learner, (p for p in vars(learner).values() if offers(p, Learner))))


def learner_to_send(learner: Any) -> bytes | None:
    """Return a copy of a learner for `load_kernels`, pickled; None where it is not safe, too large, or cannot be."""
    if learner is None or not is_safe_learner(learner):
        return None
    with suppress(Exception):
        pickled = cloudpickle.dumps(learner)
        return pickled if len(pickled) < LARGE else None
    return None


def load_kernels(simulator: Any, learner: bytes | None, compiled: bool | None) -> None:
    """Load the compiled code that runs need, where the simulator is on a log: a true environment may do anything.

    Without a learner it is that of the simulator alone. What goes wrong is left to the runs themselves.
    """
    if not is_compiled(simulator) or is_real(simulator):
        return
    with suppress(Exception):
        if learner is not None:
            simulate(simulator, cloudpickle.loads(learner), 0, STEPS, compiled=compiled)
            return
        rehearsal = simulator.start(0)
        rehearsal.begin()
        rehearsal.step(np.full(simulator.n_actions, 1.0 / simulator.n_actions))
