"""What `understudy simulate` does to tell how far to believe its runs: self-check, forecasts, halves of the log."""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import understudy as us
from understudy.cli.unused import SIMULATORS_WITH
from understudy.cli.words import say
from understudy.contracts import SelectsEpisodes
from understudy.contracts.offering import offers
from understudy.contracts.simulating import is_exhaustible
from understudy.digits import digits
from understudy.errors import ResultsError
from understudy.evaluation.dependence import dependence_of_episodes
from understudy.evaluation.halves import FEWEST_EPISODES, RUNS_OF_HALF
from understudy.evaluation.halves import FEWEST_RUNS as FEWEST_RUNS_OF_HALF
from understudy.logs.findings import errors_first
from understudy.reporting.luck import BASELINES, luck_of_set
from understudy.results import (
    WITHOUT_PROPENSITIES,
    read_asked_of_forecasts,
    read_beyond,
    read_forecasts,
    read_halves,
    read_rungs,
    read_selfcheck,
    write_beyond,
    write_forecasts,
    write_halves,
    write_rungs,
    write_selfcheck,
)
from understudy.runs.describing import plain
from understudy.runs.folder import Folder
from understudy.simulators.ladder import LadderReplay
from understudy.storage import error_reason
from understudy.trust.self_tests import SHAPES, SelfTest

FEWEST_RUNS = 8
"""Runs below which there is no forecast and there are no halves, unless --halves asks for them: both would take several
times as long as the runs, and say little."""

HALVES = 20
"""Halves of the log at most; with fewer runs, as many as there are runs."""

NETWORKS = ("ppo",)
HALVES_OF_NETWORKS, RUNS_OF_NETWORKS, PRE_RUNS_OF_NETWORKS = 8, 10, 5
"""For learners that train networks: halves of the log, runs on each at most (they train together), and pre-runs of a
forecast. With 100 runs that is half of their time again."""

VARIANT_RUNS_OF_NETWORKS = 20
"""Runs of each variant of a ladder, for these learners."""

ENOUGH_RUNS, PRE_RUNS = 80, 19
"""Runs from which a forecast may take as many pre-runs as it needs, and how many it takes below that at most."""

OF_SIMULATORS = tuple(SIMULATORS_WITH)
"""Options of simulators that a results folder does not hold, and a forecast depends on."""

LEFT_OUT = "the audit doubts the propensities, which QBE does not use, and they were left out"


@contextmanager
def going_on(options: argparse.Namespace, what: str) -> Iterator[None]:
    """Context manager: with --keep-going, an error raised within is said, after `what` it left out, and ends there."""
    try:
        yield
    except Exception as error:
        if not options.keep_going:
            raise
        say(f"{what}: {type(error).__name__}: {error_reason(error)}")


def every_of(folder: Path) -> int | None:
    """Return the steps between two readings of runs that are there already; None where there are none.

    A run on trial that raised then and does not now would give another number, and another experiment.
    """
    return Folder(folder).about.get("every") if os.path.exists(folder / "experiment.json") else None


def check_halves(options: argparse.Namespace) -> None:
    """Raise `SettingError` where halves of the log are asked for and skipped."""
    skipped = "--quick" if options.quick else "--no-halves"
    if options.halves is not None and (options.quick or options.no_halves):
        raise us.SettingError(f"--halves asks for halves of the log, and {skipped} for none; leave one of them out")


def with_dependence(audit: us.Audit, log: us.Log) -> us.Audit:
    """Return an audit that warns, too, where neighboring episodes are alike: intervals are too narrow then."""
    sentence = dependence_of_episodes(log)
    if sentence is None:
        return audit
    finding = us.Finding("warning", "episode-dependence", (), log.n_episodes, sentence.rstrip("."))
    return replace(audit, findings=errors_first([*audit.findings, finding]))


def with_runs_there(options: argparse.Namespace, n_finished: int, tell: Callable[[str], None]) -> argparse.Namespace:
    """Return options with as many runs as the folder has: a page, a report and a gate are of all of them.

    With fewer, halves would be made for these, and stand beside runs that they do not belong to.
    """
    if options.runs is None or n_finished <= options.runs:
        return options
    tell(f"{n_finished:,} runs are in the folder, and all of them count, though --runs is {options.runs:,}")
    return argparse.Namespace(**vars(options) | {"runs": n_finished})


