"""Rules that are statistical tests: each takes a log and its recurring observations, and returns an `Answer`."""

from collections.abc import Callable, Iterator

from understudy.logs.findings import Answer, AuditTest
from understudy.logs.log import Log
from understudy.logs.recurring import Recurring
from understudy.logs.statistics import calibration, confounding
from understudy.logs.statistics.drift import reward_drift, visit_drift
from understudy.logs.statistics.duplicates import duplicate_episodes, duplicate_rows
from understudy.logs.statistics.outcomes import outcome_drift
from understudy.logs.statistics.policy_drift import propensity_trend
from understudy.logs.statistics.support import action_support

__all__ = ["action_support", "tests_of"]

OTHERS: tuple[Callable[[Log, Recurring], Answer], ...] = (
    propensity_trend, reward_drift, visit_drift, outcome_drift, duplicate_episodes, duplicate_rows,
)  # fmt: skip


def tests_of(log: Log, states: Recurring) -> Iterator[Answer]:
    """Yield the outcome of each test. What predicts actions beyond propensities is asked only of those that fit."""
    tenths = calibration.own_tenths(log)  # the dearest part of both tests on logs of many actions
    calibrated = calibration.propensity_frequency(log, states, tenths)
    yield calibrated
    if calibrated.findings:
        rule, question = confounding.RULE, confounding.QUESTION
        yield Answer(AuditTest(rule, question, 0, None, "the propensities are wrong to begin with"))
    else:
        yield confounding.action_predicted(log, states, tenths)
    for test in OTHERS:
        yield test(log, states)
