"""Bandit learners, and learners of one's own, that `--learner` stands for."""

import argparse
import inspect
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import understudy as us
from understudy.cli.contexts import table_rows
from understudy.cli.values import LINEAR
from understudy.contracts import HasValue
from understudy.contracts.offering import offers
from understudy.digits import digits
from understudy.errors import SettingError
from understudy.logs.blocks import slices
from understudy.reporting.learners import PER_STEP

Make = Callable[[int], Any]


def bandit_for(log: us.Log, encoder: Any, options: argparse.Namespace) -> tuple[Make, dict[str, Any]]:
    """Return a function that makes a bandit learner from a seed, and the probes to read it with.

    Linear learners see the numbers of the observation. The others keep a row for each state of an encoder, or for each
    observation where these are codes, or few; else one row for all, see `cli.contexts`.
    """
    make = linear_bandit(log, options) if options.learner in LINEAR else table_bandit(log, encoder, options)
    make(0)  # raises now, before anything is written, where a setting cannot be used
    return make, probes_of_rewards()


def probes_of_rewards() -> dict[str, Any]:
    """Return the probes of what was earned. By the first a page judges: a mean of few rewards would be mostly noise."""
    return {"reward so far": us.probes.reward_so_far, PER_STEP: us.probes.reward_per_step}


def linear_bandit(log: us.Log, options: argparse.Namespace) -> Make:
    """Return a function that makes a linear bandit learner. Raise `SettingError` where observations are codes."""
    if log.spec.n_observations is not None:
        raise SettingError(
            f"{options.learner} multiplies an observation's numbers by weights, and these observations are single "
            "codes; name several columns with observation=, or choose a learner with a table, such as thompson or ucb1"
        )
    kind: Any = us.learners.LinUCB if options.learner == "linucb" else us.learners.LinearThompson
    n_features, n_actions = log.observation[0].size, log.spec.n_actions
    settings = {"exploration": options.exploration, "ridge": options.ridge}
    settings |= {} if options.no_scaling else scaling_of(log)
    return lambda seed: kind(n_features, n_actions, seed=seed, **settings)


SCALED_TOGETHER = 8  # blocks of a log whose features are added up together


def scaling_of(log: us.Log) -> dict[str, np.ndarray]:
    """Return mean and standard deviation of each feature, as `center` and `scale`; empty where all are 0 or 1.

    Features of nothing but 0 and 1 stay as they are. Both are constants of the whole log, known before the first step:
    they tell a learner the size of its features and nothing of rewards.
    """
    flat, n = log.observation.reshape(len(log), -1), len(log)
    parts = list(slices(n, flat.shape[1], SCALED_TOGETHER))
    is_binary = np.all([((flat[part] == 0) | (flat[part] == 1)).all(axis=0) for part in parts], axis=0)
    if is_binary.all():
        return {}
    mean = sum(flat[part].astype(np.float64).sum(axis=0) for part in parts) / n
    deviation = np.sqrt(sum(((flat[part].astype(np.float64) - mean) ** 2).sum(axis=0) for part in parts) / n)
    return {
        "center": np.where(is_binary, 0.0, mean),
        "scale": np.where(is_binary | (deviation == 0), 1.0, deviation),
    }


def table_bandit(log: us.Log, encoder: Any, options: argparse.Namespace) -> Make:
    """Return a function that makes a bandit learner with a table."""
    n_actions, name = log.spec.n_actions, options.learner
    n_rows, encoder = table_rows(log, encoder)
    table = {} if n_rows is None else {"n_observations": n_rows, "encoder": encoder}
    low, high = min(0.0, float(log.reward.min())), max(1.0, float(log.reward.max()))
    of_learner: dict[str, tuple[Any, dict[str, Any]]] = {
        "epsilon-greedy": (
            us.learners.EpsilonGreedy,
            {"epsilon": options.epsilon, "alpha": constant_alpha(options), "initial": options.initial},
        ),
        "ucb1": (us.learners.UCB1, {"exploration": options.exploration}),
        "thompson": (us.learners.Thompson, {}),
        "gaussian-thompson": (
            us.learners.Thompson,
            {"reward": "gaussian", "prior": (options.initial, options.noise), "noise": options.noise},
        ),
        "exp3": (us.learners.Exp3, {"epsilon": options.epsilon, "reward_range": (low, high)}),
    }
    if name == "thompson" and (low, high) != (0.0, 1.0):
        raise SettingError(
            f"thompson takes rewards from 0 to 1, and this log's go from {log.reward.min():g} to {log.reward.max():g}; "
            f"choose gaussian-thompson, with --noise about their deviation, {digits(log.reward.std())}"
        )
    kind, settings = of_learner[name]
    return lambda seed: kind(n_actions, seed=seed, **table, **settings)


def constant_alpha(options: argparse.Namespace) -> float | None:
    """Return the constant step size of means; None, so that rewards count alike, where --alpha was not given."""
    return options.alpha if "alpha" in options.given else None


def own_learner_for(log: us.Log, text: str) -> tuple[Make, dict[str, Any]]:
    """Return a function that makes the user's own learner, named module:Class, and the probes to read it with.

    It is called as `Class(spec, seed=seed)`, `spec` being the log's, where it can be, else as `Class(seed)`.
    """
    kind, name, spec = own_class(text), text.partition(":")[2], log.spec
    if can_be_called(kind, spec, seed=0):
        make = lambda seed: kind(spec, seed=seed)  # noqa: E731
    elif can_be_called(kind, 0):
        make = lambda seed: kind(seed)  # noqa: E731
    else:
        raise SettingError(
            f"--learner {text} is called as {name}(spec, seed=seed), with the log's spec, or as {name}(seed), and "
            "takes neither; give it one of these"
        )
    try:
        learner = make(0)
    except Exception as error:
        coded = spec.n_observations is not None
        several = (
            "" if coded else "; n_observations is None where observations are not single codes: use a dict of them"
        )
        raise SettingError(f"--learner {text} could not be made: {type(error).__name__}: {error}{several}") from error
    probes = {"start value": us.probes.start_value(log)} if offers(learner, HasValue) else {}
    return make, probes | probes_of_rewards()


def own_class(text: str) -> Any:
    """Return the class, or function, that module:Class names; modules are looked for in the current folder first."""
    module, _, name = text.partition(":")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise SettingError(
                f"--learner {text}: there is no module {module!r}, neither in this folder nor among installed packages"
            ) from None
        raise SettingError(f"--learner {text}: {module} needs the module {error.name!r}, which is not there") from error
    except Exception as error:
        raise SettingError(
            f"--learner {text}: {module} could not be imported: {type(error).__name__}: {error}"
        ) from error
    kind = vars(found).get(name)
    if not callable(kind):
        theirs = sorted(other for other, value in vars(found).items() if inspect.isclass(value) and other[0] != "_")
        raise SettingError(f"--learner {text}: {module} has no class {name}; it has {', '.join(theirs) or 'none'}")
    return kind


def can_be_called(function: Callable, *arguments: Any, **named: Any) -> bool:
    """True if a function takes these arguments.

    >>> can_be_called(lambda spec, seed: None, 1, seed=2), can_be_called(lambda seed: None, 1, seed=2)
    (True, False)
    """
    try:
        inspect.signature(function).bind(*arguments, **named)
    except (TypeError, ValueError):
        return False
    return True
