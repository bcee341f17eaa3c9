"""The layout of the integer arrays that kernels read and write: which number is at which position.

A *source* is a NamedTuple of arrays: the log or tables that a simulator serves steps from, and the state of one
rehearsal. Arrays of the simulator cannot be written on (`simulators.read_only`). Every source has `rules`, the
simulator's settings, and `cursor`, the mutable state of the rehearsal: position, counters, why it stopped.
"""

from typing import NamedTuple

# Positions in `rules`.
ACCEPT, BY_STATE, STOP_RULE, READ_ORDER, REPLACE_OPENINGS, TIME_LIMIT, REDRAW_OBSERVATION = range(7)
RUNNING_BOUND, LACKS_SUPPORT = range(7, 9)
CUT_EPISODES, CUT_WINDOW = range(9, 11)
"""ACCEPT, STOP_RULE, READ_ORDER and REPLACE_OPENINGS have the values below; TIME_LIMIT is a number of steps, 0 for no
limit; CUT_WINDOW, of a ladder, a number of episodes. The others are 0 or 1: queues are by state, not one for the whole
log; the observation of the next state is drawn anew, not the row's own; of whole episodes, the bound is the largest so
far, and some rows were logged by a logger that could not take every action; of a ladder, an episode without an answer
is cut, and the run goes on."""
N_RULES = 11

ALWAYS, REJECTION, DRAWN_ACTION = range(3)  # ACCEPT: every row; by rejection sampling; rows with a drawn action
PLAIN, PREDICTABLE = range(2)  # STOP_RULE: as `qbe` describes them
IN_LOG_ORDER, BY_EPISODES, BY_ROWS = range(3)  # READ_ORDER
FROM_QUEUE, WITH_REPLACEMENT, QUEUE_THEN_REPLACEMENT = range(3)  # REPLACE_OPENINGS

# Positions in `cursor`.
STATE, CODE, LATENT, EPISODE_STEPS, EPISODE_OVER = range(5)
"""Where the episode is: the state; the observation's code, as the learner's tables index it; the exogenous part, or the
true state of an environment; steps so far; 1 where `begin` comes next."""

TAPE_READ, EPISODES_OPENED, QUEUES_FILLED = range(5, 8)
"""How much of the log was read: episodes (or rows) of the tape, openings, and queues that received a row."""

STEPS_SERVED, ROWS_TAKEN, ROWS_PASSED_OVER, OPENED_WITH_REPLACEMENT = range(8, 12)
"""Counts for `Stop`."""

CAUSE, STOP_STATE, STOP_ACTION, STOP_NANOMASS = range(12, 16)
"""Why the rehearsal stopped, where, and for which action; the mass of the policy there, times 1e9."""

CANDIDATE_ROW, CANDIDATE_END, EPISODES_ACCEPTED, BOUNDS_EXCEEDED = range(16, 20)
"""Of whole episodes: the next row of the one under way, and the row after its last; how many were accepted, and how
many of these had a ratio above the bound."""

RUNG, EPISODES_CUT, PLACES_NOTED = range(20, 23)
"""Of a ladder: the rung that served the last step, how many episodes were cut, and how much of the tape's order is in
`Ladder.place`."""

LIKE_STEPS, REUSE_STEPS, UNTRIED_STEPS = range(23, 26)
"""Of a ladder: how many steps each lower rung served."""

STEPS_AT_CUT, CUTS_IN_A_ROW = range(26, 28)
"""Of a ladder: the number of steps when the last episode was cut, and how many were cut there, one after another."""
N_CURSOR = 28

OWN, LIKE, REUSE, UNTRIED = range(4)
"""Rungs of a ladder: a row of the state itself, an unused row of a state alike, a row of the state served before, and,
for an action that the state never logged, a row of a state alike that may have been served before."""

# Values of CAUSE.
RUNNING, QUEUE_EMPTY, ACTION_QUEUE_EMPTY, UNSUPPORTED, NO_STATE, NO_OPENING, EXOGENOUS_EMPTY = range(7)
USED_UP, CUT_OFF, TOO_MANY_CUT, EXOGENOUS_ENDED, REWARD_UNKNOWN = range(7, 12)

CAUSES = (
    "running",
    "queue empty",
    "queue empty for action",
    "unsupported",
    "no state",
    "no opening",
    "exogenous queue empty",
    "used up",
    "cut off",
    "too many cut",
    "exogenous part ended",
    "reward unknown",
)
"""The name of each value of CAUSE, as `contracts.CAUSES` has it."""

EMPTY = -1
"""Returned for a row, an action or a position where there is none."""

PASSED_OVER = -2
"""Returned for a row where the episode under way is passed over: nothing of it happened, and the next one begins."""

CUT = -3
"""Returned for a row where the episode under way is cut: its steps stand, and the next one begins."""


class Outcome(NamedTuple):
    """What a kernel returns for one step. The position after the step is in `cursor`."""

    row: int
    emission: int
    action: int
    reward: float
    terminated: bool
    truncated: bool
