"""Checks before a run: parts that cannot be run are refused with a sentence."""

from numbers import Integral
from typing import Any

from understudy.contracts import (
    BoundsRewards,
    ChecksSimulator,
    FollowsLog,
    HasLog,
    HasPlannedSteps,
    HasStateCount,
    Learner,
    Log,
    LoopOwner,
    Simulator,
)
from understudy.contracts.fitting import ensure_fitted
from understudy.contracts.learning import EpochLearner, OldEpochLearner, codes_of, reward_refusal
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.contracts.simulating import is_exhaustible, log_of, n_actions_of, passes_over
from understudy.deprecation import warn_of_old_name
from understudy.errors import ContractError, PolicyError, SettingError
from understudy.logs.blocks import found_rows
from understudy.logs.once import reward_range
from understudy.settings import MOST_STEPS, steps_of, whole


def check_parts(simulator: Any, learner: Any, max_steps: int | None, every: int) -> None:
    """Raise an error of ours where a run could not begin. Fit a learner's encoder on the log if it needs it."""
    check_attributes("simulator", simulator)
    check_attributes("learner", learner)
    check_limits(simulator, max_steps, every)
    owns_loop = offers(learner, LoopOwner)
    if not (owns_loop or offers(learner, Learner)):
        what = f"the class {learner.__name__}" if isinstance(learner, type) else f"a {type(learner).__name__}"
        raise ContractError(f"{what} is not a learner: it needs policy(observation) and learn(step), or rehearse(env)")
    refuse_class("learner", learner)
    if owns_loop:
        check_acts_for_good(simulator)
    planned = learner.total_timesteps if owns_loop and offers(learner, HasPlannedSteps) else None
    if max_steps is None and planned is None and not is_exhaustible(simulator):
        raise SettingError(
            f"{name_of(simulator)} uses up no rows, so that a run may never end; say for how long to go on with "
            "max_steps="
        )
    theirs, ours = n_actions_of(learner), n_actions_of(simulator)
    if theirs is not None and ours is not None and theirs != ours:
        for what, found in (("learner", theirs), ("simulator", ours)):
            if not isinstance(found, Integral):
                raise ContractError(f"n_actions of the {what} is {found!r}; give it a whole number")
        raise PolicyError(f"the learner has {theirs} actions and {name_of(simulator)} has {ours}; make them agree")
    if offers(learner, OldEpochLearner) and not offers(learner, EpochLearner):
        warn_of_old_name(
            f"frozen and note of {type(learner).__name__}", "steps_until_update and collect, or it runs step by step"
        )
    if offers(learner, ChecksSimulator):
        learner.check_simulator(simulator)
    codes, log = codes_of(learner), log_of(simulator)
    if log is not None and offers(learner, FollowsLog):
        learner.follow(log)
    if log is not None and offers(learner, BoundsRewards):
        check_rewards(learner, log)
    if codes is not None and codes.encoder is not None and log is not None:
        ensure_fitted(codes.encoder, log)


def check_acts_for_good(simulator: Any) -> None:
    """Raise `SettingError` where a simulator may take back what a learner did that acts in an env by itself."""
    if passes_over(simulator):
        raise SettingError(
            f"{name_of(simulator)} may pass over an episode after the learner has acted, and what acts in an env "
            "cannot take that back; use psrs or qbe, or a learner with policy(observation) and learn(step)"
        )


def check_rewards(learner: BoundsRewards, log: Log) -> None:
    """Raise `SettingError` with the first row of a log whose reward is outside of a learner's range."""
    if learner.reward_range is None:
        return
    low, high = learner.reward_range
    smallest, largest = reward_range(log)
    if smallest < low or largest > high:
        (row, *_) = found_rows(lambda part: (log.reward[part] < low) | (log.reward[part] > high), len(log)).first
        raise reward_refusal(learner, f"reward is {log.reward[row]:g} in row {row}")


def check_attributes(what: str, part: Any) -> None:
    """Raise `ContractError` where an object raises anything but AttributeError for an optional member."""
    for protocol, name in ((LoopOwner, "rehearse"), (HasLog, "log"), (HasStateCount, "n_states")):
        try:
            offers(part, protocol)
        except Exception as error:
            raise ContractError(
                f"the {what}, a {type(part).__name__}, raises {type(error).__name__} when it is asked for {name!r}; "
                "let its __getattr__ raise AttributeError for names that it does not know"
            ) from error


def refuse_class(what: str, part: Any) -> None:
    """Raise `ContractError` where a simulator's or learner's class was given instead of an object of it."""
    if isinstance(part, type):
        raise ContractError(f"the {what} is the class {part.__name__}; give an object, {part.__name__}(...)")


def check_limits(simulator: Any, max_steps: int | None, every: int) -> None:
    """Raise `ContractError` where this is not a simulator, `SettingError` where these are not numbers of steps."""
    if not offers(simulator, Simulator):
        raise ContractError(
            f"a {type(simulator).__name__} is not a simulator: it needs start(seed); make one, for example us.psrs(log)"
        )
    refuse_class("simulator", simulator)
    steps_of("max_steps", max_steps)
    whole("every", every, most=MOST_STEPS)
