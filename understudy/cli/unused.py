"""Flags that would change nothing: they are refused, since one that is silently ignored looks like one that works."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from understudy.cli.values import BANDITS, LINEAR, is_own_learner
from understudy.errors import SettingError

TABULAR = ("q-learning", "expected-sarsa")
USERS: dict[str, tuple[str, ...]] = {
    "epsilon": (*TABULAR, "epsilon-greedy", "exp3"),
    "alpha": (*TABULAR, "epsilon-greedy"),
    "gamma": (*TABULAR, "ppo", "uniform"),
    "initial": (*TABULAR, "epsilon-greedy", "gaussian-thompson"),
    "epoch_steps": ("ppo",),
    "stack_size": ("ppo",),
    "exploration": ("ucb1", *LINEAR),
    "noise": ("gaussian-thompson",),
    "ridge": LINEAR,
    "no_scaling": LINEAR,
}
"""The settings of learners, and which learners have each."""

WITH_TABLE = (*TABULAR, *(name for name in BANDITS if name not in LINEAR))
"""Learners that keep a row for each state of an encoder."""

QUEUES = ("psrs", "qbe", "states_only")
SIMULATORS_WITH: dict[str, tuple[str, ...]] = {
    "order": (*QUEUES, "exo_psrs", "replay", "pers"),
    "openings": (*QUEUES, "exo_psrs", "actions_only", "any_row"),
    "max_episode_steps": (*QUEUES, "exo_psrs", "actions_only", "any_row", "model"),
    "bound": ("replay", "pers"),
    "reserve": ("psrs",),
    "mean_propensity": ("psrs",),
    "then": ("psrs", "qbe"),
    "radius": ("psrs", "qbe"),
    "max_cut": ("psrs", "qbe"),
}
"""The options of simulators, and which simulators have each."""

RUNGS_WITH = {"radius": ("like", "untried"), "max_cut": ("cut",)}
"""The options of lower rungs, and which rungs have each."""

WITHOUT_STATES = ("actions_only", "any_row", "replay", "pers")
"""Simulators that use no states."""

ENCODERS_WITH = {"bins": ("boxes",), "states": ("kmeans", "homer")}
"""The settings of encoders, and which encoders have each."""


def given_settings(options: argparse.Namespace) -> set[str]:
    """Return the names of settings that were given as flags: a default is not."""
    return {*vars(options).get("given", ()), *(["no_scaling"] if vars(options).get("no_scaling") else [])}


def refuse_unused_settings(learners: Sequence[str], given: Iterable[str]) -> None:
    """Raise `SettingError` for the first given setting that none of these learners has."""
    for setting in sorted(set(given) & USERS.keys()):
        users = USERS[setting]
        if set(learners) & set(users):
            continue
        flag = setting.replace("_", "-")
        own = all(map(is_own_learner, learners))
        whose = (
            "a learner of your own, whose settings are in its class" if own else " or ".join(dict.fromkeys(learners))
        )
        raise SettingError(f"--{flag} is for {_listed(users)}, and not for {whose}; leave it out")


def refuse_unused_encoder(options: argparse.Namespace, learners: Sequence[str], simulators: Iterable[str]) -> None:
    """Raise `SettingError` for an encoder that neither learners nor simulators use, or a setting of another encoder."""
    names = list(simulators)
    if options.encoder != "identity" and not set(learners) & set(WITH_TABLE) and not set(names) - set(WITHOUT_STATES):
        whose = " or ".join(dict.fromkeys(learners))
        raise SettingError(
            f"--encoder makes states, which {_listed(names)} does not use, and {whose} sees observations as they are; "
            "leave it out, or choose a learner with a table, such as thompson or epsilon-greedy"
        )
    for setting, encoders in ENCODERS_WITH.items():
        if setting in given_settings(options) and options.encoder not in encoders:
            raise SettingError(f"--{setting} is for --encoder {_listed(encoders)}; leave it out, or give that encoder")


def refuse_unused_of_simulators(options: argparse.Namespace, names: Sequence[str]) -> None:
    """Raise `SettingError` for an option that none of these simulators has."""
    for option, simulators in SIMULATORS_WITH.items():
        if getattr(options, option) is not None and not set(names) & set(simulators):
            flag, kind = option.replace("_", "-"), _listed(simulators)
            if option in ("openings", "max_episode_steps") and set(names) <= {"replay", "pers"}:
                kind = "simulators with queues of rows"
            flag = f"no-{flag}" if getattr(options, option) is False else flag
            raise SettingError(f"--{flag} is for {kind}, and not for {names[0]}; leave it out")
    for option, rungs in RUNGS_WITH.items():
        if getattr(options, option) is not None and not set(options.then or ()) & set(rungs):
            flag, what = option.replace("_", "-"), " or ".join(rungs)
            raise SettingError(f"--{flag} is for the rung {what}, which --then does not name; add it, or leave it out")
    if options.order == "rows" and set(names) <= {"replay", "pers"}:
        raise SettingError(
            f"--order rows shuffles rows among queues, and {names[0]} has none; give --order episodes (rows at random) "
            "or --order log"
        )


def unused_times(options: argparse.Namespace, learners: Iterable[Any]) -> str | None:
    """Return that no learner goes by the times that were named; `learners` are the options of each. None: one does.

    This is not refused, unlike other flags that change nothing: reading the log tests its times, in `check`, too, and
    the same columns are to do for both.
    """
    if options.time is None or any(one.delay == "arrival" or one.period is not None for one in learners):
        return None
    return (
        "time: rows are in its order, and nothing else goes by it: learners are told at once what they earned; say "
        "when outcomes were known with --arrival COLUMN, or how often to learn with --period"
    )


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in words.

    >>> _listed(["ppo"]), _listed(["a", "b", "c"])
    ('ppo', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
