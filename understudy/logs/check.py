"""The audit of a log: all rules are applied, and nothing is repaired."""

from collections.abc import Mapping
from typing import Any

from understudy.errors import LogError, SettingError
from understudy.logs import rules, statistics
from understudy.logs.columns import COLUMNS, REQUIRED
from understudy.logs.findings import Audit, Finding, errors_first
from understudy.logs.log import Log
from understudy.logs.reading import read
from understudy.logs.recurring import recurring
from understudy.logs.statistics.samples import Sample
from understudy.logs.times import TIMES


def check(source: Any, **mapping: Any) -> Audit:
    """Return the audit of a log, a file, a DataFrame or a mapping of columns; `mapping` is what `read` takes.

    If no log can be made of the source, that is the only finding. The audit prints as a list of findings, errors first,
    and a verdict; `audit.believable` is False where what is simulated on the log must not be believed.

    >>> audit = check({"observation": [0, 1, 0], "action": [0, 1, 0], "reward": [0, float("nan"), 1]})
    >>> audit.ok
    False
    >>> print(audit.findings[0])
    error: missing: reward is NaN or infinite in row 1; fill them in, or drop the episodes
    """
    if isinstance(source, Log) and mapping:
        raise SettingError(f"{', '.join(mapping)} cannot be mapped: a Log has its columns already")
    try:
        log = _log(source, mapping)
    except (LogError, SettingError) as error:
        rule = error.rule if isinstance(error, LogError) else "columns"
        return Audit((Finding("error", rule, (), 1, str(error)),))
    findings = [finding for rule in (*rules.ERRORS, *rules.OTHERS) for finding in rule(log)]
    tests = []
    if not any(finding.severity == "error" and finding.rule.startswith(NEEDED) for finding in findings):
        sample = statistics.sample_of(log)
        states = recurring(sample.log.observation)
        findings += statistics.action_support(log, states, sample)
        for answer in statistics.answers_of(log, sample, states):
            tests.append(answer.tested)
            findings += answer.findings
        findings += _note_on(sample)
    return Audit(errors_first(findings), len(log), log.n_episodes, log.spec.n_actions, tuple(tests))


NEEDED = ("missing", "action", "propensity")
"""Rules whose names begin so must find no error before tests are made: they compare values of these columns."""


def _note_on(sample: Sample) -> list[Finding]:
    """Return the note that tests were made on a sample, where they were."""
    if sample.rows is None:
        return []
    sentence = f"{sample.words.removesuffix(', ').removeprefix('in ')}, drawn by their places in the log, was tested: "
    sentence += "all rows would take long and much memory, and tell little more; errors were looked for in all of them"
    return [Finding("note", "sample", (), len(sample.rows), sentence)]


def _log(source: Any, mapping: dict[str, Any]) -> Log:
    if isinstance(source, Log):
        return source
    if not isinstance(source, Mapping):
        return read(source, **mapping)
    columns = {**dict.fromkeys(REQUIRED), **source, **mapping}
    known = (*COLUMNS, *TIMES, "actions", "n_actions", "ends", "n_samples", "renormalize")
    if unknown := [str(name) for name in columns if name not in known]:
        raise LogError(f"there is no column {', '.join(unknown)}; the columns of a log are {', '.join(COLUMNS)}")
    return Log.from_columns(**columns)
