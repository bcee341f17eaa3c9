"""Columns, learners, encoders and simulators that the flags of `understudy simulate` stand for."""

import argparse
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from understudy.cli.deployment import deployment_probes, deployment_settings, refuse_undeployable
from understudy.cli.flags import COLUMN_FLAGS, ENCODERS, WHOLE_EPISODES
from understudy.cli.flags_scale import given_on_disk
from understudy.cli.learners import bandit_for, constant_alpha, own_learner_for
from understudy.cli.unused import SIMULATORS_WITH, given_settings, refuse_unused_of_simulators, refuse_unused_settings
from understudy.cli.values import BANDITS, LINEAR, is_own_learner
from understudy.cli.words import say
from understudy.errors import EncoderError, ResultsError, SettingError, UnderstudyError
from understudy.logs.ends import EVERY_ROW
from understudy.reporting.learners import PER_STEP
from understudy.results import read_state_audit
from understudy.runs.describing import digest
from understudy.runs.folder import write_file
from understudy.storage import read_plain

OPTION_NAMES = {"mean_propensity": "propensity"}
"""Flags that have another name than the option that they stand for."""

ENCODER_FILE = "encoder.npz"
"""The encoder of a results folder."""

MODEL_NEEDS_STEPS = "model uses up no rows, so that a run may never end; say for how long to go on with max_steps="

TRIALS = 5
"""Runs on trial, from which the length of runs is estimated."""


def read_log(options: argparse.Namespace) -> us.Log:
    """Return the log that the flags name, with the propensities that they name."""
    log = _read(options)
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


def _read(options: argparse.Namespace) -> us.Log:
    """Return the log that the flags name. With --bandit each row is an episode, unless a column tells how they end."""
    columns = columns_of(options) | given_on_disk(options)
    if not options.bandit or columns.keys() & {"ends", "terminated", "truncated"}:
        return us.read(options.log, **columns)
    try:
        return us.read(options.log, ends=EVERY_ROW, **columns)
    except SettingError as error:
        try:
            return us.read(options.log, **columns)
        except UnderstudyError:
            raise error from None


def suggest_bandit(log: us.Log, options: argparse.Namespace) -> None:
    """Say that a log of one-step decisions can be replayed, where it is not."""
    replayed = options.bandit or set(vars(options).get("simulator") or ()) & set(WHOLE_EPISODES)
    if not replayed and log.propensity is not None and log.n_episodes == len(log) > 1 and not log.unfinished.all():
        say("Every episode has one row: give --bandit to replay them, each with the observation it was logged with.")


def shared_options(options: argparse.Namespace, log: us.Log) -> dict[str, Any]:
    """Return the options that all runs of a results folder share, by the names of their flags, and the log's hash."""
    shared: tuple[str, ...] = (
        "learner", "epsilon", "alpha", "gamma", "initial", "epoch_steps", "every",
    )  # fmt: skip
    if options.learner in BANDITS:  # other learners do not have these, and folders of theirs go on without them
        shared = (*shared, "exploration", "noise", "ridge")
    found = {name: getattr(options, name) for name in shared} | options_of_log(options, log)
    if options.no_scaling and options.learner in LINEAR:
        found["no_scaling"] = True
    if options.learner == "epsilon-greedy" and constant_alpha(options) is not None:
        found["constant_alpha"] = True
    return found


def options_of_log(options: argparse.Namespace, log: us.Log) -> dict[str, Any]:
    """Return the options that all learners on a log share: columns, states, seed, deployment; and the log's hash."""
    shared = ("encoder", "bins", "states", "seed", "max_steps")
    found = columns_of(options) | {name: getattr(options, name) for name in shared} | {"log": log.fingerprint}
    found |= deployment_settings(options)
    if options.propensities is not None or options.estimate_propensities:
        found["propensities"] = str(log.propensity_source)
    if is_encoder_file(options.encoder):
        found["encoder_content"] = digest(Path(options.encoder).read_bytes())
    return found


