"""Whether what is done in one decision changes what the next one sees: then rows are steps of one process.

Given what the logger saw, it drew actions by their propensities. If actions change nothing after their row, then,
whatever the order in which contexts come, an action's residual (taken or not, less its propensity) has mean 0 at each
row given all contexts, those of later rows included. So its sum with any function of contexts is a martingale. Of
episodes of several rows that is not so: which row is the last depends on its action.
"""

from typing import NamedTuple

import numpy as np

from understudy.logs.findings import Answer, AuditTest, Finding
from understudy.logs.log import Log
from understudy.logs.naming import action_words, feature_name, is_category, observation_words, value_words
from understudy.logs.recurring import Recurring
from understudy.logs.statistics.tails import freedman

RULE = "carry-over"
QUESTION = "Where each row is a decision by itself: does the action change what the next row observes?"
FEWEST, MOST_PAIRS = 100, 250_000  # pairs of neighboring rows that are compared
FEWEST_TAKEN = 20
"""Rows of each tenth of the log, and of each tenth of an entry's values, that took an action of which only the chosen
one's propensity is known: else it may have been impossible at times."""

MOST_FEATURES = 16  # entries of observations that are looked at, the first of them
MOST_VALUES = 8  # of a column of categories, or observations that recur: the most common ones
LARGEST = 3.0  # standard deviations beyond which a value counts as that, so that tails can be bounded


class Feature(NamedTuple):
    """A number of each observation of a log."""

    name: str
    values: np.ndarray  # (n,)
    is_share: bool = False  # 1 where an observation is of one kind, else 0


