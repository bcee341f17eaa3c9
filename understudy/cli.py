"""The command line: demo, check, simulate, report, paper."""

import argparse
import json
import math
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import understudy as us
from understudy.logs.ends import ENDS
from understudy.logs.findings import visible
from understudy.rehearsals import Rehearsal, keep_states, kept_states, states_of_folders
from understudy.reporting.naming import names_of
from understudy.runs.folder import FolderError, folders_in

OTHER_FLAGS = ("n_actions", "ends", "order", "max_steps", "max_episode_steps", "out")
IN_FLAGS = {
    "turn (it|them) into numbers first, for example .*": "add a column to the file that numbers the distinct texts 0, "
    "1, ..., and name that one",
    r"turn it into codes \(np.*\) or features": "add a column of numbers to the file, and name that one",
    r"encoders\.Boxes or encoders\.Function": "--encoder boxes or --encoder forward",
}
"""Advice in Python, and what to say instead where there is none."""
COLUMN_FLAGS = {
    "observation": "column or columns of what the learner sees",
    "action": "column of the action taken",
    "reward": "column of the reward",
    "next-observation": "column or columns of the observation that followed",
    "terminated": "column that says an episode ended by itself",
    "truncated": "column that says an episode was cut off",
    "episode": "column that tells episodes apart",
    "step": "column that counts steps within an episode",
    "propensity": "columns of the logged probability of each action, or the column of the chosen one's",
    "order-by": "column or columns to sort rows by, such as a time stamp",
    "actions": "the actions' labels, in the order of the propensity columns",
}
ENDINGS = (
    "how every episode ended, where no column tells: terminated (its last row ended it), truncated (a limit cut it off "
    "there), unfinished (only the recording stopped), every-row (each row is a decision by itself)"
)
SEVERAL = ("observation", "next-observation", "propensity", "order-by", "actions")
SIMULATORS = ("psrs", "qbe", "states_only", "actions_only", "any_row", "model")
LEARNERS = ("q-learning", "expected-sarsa", "ppo", "uniform")
ITEMS = ("protocol", "discrete", "continuous", "encoder", "rollouts", "exogenous")
WITHOUT_STATES = ("actions_only", "any_row")
ENCODERS = ("identity", "boxes", "kmeans", "homer", "forward")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Bad input ends in one sentence on standard error and exit code 2."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    try:
        return options.command(options)
    except (us.LogError, ModuleNotFoundError) as error:
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


