"""Compiled sampling. Kernels see integers and probabilities only, and know no learner.

`begin`, `step` and `rewind` work on every kind of source, compiled and interpreted; which kernel serves which source
is settled by the source's type when the calling loop is compiled.
"""

from numba.extending import overload

from understudy.contracts.compiling import MERGED
from understudy.simulators.kernels import draws, exogenous, model, real, tape

KERNELS = {tape.Tape: draws, model.Model: model, exogenous.TwoTapes: exogenous, real.TableWalk: real}
"""The module that serves each kind of source."""


def begin(source):
    """Begin an episode; the row whose observation it opens with, or EMPTY."""
    return KERNELS[type(source)].begin(source)


def step(source, policy):
    """Serve one row and go where it leads."""
    return KERNELS[type(source)].step(source, policy)


@overload(begin, jit_options=MERGED)
def _begin(source):
    if hasattr(source, "instance_class"):
        kernel = KERNELS[source.instance_class].begin
        return lambda source: kernel(source)
    return None


@overload(step, jit_options=MERGED)
def _step(source, policy):
    if hasattr(source, "instance_class"):
        kernel = KERNELS[source.instance_class].step
        return lambda source, policy: kernel(source, policy)
    return None
