"""How the exogenous part of a log is played: from queues, or forward as it was logged."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from understudy.encoders.conditional_tests import association
from understudy.encoders.exogenous_rewards import powers
from understudy.encoders.exogenous_sample import SplitSample, binned, paired
from understudy.encoders.exogenous_search import ENOUGH, propensities
from understudy.logs.recurring import FEWEST_ROWS, keys_of

QUEUES, EPISODES, ONWARD = "queues", "episodes", "onward"
"""A queue for each value; the values of one logged episode for each episode; all of the log as one sequence."""

DOUBT = 1e-3
"""The p-value below which a sequence is taken to have a memory, or to open together with the endogenous part."""

UNLIKE = 1e-5
"""The p-value below which a reset is not a step of the sequence: small, since what makes it go on is the dependence."""


class Playing(NamedTuple):
    """How the exogenous part is played."""

    how: str  # QUEUES, EPISODES or ONWARD
    longest_first: bool  # EPISODES: the longest sequence comes first; else an episode has that of its own opening
    moves_at_reset: bool  # ONWARD: there is a step of it between two episodes
    why: str  # a clause


def played(sample: SplitSample, inner: Sequence[int], rest: Sequence[int]) -> Playing:
    """Return how the exogenous columns of a whole log are played.

    From queues where values repeat and the present one says all about the next; as one sequence where it goes on from
    the end of an episode to the next; else an episode has the sequence of one logged episode. A sequence's length says
    nothing about it if the logger did not look at it, and the longest come first then: they last. Where the endogenous
    part does not open independently of it, both keep the opening that they had together.
    """
    before, after, previous = (sample.code(rest, at) for at in ("before", "after", "previous"))
    onward, alone = _goes_on(sample, rest), _opens_alone(sample, inner, rest)
    if onward is not None and alone:
        return Playing(ONWARD, False, onward, "it goes on from one episode to the next")
    if repeats(sample, rest):
        memory = association(before[~sample.is_first], after[~sample.is_first], previous[~sample.is_first])
        if memory.p_value is None or memory.p_value > DOUBT:
            return Playing(QUEUES, False, False, "its values repeat")
        why = "its next value depends on earlier ones than the last"
    else:
        why = "its values never repeat"
    return Playing(EPISODES, alone and _length_says_nothing(sample, inner), False, why)


def repeats(sample: SplitSample, rest: Sequence[int]) -> bool:
    """True if most rows have exogenous values that repeat."""
    codes = np.concatenate([sample.code(rest), sample.code(rest, "after")])
    rows = np.unique(codes, return_counts=True)[1]
    return bool(rows[rows >= FEWEST_ROWS].sum() >= ENOUGH * len(codes))


def _goes_on(sample: SplitSample, rest: Sequence[int]) -> bool | None:
    """Return whether a sequence that goes on through resets moves there, too; None where it does not go on.

    It goes on if openings depend on where the episode before ended, and do so as one step depends on the other.
    """
    first, last = sample.log.starts[1:-1], sample.log.starts[1:-1] - 1
    if len(first) < FEWEST_ROWS:
        return None
    opening, ending = sample.before[first][:, list(rest)], sample.after[last][:, list(rest)]
    if (np.ptp(opening, axis=0) > 0).any() and (opening == ending).all(axis=1).mean() > 0.99:
        return False
    depends = False
    for place, column in enumerate(rest):
        depends |= abs(_rank_correlation(opening[:, place], ending[:, place])) > 4 / np.sqrt(len(first))
        if not _alike(sample.before[:, column], sample.after[:, column], ending[:, place], opening[:, place]):
            return None
    return True if depends else None


def _alike(before: np.ndarray, after: np.ndarray, ending: np.ndarray, opening: np.ndarray) -> bool:
    """True if a column goes from an episode's end to the next opening as it goes from one step to the next."""
    from scipy.stats import ks_2samp  # here, since importing it takes long

    center, scale = before.mean(), before.std() or 1.0
    ahead, at_resets = (np.column_stack([np.ones(len(x)), powers(x, center, scale)]) for x in (before, ending))
    cubic = np.linalg.lstsq(ahead, after.astype(np.float64), rcond=None)[0]
    one, other = np.round((after - ahead @ cubic) / scale, 6), np.round((opening - at_resets @ cubic) / scale, 6)
    return bool(ks_2samp(one, other).pvalue > UNLIKE)


def _rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    from scipy.stats import spearmanr

    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(spearmanr(one, other).statistic)


def _length_says_nothing(sample: SplitSample, inner: Sequence[int]) -> bool:
    """True if the length of an episode is independent of its exogenous values.

    It is where propensities follow from the endogenous part alone, once that part is known to be independent.
    """
    state = sample.state(inner)
    vectors = paired(state, keys_of(np.round(propensities(sample), 9)))
    return len(np.unique(vectors)) == len(np.unique(state))


def _opens_alone(sample: SplitSample, inner: Sequence[int], rest: Sequence[int]) -> bool:
    """True if the endogenous part of openings is independent of the exogenous one, as far as the log can tell."""
    first = sample.log.starts[:-1]
    one, state = np.zeros(len(first), np.int64), sample.state(inner)[first]
    opened = [association(one, state, binned(sample.before[first, column], parts=4)) for column in rest]
    return all(result.p_value is None or result.p_value > DOUBT / len(rest) for result in opened)
