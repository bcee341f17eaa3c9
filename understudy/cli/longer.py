"""What would answer for longer than the simulator that was chosen for a log: QBE, or PSRS with a reserve."""

import argparse
from dataclasses import replace
from typing import Any

import understudy as us
from understudy.cli.choices import simulator_for
from understudy.cli.contexts import contexts_of, has_codes
from understudy.cli.deployment import deployed
from understudy.cli.learners import Make
from understudy.cli.trusting import NETWORKS
from understudy.cli.values import is_own_learner

PRE_RUNS = 7
"""Pre-runs of each alternative: they tell whether it is worth trying, not how long it lasts."""

LARGEST = 1_000_000
"""Rows above which alternatives are not tried: their queues alone take a while."""

WORTH = 1.5
"""How many times as long an alternative must answer to be named."""


def with_longer(
    found: us.Forecast, name: str, log: us.Log, encoder: Any, make: Make, options: argparse.Namespace
) -> us.Forecast:
    """Return a forecast that names what would answer for longer, where a few cheap pre-runs show it."""
    longer = {}
    for flag, (other, changed) in alternatives(name, log, encoder, options).items():
        simulator, make_deployed = deployed(simulator_for(other, log, encoder, changed), make, options)
        tried = us.forecast(
            simulator, make_deployed, seed=options.seed, pre_runs=PRE_RUNS, max_steps=options.max_steps,
            workers=options.workers, backend=options.backend, progress=False,
        )  # fmt: skip
        if tried.steps >= WORTH * found.steps:
            longer[flag] = tried.steps
    return replace(found, longer=longer)


def alternatives(
    name: str, log: us.Log, encoder: Any, options: argparse.Namespace
) -> dict[str, tuple[str, argparse.Namespace]]:
    """Return the flags that may give longer runs, each with its simulator and options; none where that is not cheap.

    A simulator that was named is what the user wants, and rows in the log's order are for loggers that adapted.
    """
    slow = options.learner in NETWORKS or is_own_learner(options.learner) or len(log) > LARGEST
    if slow or options.simulator or options.then or options.order is not None or name not in ("replay", "psrs"):
        return {}
    found = {}
    if name == "psrs" and options.reserve is None and options.mean_propensity is None:
        found["--reserve"] = ("psrs", argparse.Namespace(**vars(options) | {"reserve": True}))
    if encoder is not None or has_codes(log) or contexts_of(log) is not None:  # states in which rows are
        found["--simulator qbe"] = ("qbe", options)
    return found
