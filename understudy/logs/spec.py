"""What a learner must know about a log before it starts: its actions, and what an observation is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import SettingError
from understudy.logs.action_features import ActionFeatures
from understudy.logs.arrays import common_dtype
from understudy.logs.coding import Coding, refuse_large_matrix

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Spec:
    """What a learner must know about a log before it starts."""

    n_actions: int
    actions: tuple[str, ...] | None  # labels, in the order of their codes
    observation_shape: tuple[int, ...]
    observation_dtype: np.dtype
    n_observations: int | None  # 1 + the largest, where observations are single integers from 0 up
    features: tuple[str, ...] | None = None  # the names of the columns that observations were read from
    coding: Coding | None = None  # how text, categories and dates became numbers; None if all were numbers
    action_features: ActionFeatures | None = None  # what is known of each action beside its number
    action_column: str | None = None  # the name of the column that actions were read from
    reward_column: str | None = None  # that of the rewards; of costs, which are read with their sign changed, "-name"

    def encode(self, rows: Any, *, unseen: str | None = None) -> np.ndarray:
        """Return observations from raw values, coded like those of this log: see `Coding.encode`.

        Use it where a learner that was trained on this log meets new rows. Of a log of numbers, numbers are returned.
        """
        if self.coding is None:
            return np.asarray(rows, self.observation_dtype).reshape(-1, *self.observation_shape)
        coded = {"observation": self.coding.encode(rows, unseen), "the log's": np.zeros(1, self.observation_dtype)}
        return common_dtype(coded)[0].reshape(-1, *self.observation_shape)

    def decode(self, observations: Any) -> "pa.Table":
        """Return observations as the values that they were coded from: an Arrow table with a column for each."""
        if self.coding is None:
            raise SettingError("observations of this log are numbers as they were logged; there is nothing to decode")
        return self.coding.decode(observations)

    def one_hot(self, observations: Any) -> np.ndarray:
        """Return a design matrix for linear learners, float64: of a category or a code, a column for each value of it.

        Numbers and dates are a column each. Two observations are equal where their lines here are.
        """
        if self.coding is not None:
            return self.coding.one_hot(observations)
        given = np.asarray(observations)
        if self.n_observations is None:
            return given.reshape(len(given), -1).astype(np.float64)
        refuse_large_matrix(len(given), self.n_observations, "observation", self.n_observations)
        matrix = np.zeros((len(given), self.n_observations))
        matrix[np.arange(len(given)), given] = 1.0
        return matrix


def spec_of(
    observation: np.ndarray,
    next_observation: np.ndarray,
    n_actions: int,
    labels: tuple[str, ...] | None,
    coding: Coding | None,
) -> Spec:
    """Return the spec of these columns; where observations are codes, with how many there are."""
    n_observations = None
    if observation.ndim == 1 and observation.dtype.kind in "iu":
        lowest = min(observation.min(), next_observation.min())
        n_observations = None if lowest < 0 else 1 + int(max(observation.max(), next_observation.max()))
    if coding is not None and coding.n_observations is not None:
        n_observations = coding.n_observations  # labels that no row has included
    features = None if coding is None else coding.features
    return Spec(n_actions, labels, observation.shape[1:], observation.dtype, n_observations, features, coding)
