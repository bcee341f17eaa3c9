"""Whether actions were taken as often as their propensities say: by propensity, by observation and by time."""

import numpy as np

from understudy.logs.findings import RATES, Answer, AuditTest, Finding
from understudy.logs.log import Log
from understudy.logs.naming import action_words
from understudy.logs.policies import TOLERANCE
from understudy.logs.propensities.recognition import decimals_of, rounding
from understudy.logs.recurring import Recurring
from understudy.logs.statistics.column_order import other_order
from understudy.logs.statistics.groups import Groups, all_rows, by_observation, tenths_of_time
from understudy.logs.statistics.misfits import FLAT, Misfit, Tally, misfits, tenths_of_propensity
from understudy.logs.statistics.tails import STAKES, betting

RULE = "propensity-frequency"
QUESTION = "Were actions taken more or less often than their propensities say, overall, by observation or by time?"
QUESTION_OF_CHOSEN = (
    "Were actions taken more often than the propensities of those that were chosen allow, overall, by observation or "
    "by time?"
)
LESS_OFTEN = "if less often, which needs the propensities of all actions"
SAMPLED = "propensities of chosen actions are shares of draws, whose errors would look like wrong propensities"
CERTAIN = "every propensity is 0 or 1"
NOT_DRAWN = (
    "the actions were not drawn from the logged propensities; log them at decision time, or use qbe, which needs none"
)
NOT_DRAWN_THERE = (
    "the actions were not drawn from the logged propensities, or what is observed was filled in after the action; log "
    "both at decision time (qbe needs no propensities, but what was observed)"
)
MISFIT = (
    "the estimated propensities do not fit, since the logger saw something else, or changed over the log; say with "
    "features= what it saw, or use qbe, which needs none"
)


def propensity_frequency(log: Log, states: Recurring, tenths: Tally | None = None) -> Answer:
    """Find actions taken more or less often than their propensities say.

    All rows are compared, tenths of the action's propensity, each observation that recurs, values or fifths of each
    entry of the observation, and tenths of the log's time. If a finding is there, what psrs serves must not be
    believed. `tenths` are `own_tenths` of the log, for a caller who has them already.
    """
    if log.propensity is None:
        return Answer(AuditTest(RULE, QUESTION, 0, None, "there are no propensities"))
    groups = [all_rows(log), tenths_of_time(log), *by_observation(log, states, entries_too=True)]
    if log.propensity.ndim == 1:
        return _chosen_frequency(log, states, groups)
    source = log.propensity_source
    n_samples = source.n_samples if source is not None else None
    found = misfits(log.action, log.propensity, groups, n_samples, own_tenths(log) if tenths is None else tenths)
    tested = tested_misfits(RULE, QUESTION, found)
    if not tested.fires:
        return Answer(tested)
    estimated = source is not None and source.is_estimated
    return Answer(tested, (_finding(log, found, MISFIT if estimated else other_order(log, _fits)),))


def own_tenths(log: Log) -> Tally | None:
    """Return the tally of tenths of each action's propensity; None without them, and for shares of draws."""
    source = log.propensity_source
    if log.propensity is None or log.propensity.ndim == 1 or (source is not None and source.n_samples is not None):
        return None
    return tenths_of_propensity(log.action, log.propensity)


def tested_misfits(rule: str, question: str, found: list[Misfit]) -> AuditTest:
    """Return the test of the worst of these misfits, corrected for the number of comparisons."""
    comparisons = sum(one.comparisons for one in found)
    if not comparisons:
        return AuditTest(rule, question, 0, None, CERTAIN)
    return AuditTest(rule, question, comparisons, min(1.0, comparisons * min(one.tail for one in found)))


def _fits(log: Log) -> bool:
    """True if the propensities explain the actions, over all rows and tenths of the propensity."""
    assert log.propensity is not None
    found = misfits(
        log.action, log.propensity, [all_rows(log)], tenths=tenths_of_propensity(log.action, log.propensity)
    )
    return not tested_misfits(RULE, QUESTION, found).fires


def _finding(log: Log, found: list[Misfit], advice: str | None = None) -> Finding:
    worst = min(found, key=lambda one: one.tail)
    comparisons = sum(one.comparisons for one in found)
    return Finding(
        "doubt",
        RULE,
        (),
        sum(one.tail * comparisons < RATES["each test"] for one in found),
        f"{action_words(log.spec, worst.action)} was taken {worst.taken:,.0f} times {worst.where}, and its "
        f"propensities there add up to {worst.expected:,.1f} (z = {worst.z:.1f}): {advice or _not_drawn(worst.where)}",
    )


