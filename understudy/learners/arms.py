"""The table of a bandit learner: one row for all observations, or one for each; and the rewards that it takes."""

from typing import Any

import numpy as np

from understudy.contracts import Encoder
from understudy.contracts.encoding import CountsStates
from understudy.contracts.learning import reward_refusal
from understudy.contracts.offering import offers
from understudy.errors import SettingError
from understudy.learners.codes import Codes
from understudy.learners.tabular import MOST_ENTRIES
from understudy.settings import real, whole

SMALLEST, LARGEST = 1e-50, 1e50
"""Limits of settings that are squared or divided by: beyond them kernels would meet infinity, or divide by zero."""


class ArmTable:
    """What bandit learners with a table share: its shape, which row an observation has, and a check of rewards."""

    reward_range: tuple[float, float] | None = None
    """The smallest and the largest reward that the learner takes; None where it takes any."""

    def __init__(self, n_actions: int, n_observations: int | None, encoder: Encoder | None) -> None:
        self.n_actions = whole("n_actions", n_actions)
        if n_observations is None and encoder is not None:
            n_observations = encoder.n_states if offers(encoder, CountsStates) else None
            if n_observations is None:
                raise SettingError(
                    "an encoder= was given that does not know its number of states (n_states); fit it to the log "
                    "first, or give n_observations="
                )
        n_rows = 1 if n_observations is None else whole("n_observations", n_observations)
        if n_rows * self.n_actions > MOST_ENTRIES:
            raise SettingError(
                f"a table of {n_rows:,} observations and {n_actions:,} actions does not fit; give the learner "
                "encoder=, with fewer states"
            )
        self.codes = None if n_observations is None else Codes(n_rows, encoder)
        self.shape = (n_rows, self.n_actions)

    @property
    def table_settings(self) -> dict[str, Any]:
        """The arguments that decide the table."""
        return {"n_actions": self.n_actions} | ({} if self.codes is None else self.codes.settings)

    def row(self, observation: Any) -> int:
        """Return the row of an observation; 0 where observations are ignored."""
        return 0 if self.codes is None else self.codes(observation)

    def rows(self, observations: Any) -> np.ndarray:
        """Return the row of each observation of a batch."""
        if self.codes is None:
            return np.zeros(len(observations), np.int32)
        return self.codes.batch(np.asarray(observations))

    def checked_reward(self, reward: float) -> float:
        """Return a reward as a float. Raise `SettingError` where it is outside of `reward_range`."""
        reward = float(reward)
        if self.reward_range is not None and not self.reward_range[0] <= reward <= self.reward_range[1]:
            raise reward_refusal(self, f"a reward is {reward:g}")
        return reward


def reward_limits(reward_range: Any) -> tuple[float, float]:
    """Return a range of rewards as two floats. Raise `SettingError` unless the first is below the second.

    >>> reward_limits((0, 5))
    (0.0, 5.0)
    """
    try:
        low, high = reward_range
    except (TypeError, ValueError):
        raise SettingError(f"reward_range is {reward_range!r}; give the smallest and the largest reward") from None
    low, high = (real("reward_range", limit, -LARGEST, LARGEST) for limit in (low, high))
    if not low < high:
        raise SettingError(f"reward_range is {reward_range!r}; the smallest reward comes first, then a larger one")
    return low, high
