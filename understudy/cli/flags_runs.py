"""Flags of runs that several commands have."""

import argparse

from understudy.cli.values import positive

BACKENDS = ("serial", "threads", "processes", "ray")
"""The names of `runs.backends`, whose import takes long; a test holds them equal."""


PROBES = ("reward-so-far", "reward-per-step")
"""What learners can be compared by step by step, whatever they keep; `cli.learners.probes_of_rewards` has them."""


def add_probe(runs: argparse._ActionsContainer) -> None:
    """Add --probe, which says by what learners are compared."""
    runs.add_argument(
        "--probe", choices=PROBES, help="compare by what was earned step by step (by what an episode earns)"
    )


def add_run_settings(runs: argparse._ArgumentGroup, keep_going: str) -> None:
    """Add the flags of runs that `simulate` and `compare` share; `keep_going` says what becomes of runs that raise."""
    runs.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    runs.add_argument("--max-steps", type=positive, help="stop a run there (when the log has no further answer)")
    add_backend(runs)
    runs.add_argument("--keep-going", action="store_true", help=keep_going)


def add_backend(runs: argparse._ActionsContainer) -> None:
    """Add --workers and --backend, which say where runs are made."""
    runs.add_argument("--workers", type=positive, help="threads, processes or tasks at a time (one for each core)")
    runs.add_argument(
        "--backend", choices=BACKENDS,
        help="where runs are made (the fastest on this machine); ray: on a cluster, by RAY_ADDRESS or on this machine",
    )  # fmt: skip


def add_learner_folder(learner: argparse._ArgumentGroup) -> None:
    """Add the flag that says where the module of a learner of one's own is."""
    learner.add_argument(
        "--learner-folder", metavar="DIR", help="the folder of the module of a learner of your own (this one)"
    )