def _not_drawn(where: str) -> str:
    """Return what is wrong with propensities that do not fit in these rows: of an observation it may be that one."""
    by_observation = where.startswith("where ") and not where.startswith("where its propensity ")
    return NOT_DRAWN_THERE if by_observation else NOT_DRAWN


def _chosen_frequency(log: Log, states: Recurring, groups: list[Groups]) -> Answer:
    """Find wrong propensities where only the chosen action's, p, is known.

    Where all actions have been taken, each with one p, and these sum to 1, rows are compared as with all propensities:
    in all rows, in those of an observation or of a value of one of its entries, whichever tells the most. Elsewhere
    the mean of 1/p over the rows of one action has expectation 1 at most, so that propensities that are too small are
    found, and those that are too large are not.
    """
    source = log.propensity_source
    if source is not None and source.is_sampled:
        return Answer(AuditTest(RULE, QUESTION, 0, None, SAMPLED))
    rows, table = known_policies(log, groups[0])
    for group in groups[2:]:  # by time a policy may change in the middle of a group
        if len(rows) < len(log) and len((of_group := known_policies(log, group))[0]) > len(rows):
            rows, table = of_group
    found: list[Misfit] = []
    if len(rows):
        known, taken = [group._replace(code=group.code[rows]) for group in groups], log.action[rows]
        found = misfits(taken, table, known, tenths=tenths_of_propensity(taken, table))
    comparisons = sum(one.comparisons for one in found)
    if len(rows) == len(log):
        tested = tested_misfits(RULE, QUESTION, found)
        return Answer(tested, (_finding(log, found),) if tested.fires else ())
    tail, sentence, more = _too_often(log, groups)
    comparisons += more
    if found and min(one.tail for one in found) <= tail:
        tail, sentence = min(one.tail for one in found), _finding(log, found).sentence
    tested = AuditTest(RULE, QUESTION_OF_CHOSEN, comparisons, min(1.0, comparisons * tail), LESS_OFTEN)
    return Answer(tested, (Finding("doubt", RULE, (), 1, sentence),) if tested.fires else ())


def known_policies(log: Log, states: Recurring | Groups) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows whose propensities of all actions can be told from other rows, and these propensities.

    An action has its one p in a row, or another there with which it was never taken; so if these sum to 1, each has it.
    """
    assert log.propensity is not None
    A = log.spec.n_actions
    rows = np.flatnonzero(states.code < states.size)
    pair = states.code[rows].astype(np.int64) * A + log.action[rows]
    low, high = np.full(states.size * A, np.inf), np.full(states.size * A, -np.inf)
    np.minimum.at(low, pair, log.propensity[rows])
    np.maximum.at(high, pair, log.propensity[rows])
    table, constant = low.reshape(-1, A), (high - low < FLAT).reshape(-1, A)
    known = (np.isfinite(table) & constant).all(axis=1)
    known[known] = np.abs(table[known].sum(axis=1) - 1) < TOLERANCE
    rows = rows[known[states.code[rows]]]
    if states.size == 1:
        return rows, np.broadcast_to(table[0], (len(rows), A))
    return rows, table[states.code[rows]]


def _too_often(log: Log, groups: list[Groups]) -> tuple[float, str, int]:
    """Return the smallest tail of an action that was taken too often, its sentence, and the number of comparisons."""
    p, A = log.propensity, log.spec.n_actions
    assert p is not None
    highest = np.minimum(p + (rounding(p) if decimals_of(p) > 1 else 0.0), 1.0)  # as far as it was written out
    gains = [np.log1p(stake * (1 / highest - 1)) for stake in STAKES]
    smallest, sentence, comparisons = 1.0, "", 0
    for group in groups:
        pair = group.code.astype(np.int64) * A + log.action

        def sums(weights: np.ndarray | None, pair: np.ndarray = pair, size: int = group.size) -> np.ndarray:
            return np.bincount(pair, weights, (size + 1) * A).reshape(-1, A)[:size]

        taken = sums(None)
        rows = taken.sum(axis=1, keepdims=True)
        tails = betting(np.stack([sums(gain) for gain in gains]), rows - taken)
        comparisons += tails.size
        at, action = np.unravel_index(int(np.argmin(tails)), tails.shape)
        if tails[at, action] < smallest:
            smallest, where = float(tails[at, action]), group.words(int(at))
            sentence = (
                f"{action_words(log.spec, int(action))} was taken {sums(1 / p)[at, action] / rows[at, 0]:.2f} times as "
                f"often {where} as its logged propensities allow: {_not_drawn(where)}"
            )
    return smallest, sentence, comparisons
