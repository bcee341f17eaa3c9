"""Whether anything logged before an action predicts it beyond its propensity."""

import numpy as np

from understudy.logs.findings import Answer, AuditTest, Finding
from understudy.logs.log import Log
from understudy.logs.naming import action_words
from understudy.logs.recurring import Recurring
from understudy.logs.statistics.calibration import own_tenths, tested_misfits
from understudy.logs.statistics.groups import by_past
from understudy.logs.statistics.misfits import Misfit, Tally, columns_of, misfits
from understudy.logs.statistics.tails import freedman

RULE = "action-predicted"
QUESTION = "Does the step or what came before in the episode predict the action beyond its propensity?"
LARGEST_LEANING = 3.0  # bounds a term of the sum, so that its tail can be bounded


def action_predicted(log: Log, states: Recurring, tenths: Tally | None = None) -> Answer:
    """Find actions that the past of their episode predicts better than their propensity does: a hint of confounding.

    The past is the last action, reward and observation, the number of the step, and how much more often than expected
    the episode has taken the action so far, which finds a hidden cause that lasts, such as the kind of user. Only what
    came before the action is used: an outcome is caused by its action, and so is predicted by it in every log.
    `tenths` are `own_tenths` of the log, for a caller who has them already.
    """
    if log.propensity is None or log.propensity.ndim == 1:
        return Answer(AuditTest(RULE, QUESTION, 0, None, "the propensities of all actions are needed"))
    source = log.propensity_source
    if source is not None and source.is_sampled:
        reason = "propensities are shares of draws, whose errors would look like something that the logger knew"
        return Answer(AuditTest(RULE, QUESTION, 0, None, reason))
    estimated = source is not None and source.is_estimated  # then tenths of propensities are of the model, and tested
    if not estimated and tenths is None:
        tenths = own_tenths(log)
    grouped = misfits(log.action, log.propensity, by_past(log, states), tenths=None if estimated else tenths)
    found = [
        min(worst, leaning, key=lambda one: one.tail)._replace(comparisons=worst.comparisons + leaning.comparisons)
        for worst, leaning in zip(grouped, _leanings(log), strict=True)
    ]
    tested = tested_misfits(RULE, QUESTION, found)
    if not tested.fires:
        return Answer(tested)
    worst = min(found, key=lambda one: one.tail)
    return Answer(
        tested,
        (
            Finding(
                "doubt",
                RULE,
                (),
                tested.comparisons,
                f"{action_words(log.spec, worst.action)} was taken {'more' if worst.z > 0 else 'less'} often "
                f"{worst.where} than its propensities say (z = {worst.z:.1f}): the logger knew something that is in "
                "neither observation nor propensities; log what it used",
            ),
        ),
    )


def _leanings(log: Log) -> list[Misfit]:
    """Return, for each action, whether it follows its own excess in the episode so far, in deviations of the excess."""
    assert log.propensity is not None
    A, where = log.spec.n_actions, "in episodes that had taken it often"
    total, variance = np.zeros(A), np.zeros(A)
    if log.n_episodes < len(log):
        first = np.repeat(log.starts[:-1], np.diff(log.starts))
        for action, p in enumerate(columns_of(log.propensity)):
            total[action], variance[action] = _leaning(p, log.action == action, first)
    tails = 2 * freedman(np.abs(total), variance, LARGEST_LEANING)
    return [
        Misfit(action, float(total[action]), 0.0, float(variance[action]), float(tails[action]), where,
               int(variance[action] > 0))
        for action in range(A)
    ]  # fmt: skip


def _leaning(p: np.ndarray, taken: np.ndarray, first: np.ndarray) -> tuple[float, float]:
    """Return the sum of an action's residuals, each times the excess before it, and its variance.

    `p` has its propensities, `taken` the rows that took it, and `first` the first row of each row's episode.
    """
    residual, variance = taken - p, p * (1 - p)
    excess, spread = (_earlier_in_episode(column, first) for column in (residual, variance))
    leaning = np.divide(excess, np.sqrt(np.abs(spread)), out=np.zeros(len(p)), where=spread > 1e-6)
    np.clip(leaning, -LARGEST_LEANING, LARGEST_LEANING, out=leaning)
    return float(leaning @ residual), float((leaning * leaning) @ variance)


def _earlier_in_episode(column: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the sum of a column over the earlier rows of each row's episode."""
    before = np.cumsum(column) - column
    return before - before[first]
