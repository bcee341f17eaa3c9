"""Codes of observations: the rows of a tabular learner's table."""

import operator
from typing import Any

import numpy as np

from understudy.contracts import Encoder
from understudy.errors import SettingError


class Codes:
    """Maps an observation to a row of a table: the observation itself where it is an integer, or an encoder's state.

    >>> Codes(25)(3)
    3
    """

    def __init__(self, n: int, encoder: Encoder | None = None) -> None:
        if n < 1:
            raise SettingError(f"a table needs at least one observation, not {n}")
        self.n, self.encoder = int(n), encoder

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that decide the codes."""
        return {"n_observations": self.n, "encoder": self.encoder}

    def __call__(self, observation: Any) -> int:
        if self.encoder is not None:
            code = int(self.encoder.encode(np.array(observation)[None])[0])
        else:
            try:
                code = operator.index(observation)
            except TypeError:
                raise SettingError(_NOT_INTEGER.format(what=np.asarray(observation))) from None
        if not 0 <= code < self.n:
            raise SettingError(_OUT_OF_RANGE.format(code=code, n=self.n))
        return code

    def batch(self, observations: np.ndarray, needed: np.ndarray | bool = True) -> np.ndarray:
        """Return the code of each observation as int32; 0 where none is needed (after a terminal step)."""
        if self.encoder is not None:
            codes = np.asarray(self.encoder.encode(observations.copy()))
        elif observations.ndim == 1 and observations.dtype.kind in "iu":
            codes = observations
        else:
            raise SettingError(_NOT_INTEGER.format(what=observations[0]))
        if needed is not True:
            codes = np.where(needed, codes, 0)
        if len(codes) and not (codes.min() >= 0 and codes.max() < self.n):
            raise SettingError(_OUT_OF_RANGE.format(code=codes.min() if codes.min() < 0 else codes.max(), n=self.n))
        return codes.astype(np.int32)


_NOT_INTEGER = (
    "observation {what} is not the number of a row of a table; give the learner encoder=Identity().fit(log) where "
    "observations repeat, or an encoder that merges them where they rarely do and its audit(log) finds nothing"
)
_OUT_OF_RANGE = "observation code {code} is outside the learner's table of {n}; give it a larger n_observations"
