"""Off-policy estimates of a learner's final policy, that `understudy simulate` shows beside its curve."""

import argparse
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from understudy.cli.large import MOST_TESTED
from understudy.cli.trusting import FEWEST_RUNS, NETWORKS, asked_of_simulators
from understudy.cli.words import as_flags, say
from understudy.contracts.simulating import is_exhaustible, log_of
from understudy.digits import digits
from understudy.errors import ResultsError, UnderstudyError
from understudy.reporting.luck import BASELINES
from understudy.results import read_off_policy, write_off_policy

RUNS = 10
"""Runs on each half of the log at most."""

MOST_POLICIES = 200_000
"""Policies that are asked for at observations that are not codes, which takes a few seconds where it is one after
another; and rows of episodes of several steps, whose models take as long. Two runs are made whatever it is."""

FEWEST_EPISODES = 20
MOST_DROPPED = 0.001
"""The share of episodes that may lack their last row."""


def classics_for(
    name: str, simulator: Any, make: Any, folder: Path, options: argparse.Namespace
) -> us.LearnedPolicy | None:
    """Return the off-policy estimates for a simulator, from the folder if it has them; None where they are left out.

    Where they are left out though nobody skipped them, a sentence says why. Returns are not discounted, as those of the
    rehearsal are not.
    """
    if name in BASELINES or not is_exhaustible(simulator):
        return None
    known = {}
    with suppress(ResultsError):  # a file that cannot be read is written again
        known = read_off_policy(folder)
    log = log_of(simulator)
    if log is None:
        return None
    asked = asked_of_simulators(options) | {"runs": runs_for(options, log)}
    skipped = options.quick or options.no_classics or options.runs < FEWEST_RUNS
    if name in known and (skipped or known[name][1] == asked):  # what the folder has is on its page, as in `report`
        return known[name][0]
    if skipped:
        return None
    try:
        if (reason := why_no_classics(options, log)) is not None:
            say(f"{name}: no off-policy estimates beside the curve: {reason}")
            return None
        found = us.off_policy_of_learner(
            simulator, make, runs=asked["runs"], max_steps=options.max_steps, seed=options.seed
        )
    except UnderstudyError as error:
        say(f"{name}: no off-policy estimates beside the curve: {as_flags(str(error))}")
        return None
    if not is_finite(found):
        largest = digits(float(np.abs(log.reward).max()))
        say(f"{name}: no off-policy estimates beside the curve: rewards go up to {largest} in size, and squares of "
            "what episodes earn are more than a float can be; divide the rewards by a number")  # fmt: skip
        return None
    write_off_policy(folder, known | {name: (found, asked)})
    return found


def is_finite(found: us.LearnedPolicy) -> bool:
    """True if estimates and their errors are numbers, which files hold; what no rehearsal earned need not be one."""
    estimates = [number for one in found.estimates.estimates for number in (one.value, one.low, one.high, one.error)]
    return bool(np.isfinite(estimates).all()) and not np.isinf([found.rehearsed, found.error]).any()


def runs_for(options: argparse.Namespace, log: us.Log) -> int:
    """Return how many runs on each half of the log are made: fewer where there are few runs, or many policies."""
    runs = min(RUNS, options.runs // 4)
    if log.spec.n_observations is None or log.n_episodes < len(log):
        runs = min(runs, MOST_POLICIES // len(log))
    return max(2, runs)


def why_no_classics(options: argparse.Namespace, log: us.Log) -> str | None:
    """Return why there are no estimates; None where there can be."""
    if options.learner in NETWORKS:
        return f"they need {options.learner} to be trained many times over"
    if len(log) > MOST_TESTED:
        return f"they take some 160 bytes a row, and the log has {len(log):,}"
    if log.dropped_reward is not None and (share := float(np.mean(~np.isnan(log.dropped_reward)))) > MOST_DROPPED:
        return (
            f"the last rows of {share:.0%} of the episodes were dropped for want of a next observation, and such "
            "estimates need whole episodes; log next_observation, what was seen after the last step"
        )
    if log.n_episodes < FEWEST_EPISODES:
        return f"the log has {log.n_episodes:,} episodes, and they need {FEWEST_EPISODES}"
    if (log.terminated | log.truncated).sum() < FEWEST_EPISODES:
        return "they are of what an episode earns, and episodes of this log do not end"
    return None
