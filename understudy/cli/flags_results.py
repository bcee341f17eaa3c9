"""The flags of the commands that are about results folders: sweep, report and gate."""

import argparse
from collections.abc import Callable
from typing import Any

from understudy.cli.flags_runs import add_backend
from understudy.cli.values import positive

Command = Callable[[argparse.Namespace], int]


def add_sweep(commands: Any, run: Command) -> None:
    """Add `understudy sweep`. What its file says comes after the flags; see `cli.sweep` for its tables."""
    sweep = commands.add_parser("sweep", help="many learners, simulators, encoders and logs, from a file")
    sweep.add_argument("file", metavar="FILE", help="a TOML file of learners, simulators, encoders, logs and settings")
    sweep.add_argument("--out", metavar="DIR", help="results folder; called again, it goes on there (FILE's out)")
    sweep.add_argument("--runs", type=positive, help="of each combination (FILE's runs, or 100)")
    add_backend(sweep)
    sweep.add_argument("--json", action="store_true", help="print the combinations as JSON")
    sweep.set_defaults(command=run)


def add_report(commands: Any, run: Command) -> None:
    """Add `understudy report`."""
    report = commands.add_parser("report", help="draw the page of a results folder")
    report.add_argument(
        "folders",
        nargs="+",
        metavar="DIR",
        help="what was --out of simulate, of which several are compared, or of sweep",
    )
    report.add_argument(
        "--report", metavar="FILE", help="the page to write (DIR/report.html; for several comparison.html, here)"
    )
    report.set_defaults(command=run)


def add_gate(commands: Any, run: Command) -> None:
    """Add `understudy gate`."""
    gate = commands.add_parser("gate", help="exit code 1 where results do not suffice to deploy by")
    gate.add_argument("folder", metavar="DIR", help="what was --out of simulate, or of compare")
    gate.add_argument("--min-horizon", type=positive, metavar="STEPS", help="runs must be trusted up to this step")
    gate.add_argument(
        "--better-than-log", action="store_true", help="an episode must earn more than the log's, as far as trusted"
    )
    gate.add_argument("--set", metavar="NAME", help="judge one set of runs, such as psrs (all, except baselines)")
    gate.add_argument("--json", action="store_true", help="print the conditions as JSON")
    gate.set_defaults(command=run)
