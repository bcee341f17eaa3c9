"""Boxes: each dimension of an observation is cut at edges."""

import math
from collections.abc import Sequence
from operator import le
from typing import Any

import numpy as np

from understudy.contracts import Log
from understudy.contracts.encoding import EncoderContents, ObservationSpec
from understudy.digits import digits
from understudy.encoders import files
from understudy.encoders.auditing import audit
from understudy.encoders.contents import check_names
from understudy.encoders.observations import batch_of, spec_of
from understudy.errors import EncoderError, LogError, SettingError

MOST_BOXES = 2**31


class Boxes:
    """A state is a box of a grid over the observation's dimensions, the first dimension counting fastest.

    `edges` are the inner ones, one list for each dimension (a single list where observations are scalars); an edge
    belongs to the box above it. With `bins` instead, `fit` places them: so many bins in each dimension, holding
    equally many logged observations (`spacing="quantile"`; fewer where values repeat) or equally wide from the least
    to the largest (`spacing="uniform"`). The outer boxes reach to infinity; NaN has no state (-1).

    Replay is exact where observations of one box have the same law of reward, next observation and termination under
    every action (A1). Boxes know only where observations lie, not what follows from them: one that a wall, a goal or
    a change of dynamics runs through merges wrongly, and smaller boxes only make the merge smaller, and runs shorter.

    >>> boxes = Boxes(edges=[[0.5], [0.2, 0.4]])
    >>> boxes.encode(np.array([[0.1, 0.0], [0.5, 0.3], [0.9, 0.9]])).tolist(), boxes.describe_state(3)
    ([0, 3, 5], '0.5 <= x0, 0.2 <= x1 < 0.4')
    """

    def __init__(
        self,
        edges: Sequence[Any] | None = None,
        bins: int | Sequence[int] | None = None,
        spacing: str = "quantile",
    ) -> None:
        if (edges is None) == (bins is None):
            raise SettingError("Boxes takes either edges or bins")
        self.bins = None if bins is None else _checked_bins(bins)
        self.spacing = _checked_spacing(spacing)
        self.edges = None if edges is None else _checked_edges(edges)
        self._observation: ObservationSpec | None = None

    fits = 0
    save, audit = files.save, audit

    @property
    def fitted(self) -> bool:
        """True if there are edges, given or placed by `fit`."""
        return self.edges is not None

    @property
    def n_states(self) -> int | None:
        """The number of boxes; None while there are no edges."""
        return None if self.edges is None else math.prod(len(cuts) + 1 for cuts in self.edges)

    def fit(self, log: Log) -> "Boxes":
        """Place the edges by the log's observations. Given edges stay as they are."""
        observations = batch_of(log.observation)
        if self.bins is not None:
            columns = _columns(observations)
            bins = [self.bins] * len(columns) if isinstance(self.bins, int) else self.bins
            if len(bins) != len(columns):
                raise SettingError(f"{len(bins)} bins were given for observations of {len(columns)} dimensions")
            _check_number(bins)
            self.edges = tuple(_placed_edges(*pair, self.spacing) for pair in zip(columns, bins, strict=True))
        self._check_dimensions(observations)
        self._observation = spec_of(observations)
        self.fits += 1
        return self

    def encode(self, observations: np.ndarray) -> np.ndarray:
        if self.edges is None:
            raise EncoderError("these Boxes have no edges yet: call fit(log) first, or give edges")
        observations = batch_of(observations, self._observation)
        self._check_dimensions(observations)
        states, radix = np.zeros(len(observations), dtype=np.int64), 1
        missing = np.zeros(len(observations), dtype=bool)
        for column, cuts in zip(_columns(observations), self.edges, strict=True):
            states += radix * np.searchsorted(cuts, column, side="right")
            missing |= np.isnan(column)
            radix *= len(cuts) + 1
        return np.where(missing, -1, states)

    @property
    def settings(self) -> dict[str, Any]:
        """The edges, and the options that they were placed by."""
        edges = None if self.edges is None else [cuts.tolist() for cuts in self.edges]
        learned = {} if self.bins is None else {"bins": self.bins, "spacing": self.spacing}
        return {"encoder": "Boxes", "edges": edges, **learned}

    def contents(self) -> EncoderContents:
        if self.edges is None:
            raise EncoderError("these Boxes have no edges to save yet: call fit(log) first, or give edges")
        cuts = {f"edges {dimension}": cuts for dimension, cuts in enumerate(self.edges)}
        return EncoderContents({"bins": self.bins, "spacing": self.spacing}, cuts, self._observation)

    @classmethod
    def from_contents(cls, contents: EncoderContents) -> "Boxes":
        check_names("its settings", contents.settings, ("bins", "spacing"))
        names = [f"edges {dimension}" for dimension in range(len(contents.arrays))]
        check_names("its arrays", contents.arrays, names or ["edges 0"])
        edges = [contents.arrays[name] for name in names]
        if any(cuts.ndim != 1 or cuts.dtype != np.float64 for cuts in edges):
            raise EncoderError("edges are not lists of numbers")
        if contents.observation is not None and math.prod(contents.observation.shape) != len(edges):
            raise EncoderError(f"there are edges for {len(edges)} dimensions, and {contents.observation}")
        bins, spacing = contents.settings["bins"], contents.settings["spacing"]
        boxes = cls(edges=edges) if bins is None else cls(bins=bins, spacing=spacing)
        boxes.edges, boxes.spacing = _checked_edges(edges), _checked_spacing(spacing)
        boxes._observation = contents.observation
        each = [boxes.bins] * len(edges) if isinstance(boxes.bins, int) else boxes.bins
        if each is not None and (len(each) != len(edges) or any(map(le, each, map(len, edges)))):
            raise EncoderError(f"bins is {bins}, and there are edges for other bins")
        return boxes

    def describe_state(self, state: int) -> str:
        """Return the intervals of a box in words. Raise `SettingError` where there is no such box."""
        if self.edges is None or not 0 <= state < (self.n_states or 0):
            raise SettingError(f"there is no box {state}")
        intervals = []
        for dimension, cuts in enumerate(self.edges):
            state, place = divmod(state, len(cuts) + 1)
            name = f"x{dimension}" if len(self.edges) > 1 else "x"
            below = f"{digits(cuts[place - 1], 4, commas=False)} <= " if place else ""
            above = f" < {digits(cuts[place], 4, commas=False)}" if place < len(cuts) else ""
            intervals.append(below + name + above)
        return ", ".join(intervals)

    def __repr__(self) -> str:
        if self.bins is None:
            return f"Boxes({self.n_states} boxes)"
        boxes = "" if self.edges is None else f", {self.n_states} boxes"
        return f"Boxes(bins={self.bins}, spacing={self.spacing!r}{boxes})"

    def _check_dimensions(self, observations: np.ndarray) -> None:
        given, known = len(_columns(observations)), len(self.edges or ())
        if given != known:
            raise EncoderError(f"these Boxes have edges for {known} dimensions, and observations have {given}")


