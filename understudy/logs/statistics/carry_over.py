"""Whether what is done in one episode changes how the next begins: then they are not independent of each other.

Given what the logger saw, it drew actions by their propensities. If actions change nothing after their episode, then,
whatever the order in which contexts come, an action's residual (taken or not, less its propensity) has mean 0 at
each row given all contexts, those of later rows included. So its sum with any function of contexts is a martingale.
"""

from typing import NamedTuple

import numpy as np

from understudy.logs.findings import Answer, AuditTest, Finding
from understudy.logs.log import Log
from understudy.logs.naming import feature_name, is_category, observation_words, value_words
from understudy.logs.recurring import Recurring
from understudy.logs.statistics.column_order import action_name
from understudy.logs.statistics.tails import freedman

RULE = "carry-over"
QUESTION = "Does the last action of an episode change how the next one begins?"
FEWEST = 100  # pairs of neighboring episodes
MOST_FEATURES = 16  # entries of observations that are looked at, the first of them
MOST_VALUES = 8  # of a column of categories, or observations that recur: the most common ones
LARGEST = 3.0  # standard deviations beyond which a value counts as that, so that tails can be bounded


class Feature(NamedTuple):
    """A number of each observation of a log."""

    name: str
    values: np.ndarray  # (n,)
    is_share: bool = False  # 1 where an observation is of one kind, else 0


def carry_over(log: Log, states: Recurring) -> Answer:
    """Find that an action changes how the next episode begins: rows or episodes are parts of one process.

    Compared are, for each action and each entry of observations, its residual at the last row of an episode with the
    entry at the next opening, less what the observation before the action predicts.
    """
    source = log.propensity_source
    if log.propensity is None:
        return Answer(AuditTest(RULE, QUESTION, 0, None, "propensities are needed"))
    if source is not None and (source.is_estimated or source.is_sampled):
        return Answer(AuditTest(RULE, QUESTION, 0, None, "propensities are needed as the logger had them"))
    over = ~log.unfinished[:-1]  # what goes on after the end of a recording is not another episode
    last, opening = log.starts[1:-1][over] - 1, log.starts[1:-1][over]
    if len(last) < FEWEST:
        return Answer(AuditTest(RULE, QUESTION, 0, None, f"fewer than {FEWEST} episodes end before another begins"))
    before, after = _features(log, states, last), _features(log, states, opening)
    surprises = [(one, found) for one in after if (found := _surprise(one.values, before)) is not None]
    if not surprises:
        return Answer(AuditTest(RULE, QUESTION, 0, None, "all episodes begin alike"))
    worst, tail, comparisons = (after[0], 0, 0.0), 1.0, 0
    for action in range(log.spec.n_actions):
        residual, variance = _residual(log, last, action)
        largest = float(np.abs(residual).max(initial=0.0))
        for one, surprise in surprises:
            spread = float(variance @ np.square(surprise))
            if spread <= 0.0:
                continue
            comparisons += 1
            total = float(residual @ surprise)
            chance = 2 * float(freedman(abs(total), spread, largest * LARGEST))
            if chance < tail:
                worst, tail = (one, action, total / spread**0.5), chance
    tested = AuditTest(RULE, QUESTION, comparisons, min(1.0, tail * comparisons) if comparisons else None)
    return Answer(tested, (_finding(log, *worst, comparisons),) if tested.fires else ())


def _finding(log: Log, changed: Feature, action: int, z: float, comparisons: int) -> Finding:
    does = f"{'raises' if z > 0 else 'lowers'} {changed.name}"
    if changed.is_share:
        does = f"makes {changed.name} {'more frequent' if z > 0 else 'rarer'}"
    done = f"action {action_name(log, action)}"
    if log.n_episodes == len(log):
        return Finding(
            "doubt", RULE, (), comparisons,
            f"{done} {does} in the next row (z = {z:.1f}): rows are steps of one process, and not decisions by "
            'themselves; name the column that tells episodes apart with episode=, and leave ends="every-row" out',
        )  # fmt: skip
    return Finding(
        "warning", RULE, (), comparisons,
        f"{done} at the end of an episode {does} where the next one begins (z = {z:.1f}): simulated episodes begin as "
        "the log's did, whatever was done before; join episodes that are parts of one process",
    )  # fmt: skip


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
        code = states.code[rows]
        return [
            Feature(observation_words(log.spec, log.observation[states.first_row[one]]), (code == one) * 1.0, True)
            for one in range(min(MOST_VALUES, states.size))
        ]
    found = []
    for entry in range(min(MOST_FEATURES, flat.shape[1])):
        column, name = flat[:, entry], feature_name(log.spec, entry)
        if not is_category(log.spec, entry):
            found.append(Feature(name, column[rows].astype(float)))
            continue
        values, counts = np.unique(column, return_counts=True)
        for value in values[np.argsort(-counts, kind="stable")[:MOST_VALUES]]:
            told = f"{name}={value_words(log.spec, entry, float(value))}"
            found.append(Feature(told, (column[rows] == value) * 1.0, True))
    return found


def _surprise(values: np.ndarray, before: list[Feature]) -> np.ndarray | None:
    """Return values less what a line through numbers known before predicts, in deviations; None where none is left."""
    design = np.column_stack([np.ones(len(values)), *(one.values for one in before)])
    spread = design.std(axis=0)
    design = (design - np.where(spread > 0, design.mean(axis=0), 0.0)) / np.where(spread > 0, spread, 1.0)
    slope = np.linalg.lstsq(design.T @ design, design.T @ values, rcond=None)[0]
    left = values - design @ slope
    deviation = float(left.std())
    if not deviation > 1e-9 * max(1.0, float(np.abs(values).max())):
        return None
    return np.clip(left / deviation, -LARGEST, LARGEST)
