"""What the flags of `understudy simulate` stand for: columns, a learner, states, simulators."""

import argparse
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from understudy.cli.flags import COLUMN_FLAGS, ENCODERS
from understudy.errors import ResultsError
from understudy.reporting.learners import PER_STEP
from understudy.results import read_state_audit
from understudy.runs.graph import digest

TRIALS = 5
"""Runs that tell how long runs are."""


def columns_of(options: argparse.Namespace) -> dict[str, Any]:
    """The column flags that were given, as `read` takes them."""
    names = [*(name.replace("-", "_") for name in COLUMN_FLAGS), "n_actions", "ends"]
    given = {name: getattr(options, name) for name in names}
    return {
        name: value[0] if isinstance(value, list) and len(value) == 1 and name != "actions" else value
        for name, value in given.items()
        if value is not None
    }


def asked_of(options: argparse.Namespace, log: us.Log) -> dict[str, Any]:
    """What all simulators of a folder must share, by the names of the flags."""
    shared = (
        "learner", "epsilon", "alpha", "gamma", "initial", "epoch_steps", "encoder", "bins", "states", "seed", "every",
        "max_steps",
    )  # fmt: skip
    asked = columns_of(options) | {name: getattr(options, name) for name in shared} | {"log": log.fingerprint}
    if options.encoder not in (*ENCODERS, "identity") and os.path.isfile(options.encoder):
        asked["encoder_content"] = digest(Path(options.encoder).read_bytes())
    return asked


def learner_for(log: us.Log, encoder: Any, options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """A learner factory and what is measured of it."""
    endless = {} if (log.terminated | log.truncated).any() else {PER_STEP: us.probes.reward_per_step}
    gamma = options.gamma  # what a factory refers to is part of what its runs are of, and not all options are
    if options.learner == "uniform":
        return (
            lambda seed: us.learners.MonteCarlo(us.learners.Uniform(log.spec.n_actions), gamma=gamma),
            {f"mean return so far, discounted by {gamma:g}": us.probes.estimate} | endless,
        )
    probes = {"start value": us.probes.start_value(log)} | endless
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
    kind: Any = {"q-learning": us.learners.QLearning, "expected-sarsa": us.learners.ExpectedSarsa}[options.learner]
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
    make: dict[str, Any] = {
        "boxes": lambda: us.encoders.Boxes(bins=options.bins),
        "kmeans": lambda: us.encoders.KMeans(options.states, options.seed),
        "homer": lambda: us.encoders.Homer(options.states, seed=options.seed),
        "forward": lambda: us.encoders.Forward(options.seed),
    }
    return make[options.encoder]().fit(log)


def states_for(log: us.Log, encoder: Any, kept: Path | None) -> us.encoders.StateAudit:
    """Whether the states will do: tested now, or as it was kept; without an encoder they are the observations."""
    with suppress(ResultsError):  # what cannot be read is made anew
        found = read_state_audit(kept) if kept is not None else None
        if found is not None:
            return found
    return us.encoders.audit(us.encoders.Identity().fit(log) if encoder is None else encoder, log)


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


def reading_interval(simulator: Any, make: Any, log: us.Log, options: argparse.Namespace) -> int:
    """Steps between two readings: about a hundred in the median run, as a few tell that are made for this alone.

    How long runs last cannot be told from the log: a few steps of a million rows, or most of it. A learner that trains
    a network takes too long for a run on trial; what it knows changes once an epoch.
    """
    if options.learner == "ppo":
        return min(options.epoch_steps, round_number(len(log) / 200))
    trials = [us.simulate(simulator, make(seed), seed, options.max_steps) for seed in range(TRIALS)]
    return round_number(float(np.median([len(trial) for trial in trials])) / 100)


def round_number(number: float) -> int:
    """The largest of 1, 2, 5, 10, 20, ... that is not above a number.

    >>> round_number(69.7), round_number(0.3)
    (50, 1)
    """
    steps = [factor * 10**power for power in range(12) for factor in (1, 2, 5)]
    return max([step for step in steps if step <= number], default=1)
