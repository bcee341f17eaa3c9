"""Rules that are statistical tests: each takes a log and its recurring observations, and returns an `Answer`."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from understudy.logs.complete import complete_part
from understudy.logs.findings import Answer, AuditTest, counted
from understudy.logs.log import Log
from understudy.logs.recurring import Recurring, recurring
from understudy.logs.statistics import calibration, carry_over, confounding
from understudy.logs.statistics.drift import reward_drift, visit_drift
from understudy.logs.statistics.duplicates import duplicate_episodes, duplicate_rows
from understudy.logs.statistics.outcomes import outcome_drift
from understudy.logs.statistics.policy_drift import propensity_trend
from understudy.logs.statistics.samples import Sample, sample_by_content, sample_of
from understudy.logs.statistics.support import action_support

__all__ = ["action_support", "answers_of", "sample_of"]

DRIFTS: tuple[Callable[[Log, Recurring], Answer], ...] = (propensity_trend, reward_drift, visit_drift, outcome_drift)


def answers_of(log: Log, sample: Sample, states: Recurring) -> Iterator[Answer]:
    """Yield the outcome of each test of a log, made on a sample of it; findings are about rows of the whole log."""
    doubted = False
    for answer in _tests_of(sample.log, states):
        doubted |= answer.tested.rule == calibration.RULE and answer.tested.fires
        yield _in_words(answer, sample.words)
    certain = None if sample.rows is None else sample_by_content(log)
    tested = sample.log
    if doubted:  # how likely two episodes are equal is told by propensities, or else by how many others are
        certain = None if certain is None else certain._replace(log=replace(certain.log, propensity=None))
        tested = replace(tested, propensity=None)
    yield duplicate_episodes(tested, states, certain, log.n_episodes)
    decisions = len(tested) == tested.n_episodes
    yield _in_words(duplicate_rows(tested if decisions else sample.log, states, sample.rows), sample.words)


def _in_words(answer: Answer, words: str) -> Answer:
    """Return an answer whose findings begin with these words."""
    return answer._replace(findings=tuple(replace(one, sentence=words + one.sentence) for one in answer.findings))


def _tests_of(log: Log, states: Recurring) -> Iterator[Answer]:
    """Yield the outcome of each test. What predicts actions beyond propensities is asked only of those that fit."""
    tenths = calibration.own_tenths(log)  # the dearest part of both tests on logs of many actions
    calibrated = calibration.propensity_frequency(log, states, tenths)
    yield calibrated
    if calibrated.findings:
        rule, question = confounding.RULE, confounding.QUESTION
        yield Answer(AuditTest(rule, question, 0, None, "the propensities are wrong to begin with"))
        rule, question = carry_over.RULE, carry_over.QUESTION
        yield Answer(AuditTest(rule, question, 0, None, "the propensities are wrong to begin with"))
    else:
        yield confounding.action_predicted(log, states, tenths)
        yield carry_over.carry_over(log, states)
    complete = complete_part(log)
    words = "" if complete is log else f"before the first unfinished one of {counted(log.n_episodes, 'episode')}, "
    of_part = states if complete is log else recurring(complete.observation)
    for test in DRIFTS:
        yield _in_words(test(complete, of_part), words)
