"""Whether anything logged before an action predicts it beyond its propensity."""

import numpy as np

from understudy.logs.findings import Answer, AuditTest, Finding
from understudy.logs.log import Log
from understudy.logs.recurring import Recurring
from understudy.logs.statistics.calibration import Misfit, misfit, tested_misfits
from understudy.logs.statistics.column_order import action_name
from understudy.logs.statistics.groups import by_past
from understudy.logs.statistics.tails import freedman

RULE = "action-predicted"
QUESTION = "Does the step or what came before in the episode predict the action beyond its propensity?"
LARGEST_LEANING = 3.0  # bounds a term of the sum, so that its tail can be bounded


def action_predicted(log: Log, states: Recurring) -> Answer:
    """Find actions that the past of their episode predicts better than their propensity does: a hint of confounding.

    The past is the last action, reward and observation, the number of the step, and how much more often than expected
    the episode has taken the action so far, which finds a hidden cause that lasts, such as the kind of user. Only what
    came before the action is used: an outcome is caused by its action, and so is predicted by it in every log.
    """
    if log.propensity is None or log.propensity.ndim == 1:
        return Answer(AuditTest(RULE, QUESTION, 0, None, "the propensities of all actions are needed"))
    source = log.propensity_source
    if source is not None and source.is_sampled:
        reason = "propensities are shares of draws, whose errors would look like something that the logger knew"
        return Answer(AuditTest(RULE, QUESTION, 0, None, reason))
    estimated = source is not None and source.is_estimated  # then tenths of propensities are of the model, and tested
    groups = by_past(log, states)
    misfits = []
    for action in range(log.spec.n_actions):
        worst = misfit(log.action, log.propensity, action, groups, tenths=not estimated)
        leaning = _leaning(log, action)
        comparisons = worst.comparisons + leaning.comparisons
        misfits.append(min(worst, leaning, key=lambda one: one.tail)._replace(comparisons=comparisons))
    tested = tested_misfits(RULE, QUESTION, misfits)
    if not tested.fires:
        return Answer(tested)
    worst = min(misfits, key=lambda one: one.tail)
    return Answer(
        tested,
        (
            Finding(
                "doubt",
                RULE,
                (),
                tested.comparisons,
                f"action {action_name(log, worst.action)} was taken {'more' if worst.z > 0 else 'less'} often "
                f"{worst.where} than its propensities say (z = {worst.z:.1f}): the logger knew something that is in "
                "neither observation nor propensities; log what it used",
            ),
        ),
    )


def _leaning(log: Log, action: int) -> Misfit:
    """Return whether an action follows its own excess in the episode so far, in standard deviations of that excess."""
    assert log.propensity is not None
    p = log.propensity[:, action]
    residual, variance = (log.action == action) - p, p * (1 - p)
    excess, spread = (_earlier_in_episode(log, column) for column in (residual, variance))
    leaning = np.divide(excess, np.sqrt(spread), out=np.zeros(len(p)), where=spread > 1e-6)
    leaning = np.clip(leaning, -LARGEST_LEANING, LARGEST_LEANING)
    total, total_variance = float(leaning @ residual), float(leaning**2 @ variance)
    tail = 2 * float(freedman(abs(total), total_variance, LARGEST_LEANING))
    where = "in episodes that had taken it often"
    return Misfit(action, total, 0.0, total_variance, tail, where, int(total_variance > 0))


def _earlier_in_episode(log: Log, column: np.ndarray) -> np.ndarray:
    """Return the sum of a column over the earlier rows of each row's episode."""
    before = np.concatenate([[0.0], np.cumsum(column)])
    return before[:-1] - np.repeat(before[log.starts[:-1]], np.diff(log.starts))
