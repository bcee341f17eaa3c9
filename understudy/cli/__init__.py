"""The command line: demo, check, simulate, report, paper."""

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import understudy as us
from understudy.cli.choices import (
    asked_of,
    columns_of,
    encoder_for,
    learner_for,
    reading_interval,
    refuse_suspicious,
    simulator_for,
    states_for,
)
from understudy.cli.flags import build_parser
from understudy.cli.words import as_flags, in_flags, say
from understudy.errors import visible
from understudy.logs.findings import errors_first
from understudy.rehearsals import Rehearsal, keep_states, states_of_folders
from understudy.reporting.naming import names_of
from understudy.runs.folder import folders_in

WITHOUT_STATES = ("actions_only", "any_row")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Bad input ends in one sentence on standard error and exit code 2."""
    commands = {
        "demo": run_demo, "check": run_check, "simulate": run_simulate, "report": run_report, "paper": run_paper,
    }  # fmt: skip
    for stream in (sys.stdout, sys.stderr):  # a terminal may lack letters that a log has
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options = build_parser(commands).parse_args(arguments)
    try:
        return options.command(options)
    except (us.UnderstudyError, ModuleNotFoundError) as error:
        print(f"understudy: {visible(as_flags(str(error)))}", file=sys.stderr)
        return 2
    except MemoryError:
        print("understudy: memory ran out; use fewer bins, states or runs at a time", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(
            "understudy: interrupted; finished runs are kept, and the same command goes on from there", file=sys.stderr
        )
        return 130


def run_demo(options: argparse.Namespace) -> int:
    """`understudy demo`."""
    from understudy.demo import demo

    found = demo(options.report, runs=options.runs, seed=options.seed, workers=options.workers)
    show_table(found.runs)
    say(f"\nThe page is {found.page}")
    return 0


def run_check(options: argparse.Namespace) -> int:
    """`understudy check`: exit code 1 where the audit found an error, 2 where the file could not be read."""
    audit = in_flags(us.check(us.read(options.log, **columns_of(options))))
    if options.json:
        print(json.dumps(audit.to_json(), indent=1))
    else:
        say(audit)
    return 0 if audit.ok else 1


def run_simulate(options: argparse.Namespace) -> int:
    """`understudy simulate`."""
    log = us.read(options.log, **columns_of(options))
    audit = in_flags(us.check(log))
    say(audit)
    has_all = log.propensity is not None and log.propensity.ndim == 2
    names = options.simulator or (["psrs"] if has_all else ["qbe"])
    if "model" in names and options.max_steps is None:
        raise us.LogError("model never runs out; say for how long to go on with max_steps=")
    log.require_no_errors()

    folder = Path(options.out or f"{Path(options.log).name.split('.')[0]}-rehearsal")
    rehearsal = Rehearsal(
        folder, f"{options.learner} rehearsed on {visible(Path(options.log).name)}", asked_of(options, log), audit
    )
    ours = rehearsal.check()
    encoder = encoder_for(log, options, folder / "encoder.npz" if ours else None)
    make, probes = learner_for(log, encoder, options)
    simulators = {name: simulator_for(name, log, encoder, options) for name in names}
    states = states_for(log, encoder, folder if ours else None)
    if encoder is not None:
        say(states)
    if not options.anyway and set(names) - set(WITHOUT_STATES):
        refuse_suspicious(states)
    rehearsal.claim()
    keep_states(folder, states)
    if encoder is not None:
        encoder.save(folder / "encoder.npz")
    runs = {}
    for name, simulator in simulators.items():
        there = rehearsal.n_finished(name)
        if there:
            print(f"{name}: {min(there, options.runs):,} of {options.runs:,} runs were there already")
        runs[name] = us.experiment(
            simulator, make, runs=options.runs, seed=options.seed, max_steps=options.max_steps,
            probes=probes, every=options.every or reading_interval(simulator, make, log, options),
            workers=options.workers, out=folder / name, title=name, keep_rows=not options.no_rows,
        )  # fmt: skip
    show_table(runs)
    page = us.report(runs, folder / "report.html", audit=audit, states=states, title=rehearsal.title, log=log)
    say(f"\nThe page is {page}")
    return 0


def run_report(options: argparse.Namespace) -> int:
    """`understudy report`."""
    folders = [Path(folder) for folder in options.folders]
    found: dict[Path, us.Runs] = {}
    for folder in folders:
        sets = [path.resolve() for path in folders_in(folder)]
        if not sets:
            raise us.LogError(f"{folder} holds no results: neither it nor a folder in it has an experiment.json")
        found |= {path: us.load(path) for path in sets if path not in found}
    runs = dict(zip(names_of(list(found)), found.values(), strict=True))
    empty = [name for name, result in runs.items() if not len(result)]
    if empty:
        raise us.LogError(f"no run of {', '.join(empty)} is finished; go on with understudy simulate")
    show_table(runs)
    kept = {str(folder): told for folder in folders if (told := Rehearsal.of(folder)) is not None}
    if len(folders) == 1:
        title, page = (kept[str(folders[0])].title if kept else None), folders[0] / "report.html"
    else:  # the folders' own pages stay as they are
        title, page = f"{len(runs)} sets of runs compared: {', '.join(runs)}", Path("comparison.html")
    audit = joined({name: told.audit for name, told in kept.items()})
    states = states_of_folders(folders)
    one = next(iter(states.values())) if len(folders) == len(states) == 1 else states
    say(f"\nThe page is {us.report(runs, options.report or page, title=title, audit=audit, states=one)}")
    return 0


def joined(audits: dict[str, us.Audit]) -> us.Audit | None:
    """The audits of several folders as one: as it is where all are the same, else each finding with its folder."""
    told = {json.dumps(audit.to_json()): audit for audit in audits.values()}
    if len(told) < 2:
        return next(iter(told.values()), None)
    findings = [
        replace(found, sentence=f"{name}: {found.sentence}") for name, a in audits.items() for found in a.findings
    ]
    counts = [(a.n_rows or 0, a.n_episodes or 0, a.n_actions or 0) for a in told.values()]
    rows, episodes, actions = zip(*counts, strict=True)
    return us.Audit(errors_first(findings), sum(rows), sum(episodes), max(actions))


def run_paper(options: argparse.Namespace) -> int:
    """`understudy paper`."""
    from understudy.paper import reproduce

    asked = {key: value for key, value in vars(options).items() if key not in ("names", "out", "command")}
    print(f"The page is {reproduce(options.names, options.out, **asked)}")
    return 0


def show_table(runs: dict[str, us.Runs]) -> None:
    """How long, how close, what ran out and, of several learners, who earned more, on the terminal."""
    from rich.console import Console

    from understudy.reporting.learners import compare_learners
    from understudy.reporting.terminal import as_rich, brief_table

    Console().print(as_rich(brief_table(runs)))
    if (rivals := compare_learners(runs)) is not None:
        say("\n".join(rivals.sentences))
