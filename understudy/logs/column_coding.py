"""How one column of observations is coded: which number stands for which text, truth value or date."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.digits import digits
from understudy.errors import SettingError

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = ("integer", "number")
TIMES = ("date", "time", "duration")
KINDS = (*NUMBERS, "truth", "category", *TIMES)
FALSE_TRUE = ("false", "true")
"""The words of a column that was logged as truth values."""

MICROSECONDS = {"days": 86_400_000_000, "seconds": 1_000_000}
ORIGIN = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{6})?Z?)?")
LARGEST = 2.0**59  # microseconds from the origin, 18,000 years; what lies further away is shown as a number
OTHER = "(other)"
"""The word for a category that the coding has no label for."""


@dataclass(frozen=True)
class ColumnCoding:
    """How one column of observations is coded as numbers.

    >>> country = ColumnCoding("country", "category", labels=("DE", "FR"))
    >>> country.word(1), country.word(2)
    ('FR', '(other)')
    >>> ColumnCoding("since", "date", origin="2024-02-28", unit="days").word(2.0)
    '2024-03-01'
    """

    name: str
    kind: str  # integer, number, truth, category, date, time or duration
    labels: tuple[str, ...] = ()  # of a category, in the order of codes; of truth values, the words for 0 and 1
    origin: str | None = None  # of dates: the date that is 0; ends with Z where dates have time zones
    unit: str | None = None  # of dates, times and durations: days or seconds

    def __post_init__(self) -> None:
        if not self._is_valid():
            raise SettingError(f"{self!r} describes no coding; take one from log.spec.coding")

    def _is_valid(self) -> bool:
        texts = [self.name, *self.labels]
        if self.kind not in KINDS or any(text != text.encode(errors="replace").decode() for text in texts):
            return False
        if len(set(self.labels)) < len(self.labels) or (self.unit in MICROSECONDS) != (self.kind in TIMES):
            return False
        n_labels = {"truth": len(self.labels) == 2, "category": len(self.labels) > 0}
        try:
            has_origin = self.origin is not None and bool(ORIGIN.fullmatch(self.origin)) and self.zero is not None
        except ValueError:  # a day that does not exist
            return False
        return n_labels.get(self.kind, not self.labels) and (has_origin if self.kind == "date" else not self.origin)

    @property
    def n_codes(self) -> int | None:
        """How many codes there are, where there is one for each label; None for numbers and dates."""
        return len(self.labels) or None

    @property
    def zero(self) -> int:
        """The microseconds from 1970 (of dates) or midnight (of times) to what is coded as 0."""
        origin = np.datetime64((self.origin or "1970-01-01").removesuffix("Z"), "us")
        return int(origin.astype(np.int64))

    @property
    def has_zone(self) -> bool:
        """True for dates with time zones, which are held in UTC."""
        return self.origin is not None and self.origin.endswith("Z")

    def word(self, value: Any) -> str:
        """Return the text for one number of this column, as messages show it."""
        number = float(value)
        whole = np.isfinite(number) and number == int(number)
        if self.labels:
            return self.labels[int(number)] if whole and 0 <= number < len(self.labels) else OTHER
        if self.kind in TIMES and abs(number) * MICROSECONDS[self.unit or "days"] < LARGEST:
            return self._moment(int(self._ticks(np.array([number]))[0]))
        return str(int(value)) if whole and self.kind == "integer" else digits(number + 0.0, 4, commas=False)

    def values(self, numbers: np.ndarray) -> "pa.Array":
        """Return the values that these numbers stand for, as an Arrow array: text, truth values, dates, numbers."""
        import pyarrow as pa

        if self.labels == FALSE_TRUE and self.kind == "truth":
            return pa.array(numbers != 0)
        if self.labels:
            known = (numbers >= 0) & (numbers < len(self.labels))
            codes = np.where(known, numbers, len(self.labels)).astype(np.int64)
            return pa.array([*self.labels, OTHER], pa.large_string()).take(pa.array(codes))
        if self.kind in TIMES:
            ticks = self._ticks(numbers)
            if self.kind == "date":
                moments = pa.array(ticks, pa.timestamp("us", "UTC" if self.has_zone else None))
                days = self.unit == "days" and not (ticks % MICROSECONDS["days"]).any()
                return moments.cast(pa.date32()) if days else moments
            return pa.array(ticks, pa.duration("us") if self.kind == "duration" else pa.time64("us"))
        whole = self.kind == "integer" and np.isfinite(numbers).all() and (numbers == np.rint(numbers)).all()
        return pa.array(numbers.astype(np.int64) if whole else numbers)

    def to_json(self) -> dict[str, Any]:
        """Return what is known of the column as a dict of plain values."""
        known = {**vars(self), "labels": list(self.labels)}
        return {name: value for name, value in known.items() if value}

    @classmethod
    def from_json(cls, known: Any) -> "ColumnCoding":
        """Return the coding that `to_json` described. Raise an error of Python's, or `SettingError`, for anything else.

        >>> ColumnCoding.from_json({"name": "vip", "kind": "truth", "labels": ["no", "yes"]}).labels
        ('no', 'yes')
        """
        fields = {name: known.get(name) for name in ("name", "kind", "origin", "unit")}
        labels = known.get("labels", [])
        texts = [fields["name"], *labels]
        if set(known) - {*fields, "labels"} or not isinstance(labels, list) or {type(text) for text in texts} != {str}:
            raise ValueError("not a coding")
        return cls(**fields, labels=tuple(labels))

    def __str__(self) -> str:
        about = {
            "category": f"{len(self.labels):,} label{'s' * (len(self.labels) > 1)}",
            "truth": " or ".join(self.labels),
            "date": f"{self.unit} since {self.origin}",
            "time": "seconds since midnight",
            "duration": "seconds",
        }
        return f"{self.name}: {self.kind}" + (f", {about[self.kind]}" if self.kind in about else "")

    def _ticks(self, numbers: np.ndarray) -> np.ndarray:
        """Return times as microseconds, int64."""
        return np.rint(np.asarray(numbers, float) * MICROSECONDS[self.unit or "days"]).astype(np.int64) + self.zero

    def _moment(self, ticks: int) -> str:
        if self.kind == "duration":
            return f"{ticks / MICROSECONDS['seconds']:g} s"
        day, within = divmod(ticks, MICROSECONDS["days"])
        moment = np.datetime64(ticks, "us")
        text = np.datetime_as_string(moment, unit="s" if within % MICROSECONDS["seconds"] == 0 else "us")
        if self.kind == "time" and day == 0:
            return str(text).partition("T")[2]
        if self.unit == "days" and within == 0:
            return str(text).partition("T")[0]
        return f"{text}Z" if self.has_zone else str(text)
