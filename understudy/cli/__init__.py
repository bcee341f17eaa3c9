"""The command line: demo, check, convert, forecast, simulate, compare, sweep, report, gate, completion.

A command is imported when it is run: help and bad flags need neither Numba nor SciPy, which take seconds.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module

from understudy.cli.completion import add_completion, subcommands
from understudy.cli.flags import Command, build_parser
from understudy.cli.flags_results import add_gate
from understudy.cli.running import run_command, run_with_learner, use_escapes
from understudy.cli.telling import EXIT_CODES, add_telling, keep_for_json, told


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code. Bad input gives one sentence on standard error and exit code 2."""
    commands: dict[str, Command] = {"demo": run_demo, "check": run_check, "convert": run_convert}
    commands |= {name: later(name, f"run_{name}") for name in ("forecast", "simulate", "compare", "report", "gate")}
    commands["sweep"] = later("sweep", "run_sweep_command")
    use_escapes()
    parser = build_parser(commands)
    add_gate(subcommands(parser), commands["gate"])
    add_completion(parser)
    add_telling(subcommands(parser))
    parser.epilog = EXIT_CODES
    options = parser.parse_args(arguments)
    options.typed = shlex.join(["understudy", *(sys.argv[1:] if arguments is None else arguments)])

    def run() -> int:
        from understudy.cli.settings_file import is_settings_file, with_settings_file

        takes_file = options.command in (commands["simulate"], commands["compare"])
        from_file = takes_file and is_settings_file(options.log)
        return run_with_learner(with_settings_file(parser, options, arguments) if from_file else options)

    return run_command("understudy", lambda: told(options, run))


def later(module: str, name: str) -> Command:
    """Return a command that imports its module when it is called."""

    def run(options: argparse.Namespace) -> int:
        return vars(import_module(f"understudy.cli.{module}"))[name](options)

    return run


def run_demo(options: argparse.Namespace) -> int:
    """Run `understudy demo`, and return its exit code."""
    from understudy.cli.words import say, show_table
    from understudy.demo import demo

    settings = {"runs": options.runs, "seed": options.seed, "workers": options.workers}
    found = demo(options.report, **settings, command=vars(options).get("typed"))
    show_table(found.measured)
    say(f"\nThe page is {found.page}")
    keep_for_json(options, page=found.page)
    return 0


def run_check(options: argparse.Namespace) -> int:
    """Run `understudy check`, and return 1 where the log must not be believed, else 0. An unreadable file raises."""
    from understudy.cli.choices import read_log, suggest_bandit
    from understudy.cli.words import audit_of, print_table, say
    from understudy.logs.propensities.advice import source_words

    log = read_log(options)
    audit = audit_of(log, options)
    if options.json:
        print(json.dumps(audit.to_json(), indent=1))
    else:
        say(audit)
        say(f"propensities: {source_words(log)}")
        if audit.tests:
            print_table(audit.tests_table())
        suggest_bandit(log, options)
    return 0 if audit.believable else 1


def run_convert(options: argparse.Namespace) -> int:
    """Run `understudy convert`, and return its exit code."""
    import understudy as us
    from understudy.cli.choices import read_log
    from understudy.cli.words import as_flags, say

    log = read_log(options)
    us.write(log, options.to, options.to_format)
    say(f"{options.to} has {len(log):,} rows, {log.n_episodes:,} episodes and {log.spec.n_actions:,} actions")
    for note in log.notes:
        say(as_flags(note))
    counts = {"rows": len(log), "episodes": log.n_episodes, "actions": log.spec.n_actions}
    keep_for_json(options, file=options.to, **counts, notes=list(log.notes))
    return 0
