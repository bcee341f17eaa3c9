"""Likeness of observations: states are alike where their observations are close, column by column."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from understudy.contracts import Log
from understudy.errors import SettingError
from understudy.likeness.pairs import NEIGHBORS, NEIGHBORS_OF_ROWS, Lists, lists_within, radii_of_distances, sampled
from understudy.likeness.pruning import PairTest
from understudy.settings import positive

Column = str | int
"""The name of a column of observations, or its place."""


def observations(
    columns: Sequence[Column] | None = None,
    *,
    scale: float | Mapping[Column, float] | None = None,
    periods: Mapping[Column, float] | None = None,
    tested: bool = True,
) -> "ObservationLikeness":
    """Return the likeness under which states are alike where their observations are within a radius (Euclidean).

    Use it where observations are numbers and what follows changes little from one observation to those around it.

    Differences in a column are measured in units of its standard deviation, in the log that it is first used with, or
    of `scale`: a number for all columns, or a mapping from names (or places) of columns. `columns` are those that
    count; by default all.
    `periods` are of columns that go round, such as {"angle": 2 * math.pi} or {"hour": 24}.

    Labels (text, categories, truth values, and single integers, which are taken for codes) have to be equal. With a
    scale of its own, a column of labels counts as a distance of 1 / scale where they differ; single integers are
    numbers where a scale is given.

    Of a state with several observations, such as one of `Boxes`, the mean counts. An observation with NaN or
    infinity is not alike to any other. Where `tested`, two states are not alike if the log shows that they are worth
    more apart than the rule of `audit` allows, such as the two sides of a wall.

    >>> log = Log.from_columns(observation=[[0.0, 0.5], [0.1, 0.5], [0.9, 0.5]], action=[0, 0, 0], reward=[0, 0, 0],
    ...     ends="every-row", next_observation=[[0.0, 0.5], [0.1, 0.5], [0.9, 0.5]])
    >>> first, members = observations(scale=1).neighbors(log, np.arange(3), np.arange(3), 3, radius=0.2)
    >>> first.tolist(), members.tolist()
    ([0, 1, 2, 2], [1, 0])
    """
    return ObservationLikeness(columns, scale, periods, tested)


class ObservationLikeness:
    """States are alike where their observations are within a radius of each other: see `observations`."""

    def __init__(
        self,
        columns: Sequence[Column] | None,
        scale: float | Mapping[Column, float] | None,
        periods: Mapping[Column, float] | None,
        tested: bool,
    ) -> None:
        self._columns = None if columns is None else tuple(columns)
        by_column = scale if isinstance(scale, Mapping) else {}
        self._scale = None if scale is None or isinstance(scale, Mapping) else positive("scale", scale)
        self._scales = {column: positive(f"scale of {column!r}", unit) for column, unit in by_column.items()}
        self._periods = {column: positive(f"period of {column!r}", p) for column, p in (periods or {}).items()}
        self._test = PairTest(tested)
        self._spreads: dict[int, float] = {}  # by place, of the log that it was first used with

    @property
    def settings(self) -> dict[str, Any]:
        """The columns that count, their units and their periods."""
        scales, periods, spreads = (
            {str(column): number for column, number in given.items()}
            for given in (self._scales, self._periods, self._spreads)
        )
        columns = None if self._columns is None else list(map(str, self._columns))
        return {
            "likeness": "observations", "columns": columns, "scale": scales or self._scale, "periods": periods,
            "tested": self._test.on, "spreads": spreads,
        }  # fmt: skip

    def neighbors(self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int, radius: float) -> Lists:
        states, positions, labels = self._positions(log, state, next_state)
        # Labels that differ are moved further apart than the radius reaches.
        apart = labels[:, None] * (2.0 * positive("radius", radius))
        lists = lists_within(np.concatenate([positions, apart], axis=1), states, n_states, radius)
        return self._test(lists, log, state, next_state, n_states)

    def radii(self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int) -> np.ndarray:
        states, positions, labels = self._positions(log, state, next_state)
        if len(states) < 2:
            return np.empty(0)
        far = 2.0 * (1.0 + float(np.ptp(positions, axis=0).sum()))
        moved = np.concatenate([positions, labels[:, None] * far], axis=1)
        ranks = NEIGHBORS_OF_ROWS if 2 * len(states) > len(log) else NEIGHBORS
        reached = np.arange(2, min(ranks[-1], len(states) - 1) + 2)  # the first is the state itself
        nearest, _ = cKDTree(moved).query(moved[sampled(len(states))], k=reached)
        return radii_of_distances(np.where(nearest < far, nearest, np.inf), ranks)

    def _positions(
        self, log: Log, state: np.ndarray, next_state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the states that the log has, (n,), the position of each, (n, d), and a number for its labels, (n,)."""
        columns = [part.reshape(len(log), -1) for part in (log.observation, log.next_observation)]
        n_columns = columns[0].shape[1]
        place_of = places(log, n_columns)
        chosen = range(n_columns) if self._columns is None else sorted({place_of(name) for name in self._columns})
        periods, scales = ({place_of(name): x for name, x in of.items()} for of in (self._periods, self._scales))
        labeled = has_labels(log, n_columns, as_codes=not (scales or self._scale))

        seen = np.concatenate([state, next_state])
        known, member = np.unique(seen[seen >= 0], return_inverse=True)
        counts = np.bincount(member, minlength=len(known))
        axes, equal = [], [np.zeros(len(known))]
        for column in chosen:
            values = np.concatenate([part[:, column] for part in columns])[seen >= 0].astype(np.float64)
            if labeled[column]:
                label = np.empty(len(known))
                label[member[::-1]] = values[::-1]  # of several observations of a state, the first
                if column in scales:
                    axes += [(label == one) / (scales[column] * np.sqrt(2.0)) for one in np.unique(label)]
                else:
                    equal.append(label)
            else:
                around = on_circle(values, periods[column]) if column in periods else [values]
                unit = scales.get(column, self._scale) or self._spread(column, around)
                axes += [np.bincount(member, axis, minlength=len(known)) / counts / unit for axis in around]
        positions = np.stack(axes, axis=1) if axes else np.zeros((len(known), 1))
        finite = np.isfinite(positions).all(axis=1)
        labels = np.unique(np.stack(equal, axis=1)[finite], axis=0, return_inverse=True)[1]
        return known[finite], positions[finite], labels.reshape(-1).astype(np.float64)

    def _spread(self, column: int, axes: Sequence[np.ndarray]) -> float:
        """Return the spread of a column in the log that this was first used with: a radius means the same in halves."""
        return self._spreads.setdefault(column, spread_of(axes) or 1.0)

    def __repr__(self) -> str:
        given = {"columns": self._columns, "scale": self._scales or self._scale, "periods": self._periods}
        return f"observations({', '.join(f'{name}={value!r}' for name, value in given.items() if value)})"


