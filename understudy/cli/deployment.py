"""How a learner is deployed: with outcomes that arrive late or in batches, and with what it knows when it starts."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from understudy.cli.learners import Make
from understudy.cli.words import say
from understudy.errors import SettingError
from understudy.learners.delays import PERIODS
from understudy.logs.findings import errors_first
from understudy.reporting.belief import THINNED_TIMES
from understudy.reporting.learners import ON_THEIR_WAY
from understudy.results import read_replayed, write_replayed
from understudy.runs.probes import pending
from understudy.simulators.whole_episodes import WholeEpisodes

FEWEST_TIMES = 1.5
"""Rows offered for one that is accepted, from which it is said that the log's times go by with fewer decisions."""


def is_delayed(options: argparse.Namespace) -> bool:
    """True if outcomes arrive late, in batches, or once in a period."""
    return options.delay != 0 or options.batch > 1 or options.period is not None


def goes_by_times(options: argparse.Namespace) -> bool:
    """True if the learner is told by the log's times what it earned."""
    return options.delay == "arrival" or options.period is not None


def with_arrivals(options: argparse.Namespace) -> argparse.Namespace:
    """Return the options with --delay arrival where --arrival names a column, unless --delay was given."""
    late = options.arrival is not None and "delay" not in options.given
    return argparse.Namespace(**vars(options) | {"delay": "arrival"}) if late else options


def in_log_order(options: argparse.Namespace, learners: Iterable[argparse.Namespace]) -> argparse.Namespace:
    """Return the options with --order log where one of the learners goes by the log's times, which is said."""
    if options.order is not None or not any(map(goes_by_times, learners)):
        return options
    if not vars(options).get("json"):
        say("order: log, since learners are told by the log's times what they earned, and these run in its order")
    return argparse.Namespace(**vars(options) | {"order": "log"})


def deployed(simulator: Any, make: Make, options: argparse.Namespace) -> tuple[Any, Make]:
    """Return the simulator and the function that makes learners, as --warm-start, --delay and the like change them.

    What is learned beforehand is learned at once: the delay is of what happens after the start.
    """
    if options.warm_start is not None:
        simulator, make = us.warm_start(simulator, make, share=options.warm_start, seed=options.seed)
    if is_delayed(options):
        by = "arrival" if options.delay == "arrival" else "decisions" if options.period is None else "time"
        decisions = 0 if options.delay == "arrival" else options.delay
        how = {"decisions": decisions, "batch": options.batch, "by": by, "period": options.period}
        us.learners.Delayed(us.learners.Uniform(1), **how).check_simulator(simulator)  # now, not in the first run
        make = us.learners.delayed(make, **how)
    return simulator, make


