"""Whether outcomes drift: given state and action, does the time of a row predict its reward, end or next observation?

Only outcomes *given* state and action are looked at. A logger that changes its actions, and so the states it visits,
changes none of these.
"""

import numpy as np

from understudy.contracts import Log
from understudy.encoders.sufficiency import holm, independence, outcome_blocks, sampled

MOST_STATES = 400  # tested: those with most rows
MOST_ROWS = 400  # of a state and action, drawn at random
PERMUTATIONS = 99


def drifts(log: Log, states: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the states tested and the p-value of each, adjusted for their number (Holm).

    Time is the row's place in the log, as a trend and as first half against second. Where outcomes given state and
    action have one law, whatever the time, they may be permuted within each state and action.
    """
    known, counts = np.unique(states[states >= 0], return_counts=True)
    largest = np.sort(known[np.argsort(-counts, kind="stable")[:MOST_STATES]])
    rng = np.random.default_rng(seed)
    order = np.argsort(states, kind="stable")
    begins, ends = (np.searchsorted(states[order], largest, side) for side in ("left", "right"))
    p_values = np.full(len(largest), np.nan)
    for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        rows = order[begin:end]
        rows = sampled(rows, log.action[rows], rng, MOST_ROWS)
        if len(rows):
            time = [(rows / len(log))[:, None], (rows >= len(log) / 2)[:, None].astype(np.float64)]
            p_values[place] = independence(
                time, outcome_blocks(log, rows, rng), log.action[rows], rng, permutations=PERMUTATIONS
            )
    tested = ~np.isnan(p_values)
    return largest[tested], holm(p_values[tested])