def _columns(observations: np.ndarray) -> np.ndarray:
    """Return the values of observations in each dimension, (dimensions, n)."""
    return observations.reshape(len(observations), math.prod(observations.shape[1:])).T


def _equal_counts(column: np.ndarray, bins: int) -> np.ndarray:
    return np.quantile(column, np.arange(1, bins) / bins)


def _equal_widths(column: np.ndarray, bins: int) -> np.ndarray:
    return np.linspace(column.min(), column.max(), bins + 1)[1:-1]


SPACINGS = {"quantile": _equal_counts, "uniform": _equal_widths}


def _placed_edges(column: np.ndarray, bins: int, spacing: str) -> np.ndarray:
    """Return edges that increase and are above the least value, so that repeated values make no empty box."""
    finite = column[np.isfinite(column)].astype(np.float64)
    if not len(finite):
        raise LogError("a dimension of the observations has no finite value: no edge can be placed in it")
    cuts = np.unique(SPACINGS[spacing](finite, bins))
    return cuts[cuts > finite.min()]


def _checked_bins(bins: int | Sequence[int]) -> int | list[int]:
    """Return the number of bins, or a list of one for each dimension. Raise `SettingError` for anything else."""
    whole = np.asarray(bins)
    if whole.dtype.kind not in "iu" or whole.ndim > 1 or not whole.size or (whole < 1).any():
        raise SettingError(f"bins is {bins}; it is a number from 1 up, or one for each dimension")
    return whole.tolist()


def _checked_spacing(spacing: Any) -> str:
    """Return the spacing. Raise `SettingError` where there is no such spacing."""
    if spacing not in list(SPACINGS):
        raise SettingError(f'spacing is {spacing!r}; it is one of "quantile" and "uniform"')
    return spacing


def _checked_edges(edges: Sequence[Any]) -> tuple[np.ndarray, ...]:
    """Return an array of edges for each dimension. Raise `SettingError` where they do not increase."""
    lists = edges if any(np.ndim(cuts) for cuts in edges) else [edges]
    arrays = tuple(np.asarray(cuts, dtype=np.float64) for cuts in lists)
    for dimension, cuts in enumerate(arrays):
        if cuts.ndim != 1 or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
            raise SettingError(
                f"the edges of dimension {dimension} are {cuts.tolist()}; they are finite numbers that increase"
            )
    _check_number([len(cuts) + 1 for cuts in arrays])
    return arrays


def _check_number(bins: Sequence[int]) -> None:
    """Raise `SettingError` where so many bins in each dimension make too many boxes."""
    if math.prod(bins) > MOST_BOXES:
        raise SettingError(
            f"{len(bins)} dimensions cut so finely give {math.prod(bins):,} boxes, over 2**31; use fewer bins"
        )
