"""Compiled sampling: which row comes next. Kernels see integers and probabilities only, and no learner.

`begin` and `step` work on every kind of source, compiled and interpreted; which kernel serves a source is decided by
its type when the calling loop is compiled.
"""

from numba import types
from numba.extending import overload

from understudy.contracts.compiling import MERGED
from understudy.simulators.kernels import (
    draws,
    exogenous,
    ladder,
    model,
    real,
    reserve,
    tape,
    trajectories,
    whole_episodes,
)

KERNELS = {
    tape.Tape: draws,
    reserve.ReserveTape: reserve,
    model.Model: model,
    exogenous.TwoTapes: exogenous,
    ladder.Ladder: ladder,
    trajectories.TapeAndPath: trajectories,
    real.TableWalk: real,
    whole_episodes.EpisodeTape: whole_episodes,
}
"""The module that serves each kind of source."""


def source_below(source):
    """Return the source whose queues a ladder serves rows from; any other source as it is."""
    return source.source if isinstance(source, ladder.Ladder) else source


def begin(source):
    """Begin an episode; return the row whose observation it opens with, or EMPTY."""
    return KERNELS[type(source)].begin(source)


def step(source, policy):
    """Serve one step: its `Outcome`, with row EMPTY where there is none and the cause in `cursor`."""
    return KERNELS[type(source)].step(source, policy)


@overload(begin, jit_options=MERGED)
def _begin(source):
    if isinstance(source, types.BaseNamedTuple):
        kernel = KERNELS[source.instance_class].begin
        return lambda source: kernel(source)
    return None


@overload(step, jit_options=MERGED)
def _step(source, policy):
    if isinstance(source, types.BaseNamedTuple):
        kernel = KERNELS[source.instance_class].step
        return lambda source, policy: kernel(source, policy)
    return None
