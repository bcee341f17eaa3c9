"""`understudy gate`: whether results are good enough to deploy by, as an exit code for pipelines."""

import argparse
import json
from math import isfinite
from typing import Any, NamedTuple

from understudy.cli.shown_results import ShownResults, shown_results
from understudy.cli.words import say
from understudy.errors import SettingError, UnderstudyError
from understudy.reporting.belief import as_believed, by_name, checks_missing, deployment_sentences
from understudy.reporting.decision import one_of_each_learner
from understudy.reporting.luck import LuckOfSet, is_baseline, use_no_states
from understudy.trust.deploying import deploying


class Condition(NamedTuple):
    """One condition for one set of runs, or for all: whether it holds, and what was found."""

    name: str
    set: str | None
    holds: bool
    found: str
    trusted: int | None = None  # the step up to which a set can be believed, 0 where none
    low: float | None = None  # how much more an episode earns than the log's, in the later half of those believed, with
    high: float | None = None  # the luck of the log: an interval of 95%


def run_gate(options: argparse.Namespace) -> int:
    """Run `understudy gate`; return 0 where every condition holds, else 1. Folders that cannot be read raise."""
    results = shown_results([options.folder])
    conditions, notes = conditions_of(results, options), deployment_sentences(results.checks["audit"])
    passes = all(one.holds for one in conditions)
    if options.json:
        content = {"passes": passes, "conditions": [one._asdict() for one in conditions], "notes": notes}
        print(json.dumps(content, indent=1))
        return 0 if passes else 1
    for one in conditions:
        who = "" if one.set is None else f"{one.set}: "
        say(f"{'holds' if one.holds else 'FAILS'}  {who}{one.name}: {one.found}")
    for note in notes:
        say(f"note   {note}")
    asked = options.better_than_log or options.min_horizon is not None
    only = "" if asked else ": the results can be believed, and nothing was asked of what the learner earns"
    say(f"The gate is {f'open{only}' if passes else 'closed'}.")
    if not passes and len({one.set for one in conditions} - {None}) > 1:
        say("All sets have to pass; --set NAME asks of one of them alone.")
    return 0 if passes else 1


def conditions_of(results: ShownResults, options: argparse.Namespace) -> list[Condition]:
    """Return all conditions that were asked for, and whether the results can be believed at all."""
    measured = results.measured
    judged = [name for name in measured.luck if not is_baseline(measured.runs[name])]
    n_learners = len(one_of_each_learner(measured, judged))  # as the page has it, whichever of them is asked of
    if options.set is not None:
        if options.set not in judged:
            raise SettingError(f"--set {options.set} is not one of the sets that can be judged: {', '.join(judged)}")
        judged = [options.set]
    found, conditions = results.belief, []
    if found is None or not judged:
        raise SettingError(f"{results.folders[0]} has no runs on one log, so nothing can be judged")
    trusted = as_believed(measured, found).trusted()
    believed = found.severity != "error" and all(trusted.get(name) for name in judged)
    title = found.title
    missing = checks_missing(measured, results.checks["audit"], results.checks["selfcheck"])
    if not by_name(results.checks["states"]) and not use_no_states(measured.runs.values()):
        missing.append("audit of states")
    if missing:
        believed = False
        title += f"; no {' and no '.join(missing)} of the log was made: make them with understudy simulate, in full"
    if untested := [one for one in by_name(results.checks["selfcheck"]).values() if not one.made]:
        believed = False
        title += f"; self-check: {untested[0].verdict}"
    conditions.append(Condition("believable", None, believed, title))
    for name in judged:
        if options.min_horizon is not None:
            steps = trusted.get(name, 0)
            upto = f"up to step {steps:,}" if steps else "at no step"
            conditions.append(
                Condition(f"trusted to step {options.min_horizon:,}", name, steps >= options.min_horizon, upto, steps)
            )
        if options.better_than_log:
            conditions.append(better_than_log(results, name, trusted.get(name, 0), n_learners))
    return conditions


def better_than_log(results: ShownResults, name: str, upto: int, n_learners: int) -> Condition:
    """Return whether a set earns more than the logging policy, as far as it can be believed."""
    told: dict[str, Any] = {"name": "better than the log", "set": name, "holds": False, "trusted": upto}
    luck = results.measured.luck[name]
    if not isinstance(luck, LuckOfSet):
        return Condition(**told, found=luck)
    if not upto:
        return Condition(**told, found="at no step was this log shown to be believable")
    runs = results.measured.runs[name]
    try:
        found = deploying(runs.about.learner_name or name, luck.halves, upto, n_learners)
    except UnderstudyError as error:
        return Condition(**told, found=str(error))
    low, high = (float(value) if isfinite(value) else None for value in (found.low, found.high))
    return Condition(**told | {"holds": found.better, "low": low, "high": high}, found=str(found))