def keep_replayed(folder: Path, simulators: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Keep in the folder which part of the log the runs of each set replay, where a warm start leaves a part."""
    if options.warm_start is None:
        return
    known = {}
    with suppress(us.ResultsError):
        known = read_replayed(folder)
    replayed = {name: simulator.log.fingerprint for name, simulator in simulators.items()}
    if known | replayed != known:
        write_replayed(folder, known | replayed)


def with_thinned_times(
    audit: us.Audit, simulator: Any, learners: Iterable[argparse.Namespace], tell: Callable[[str], None]
) -> us.Audit:
    """Return an audit that warns, too, where the log's times go by with fewer decisions than in a deployment."""
    if not isinstance(simulator, WholeEpisodes) or simulator.bound.is_running or simulator.bound.value < FEWEST_TIMES:
        return audit
    sentences = [thinned_sentence(simulator, one) for one in learners if goes_by_times(one)]
    for sentence in filter(None, dict.fromkeys(sentences)):
        finding = us.Finding("warning", THINNED_TIMES, (), len(simulator.log), sentence)
        tell(str(finding))
        audit = replace(audit, findings=errors_first([*audit.findings, finding]))
    return audit


def thinned_sentence(simulator: WholeEpisodes, options: argparse.Namespace) -> str | None:
    """Return how many decisions a rehearsed period has, or a delay lasts, beside the log, and what to give instead.

    None where that is the same, or where the log has no times, without which the learner is refused.
    """
    log, bound = simulator.log, simulator.bound.value
    if log.time is None:
        return None
    noun = "episode" if simulator.steps_back else "row"
    if options.period is not None:
        names = {seconds: name for name, seconds in PERIODS.items()}
        span, what = options.period, names.get(options.period, f"period of {options.period:,g} seconds")
        words = f"a rehearsed {what} has about {{here:,}} decisions, where the log has {{there:,}}"
        instead = "learn from as many outcomes as a period of the log has with --batch {there} in place of --period"
    elif log.arrival is None:
        return None
    else:
        late = (log.arrival - log.time)[np.isfinite(log.arrival)]
        span = float(np.median(late)) if len(late) else 0.0
        words = (
            "an outcome that was known {there:,} decisions late in the log (the median) is known {here:,} late in runs"
        )
        instead = "count decisions with --delay {there} in place of --delay arrival"
    length = float(log.time.max() - log.time.min())
    there = len(log) * min(1.0, span / length) if length > 0 else 0.0
    counts = {"there": round(there), "here": round(there / bound)}
    if counts["there"] == counts["here"]:
        return None
    return (
        f"one {noun} in {bound:,.4g} is accepted, and the log's times go by all the same, so that "
        f"{words.format(**counts)}: the learner is told what it earned after fewer decisions than in a "
        f"deployment; {instead.format(**counts)}"
    )


def refuse_undeployable(options: argparse.Namespace) -> None:
    """Raise `SettingError` where a learner of ours cannot be deployed as asked, or flags contradict each other."""
    if is_delayed(options) and options.learner == "ppo":
        raise SettingError(
            "ppo learns once an epoch; say so with --epoch-steps, and leave --delay, --batch and --period out"
        )
    if is_delayed(options) and options.learner == "uniform":
        raise SettingError("uniform does not learn: leave --delay, --batch and --period out")
    if options.period is not None and options.delay not in (0, "arrival"):
        raise SettingError("--delay counts decisions, and --period goes by the log's times; leave one out")
    if options.period is not None and options.batch > 1:
        raise SettingError("--batch and --period are two ways to say when to learn; leave one out")


def deployment_probes(options: argparse.Namespace) -> dict[str, Any]:
    """Return the probe of outcomes on their way, where they arrive late."""
    return {ON_THEIR_WAY: pending} if is_delayed(options) else {}


def deployment_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return what a results folder keeps of the deployment: what is not as usual, so that folders of before go on."""
    given = {"delay": options.delay or None, "batch": None if options.batch == 1 else options.batch}
    given |= {"period": options.period, "warm_start": options.warm_start}
    return {name: value for name, value in given.items() if value is not None}


def deployment_words(options: argparse.Namespace) -> str:
    """Return how the learner is deployed, for the title of a page; empty where it starts new and learns at once.

    >>> deployment_words(argparse.Namespace(delay=100, batch=1, period=None, warm_start=0.2))
    ', told 100 decisions late, after learning from 20% of the episodes,'
    """
    words = []
    if options.delay == "arrival":
        words.append("told what it earned as late as it was known in the log")
    elif options.delay:
        words.append(f"told {options.delay:,} decision{'s' * (options.delay > 1)} late")
    if options.batch > 1:
        words.append(f"learning from {options.batch:,} outcomes at a time")
    if options.period is not None:
        names = {seconds: f"once {'an' if name == 'hour' else 'a'} {name}" for name, seconds in PERIODS.items()}
        words.append(f"learning {names.get(options.period, f'once in {options.period:,g} seconds')}")
    if options.warm_start is not None:
        words.append(f"after learning from {100 * options.warm_start:g}% of the episodes")
    return "".join(f", {one}" for one in words) + "," * bool(words)