def selfcheck_for(
    log: us.Log, encoder: Any, folder: Path, options: argparse.Namespace, *, propensities: bool = True
) -> us.Selfcheck | None:
    """Return the self-check of the log and its states, from the folder if it has one; None where it is skipped.

    Without `propensities` they are left out of it: doubtful ones make it fire, and say nothing of QBE. Where it is
    skipped, one that the folder has counts all the same, as it does for `understudy report` and `understudy gate`.
    """
    skipped = options.quick or options.no_selfcheck
    kind = "selfcheck" if propensities else WITHOUT_PROPENSITIES
    with suppress(ResultsError):  # a file that cannot be read is written again
        found = read_selfcheck(folder, kind) or (read_selfcheck(folder) if skipped else None)
        if found is not None:
            return found
    if skipped:
        return None
    if propensities:
        found = us.selfcheck(log, encoder, seed=options.seed)
    else:
        found = us.selfcheck(replace(log, propensity=None), encoder, seed=options.seed)
        shapes = [SelfTest(SHAPES, LEFT_OUT) if test.name == SHAPES else test for test in found.tests]
        found = replace(found, tests=tuple(shapes))
    write_selfcheck(folder, found, kind)
    return found


def uses_propensities(names: Iterable[str]) -> bool:
    """True if one of these simulators is judged by the log's propensities."""
    return bool(set(names) - {"qbe", *BASELINES})


def forecast_for(
    name: str, simulator: Any, make: Any, folder: Path, options: argparse.Namespace,
    more: Callable[[us.Forecast], us.Forecast] = lambda found: found,
) -> us.Forecast | None:  # fmt: skip
    """Return the forecast for a simulator, from the folder if it has one; None where it is skipped or never ends.

    `more` is called with a new one, and may add to it. Where a forecast is skipped, one that the folder has of the same
    simulator is returned all the same.
    """
    if not is_exhaustible(simulator):
        return None
    known, of_known = {}, {}
    with suppress(ResultsError):
        known, of_known = read_forecasts(folder), read_asked_of_forecasts(folder)
    asked = {"pre_runs": pre_runs_for(options)} | asked_of_simulators(options)
    if options.quick or options.no_forecast or options.runs < FEWEST_RUNS:
        there = of_known.get(name)
        return known[name] if there is not None and is_as_good(there, asked | {"pre_runs": 0}) else None
    if name not in known or not is_as_good(of_known[name], asked):
        made = us.forecast(
            simulator, make, seed=options.seed, pre_runs=asked["pre_runs"], max_steps=options.max_steps,
            workers=options.workers, backend=options.backend,
        )  # fmt: skip
        known[name] = more(made)
        of_known[name] = asked
        write_forecasts(folder, known, of_known)
    return known[name]


