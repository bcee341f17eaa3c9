"""Flags that say where runs are made, which all commands that make runs have."""

import argparse

from understudy.cli.values import positive
from understudy.runs.backends import NAMES


def add_backend(runs: argparse._ArgumentGroup) -> None:
    """Add --workers and --backend."""
    runs.add_argument("--workers", type=positive, help="threads, processes or tasks at a time (one for each core)")
    runs.add_argument(
        "--backend", choices=NAMES,
        help="where runs are made (the fastest on this machine); ray: on a cluster, by RAY_ADDRESS or on this machine",
    )  # fmt: skip
