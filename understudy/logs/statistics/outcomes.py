"""Whether outcomes, given observation and action, change over the time of the log."""

from typing import NamedTuple

import numpy as np

from understudy.logs.findings import Answer, AuditTest, Finding
from understudy.logs.log import Log
from understudy.logs.naming import action_words, observation_words
from understudy.logs.recurring import FEWEST_ROWS, Recurring, keys_of
from understudy.logs.statistics.drift import TOO_SHORT, units_of
from understudy.logs.statistics.tails import normal_tail

RULE = "outcome-drift"
QUESTION = "Given observation and action, do reward, end or next observation change over the log?"


class Strata(NamedTuple):
    """Rows that recur with one observation and one action, sorted by stratum and then by unit of time."""

    row: np.ndarray  # (n,)
    stratum: np.ndarray  # (n,) 0, 1, ...
    unit: np.ndarray  # (n,)
    rows: np.ndarray  # (S,) how many rows each stratum has

    def centered(self, values: np.ndarray) -> np.ndarray:
        """Return the values less the mean of their stratum."""
        return values - (np.bincount(self.stratum, values) / self.rows)[self.stratum]


def outcome_drift(log: Log, states: Recurring) -> Answer:
    """Find outcomes that change although observation and action are the same: the world itself changed.

    Reward, end, and whether the most common next observation followed are correlated with time, for each observation
    and action that recur and over all of them. Variances are of whole episodes, so that rows of one episode may depend
    on each other. A logger that adapts does not raise this alarm by itself.
    """
    units = units_of(log)
    if units is None:
        return Answer(AuditTest(RULE, QUESTION, 0, None, TOO_SHORT))
    strata = _strata(log, states, units[0])
    if not len(strata.rows):
        return Answer(AuditTest(RULE, QUESTION, 0, None, "observations do not recur"))
    outcomes = {
        "the reward": log.reward[strata.row],
        "the share of ends": log.terminated[strata.row].astype(np.float64),
        "the share of the most common next observation": _is_most_common(log, strata),
    }
    worst, where, comparisons = 0.0, "", 0
    for name, values in outcomes.items():
        pooled, single = _scores(strata, values)
        scores = np.append(single, pooled)
        comparisons += int(np.isfinite(scores).sum())
        at = int(np.nanargmax(np.abs(scores))) if np.isfinite(scores).any() else len(single)
        if np.isfinite(scores[at]) and abs(scores[at]) > abs(worst):
            worst = float(scores[at])
            where = f"{name} {'rises' if worst > 0 else 'falls'}{_place(log, strata, at)}"
    if not comparisons:
        return Answer(AuditTest(RULE, QUESTION, 0, None, "outcomes do not vary"))
    tested = AuditTest(RULE, QUESTION, comparisons, min(1.0, comparisons * normal_tail(worst)))
    sentence = (
        f"{where} over {units[1]} (z = {worst:.1f}): the world changed while the log was recorded, so no part of it "
        "tells of another; simulate the latest part by itself"
    )
    return Answer(tested, (Finding("doubt", RULE, (), comparisons, sentence),) if tested.fires else ())


def _strata(log: Log, states: Recurring, bounds: np.ndarray) -> Strata:
    """Return the rows of observations and actions that recur together."""
    kept = np.flatnonzero(states.code < states.size)
    pair = states.code[kept] * log.spec.n_actions + log.action[kept]
    often = np.bincount(pair, minlength=1) >= FEWEST_ROWS
    kept, pair = kept[often[pair]], pair[often[pair]]
    order = np.argsort(pair, kind="stable")  # rows stay in the order of time
    number = np.cumsum(often) - 1
    stratum = number[pair[order]]
    unit = np.searchsorted(bounds, kept[order], side="right") - 1
    return Strata(kept[order], stratum, unit, np.bincount(stratum))


def _is_most_common(log: Log, strata: Strata) -> np.ndarray:
    """Return 1.0 where the next observation is the most common one of the stratum, else 0.0."""
    if not len(strata.row):
        return np.zeros(0)
    _, following = np.unique(keys_of(log.next_observation)[strata.row], return_inverse=True)
    kinds, kind, counts = np.unique(
        strata.stratum * (1 + following.max()) + following, return_inverse=True, return_counts=True
    )
    home = kinds // (1 + following.max())
    order = np.lexsort((-counts, home))
    first = order[np.flatnonzero(np.diff(home[order], prepend=-1))]  # the most common of each stratum
    return (kind == first[strata.stratum]).astype(np.float64)


def _scores(strata: Strata, values: np.ndarray) -> tuple[float, np.ndarray]:
    """Return how an outcome goes with time, over all strata and in each, in standard deviations; NaN without any."""
    product = strata.centered(strata.unit.astype(np.float64)) * strata.centered(values)
    product[np.abs(product) < 1e-9] = 0.0  # rounding of outcomes that are all equal
    by_unit = np.bincount(strata.unit, product)
    first = np.flatnonzero((np.diff(strata.stratum, prepend=-1) != 0) | (np.diff(strata.unit, prepend=-1) != 0))
    by_both, home = np.add.reduceat(product, first), strata.stratum[first]
    total, squares = np.bincount(home, by_both), np.bincount(home, by_both**2)
    with np.errstate(invalid="ignore"):
        return float(by_unit.sum() / np.sqrt((by_unit**2).sum())), total / np.sqrt(squares)


def _place(log: Log, strata: Strata, at: int) -> str:
    """Return the observation and action of a stratum in words; "" for all of them."""
    if at == len(strata.rows):
        return ""
    row = strata.row[np.searchsorted(strata.stratum, at)]
    return (
        f" where {observation_words(log.spec, log.observation[row])} and {action_words(log.spec, int(log.action[row]))}"
    )
