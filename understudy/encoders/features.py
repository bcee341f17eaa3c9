"""Observations as what a distance or a network can take: standardized floats, or codes where they are few integers."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from understudy.encoders.form import Form, batch, form_of
from understudy.errors import LogError

MOST_CODES = 2048  # distinct integers; where there are more, they are taken as numbers
BLOCK = 1 << 22  # entries looked at together, so that a log of images needs no second copy


class Features:
    """How observations of one form become features, learned from a log's observations.

    Single integers of few distinct values are `discrete`: each becomes its place among `codes`, which increase.
    Anything else becomes a flat row of float32, less `center` and over `scale`, dimension by dimension; a dimension
    that never varies is 0.

    >>> features = Features.of(np.array([[1.0, 7.0], [3.0, 7.0]]))
    >>> features(np.array([[2.0, 7.0], [5.0, 7.0]])).tolist(), features.width
    ([[0.0, 0.0], [3.0, 0.0]], 2)
    >>> Features.of(np.array([4, 9, 4]))(np.array([9, 4, 5])).tolist()
    [1, 0, -1]
    """

    def __init__(self, form: Form, arrays: dict[str, np.ndarray]) -> None:
        self.form, self.arrays = form, arrays
        self.discrete = "codes" in arrays
        if set(arrays) != ({"codes"} if self.discrete else {"center", "scale"}):
            raise LogError(f"features are codes, or a center and a scale, not {sorted(arrays)}")
        if self.discrete:
            self.codes = arrays["codes"]
            vector = self.codes.ndim == 1 and self.codes.dtype == np.int64 and len(self.codes) > 0
            if form != Form("integer", ()) or not vector or (self.codes[1:] <= self.codes[:-1]).any():
                raise LogError("codes are single integers that increase")
            self.width = len(self.codes)
            return
        self.center, self.scale = arrays["center"], arrays["scale"]
        self.width = math.prod(form.shape)
        for name, array in arrays.items():
            if array.shape != (self.width,) or not np.isfinite(array).all() or array.dtype != np.float64:
                raise LogError(f"the {name} of {form} is not {self.width} numbers")
        if (self.scale <= 0).any():
            raise LogError("a scale is above 0")

    @classmethod
    def of(cls, observations: Any, following: Any = None, discrete: bool = True) -> "Features":
        """Learned from observations; codes from those that follow, too. With `discrete=False` integers are numbers."""
        observations = batch(observations)
        form = form_of(observations)
        refuse_missing(observations)
        if discrete and form == Form("integer", ()):
            codes = np.unique(observations if following is None else np.append(observations, following))
            if len(codes) <= MOST_CODES:
                return cls(form, {"codes": codes.astype(np.int64)})
        # Two passes: observations far from 0 compared with their spread would lose it in a mean of squares.
        n, center = len(observations), sum(block.sum(axis=0) for block in _blocks(observations)) / len(observations)
        spread = np.sqrt(sum(((block - center) ** 2).sum(axis=0) for block in _blocks(observations)) / n)
        scale = np.where(spread > 1e-12 * np.abs(center), spread, 1.0)
        return cls(form, {"center": center, "scale": np.where(scale > 0, scale, 1.0)})

    def __call__(self, observations: Any) -> np.ndarray:
        """The features of a batch: (n,) places, -1 for an unknown integer, or (n, width) float32.

        What is NaN or infinite stays so: `finite` tells which rows have features.
        """
        observations = batch(observations, self.form)
        if self.discrete:
            places = np.searchsorted(self.codes, observations).clip(0, self.width - 1)
            return np.where(self.codes[places] == observations, places, -1)
        features = np.empty((len(observations), self.width), dtype=np.float32)
        at = 0
        with np.errstate(over="ignore", invalid="ignore"):
            for block in _blocks(observations):
                features[at : at + len(block)] = (block - self.center) / self.scale
                at += len(block)
        return features

    def finite(self, features: np.ndarray) -> np.ndarray:
        """Which rows are known and finite: the others have no state."""
        return features >= 0 if self.discrete else np.isfinite(features).all(axis=1)


def refuse_missing(observations: np.ndarray, name: str = "observation") -> None:
    """Raise `LogError` where an observation has a NaN or is infinite: nothing can be learned from those."""
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
    """Flat rows of float64, some at a time."""
    width = math.prod(observations.shape[1:])
    rows = max(1, BLOCK // max(1, width))
    for start in range(0, len(observations), rows):
        block = observations[start : start + rows]
        yield block.reshape(len(block), width).astype(np.float64)
