"""The count of decisions that a learner's schedules and random draws follow."""

import numpy as np


class Clocked:
    """A learner that counts steps in an array, `_count`, of one integer, which kernels raise by one for each step."""

    @property
    def _count(self) -> np.ndarray:
        raise NotImplementedError

    @property
    def clock(self) -> int:
        """The number of decisions so far: the position of schedules and of random draws. It may be set."""
        return int(self._count[0])

    @clock.setter
    def clock(self, decisions: int) -> None:
        self._count[0] = decisions
