"""Observations as features for distances and networks: standardized floats, or codes for integers of few values."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from understudy.contracts.encoding import ObservationSpec
from understudy.encoders.observations import SINGLE_INTEGERS, batch_of, spec_of
from understudy.errors import EncoderError, LogError
from understudy.logs.blocks import distinct_values

MOST_CODES = 2048  # distinct integers; where there are more, they are taken as numbers
BLOCK = 1 << 22  # entries computed together, so that a log of images needs no second copy


class Features:
    """A map from observations of one type and shape to features, learned from a log's observations.

    Single integers of few distinct values are `discrete`: each becomes its index in `codes`, which increase.
    Anything else becomes a flat row of float32, less `center` and over `scale`, dimension by dimension; a dimension
    that never varies is 0.

    >>> features = Features.of(np.array([[1.0, 7.0], [3.0, 7.0]]))
    >>> features(np.array([[2.0, 7.0], [5.0, 7.0]])).tolist(), features.width
    ([[0.0, 0.0], [3.0, 0.0]], 2)
    >>> Features.of(np.array([4, 9, 4]))(np.array([9, 4, 5])).tolist()
    [1, 0, -1]
    """

    def __init__(self, observation: ObservationSpec, arrays: dict[str, np.ndarray]) -> None:
        self.observation, self.arrays = observation, arrays
        self.discrete = "codes" in arrays
        if set(arrays) != ({"codes"} if self.discrete else {"center", "scale"}):
            raise EncoderError(f"features are codes, or a center and a scale, not {sorted(arrays)}")
        if self.discrete:
            self.codes = arrays["codes"]
            vector = self.codes.ndim == 1 and self.codes.dtype == np.int64 and len(self.codes) > 0
            if observation != SINGLE_INTEGERS or not vector or (self.codes[1:] <= self.codes[:-1]).any():
                raise EncoderError("codes are single integers that increase")
            self.width = len(self.codes)
            return
        self.center, self.scale = arrays["center"], arrays["scale"]
        self.width = math.prod(observation.shape)
        for name, array in arrays.items():
            if array.shape != (self.width,) or not np.isfinite(array).all() or array.dtype != np.float64:
                raise EncoderError(f"the {name} of {observation} is not {self.width} numbers")
        if (self.scale <= 0).any():
            raise EncoderError("a scale is not above 0")

    @classmethod
    def of(cls, observations: Any, next_observations: Any = None, discrete: bool = True) -> "Features":
        """Return features learned from observations, with codes for next observations too.

        With `discrete=False`, integers are taken as numbers.
        """
        observations = batch_of(observations)
        spec = spec_of(observations)
        check_finite(observations)
        if discrete and spec == SINGLE_INTEGERS:
            codes = distinct_values(observations, MOST_CODES)
            if next_observations is not None:
                codes = np.union1d(codes, distinct_values(batch_of(next_observations), MOST_CODES))
            if len(codes) <= MOST_CODES:
                return cls(spec, {"codes": codes.astype(np.int64)})
        # Two passes: observations far from 0 compared with their spread would lose it in a mean of squares.
        n, center = len(observations), sum(block.sum(axis=0) for block in _blocks(observations)) / len(observations)
        spread = np.sqrt(sum(((block - center) ** 2).sum(axis=0) for block in _blocks(observations)) / n)
        scale = np.where(spread > 1e-12 * np.abs(center), spread, 1.0)
        return cls(spec, {"center": center, "scale": np.where(scale > 0, scale, 1.0)})

    def __call__(self, observations: Any) -> np.ndarray:
        """Return the features of a batch: (n,) indices of codes, -1 for an unknown integer, or (n, width) float32.

        NaN and infinite values stay as they are; see `known`.
        """
        observations = batch_of(observations, self.observation)
        if self.discrete:
            index = np.searchsorted(self.codes, observations).clip(0, self.width - 1)
            return np.where(self.codes[index] == observations, index, -1)
        features = np.empty((len(observations), self.width), dtype=np.float32)
        at = 0
        with np.errstate(over="ignore", invalid="ignore"):
            for block in _blocks(observations):
                features[at : at + len(block)] = (block - self.center) / self.scale
                at += len(block)
        return features

    def known(self, features: np.ndarray) -> np.ndarray:
        """Return True for each row of features that is of a known integer, or finite. The others have no state."""
        return features >= 0 if self.discrete else np.isfinite(features).all(axis=1)


def check_finite(observations: np.ndarray, name: str = "observation") -> None:
    """Raise `LogError` where an observation of a log is NaN or infinite: nothing can be learned from it."""
    if observations.dtype.kind != "f":
        return
    at = 0
    for block in _blocks(observations):
        wrong = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if len(wrong):
            raise LogError(
                f"{name} is NaN or infinite in row {at + wrong[0]}; fill it in, or drop the episode, before fitting"
            )
        at += len(block)


def _blocks(observations: np.ndarray) -> Iterator[np.ndarray]:
    """Yield flat rows of float64, a block at a time."""
    width = math.prod(observations.shape[1:])
    rows = max(1, BLOCK // max(1, width))
    for start in range(0, len(observations), rows):
        block = observations[start : start + rows]
        yield block.reshape(len(block), width).astype(np.float64)
