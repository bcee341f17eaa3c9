"""What a model of the logging policy sees of an observation: a code where few are distinct, else numbers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from understudy.errors import SettingError
from understudy.logs.findings import counted
from understudy.logs.recurring import keys_of

MOST_CODES, ROWS_OF_CODE = 1000, 5
"""Observations are codes if so many or fewer are distinct, with so many rows each, on average."""

FEW_VALUES = 10  # an entry with so many values or fewer is seen as which of them it is
FIFTHS = 5  # other entries are seen with their square, and which fifth of the rows they are in
MANY_ENTRIES = 20  # with more such entries, nothing else of them is seen
PAIRS = 10  # entries up to which products of two are seen
MOST_ENTRIES = 500


class LoggerFeatures(NamedTuple):
    """What a model sees: a code for each row, or a matrix of numbers with a row for each row."""

    code: np.ndarray | None  # (N,) which of the distinct observations
    matrix: np.ndarray | None  # (N, F) float64
    words: str


def features_of(observation: np.ndarray, one_hot: Callable[[np.ndarray], np.ndarray] | None = None) -> LoggerFeatures:
    """Return the features of each row's observation. Raise `SettingError` where it has too many entries.

    `one_hot` turns observations that hold codes of categories into numbers.

    >>> features_of(np.arange(100) % 4).words, features_of(np.random.default_rng(0).random((100, 2))).words
    ('which of 4 observations it is', '15 features of 2 numbers')
    """
    distinct, code = np.unique(keys_of(observation), return_inverse=True)
    if len(distinct) <= min(MOST_CODES, max(1, len(observation) // ROWS_OF_CODE)):
        return LoggerFeatures(code, None, f"which of {counted(len(distinct), 'observation')} it is")
    width = (observation if one_hot is None else one_hot(observation[:1]))[:1].size  # before all rows are made
    if width > MOST_ENTRIES:
        raise SettingError(
            f"an observation has {width:,} numbers, too many to estimate propensities from; say with "
            "features= what the logger saw, as a function of observations that returns a few numbers or a code"
        )
    numbers = observation if one_hot is None else one_hot(observation)
    flat = numbers.reshape(len(numbers), -1)
    matrix = _numbers(flat.astype(np.float64))
    return LoggerFeatures(None, matrix, f"{counted(matrix.shape[1], 'feature')} of {counted(flat.shape[1], 'number')}")


def _numbers(flat: np.ndarray) -> np.ndarray:
    """Return standardized entries, their squares, products and fifths; an entry of few values as indicators."""
    indicators: list[np.ndarray] = []
    plain: list[np.ndarray] = []
    for column in flat.T:
        values = np.unique(column)
        if len(values) > FEW_VALUES:
            plain.append((column - column.mean()) / column.std())
        elif len(values) > 1:
            indicators.append(column[:, None] == values)
    columns = list(plain)
    if len(plain) <= MANY_ENTRIES:
        columns += [one**2 - 1 for one in plain]
        indicators += [_fifths(one) for one in plain]
    if len(plain) <= PAIRS:
        columns += [one * other for at, one in enumerate(plain) for other in plain[at + 1 :]]
    parts: list[Any] = [*columns, *indicators]
    return np.column_stack(parts).astype(np.float64) if parts else np.zeros((len(flat), 0))


def _fifths(column: np.ndarray) -> np.ndarray:
    """Return which fifth of the rows each value is in, (N, 5) or fewer where values repeat."""
    edges = np.unique(np.quantile(column, np.linspace(0, 1, FIFTHS + 1)[1:-1]))
    return np.searchsorted(edges, column, side="right")[:, None] == np.arange(len(edges) + 1)
