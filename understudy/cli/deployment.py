"""How a learner is deployed: with outcomes that arrive late or in batches, and with what it knows when it starts."""

import argparse
from collections.abc import Iterable
from typing import Any

import understudy as us
from understudy.cli.learners import Make
from understudy.cli.words import say
from understudy.errors import SettingError
from understudy.learners.delays import PERIODS
from understudy.reporting.learners import ON_THEIR_WAY
from understudy.runs.probes import pending


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
