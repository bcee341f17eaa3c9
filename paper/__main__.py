"""The command `python -m paper`: reproduce the paper's figures, tables and numbers."""

import argparse
import sys
from collections.abc import Sequence

from paper.reproducing import ITEMS, reproduce
from understudy.cli.flags import positive
from understudy.cli.running import run_command, use_escapes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Bad input ends in one sentence on standard error and exit code 2."""
    use_escapes()
    options = build_parser().parse_args(arguments)
    return run_command("paper", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Run the items that were asked for, and say where the page is."""
    others = {name: value for name, value in vars(options).items() if name not in ("names", "out")}
    print(f"The page is {reproduce(options.names, options.out, **others)}")
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    parser = argparse.ArgumentParser(
        prog="python -m paper", description="Reproduce the paper: figures, tables, its numbers beside ours."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"items to run: {', '.join(ITEMS)} (all)")
    parser.add_argument("--quick", action="store_true", help="small logs and few runs, a minute or so")
    parser.add_argument(
        "--runs",
        type=positive,
        help="runs of each set, 3 or more (the paper's number); continuous takes those beyond ten to 20 epochs only",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="results folder; called again, it goes on there (paper-results, and with these options paper-quick, "
        "paper-authors, paper-search, paper-seed-N or several of them, as paper-quick-seed-3)",
    )
    parser.add_argument(
        "--page", metavar="FILE.md", help="write the page there too, pictures in a folder of its name beside it"
    )
    parser.add_argument(
        "--workers", type=positive, help="threads or processes that share the runs; results are the same (one a core)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of logs and runs (%(default)s)")
    parser.add_argument("--search", action="store_true", help="repeat the encoder search, about half an hour more")
    parser.add_argument(
        "--authors",
        action="store_true",
        help="the conventions of the paper's published code: the log in row order; episodes capped at 1,000 steps, "
        "terminal with reward 0; the probe of observation 0; an epoch's end abandons the episode; empirical emissions",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
