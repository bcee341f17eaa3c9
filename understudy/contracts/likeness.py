"""What says which states are alike."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from understudy.logs import Log


@runtime_checkable
class Likeness(Protocol):
    """Says which states are alike: close enough that a row of one may stand in for a row of the other."""

    settings: Mapping[str, Any]

    def neighbors(
        self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int, radius: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return for each state the other states within the radius: `first`, (n_states + 1,), and `members`."""
