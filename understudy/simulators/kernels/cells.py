"""What the cells of a source's integer arrays mean.

A source is a NamedTuple of arrays that kernels read: what a simulator knows, and one rehearsal's place in it. All
sources carry `rules`, what the simulator is, and `mind`, what the rehearsal has come to.
"""

from typing import NamedTuple

# rules
ACCEPT, KEYED, STOP, REORDER, REPLACE, LIMIT, REEMIT = range(7)
N_RULES = 7

ALWAYS, REJECTION, CHOOSE = range(3)  # ACCEPT: every row; by rejection sampling; those of an action drawn before
PLAIN, PREDICTABLE = range(2)  # STOP
IN_LOG_ORDER, BY_EPISODES, BY_ROWS = range(3)  # REORDER

# mind
STATE, CODE, HIDDEN, AGE, OVER = range(5)  # where the rehearsal is; HIDDEN: see each kind of source
DEALT, OPENED, TOUCHED = range(5, 8)  # how far it has read
SERVED, TAKEN, PASSED, REPLACED = range(8, 12)  # counts for the report
CAUSE, WHERE, WHAT, NANOMASS = range(12, 16)  # why it stopped, in which state, for which action, policy mass * 1e9
N_MIND = 16

# CAUSE
GOING, QUEUE_EMPTY, ACTION_QUEUE_EMPTY, UNSUPPORTED, NO_STATE, NO_OPENING, EXOGENOUS_EMPTY = range(7)

CAUSES = (
    "going on",
    "queue empty",
    "queue empty for action",
    "unsupported",
    "no state",
    "no opening",
    "exogenous queue empty",
)
"""The causes by their names in contracts."""

EMPTY = -1


class Outcome(NamedTuple):
    """What a kernel tells of one step; where it led is in `mind`."""

    row: int
    emission: int
    action: int
    reward: float
    terminated: bool
    truncated: bool
