"""Whether actions were taken as often as their propensities say: by propensity, by observation and by time."""

import numpy as np

from understudy.logs.findings import RATES, Answer, AuditTest, Finding
from understudy.logs.log import Log
from understudy.logs.naming import action_words
from understudy.logs.policies import TOLERANCE
from understudy.logs.recurring import Recurring
from understudy.logs.statistics.column_order import other_order
from understudy.logs.statistics.groups import Groups, all_rows, by_observation, tenths_of_time
from understudy.logs.statistics.misfits import FLAT, Misfit, Tally, misfits, tenths_of_propensity
from understudy.logs.statistics.tails import freedman

RULE = "propensity-frequency"
QUESTION = "Were actions taken more or less often than their propensities say, overall, by observation or by time?"
FLOORS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
CERTAIN = "every propensity is 0 or 1"
NOT_DRAWN = (
    "the actions were not drawn from the logged propensities; log them at decision time, or use qbe, which needs none"
)
MISFIT = (
    "the estimated propensities do not fit, since the logger saw something else, or changed over the log; say with "
    "features= what it saw, or use qbe, which needs none"
)


def propensity_frequency(log: Log, states: Recurring, tenths: Tally | None = None) -> Answer:
    """Find actions taken more or less often than their propensities say.

    All rows are compared, tenths of the action's propensity, each observation that recurs (else fifths of each entry of
    the observation), and tenths of the log's time. If a finding is there, what psrs serves must not be believed.
    `tenths` are `own_tenths` of the log, for a caller who has them already.
    """
    if log.propensity is None:
        return Answer(AuditTest(RULE, QUESTION, 0, None, "there are no propensities"))
    groups = [all_rows(log), tenths_of_time(log), *by_observation(log, states)]
    if log.propensity.ndim == 1:
        return _chosen_frequency(log, states, groups)
    source = log.propensity_source
    n_samples = source.n_samples if source is not None else None
    found = misfits(log.action, log.propensity, groups, n_samples, own_tenths(log) if tenths is None else tenths)
    tested = tested_misfits(RULE, QUESTION, found)
    if not tested.fires:
        return Answer(tested)
    estimated = source is not None and source.is_estimated
    return Answer(tested, (_finding(log, found, MISFIT if estimated else other_order(log, _fits) or NOT_DRAWN),))


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


def _finding(log: Log, found: list[Misfit], advice: str) -> Finding:
    worst = min(found, key=lambda one: one.tail)
    comparisons = sum(one.comparisons for one in found)
    return Finding(
        "doubt",
        RULE,
        (),
        sum(one.tail * comparisons < RATES["each test"] for one in found),
        f"{action_words(log.spec, worst.action)} was taken {worst.taken:,.0f} times {worst.where}, and its "
        f"propensities there add up to {worst.expected:,.1f} (z = {worst.z:.1f}): {advice}",
    )


def _chosen_frequency(log: Log, states: Recurring, groups: list[Groups]) -> Answer:
    """Find wrong propensities where only the chosen action's, p, is known.

    Observations in which all actions have been taken, each with one p, and these sum to 1, are compared as with all
    propensities. Elsewhere the mean of 1/p over the rows of one action has expectation 1 at most, so that propensities
    that are too small are found, and those that are too large are not; rows with p below a floor are left out, which
    bounds a term by 1/floor.
    """
    rows, table = known_policies(log, states)
    found: list[Misfit] = []
    if len(rows):
        known, taken = [group._replace(code=group.code[rows]) for group in groups], log.action[rows]
        found = misfits(taken, table, known, tenths=tenths_of_propensity(taken, table))
    whole = [groups[0]] + [group for group in groups[2:] if group.code is states.code]
    comparisons = sum(one.comparisons for one in found)
    tail, sentence, more = _too_often(log, whole)
    comparisons += more
    if found and min(one.tail for one in found) <= tail:
        tail, sentence = min(one.tail for one in found), _finding(log, found, NOT_DRAWN).sentence
    tested = AuditTest(RULE, QUESTION, comparisons, min(1.0, comparisons * tail))
    return Answer(tested, (Finding("doubt", RULE, (), 1, sentence),) if tested.fires else ())


def known_policies(log: Log, states: Recurring) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows whose propensities of all actions can be told from other rows, and these propensities."""
    assert log.propensity is not None
    A = log.spec.n_actions
    rows = np.flatnonzero(states.code < states.size)
    pair = states.code[rows] * A + log.action[rows]
    low, high = np.full(states.size * A, np.inf), np.full(states.size * A, -np.inf)
    np.minimum.at(low, pair, log.propensity[rows])
    np.maximum.at(high, pair, log.propensity[rows])
    table, constant = low.reshape(-1, A), (high - low < FLAT).reshape(-1, A)
    known = (np.isfinite(table) & constant).all(axis=1)
    known[known] = np.abs(table[known].sum(axis=1) - 1) < TOLERANCE
    rows = rows[known[states.code[rows]]]
    return rows, table[states.code[rows]]


def _too_often(log: Log, groups: list[Groups]) -> tuple[float, str, int]:
    """Return the smallest tail of an action that was taken too often, its sentence, and the number of comparisons."""
    p, A = log.propensity, log.spec.n_actions
    assert p is not None
    smallest, sentence, comparisons = 1.0, "", 0
    for group in groups:
        rows = group.sums(np.ones(len(log)))
        pair = group.code.astype(np.int64) * A + log.action
        for floor in FLOORS:
            high = p >= floor
            totals = np.bincount(pair[high], 1 / p[high], (group.size + 1) * A).reshape(-1, A)[:-1]
            tails = freedman(totals - rows[:, None], (rows / floor)[:, None], 1 / floor)
            comparisons += tails.size
            at, action = np.unravel_index(int(np.argmin(tails)), tails.shape)
            if tails[at, action] < smallest:
                smallest = float(tails[at, action])
                sentence = (
                    f"{action_words(log.spec, int(action))} was taken {totals[at, action] / rows[at]:.2f} times as "
                    f"often {group.words(int(at))} as its logged propensities allow: {NOT_DRAWN}"
                )
    return smallest, sentence, comparisons
