"""What `understudy simulate` does to tell how far to believe its runs: self-check, forecasts, halves of the log."""

import argparse
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import understudy as us
from understudy.cli.words import say
from understudy.contracts import SelectsEpisodes
from understudy.contracts.offering import offers
from understudy.contracts.simulating import is_exhaustible
from understudy.errors import ResultsError
from understudy.evaluation.dependence import dependence_of_episodes
from understudy.evaluation.halves import FEWEST_EPISODES
from understudy.logs.findings import errors_first
from understudy.reporting.luck import BASELINES
from understudy.results import read_forecasts, read_selfcheck, write_forecasts, write_selfcheck

FEWEST_RUNS = 8
"""Runs below which there is no forecast and there are no halves, unless --halves asks for them: both would take several
times as long as the runs, and say little."""

HALVES = 20
"""Halves of the log at most; with fewer runs, as many as there are runs."""

NETWORKS = ("ppo",)
HALVES_OF_NETWORKS, RUNS_OF_NETWORKS, PRE_RUNS_OF_NETWORKS = 8, 10, 5
"""For learners that train networks: halves of the log, runs on each at most (they train together), and pre-runs of a
forecast. With 100 runs that is half of their time again."""

ENOUGH_RUNS, PRE_RUNS = 80, 19
"""Runs from which a forecast may take as many pre-runs as it needs, and how many it takes below that at most."""


def with_dependence(audit: us.Audit, log: us.Log) -> us.Audit:
    """Return an audit that warns, too, where neighboring episodes are alike: intervals are too narrow then."""
    sentence = dependence_of_episodes(log)
    if sentence is None:
        return audit
    finding = us.Finding("warning", "episode-dependence", (), log.n_episodes, sentence.rstrip("."))
    return replace(audit, findings=errors_first([*audit.findings, finding]))


def selfcheck_for(log: us.Log, encoder: Any, folder: Path, options: argparse.Namespace) -> us.Selfcheck | None:
    """Return the self-check of the log and its states, from the folder if it has one; None where it is skipped."""
    if options.quick or options.no_selfcheck:
        return None
    with suppress(ResultsError):  # a file that cannot be read is written again
        found = read_selfcheck(folder)
        if found is not None:
            return found
    found = us.selfcheck(log, encoder, seed=options.seed)
    write_selfcheck(folder, found)
    return found


def forecast_for(name: str, simulator: Any, make: Any, folder: Path, options: argparse.Namespace) -> us.Forecast | None:
    """Return the forecast for a simulator, from the folder if it has one; None where it is skipped or never ends."""
    if options.quick or options.no_forecast or options.runs < FEWEST_RUNS or not is_exhaustible(simulator):
        return None
    known = {}
    with suppress(ResultsError):
        known = read_forecasts(folder)
    if name not in known:
        known[name] = us.forecast(
            simulator, make, seed=options.seed, pre_runs=pre_runs_for(options), max_steps=options.max_steps,
            workers=options.workers,
        )  # fmt: skip
        write_forecasts(folder, known)
    return known[name]


def pre_runs_for(options: argparse.Namespace) -> int | None:
    """Return how many pre-runs a forecast can afford; None for as many as it needs."""
    if options.learner in NETWORKS:
        return PRE_RUNS_OF_NETWORKS
    return None if options.runs >= ENOUGH_RUNS else min(PRE_RUNS, options.runs // 2)


def experiment_for(options: argparse.Namespace, simulator: Any, log: us.Log, name: str) -> Callable[..., us.Runs]:
    """Return the function that makes the runs: `us.experiment`, or one that makes those on halves of the log, too.

    Where halves are left out though nobody skipped them, a sentence says why.
    """
    if options.quick or options.no_halves or name in BASELINES:
        return us.experiment
    if (reason := why_no_halves(options, simulator, log)) is not None:
        say(f"{name}: no halves of the log are run, so that curves leave its luck out: {reason}")
        return us.experiment
    networks = options.learner in NETWORKS
    given: dict[str, Any] = {"halves": options.halves or min(HALVES_OF_NETWORKS if networks else HALVES, options.runs)}
    if networks:
        given["runs_of_half"] = min(RUNS_OF_NETWORKS, max(4, options.runs // 2))
    return lambda simulator, make, **settings: us.halves(simulator, make, **settings, **given).runs


def why_no_halves(options: argparse.Namespace, simulator: Any, log: us.Log) -> str | None:
    """Return why there are no runs on halves of the log; None where there can be."""
    if not offers(simulator, SelectsEpisodes):
        return "this simulator cannot be had on a part of its log"
    if log.n_episodes < FEWEST_EPISODES:
        n = log.n_episodes
        return f"it has {n:,} episode{'s' * (n != 1)}, and halves need at least {FEWEST_EPISODES}"
    fewest = FEWEST_RUNS if options.halves is None else 2
    return None if options.runs >= fewest else f"--runs is {options.runs}, and halves need at least {fewest}"