def learner_for(log: us.Log, encoder: Any, options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Return a function that makes a learner from a seed, and the probes to read it with once it is deployed."""
    refuse_undeployable(options)
    refuse_unused_settings([options.learner], given_settings(options))
    make, probes = new_learner_for(log, encoder, options)
    return make, probes | deployment_probes(options)


def new_learner_for(log: us.Log, encoder: Any, options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Return a function that makes a learner that knows nothing and learns at once, and the probes to read it with."""
    endless = {} if (log.terminated | log.truncated).any() else {PER_STEP: us.probes.reward_per_step}
    gamma = options.gamma  # the factory refers to this alone: a results folder keeps all that its functions refer to
    if options.learner == "uniform":
        return (
            lambda seed: us.learners.MonteCarlo(us.learners.Uniform(log.spec.n_actions), gamma=gamma),
            {f"mean return so far, discounted by {gamma:g}": us.probes.estimate} | endless,
        )
    if options.learner in BANDITS:
        return bandit_for(log, encoder, options)
    if is_own_learner(options.learner):
        return own_learner_for(log, options.learner)
    probes = {"start value": us.probes.start_value(log)} | endless
    if options.learner == "ppo":
        settings: dict[str, Any] = {"gamma": options.gamma, "epoch_steps": options.epoch_steps}
        settings |= {} if options.stack_size is None else {"stack_size": options.stack_size}
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


def is_encoder_file(text: str) -> bool:
    """True if what --encoder names is a file, and not an encoder of ours."""
    return text not in ENCODERS and os.path.isfile(text)


def keep_encoder(encoder: Any, options: argparse.Namespace, folder: Path) -> argparse.Namespace:
    """Keep the encoder in a results folder, and return the options that make its runs again.

    An encoder from a file is named there by the folder's own copy, byte for byte: the original may change.
    """
    kept = folder / ENCODER_FILE
    if encoder is None or not is_encoder_file(options.encoder):
        if encoder is not None:
            us.encoders.save(encoder, kept)
        return options
    if not (kept.exists() and os.path.samefile(kept, options.encoder)):
        content = read_plain(Path(options.encoder))
        write_file(kept, lambda beside: beside.write_bytes(content))
    return argparse.Namespace(**vars(options) | {"encoder": str(kept)})


def states_for(log: us.Log, encoder: Any, folder: Path | None) -> us.encoders.StateAudit:
    """Return the audit of the states, from the results folder if it has one; without an encoder, of observations."""
    with suppress(ResultsError):  # a file that cannot be read is written again
        found = read_state_audit(folder) if folder is not None else None
        if found is not None:
            return found
    return us.encoders.audit(us.encoders.Identity().fit(log) if encoder is None else encoder, log)


def refuse_suspicious(states: us.encoders.StateAudit) -> None:
    """Raise `EncoderError` if most of the rows tested are in suspicious states: nothing in the curves would show it."""
    if states.mostly_suspicious:
        raise EncoderError(
            f"{states.encoder}: {states.sentence}; try another encoder, whose states are tested like these (where "
            "every observation leads on in a way of its own, no merging of them will do, and nothing on this log is "
            "exact: what is left is to leave --encoder out and give --then like,cut, by rows that are alike, which may "
            "be short), or give --anyway to rehearse all the same, with this at the top of the page"
        )


def simulators_of(log: us.Log, options: argparse.Namespace) -> list[str]:
    """Return the names of the simulators that the options name; by default the exact one that the log allows."""
    has_all = log.propensity is not None and log.propensity.ndim == 2
    names = options.simulator or (["replay"] if options.bandit else ["psrs"] if has_all else ["qbe"])
    refuse_unused_of_simulators(options, names)
    return names


def simulator_for(name: str, log: us.Log, encoder: Any, options: argparse.Namespace) -> Any:
    """Return the simulator of this name, with those options that it takes."""
    takes = [option for option, simulators in SIMULATORS_WITH.items() if name in simulators]
    given = {key: value for key in takes if (value := getattr(options, key)) is not None}
    given = {OPTION_NAMES.get(key, key): value for key, value in given.items()}
    if name == "exo_psrs":  # rows are queued by the endogenous part; the encoder is the learner's
        split = us.exogenous_split(log, seed=options.seed)
        say(f"exo_psrs: {str(split).splitlines()[0]}")
        return us.exo_psrs(log, split, **given)
    return getattr(us, name)(log, *([] if name in WHOLE_EPISODES else [encoder]), **given)


def reading_interval(simulator: Any, make: Any, log: us.Log, options: argparse.Namespace) -> int:
    """Return the steps between two readings, so that the median run has about a hundred.

    The length of runs is estimated by a few on trial: the log does not tell whether they last a few steps or most of a
    million rows. A learner that trains a network takes too long for that, and changes once an epoch.
    """
    if options.learner == "ppo":
        return min(options.epoch_steps, round_number(len(log) / 200))
    n_trials = 1 if is_own_learner(options.learner) else TRIALS  # one's own is mostly plain Python
    trials = [us.simulate(simulator, make(seed), seed, options.max_steps) for seed in range(n_trials)]
    return round_number(float(np.median([len(trial) for trial in trials])) / 100)


def round_number(number: float) -> int:
    """Return the largest of 1, 2, 5, 10, 20, ... that is not above a number.

    >>> round_number(69.7), round_number(0.3)
    (50, 1)
    """
    steps = [factor * 10**power for power in range(12) for factor in (1, 2, 5)]
    return max([step for step in steps if step <= number], default=1)