def build_parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    parser = argparse.ArgumentParser(
        prog="understudy", description="Rehearse a learning agent on your logs before it goes live."
    )
    parser.add_argument("--version", action="version", version=f"understudy {us.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="the main job on a log it records itself, in under a minute")
    demo.add_argument("--report", default="report.html", metavar="FILE", help="the page to write (%(default)s)")
    demo.add_argument("--runs", type=positive, default=100, help="runs of each simulator (%(default)s)")
    demo.add_argument("--seed", type=int, default=0, help="of the log and of the runs (%(default)s)")
    demo.add_argument("--workers", type=positive, help="threads (one for each core)")
    demo.set_defaults(command=run_demo)

    check = commands.add_parser("check", help="audit a log")
    add_log(check)
    check.add_argument("--json", action="store_true", help="print the findings as JSON")
    check.set_defaults(command=run_check)

    simulate = commands.add_parser("simulate", help="how a learner would have learned, had it been deployed")
    add_log(simulate)
    add_simulation(simulate)
    simulate.set_defaults(command=run_simulate)

    report = commands.add_parser("report", help="draw the page of a results folder")
    report.add_argument("folders", nargs="+", metavar="DIR", help="what was --out of simulate; several are compared")
    report.add_argument("--report", metavar="FILE", help="the page to write (report.html in the first DIR)")
    report.set_defaults(command=run_report)

    paper = commands.add_parser("paper", help="reproduce the paper: figures, tables, its numbers beside ours")
    paper.add_argument("names", nargs="*", metavar="NAME", help=f"items to run: {', '.join(ITEMS)} (all)")
    paper.add_argument("--quick", action="store_true", help="small logs and few runs, a minute or so")
    paper.add_argument(
        "--runs",
        type=positive,
        help="runs of each set, 3 or more (the paper's number); continuous takes those beyond ten to 20 epochs only",
    )
    paper.add_argument(
        "--out",
        metavar="DIR",
        help="results folder; called again, it goes on there (paper, and with these options paper-quick, "
        "paper-authors, paper-search, paper-seed-N or several of them, as paper-quick-seed-3)",
    )
    paper.add_argument(
        "--page", metavar="FILE.md", help="write the page there too, pictures in a folder of its name beside it"
    )
    paper.add_argument(
        "--workers", type=positive, help="threads or processes that share the runs; results are the same (one a core)"
    )
    paper.add_argument("--seed", type=int, default=0, help="of logs and runs (%(default)s)")
    paper.add_argument("--search", action="store_true", help="repeat the encoder search, about half an hour more")
    paper.add_argument(
        "--authors",
        action="store_true",
        help="the conventions of the paper's published code: the log in row order; episodes capped at 1,000 steps, "
        "terminal with reward 0; the probe of observation 0; an epoch's end abandons the episode; empirical emissions",
    )
    paper.set_defaults(command=run_paper)
    return parser


def add_log(parser: argparse.ArgumentParser) -> None:
    """The log, and which of its columns is what."""
    parser.add_argument("log", metavar="LOG", help="a Parquet or CSV file, a row for each step")
    columns = parser.add_argument_group("columns, where they are not named as here")
    for name, meaning in COLUMN_FLAGS.items():
        columns.add_argument(f"--{name}", nargs="+" if name in SEVERAL else None, metavar="NAME", help=meaning)
    columns.add_argument("--n-actions", type=positive, metavar="NUMBER", help="how many actions there are (as logged)")
    columns.add_argument("--ends", choices=ENDS, help=ENDINGS)


def add_simulation(parser: argparse.ArgumentParser) -> None:
    """Who rehearses, where, and for how long."""
    learner = parser.add_argument_group("learner")
    learner.add_argument("--learner", choices=LEARNERS, default="q-learning", help="(%(default)s)")
    learner.add_argument("--epsilon", type=probability, default=0.1, help="share of exploring steps (%(default)s)")
    learner.add_argument("--alpha", type=probability, default=0.5, help="learning rate (%(default)s)")
    learner.add_argument("--gamma", type=probability, default=0.99, help="discount (%(default)s)")
    learner.add_argument("--initial", type=finite, default=0.0, help="value to start from (%(default)s)")
    learner.add_argument("--epoch-steps", type=positive, default=5000, help="ppo: steps of an epoch (%(default)s)")

    simulator = parser.add_argument_group("simulator")
    simulator.add_argument(
        "--simulator", nargs="+", choices=SIMULATORS, help="one or more (psrs; without propensities, qbe)"
    )
    simulator.add_argument(
        "--encoder",
        default="identity",
        metavar="NAME|FILE",
        help=f"states: {', '.join(ENCODERS)}, or a file that encoder.save wrote (%(default)s)",
    )
    simulator.add_argument("--bins", type=positive, default=5, help="boxes: bins of each dimension (%(default)s)")
    simulator.add_argument("--states", type=positive, default=50, help="kmeans, homer: states at most (%(default)s)")
    simulator.add_argument(
        "--anyway", action="store_true", help="rehearse though most rows are in states that the audit finds suspicious"
    )
    simulator.add_argument("--order", choices=("episodes", "rows", "log"), help="how the log is read (episodes)")
    simulator.add_argument("--openings", choices=("queue", "replacement"), help="first observations (queue)")
    simulator.add_argument("--max-episode-steps", type=positive, help="the simulator's own time limit (the log's)")

    runs = parser.add_argument_group("runs")
    runs.add_argument("--runs", type=positive, default=100, help="how many (%(default)s)")
    runs.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    runs.add_argument("--max-steps", type=positive, help="stop a run there (when the log has no further answer)")
    runs.add_argument("--every", type=positive, help="steps between two readings of probes (about a hundred in a run)")
    runs.add_argument("--workers", type=positive, help="threads or processes (one for each core)")
    runs.add_argument(
        "--no-rows", action="store_true", help="do not keep which rows each run was served: up to 4 bytes a step less"
    )
    runs.add_argument(
        "--out", metavar="DIR", help="results folder; called again, it goes on there (LOG's name-rehearsal)"
    )


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
    log.sound()

    folder = Path(options.out or f"{Path(options.log).name.split('.')[0]}-rehearsal")
    rehearsal = Rehearsal(
        folder, f"{options.learner} rehearsed on {Path(options.log).name}", asked_of(options, log), audit
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
    told = Rehearsal.of(folders[0]) if len(folders) == 1 else None
    title, audit = (told.title, told.audit) if told is not None else (None, None)
    page = options.report or folders[0] / "report.html"
    say(f"\nThe page is {us.report(runs, page, title=title, audit=audit, states=states_of_folders(folders))}")
    return 0


def run_paper(options: argparse.Namespace) -> int:
    """`understudy paper`."""
    from understudy.paper import reproduce

    asked = {key: value for key, value in vars(options).items() if key not in ("names", "out", "command")}
    print(f"The page is {reproduce(options.names, options.out, **asked)}")
    return 0


def asked_of(options: argparse.Namespace, log: us.Log) -> dict[str, Any]:
    """What all simulators of a folder must share, by the names of the flags."""
    shared = (
        "learner", "epsilon", "alpha", "gamma", "initial", "epoch_steps", "encoder", "bins", "states", "seed", "every",
        "max_steps",
    )  # fmt: skip
    return columns_of(options) | {name: getattr(options, name) for name in shared} | {"log": log.fingerprint}


def as_flags(message: str) -> str:
    """A message of the library in the words of the command line, which has no Python.

    >>> as_flags('give terminated=, sort by order_by=, or say ends="every-row"')
    'give --terminated, sort by --order-by, or say --ends every-row'
    """
    for words, instead in IN_FLAGS.items():
        message = re.sub(words, instead, message)
    names = "|".join([name.replace("-", "_") for name in COLUMN_FLAGS] + list(OTHER_FLAGS))

    def flag(found: re.Match) -> str:
        name, value = found[1].replace("_", "-"), found[2]
        return f"--{name} {value}" if value else f"--{name}"

    return re.sub(rf'(?<![\w/])({names})=(?:"([\w-]+)"|(?!\w))', flag, message)  # not in a path such as action=3/log


def in_flags(audit: us.Audit) -> us.Audit:
    """An audit in the words of the command line."""
    said = (replace(finding, sentence=as_flags(finding.sentence)) for finding in audit.findings)
    return replace(audit, findings=tuple(said))


def say(what: Any) -> None:
    """Print lines in which whatever a file brought along is visible, escape bytes included."""
    print("\n".join(map(visible, str(what).split("\n"))))


def reading_interval(simulator: Any, make: Any, log: us.Log, options: argparse.Namespace) -> int:
    """Steps between two readings: about a hundred in a run, as one run tells that is made for this alone.

    How long runs last cannot be told from the log: a few steps of a million rows, or most of it. A learner that trains
    a network takes too long for a run on trial; what it knows changes once an epoch.
    """
    if options.learner == "ppo":
        return min(options.epoch_steps, round_number(len(log) / 200))
    trial = us.simulate(simulator, make(options.seed), options.seed, options.max_steps)
    return round_number(len(trial) / 100)


def round_number(number: float) -> int:
    """The largest of 1, 2, 5, 10, 20, ... that is not above a number.

    >>> round_number(69.7), round_number(0.3)
    (50, 1)
    """
    steps = [factor * 10**power for power in range(12) for factor in (1, 2, 5)]
    return max([step for step in steps if step <= number], default=1)


def columns_of(options: argparse.Namespace) -> dict[str, Any]:
    """The column flags that were given, as `read` takes them."""
    names = [*(name.replace("-", "_") for name in COLUMN_FLAGS), "n_actions", "ends"]
    given = {name: getattr(options, name) for name in names}
    return {
        name: value[0] if isinstance(value, list) and len(value) == 1 and name != "actions" else value
        for name, value in given.items()
        if value is not None
    }


def learner_for(log: us.Log, encoder: Any, options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """A learner factory and what is measured of it."""
    if options.learner == "uniform":
        return (
            lambda seed: us.learners.MonteCarlo(us.learners.Uniform(log.spec.n_actions), gamma=options.gamma),
            {"mean return": us.probes.estimate},
        )
    probes = {"start value": us.probes.start_value(log)}
    if options.learner == "ppo":
        settings: dict[str, Any] = {"gamma": options.gamma, "epoch_steps": options.epoch_steps}
        return (lambda seed: us.learners.PPO(log.spec, seed=seed, **settings), probes)
    n_observations = log.spec.n_observations
    if encoder is None and (n_observations is None or n_observations > 4 * len(log) + 1024):
        encoder = us.encoders.Identity().fit(log)
        if encoder.n_states > len(log) // 2:
            raise us.LogError(
                f"{options.learner} needs a table, and {encoder.n_states:,} of the observations are distinct: too many "
                "for a row each; merge them into states with --encoder forward, or with --encoder boxes or kmeans, "
                "which know nothing of what follows: simulate tests the states first, and stops where they will not do"
            )
    n_observations = n_observations if encoder is None else encoder.n_states
    kind = {"q-learning": us.learners.QLearning, "expected-sarsa": us.learners.ExpectedSarsa}[options.learner]
    settings = {name: getattr(options, name) for name in ("epsilon", "alpha", "gamma", "initial")}
    return (
        lambda seed: kind(n_observations, log.spec.n_actions, encoder=encoder, seed=seed, **settings),
        probes,
    )


def encoder_for(log: us.Log, options: argparse.Namespace, kept: Path | None) -> Any:
    """The encoder asked for, fitted, or the one that was kept; None where observations are their own states."""
    if options.encoder == "identity":
        return None
    if kept is not None and kept.exists():
        return us.encoders.load(kept)
    if options.encoder not in ENCODERS:
        if not os.path.exists(options.encoder):  # which takes any text, NUL and over-long names included
            raise us.LogError(
                f"there is no encoder {options.encoder!r} and no such file; give one of {', '.join(ENCODERS)}, or a "
                "file that encoder.save wrote"
            )
        return us.encoders.load(options.encoder)
    make = {
        "boxes": lambda: us.encoders.Boxes(bins=options.bins),
        "kmeans": lambda: us.encoders.KMeans(options.states, options.seed),
        "homer": lambda: us.encoders.Homer(options.states, seed=options.seed),
        "forward": lambda: us.encoders.Forward(options.seed),
    }
    return make[options.encoder]().fit(log)


def states_for(log: us.Log, encoder: Any, kept: Path | None) -> us.encoders.StateAudit:
    """Whether the states will do: tested now, or as it was kept; without an encoder they are the observations."""
    with suppress(FolderError):  # what cannot be read is made anew
        found = kept_states(kept) if kept is not None else None
        if found is not None:
            return found
    return (us.encoders.Identity().fit(log) if encoder is None else encoder).audit(log)


def refuse_suspicious(states: us.encoders.StateAudit) -> None:
    """Stop where most rows are in suspicious states: the curve would look as sure of itself as a right one."""
    if states.mostly_suspicious:
        raise us.LogError(
            f"{states.encoder}: {states.sentence}; try another encoder, whose states are tested like these (where "
            "every observation leads on in a way of its own, no merging of them will do), or give --anyway to rehearse "
            "all the same, with this at the top of the page"
        )


def simulator_for(name: str, log: us.Log, encoder: Any, options: argparse.Namespace) -> Any:
    """A simulator with the options it takes."""
    asked = {key: getattr(options, key) for key in ("order", "openings", "max_episode_steps")}
    given = {key: value for key, value in asked.items() if value is not None}
    if name in ("actions_only", "any_row", "model"):
        given.pop("order", None)
    if name == "model":
        given.pop("openings", None)
    return getattr(us, name)(log, encoder, **given)


def show_table(runs: dict[str, us.Runs]) -> None:
    """How long, how close, what ran out and, of several learners, who earned more, on the terminal."""
    from rich.console import Console
    from rich.text import Text

    from understudy.reporting.learners import compare_learners
    from understudy.reporting.terminal import as_rich, brief_table

    Console().print(as_rich(brief_table(runs)))
    if (rivals := compare_learners(runs)) is not None:
        Console().print(Text(rivals.sentence))


def positive(text: str) -> int:
    """A whole number from 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    if number >= 2**63:
        raise argparse.ArgumentTypeError(f"{text} is more than 2**63 - 1")
    return number


def finite(text: str) -> float:
    """A number, but neither NaN nor infinite."""
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text} is not a finite number")
    return number


def probability(text: str) -> float:
    """A number from 0 to 1."""
    number = float(text)
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number
