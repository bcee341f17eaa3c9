"""Columns, learners, encoders and simulators that the flags of `understudy simulate` stand for."""

import argparse
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from understudy.cli.flags import COLUMN_FLAGS, ENCODERS
from understudy.errors import EncoderError, ResultsError, SettingError
from understudy.reporting.learners import PER_STEP
from understudy.results import read_state_audit
from understudy.runs.describing import digest

TRIALS = 5
"""Runs on trial, from which the length of runs is estimated."""


def read_log(options: argparse.Namespace) -> us.Log:
    """Return the log that the flags name, with the propensities that they name."""
    log = us.read(options.log, **columns_of(options))
    if options.propensities is not None:
        if options.estimate_propensities:
            raise SettingError("--propensities gives what --estimate-propensities would estimate; leave one out")
        return log.with_propensities(options.propensities)
    return us.estimate_propensities(log) if options.estimate_propensities else log


def columns_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the column flags that were given, as `read` takes them."""
    others = ("n_actions", "ends", "coding", "like", "unseen", "format", "n_samples")
    names = [*(name.replace("-", "_") for name in COLUMN_FLAGS), *others]
    given = {name: getattr(options, name) for name in names} | {"renormalize": options.renormalize or None}
    return {
        name: value[0] if isinstance(value, list) and len(value) == 1 and name != "actions" else value
        for name, value in given.items()
        if value is not None
    }


def shared_options(options: argparse.Namespace, log: us.Log) -> dict[str, Any]:
    """Return the options that all runs of a results folder share, by the names of their flags, and the log's hash."""
    shared = (
        "learner", "epsilon", "alpha", "gamma", "initial", "epoch_steps", "encoder", "bins", "states", "seed", "every",
        "max_steps",
    )  # fmt: skip
    found = columns_of(options) | {name: getattr(options, name) for name in shared} | {"log": log.fingerprint}
    if options.propensities is not None or options.estimate_propensities:
        found["propensities"] = str(log.propensity_source)
    if options.encoder not in (*ENCODERS, "identity") and os.path.isfile(options.encoder):
        found["encoder_content"] = digest(Path(options.encoder).read_bytes())
    return found


def learner_for(log: us.Log, encoder: Any, options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Return a function that makes a learner from a seed, and the probes to read it with."""
    endless = {} if (log.terminated | log.truncated).any() else {PER_STEP: us.probes.reward_per_step}
    gamma = options.gamma  # the factory refers to this alone: a results folder keeps all that its functions refer to
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
            raise SettingError(
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


def encoder_for(log: us.Log, options: argparse.Namespace, saved: Path | None) -> Any:
    """Return the fitted encoder that the options name, or the saved one; None if each observation is a state."""
    if options.encoder == "identity":
        return None
    if saved is not None and saved.exists():
        return us.encoders.load(saved)
    if options.encoder not in ENCODERS:
        if not os.path.exists(options.encoder):  # False for any text that cannot be a path, too
            raise SettingError(
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


def states_for(log: us.Log, encoder: Any, folder: Path | None) -> us.encoders.StateAudit:
    """Return the audit of the states, from the results folder if it has one; without an encoder, of observations."""
    with suppress(ResultsError):  # a file that cannot be read is written again
        found = read_state_audit(folder) if folder is not None else None
        if found is not None:
            return found
    return us.encoders.audit(us.encoders.Identity().fit(log) if encoder is None else encoder, log)


def refuse_suspicious(states: us.encoders.StateAudit) -> None:
    """Raise `EncoderError` if most rows are in suspicious states: nothing in the curves would show it."""
    if states.mostly_suspicious:
        raise EncoderError(
            f"{states.encoder}: {states.sentence}; try another encoder, whose states are tested like these (where "
            "every observation leads on in a way of its own, no merging of them will do), or give --anyway to rehearse "
            "all the same, with this at the top of the page"
        )


def simulators_of(log: us.Log, options: argparse.Namespace) -> list[str]:
    """Return the names of the simulators that the options name; by default the exact one that the log allows."""
    has_all = log.propensity is not None and log.propensity.ndim == 2
    return options.simulator or (["psrs"] if has_all else ["qbe"])


def simulator_for(name: str, log: us.Log, encoder: Any, options: argparse.Namespace) -> Any:
    """Return the simulator of this name, with those options that it takes."""
    given = {key: getattr(options, key) for key in ("order", "openings", "max_episode_steps")}
    given = {key: value for key, value in given.items() if value is not None}
    if name in ("actions_only", "any_row", "model"):
        given.pop("order", None)
    if name == "model":
        given.pop("openings", None)
    return getattr(us, name)(log, encoder, **given)


def reading_interval(simulator: Any, make: Any, log: us.Log, options: argparse.Namespace) -> int:
    """Return the steps between two readings, so that the median run has about a hundred.

    The length of runs is estimated by a few on trial: the log does not tell whether they last a few steps or most of a
    million rows. A learner that trains a network takes too long for that, and changes once an epoch.
    """
    if options.learner == "ppo":
        return min(options.epoch_steps, round_number(len(log) / 200))
    trials = [us.simulate(simulator, make(seed), seed, options.max_steps) for seed in range(TRIALS)]
    return round_number(float(np.median([len(trial) for trial in trials])) / 100)


def round_number(number: float) -> int:
    """Return the largest of 1, 2, 5, 10, 20, ... that is not above a number.

    >>> round_number(69.7), round_number(0.3)
    (50, 1)
    """
    steps = [factor * 10**power for power in range(12) for factor in (1, 2, 5)]
    return max([step for step in steps if step <= number], default=1)