def carry_over(log: Log, states: Recurring) -> Answer:
    """Find that an action changes what the next row observes, in a log whose rows are said to be decisions.

    Compared are, for each action and each entry of observations, its residual with the entry in the next row, less what
    the observation before the action predicts.
    """
    source = log.propensity_source
    if log.n_episodes < len(log):
        return Answer(AuditTest(RULE, QUESTION, 0, None, "episodes have several rows"))
    if log.propensity is None:
        return Answer(AuditTest(RULE, QUESTION, 0, None, "propensities are needed"))
    if source is not None and (source.is_estimated or source.is_sampled):
        return Answer(AuditTest(RULE, QUESTION, 0, None, "propensities are needed as the logger had them"))
    rows = np.flatnonzero(~log.unfinished[:-1])  # what goes on after the end of a recording is not another episode
    if len(rows) < FEWEST:
        return Answer(AuditTest(RULE, QUESTION, 0, None, f"fewer than {FEWEST} decisions end before another one"))
    rows = rows[:: -(-len(rows) // MOST_PAIRS)]
    before, after = _features(log, states, rows), _features(log, states, rows + 1)
    changed, surprises = _surprises(before, after)
    if not changed:
        return Answer(AuditTest(RULE, QUESTION, 0, None, "all rows observe alike"))
    worst, tail, comparisons = (changed[0], 0, 0.0), 1.0, 0
    for action in range(log.spec.n_actions):
        if log.propensity.ndim == 1 and not _is_taken_everywhere(log.action[rows] == action, before):
            continue
        residual, variance = _residual(log, rows, action)
        largest = float(np.abs(residual).max(initial=0.0))
        totals, spreads = residual @ surprises, variance @ np.square(surprises)
        for one, total, spread in zip(changed, totals.tolist(), spreads.tolist(), strict=True):
            if spread <= 0.0:
                continue
            comparisons += 1
            chance = 2 * float(freedman(abs(total), spread, largest * LARGEST))
            if chance < tail:
                worst, tail = (one, action, total / spread**0.5), chance
    if not comparisons:
        reason = "the propensities of all actions are needed, since some may have been impossible at times"
        return Answer(AuditTest(RULE, QUESTION, 0, None, reason))
    tested = AuditTest(RULE, QUESTION, comparisons, min(1.0, tail * comparisons))
    return Answer(tested, (_finding(log, *worst, comparisons),) if tested.fires else ())


def _finding(log: Log, changed: Feature, action: int, z: float, comparisons: int) -> Finding:
    does = f"{'raises' if z > 0 else 'lowers'} {changed.name}"
    if changed.is_share:
        does = f"makes {changed.name} {'more frequent' if z > 0 else 'rarer'}"
    return Finding(
        "doubt", RULE, (), comparisons,
        f"{action_words(log.spec, action)} {does} in the next row (z = {z:.1f}): rows are steps of one process, and "
        "not decisions by themselves; name the column that tells episodes apart with episode=, and leave "
        'ends="every-row" out',
    )  # fmt: skip


def _is_taken_everywhere(taken: np.ndarray, features: list[Feature]) -> bool:
    """True if an action was taken in every tenth of the log and of each entry's values: it was possible everywhere."""
    n = len(taken)
    orders = [np.arange(n), *(np.argsort(one.values, kind="stable") for one in features)]
    return all(
        np.bincount(np.arange(n) * 10 // n, taken[order], minlength=10).min() >= FEWEST_TAKEN for order in orders
    )


def _residual(log: Log, rows: np.ndarray, action: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the residual of an action at some rows, with mean 0, and its variance, or a number whose mean it is."""
    assert log.propensity is not None
    taken = log.action[rows] == action
    if log.propensity.ndim == 2:
        p = log.propensity[rows, action]
        return taken - p, p * (1 - p)
    residual = np.where(taken, 1.0 / log.propensity[rows], 0.0) - 1.0  # of the chosen action alone it is known
    return residual, np.square(residual)


def _features(log: Log, states: Recurring, rows: np.ndarray) -> list[Feature]:
    """Return numbers of the observations in some rows: which of the most common ones it is, or its entries."""
    flat = log.observation.reshape(len(log), -1)
    if flat.shape[1] == 1 and flat.dtype.kind in "iu":
        return [
            Feature(
                observation_words(log.spec, log.observation[states.first_row[one]]),
                (states.code[rows] == one) * 1.0,
                True,
            )
            for one in range(min(MOST_VALUES, states.size))
        ]
    found: list[Feature] = []
    for entry in range(min(MOST_FEATURES, flat.shape[1])):
        column, name = flat[:, entry], feature_name(log.spec, entry)
        if not is_category(log.spec, entry):
            found.append(Feature(name, column[rows].astype(float)))
            continue
        values, counts = np.unique(column, return_counts=True)
        for value in values[np.argsort(-counts, kind="stable")[:MOST_VALUES]]:
            told = f"{name}={value_words(log.spec, entry, float(value))}"
            found.append(Feature(told, (column[rows] == value) * 1.0, True))
    return found[:MOST_FEATURES]


def _surprises(before: list[Feature], after: list[Feature]) -> tuple[list[Feature], np.ndarray]:
    """Return what changes, and how far each number in the row after is from what a line through the row predicts.

    That is (n, features), in standard deviations. What does not change, or is too large to be squared, is left out.
    """
    scaled = [(one, _scaled(first.values), _scaled(one.values)) for first, one in zip(before, after, strict=True)]
    kept = [(one, first, second) for one, first, second in scaled if first is not None and second is not None]
    design = np.column_stack([np.ones(len(before[0].values)), *(first for _, first, _ in kept)])
    then = np.column_stack([second for *_, second in kept]) if kept else design[:, :0]
    left = then - design @ np.linalg.lstsq(design.T @ design, design.T @ then, rcond=None)[0]
    deviation = left.std(axis=0)
    told = deviation > 1e-9
    changed = [one for (one, *_), tell in zip(kept, told, strict=True) if tell]
    return changed, np.clip(left[:, told] / deviation[told], -LARGEST, LARGEST)


def _scaled(values: np.ndarray) -> np.ndarray | None:
    """Return numbers with mean 0 and deviation 1; None where they are all alike, or too large for that."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(values.std())
    if not np.isfinite(spread) or spread <= 1e-9 * max(1.0, float(np.abs(values).max())):
        return None
    return (values - values.mean()) / spread
