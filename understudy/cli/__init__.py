"""The command line: demo, check, simulate, report, paper."""

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence

import understudy as us
from understudy.cli.choices import columns_of
from understudy.cli.flags import build_parser
from understudy.cli.report import run_report
from understudy.cli.simulate import run_simulate
from understudy.cli.words import as_flags, in_flags, say, show_table
from understudy.errors import visible


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code. Bad input gives one sentence on standard error and exit code 2."""
    commands = {
        "demo": run_demo, "check": run_check, "simulate": run_simulate, "report": run_report, "paper": run_paper,
    }  # fmt: skip
    for stream in (sys.stdout, sys.stderr):  # the terminal's encoding may lack letters that a log has
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
    except BrokenPipeError:  # the reader of our output, such as head, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(
            "understudy: interrupted; finished runs are kept, and the same command goes on from there", file=sys.stderr
        )
        return 130


def run_demo(options: argparse.Namespace) -> int:
    """Run `understudy demo`, and return its exit code."""
    from understudy.demo import demo

    found = demo(options.report, runs=options.runs, seed=options.seed, workers=options.workers)
    show_table(found.runs)
    say(f"\nThe page is {found.page}")
    return 0


def run_check(options: argparse.Namespace) -> int:
    """Run `understudy check`, and return 1 where the audit found an error, else 0. An unreadable file raises."""
    audit = in_flags(us.check(us.read(options.log, **columns_of(options))))
    if options.json:
        print(json.dumps(audit.to_json(), indent=1))
    else:
        say(audit)
    return 0 if audit.ok else 1


def run_paper(options: argparse.Namespace) -> int:
    """`understudy paper`."""
    from understudy.paper import reproduce

    asked = {key: value for key, value in vars(options).items() if key not in ("names", "out", "command")}
    print(f"The page is {reproduce(options.names, options.out, **asked)}")
    return 0
