"""Flags of runs that several commands have."""

import argparse

from understudy.cli.values import positive


def add_run_settings(runs: argparse._ArgumentGroup, keep_going: str) -> None:
    """Add the flags of runs that `simulate` and `compare` share; `keep_going` says what becomes of runs that raise."""
    runs.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    runs.add_argument("--max-steps", type=positive, help="stop a run there (when the log has no further answer)")
    runs.add_argument("--workers", type=positive, help="threads or processes (one for each core)")
    runs.add_argument("--keep-going", action="store_true", help=keep_going)
