"""Rules that an audit applies: each is a function from a log to its findings."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from understudy.logs.findings import Finding
from understudy.logs.rules.actions import action_never_logged, action_once, action_range
from understudy.logs.rules.episodes import (
    FEW_EPISODES,
    both_ends,
    end_inside,
    episode_contiguity,
    equal_lengths,
    few_episodes,
    no_ends,
    one_episode,
    step_order,
    unfinished,
)
from understudy.logs.rules.observations import (
    distinct_observations,
    limit_observed,
    next_observation_continuity,
    next_observation_is_reset,
)
from understudy.logs.rules.propensities import (
    propensity_kind,
    propensity_range,
    propensity_source,
    propensity_sum,
    propensity_zero,
)
from understudy.logs.rules.values import missing, notes

if TYPE_CHECKING:
    from understudy.logs.log import Log

__all__ = ["ERRORS", "FEW_EPISODES", "OTHERS"]

Rule = Callable[["Log"], Iterator[Finding]]

ERRORS: tuple[Rule, ...] = (
    missing, action_range, propensity_range, propensity_sum, propensity_zero, episode_contiguity, step_order,
    end_inside, next_observation_is_reset,
)  # fmt: skip
"""Rules that can find an error, in the order in which `Log.require_no_errors` applies them."""

OTHERS: tuple[Rule, ...] = (
    no_ends, next_observation_continuity, both_ends, propensity_kind, propensity_source, action_never_logged,
    action_once, distinct_observations, limit_observed, unfinished, equal_lengths, few_episodes, one_episode, notes,
)  # fmt: skip
"""Rules that find no errors."""