def places(log: Log, n_columns: int) -> Any:
    """Return the function from a column's name, or its place, to its place."""
    names = log.spec.features or ()
    known: dict[Column, int] = dict(zip(range(n_columns), range(n_columns), strict=True))
    if len(names) == n_columns:
        known |= {name: place for place, name in enumerate(names)}

    def place_of(column: Column) -> int:
        if column not in known:
            listed = ", ".join(map(str, names)) if len(names) == n_columns else f"places 0 to {n_columns - 1}"
            raise SettingError(f"observations have no column {column!r}; give some of {listed}")
        return known[column]

    return place_of


def has_labels(log: Log, n_columns: int, *, as_codes: bool) -> list[bool]:
    """Return, for each column, True if its numbers stand for labels; single integers do where `as_codes`."""
    coding = log.spec.coding
    if coding is None:
        return [as_codes and log.spec.n_observations is not None] * n_columns
    one_hot = coding.form != "codes"
    widths = [len(column.labels) if one_hot and column.kind == "category" else 1 for column in coding.columns]
    return [
        column.n_codes is not None for column, width in zip(coding.columns, widths, strict=True) for _ in range(width)
    ]


def on_circle(values: np.ndarray, period: float) -> list[np.ndarray]:
    """Return values that go round as points on a circle of that circumference: two coordinates."""
    angle = values * (2 * np.pi / period)
    return [np.cos(angle) * (period / (2 * np.pi)), np.sin(angle) * (period / (2 * np.pi))]


def spread_of(axes: Sequence[np.ndarray]) -> float:
    """Return the standard deviation of points given by their coordinates, infinite and missing ones left out."""
    return float(np.sqrt(sum(np.var(axis[np.isfinite(axis)]) for axis in axes if np.isfinite(axis).any())))