def asked_of_simulators(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of simulators as a file gives them back, so that both can be compared: lists, not tuples."""
    return plain({setting: vars(options)[setting] for setting in OF_SIMULATORS})


def is_as_good(there: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """True if a forecast that is there has the settings that are asked for, and as many pre-runs; None is the most."""
    if there.keys() != asked.keys() or any(there[name] != asked[name] for name in OF_SIMULATORS):
        return False
    made, wanted = there["pre_runs"], asked["pre_runs"]
    return made is None or (wanted is not None and wanted <= made)


def pre_runs_for(options: argparse.Namespace) -> int | None:
    """Return how many pre-runs a forecast can afford; None for as many as it needs."""
    if options.learner in NETWORKS:
        return PRE_RUNS_OF_NETWORKS
    return None if options.runs >= ENOUGH_RUNS else min(PRE_RUNS, options.runs // 2)


def experiment_for(
    options: argparse.Namespace, simulator: Any, log: us.Log, name: str, folder: Path
) -> Callable[..., us.Runs]:
    """Return the function that makes the runs: `us.experiment`, or one that makes those on halves of the log, too.

    The folder keeps how many halves were asked for: it may have others, of before.
    """
    asked, known = halves_for(options, simulator, log, name), {}
    with suppress(ResultsError):
        known = read_halves(folder)
    if options.quick and are_there(folder / name, known.get(name, (0, 0))):
        asked = known[name]  # what a folder holds counts, also where a later command would not have made it
    n_halves, runs_of_half = asked
    if known.get(name) != asked:
        write_halves(folder, known | {name: asked})
    if not n_halves:
        return us.experiment
    given: dict[str, Any] = {"halves": n_halves, "runs_of_half": runs_of_half}
    return lambda simulator, make, **settings: us.halves(simulator, make, **settings, **given).runs


def are_there(folder: Path, asked: tuple[int, int]) -> bool:
    """True if a folder holds all runs on so many halves, and so many of each."""
    n_halves, runs_of_half = asked
    of_halves = sorted((folder / "halves").glob("[0-9]*"))[:n_halves]
    return 0 < n_halves == len(of_halves) and all(len(Folder(half).numbers()) >= runs_of_half for half in of_halves)


def halves_for(options: argparse.Namespace, simulator: Any, log: us.Log, name: str) -> tuple[int, int]:
    """Return how many halves of the log to run, and how many runs on each; 0 and 0 for none.

    Where halves are left out though nobody skipped them, a sentence says why.
    """
    if options.quick or options.no_halves or name in BASELINES:
        return 0, 0
    if (reason := why_no_halves(options, simulator, log)) is not None:
        say(f"{name}: no halves of the log are run, so that curves leave its luck out: {reason}")
        return 0, 0
    if options.learner in NETWORKS:
        n_halves, runs_of_half = HALVES_OF_NETWORKS, min(RUNS_OF_NETWORKS, options.runs // 2)
    else:
        n_halves, runs_of_half = HALVES, round(RUNS_OF_HALF * options.runs)
    return options.halves or min(n_halves, options.runs), max(FEWEST_RUNS_OF_HALF, runs_of_half)


def keep_rung_notes(folder: Path, notes: Mapping[str, str]) -> None:
    """Keep what was said of the rungs of some simulators in the folder, beside what was said of others."""
    known = {}
    with suppress(ResultsError):
        known = read_rungs(folder)
    if known | dict(notes) != known:
        write_rungs(folder, known | dict(notes))


def beyond_for(
    name: str, simulator: Any, make: Any, runs: us.Runs, probes: Mapping[str, Any], folder: Path,
    options: argparse.Namespace,
) -> us.Beyond | None:  # fmt: skip
    """Return how far to believe runs past their exact part, from the folder if it has that.

    None where there are no lower rungs, or no halves of the log. The probe and its margin are those that halves of the
    log are judged by.
    """
    if not isinstance(simulator, LadderReplay) or not simulator.ladder or not runs.halves:
        return None
    luck = luck_of_set(runs)
    if isinstance(luck, str):
        say(f"{name}: how far to believe its lower rungs is not tested: {luck}")
        return None
    margin = luck.trusted[luck.probe].margin
    if not margin > 0:
        say(f"{name}: how far to believe its lower rungs is not tested: {luck.probe!r} does not change, or has one "
            "reading, and the margin is a tenth of the range of its mean curve")  # fmt: skip
        return None
    of_variant = options.runs
    if options.learner in NETWORKS and options.runs > VARIANT_RUNS_OF_NETWORKS:
        of_variant = VARIANT_RUNS_OF_NETWORKS
        say(f"{name}: {options.learner} trains networks, so other radii and rungs are tried in {of_variant} runs each")
    asked = asked_of_simulators(options) | {"runs": options.runs, "runs_of_variant": of_variant}
    asked |= {"halves": [len(runs.halves), len(runs.halves[0])]}
    known = {}
    with suppress(ResultsError):  # a file that cannot be read is written again
        known = read_beyond(folder)
    if name not in known or known[name][1] != asked:
        found = us.beyond(
            simulator, make, found=luck.halves, probes={luck.probe: probes[luck.probe]}, probe=luck.probe,
            margin=margin, runs_of_variant=of_variant, workers=options.workers, backend=options.backend, progress=None,
        )  # fmt: skip
        known[name] = found, asked
        write_beyond(folder, known)
    found = known[name][0]
    say(f"{name}: lower rungs are judged by {found.probe!r}, to within {digits(found.margin)}, a tenth of the range of "
        "its mean curve")  # fmt: skip
    return found


def why_no_halves(options: argparse.Namespace, simulator: Any, log: us.Log) -> str | None:
    """Return why there are no runs on halves of the log; None where there can be."""
    if not offers(simulator, SelectsEpisodes):
        return "this simulator cannot be had on a part of its log"
    if log.n_episodes < FEWEST_EPISODES:
        n = log.n_episodes
        return f"it has {n:,} episode{'s' * (n != 1)}, and halves need at least {FEWEST_EPISODES}"
    fewest = FEWEST_RUNS if options.halves is None else 2
    return None if options.runs >= fewest else f"--runs is {options.runs}, and halves need at least {fewest}"
