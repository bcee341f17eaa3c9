"""Whether the logging policy changes over the time of the log."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from understudy.logs.findings import Answer, AuditTest, Finding
from understudy.logs.log import Log
from understudy.logs.naming import action_words, is_date
from understudy.logs.recurring import Recurring
from understudy.logs.statistics.drift import TOO_SHORT, units_of
from understudy.logs.statistics.groups import Groups, by_observation
from understudy.logs.statistics.tails import changes

RULE = "propensity-trend"
QUESTION = "Do propensities change over the log, for an action or for an action given the observation?"
MOST_SERIES = 200  # actions that are followed over time, and as many pairs of an action and a group of observations
ADAPTS = 'the logger seems to adapt; simulate with order="log"'
ADAPTS_ESTIMATED = (
    "the logger seems to adapt, and estimated propensities are of one that does not; use qbe, which needs none, "
    'with order="log"'
)


class _Followed(NamedTuple):
    """A number for each row and action whose mean must not change over time, and what messages call it."""

    values: np.ndarray  # (N, A); or (N,), of the action that was taken, where the others count 0
    name: str  # "{action}" stands for an action
    advice: str


def propensity_trend(log: Log, states: Recurring) -> Answer:
    """Find a policy that changes: the logger seems to learn, and its rows are exact in the log's order only.

    Followed over time are the propensities of each action: in all rows, and in the rows of one observation (or of a
    fifth of an entry of it) less their mean there, since a logger may change its mind by context and keep its
    averages. Where only the chosen action's propensity is known, it counts for the action that was taken, and the
    others count 0: its mean alone stays the same in a logger that changes from one preferred action to another. Where
    all are estimated, how often an action was taken is followed, less its estimated propensity.

    Means of episodes are compared, or means of blocks of rows where episodes are few; the rate of false alarms then
    holds if rows of different blocks are nearly independent.
    """
    if log.propensity is None:
        return Answer(AuditTest(RULE, QUESTION, 0, None, "there are no propensities"))
    units = units_of(log)
    if units is None:
        return Answer(AuditTest(RULE, QUESTION, 0, None, TOO_SHORT))
    if log.propensity.strides == (0, 0):  # one number for all rows and actions, of a uniform logger
        return Answer(AuditTest(RULE, QUESTION, 0, None, "all of them are equal"))
    comparisons, worst, sentence = 0, 1.0, ""
    followed = _followed(log)
    for name, series in _series(log, states, followed, units[0]):
        if np.ptp(series) <= 1e-9:
            continue
        found = changes(series)
        comparisons += len(found)
        tail, largest = min(one.tail for one in found), max(found, key=lambda one: abs(one.z))
        if not sentence or tail < worst:
            worst = tail
            sentence = f"{name} {largest.words(units[1])} (z = {largest.z:.1f}): {followed.advice}"
    if not comparisons:
        return Answer(AuditTest(RULE, QUESTION, 0, None, "all of them are equal"))
    tested = AuditTest(RULE, QUESTION, comparisons, min(1.0, comparisons * worst))
    return Answer(tested, (Finding("warning", RULE, (), comparisons, sentence),) if tested.fires else ())


def _followed(log: Log) -> _Followed:
    """Return what is followed over time: propensities, those of chosen actions, or what estimates do not explain."""
    p, source, rows = log.propensity, log.propensity_source, np.arange(len(log))
    assert p is not None
    if source is not None and source.is_estimated and not source.keeps_chosen:
        rest = -p
        rest[rows, log.action] += 1.0
        name = "how often {action} is taken, less its estimated propensity,"
        return _Followed(rest, name, ADAPTS_ESTIMATED)
    if p.ndim == 2 and (source is None or not source.is_estimated):
        return _Followed(p, "the propensity of {action}", ADAPTS)
    chosen = p if p.ndim == 1 else p[rows, log.action]
    return _Followed(chosen, "the propensity of {action} where it is taken, and 0 elsewhere,", ADAPTS)


def _series(log: Log, states: Recurring, followed: _Followed, bounds: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield series over the units, each with its name: of actions in all rows, then given the observation."""
    height = np.diff(bounds)
    unit = np.repeat(np.arange(len(height)), height)
    A, values = log.spec.n_actions, followed.values
    if values.ndim == 2:
        sums = np.stack([values[begin:end].sum(axis=0) for begin, end in pairwise(bounds)])
    else:
        sums = np.bincount(unit * A + log.action, values, len(height) * A).reshape(-1, A)
    means = sums / height[:, None]
    if values.ndim == 1:
        yield "the propensity of the chosen action", means.sum(axis=1)
    common = np.argsort(-np.bincount(log.action, minlength=A), kind="stable")
    for action in common[:MOST_SERIES].tolist():
        yield followed.name.format(action=action_words(log.spec, action)), means[:, action]
    for group, at, action in _pairs(log, states):
        rows = np.flatnonzero(group.code == at)
        there = values[rows, action] if values.ndim == 2 else np.where(log.action[rows] == action, values[rows], 0.0)
        series = np.bincount(unit[rows], there - there.mean(), len(height)) / height
        yield f"{followed.name.format(action=action_words(log.spec, action))} {group.words(at)}", series


def _pairs(log: Log, states: Recurring) -> Iterator[tuple[Groups, int, int]]:
    """Yield the groups of observations and the actions taken there that have the most rows.

    Where a date is observed there are none: days that pass are observations that do not come back.
    """
    flat = log.observation.reshape(len(log), -1)
    if any(is_date(log.spec, entry) for entry in range(flat.shape[1])):
        return
    found: list[tuple[int, Groups, int, int]] = []
    A = log.spec.n_actions
    for group in by_observation(log, states):
        inside = group.code < group.size
        if group.size > 1:
            pairs, rows = np.unique(group.code[inside].astype(np.int64) * A + log.action[inside], return_counts=True)
            most = np.argsort(-rows, kind="stable")[:MOST_SERIES]
            found += [(int(rows[one]), group, int(pairs[one]) // A, int(pairs[one]) % A) for one in most]
    for _, group, at, action in sorted(found, key=lambda one: -one[0])[:MOST_SERIES]:
        yield group, at, action
