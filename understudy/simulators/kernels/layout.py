"""The layout of the integer arrays that kernels read and write: which number is at which position.

A *source* is a NamedTuple of arrays: what a simulator knows, and the state of one rehearsal. Every source has `rules`,
the simulator's settings, and `cursor`, the mutable state of the rehearsal: position, counters, why it stopped.
"""

from typing import NamedTuple

# Positions in `rules`.
ACCEPT, KEYED, STOP, REORDER, REPLACE, LIMIT, REEMIT = range(7)
N_RULES = 7

ALWAYS, REJECTION, CHOOSE = range(3)  # ACCEPT: every row; by rejection sampling; rows of an action drawn before
PLAIN, PREDICTABLE = range(2)  # STOP
IN_LOG_ORDER, BY_EPISODES, BY_ROWS = range(3)  # REORDER

# Positions in `cursor`.
STATE, CODE, HIDDEN, EPISODE_STEPS, EPISODE_OVER = range(5)  # where the rehearsal is; HIDDEN: see each kind of source
DEALT, OPENED, TOUCHED = range(5, 8)  # how far the log was read
STEPS_SERVED, ROWS_TAKEN, PASSED_OVER, WITH_REPLACEMENT = range(8, 12)  # counts for the report
CAUSE, STOP_STATE, STOP_ACTION, STOP_NANOMASS = range(12, 16)  # why it stopped; NANOMASS: policy mass times 1e9
N_CURSOR = 16

# Values of CAUSE.
RUNNING, QUEUE_EMPTY, ACTION_QUEUE_EMPTY, UNSUPPORTED, NO_STATE, NO_OPENING, EXOGENOUS_EMPTY = range(7)

CAUSES = (
    "running",
    "queue empty",
    "queue empty for action",
    "unsupported",
    "no state",
    "no opening",
    "exogenous queue empty",
)
"""The name of each value of CAUSE, as `contracts.CAUSES` has it."""

EMPTY = -1


class Outcome(NamedTuple):
    """What a kernel returns for one step. The position after the step is in `cursor`."""

    row: int
    emission: int
    action: int
    reward: float
    terminated: bool
    truncated: bool
