"""How a learner is deployed: with outcomes that arrive late or in batches, and with what it knows when it starts."""

import argparse
from typing import Any

import understudy as us
from understudy.cli.learners import Make
from understudy.errors import SettingError
from understudy.reporting.learners import ON_THEIR_WAY
from understudy.runs.probes import pending


def is_delayed(options: argparse.Namespace) -> bool:
    """True if outcomes arrive late, or in batches."""
    return options.delay > 0 or options.batch > 1


def deployed(simulator: Any, make: Make, options: argparse.Namespace) -> tuple[Any, Make]:
    """Return the simulator and the function that makes learners, as --warm-start, --delay and --batch change them.

    What is learned beforehand is learned at once: the delay is of what happens after the start.
    """
    if options.warm_start is not None:
        simulator, make = us.warm_start(simulator, make, share=options.warm_start, seed=options.seed)
    if is_delayed(options):
        make = us.learners.delayed(make, decisions=options.delay, batch=options.batch)
    return simulator, make


def refuse_undeployable(options: argparse.Namespace) -> None:
    """Raise `SettingError` where a learner of ours cannot be delayed as asked."""
    if is_delayed(options) and options.learner == "ppo":
        raise SettingError("ppo learns once an epoch; say so with --epoch-steps, and leave --delay and --batch out")


def deployment_probes(options: argparse.Namespace) -> dict[str, Any]:
    """Return the probe of outcomes on their way, where they arrive late."""
    return {ON_THEIR_WAY: pending} if is_delayed(options) else {}


def deployment_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return what a results folder keeps of the deployment: what is not as usual, so that folders of before go on."""
    given = {"delay": options.delay or None, "batch": None if options.batch == 1 else options.batch}
    given |= {"warm_start": options.warm_start}
    return {name: value for name, value in given.items() if value is not None}


def deployment_words(options: argparse.Namespace) -> str:
    """Return how the learner is deployed, for the title of a page; empty where it starts new and learns at once.

    >>> deployment_words(argparse.Namespace(delay=100, batch=1, warm_start=0.2))
    ', told 100 decisions late, after learning from 20% of the episodes,'
    """
    words = []
    if options.delay:
        words.append(f"told {options.delay:,} decision{'s' * (options.delay > 1)} late")
    if options.batch > 1:
        words.append(f"learning from {options.batch:,} outcomes at a time")
    if options.warm_start is not None:
        words.append(f"after learning from {100 * options.warm_start:g}% of the episodes")
    return "".join(f", {one}" for one in words) + "," * bool(words)
