"""Where the propensities of a log came from."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.tables import arrow_table, record_table

if TYPE_CHECKING:
    import pyarrow as pa

HIDDEN = "a cause of actions that is not in the observation cannot be seen, and makes what psrs serves wrong"
"""What no estimate of propensities can exclude."""


@dataclass(frozen=True)
class PropensityReport:
    """How propensities were estimated from a log, and how well they fit actions that the models did not see."""

    n_rows: int
    n_episodes: int
    n_parts: int  # each row's propensities come from a model of the episodes in the other parts
    features: str  # what the model sees of an observation
    loss: float  # the mean of -log p over the actions taken
    loss_of_frequencies: float  # the same for a model that knows only how often each action was taken
    scale: float  # what calibration multiplied the model's log-odds by, the mean over parts; 0: it knows nothing
    smallest: float  # the smallest propensity of an action that was taken
    mean_inverse: float  # the mean of 1/p of the action taken, as a share of the number of actions: about 1
    p_value: float | None = None  # of the audit's calibration test; None where it could not be made
    disagreement: float | None = None  # the mean distance to the logged propensity of the chosen action, if any

    def __str__(self) -> str:
        gain = 1 - self.loss / self.loss_of_frequencies if self.loss_of_frequencies else 0.0
        lines = [
            f"propensities estimated from {self.n_rows:,} rows, cross-fitted by episode in {self.n_parts} parts",
            f"  the model sees {self.features}",
            f"  loss {self.loss:.4f} on actions it did not see, {gain:.1%} less than by frequencies alone",
            f"  calibration {'not tested' if self.p_value is None else f'p = {self.p_value:.2g}'}; scale "
            f"{self.scale:.2f}, mean of 1/p {self.mean_inverse:.3f} of what it should be, smallest {self.smallest:.2g}",
        ]
        if self.disagreement is not None:
            lines.append(f"  {self.disagreement:.3f} from the logged propensity of the chosen action, on average")
        return "\n".join([*lines, f"  {HIDDEN}"])

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the report as a dictionary of plain types."""
        return asdict(self)

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table of one line, a column for each field."""
        types = dict.fromkeys(REPORTED, "float64") | dict.fromkeys(("n_rows", "n_episodes", "n_parts"), "int64")
        return arrow_table({name: [value] for name, value in vars(self).items()}, types | {"features": "string"})

    def _repr_html_(self) -> str:
        return record_table("Estimated propensities", vars(self))._repr_html_()

    @classmethod
    def from_json(cls, content: Any) -> "PropensityReport":
        """Return the report that `to_json` wrote. Raise `ValueError` for anything else."""
        return cls(**_checked(cls, content, REPORTED))


@dataclass(frozen=True)
class PropensitySource:
    """Where the propensities of a log came from: "logged" as they are, or by one of the other `KINDS`.

    >>> print(PropensitySource("monte carlo", n_samples=100))
    shares of 100 draws of the policy
    """

    kind: str = "logged"
    n_samples: int | None = None  # of "monte carlo": how many draws of the policy each is a share of
    detail: str = ""  # more about it, as the end of a sentence
    report: PropensityReport | None = None  # of "estimated"

    def __str__(self) -> str:
        samples = "" if self.n_samples is None else f"{self.n_samples:,} "
        return KINDS[self.kind].replace("{samples}", samples) + (f", {self.detail}" if self.detail else "")

    @property
    def is_sampled(self) -> bool:
        """True if each propensity is a share of draws of the policy, so that it differs from the true one by chance."""
        return self.kind == "monte carlo"

    @property
    def is_estimated(self) -> bool:
        """True if propensities were estimated from the actions of the log itself."""
        return self.kind == "estimated"

    @property
    def keeps_chosen(self) -> bool:
        """True if propensities were estimated beside those of chosen actions, and these are as they were logged."""
        return self.report is not None and self.report.disagreement is not None

    @property
    def is_uncertain(self) -> bool:
        """True if propensities, or some of them, are not known exactly: estimates, shares of draws, several kinds."""
        return self.is_sampled or self.is_estimated or self.kind == "several"

    def standard_error(self, propensity: Any) -> np.ndarray:
        """Return the standard error of propensities that are shares of draws; 0 for those of other kinds.

        >>> PropensitySource("monte carlo", n_samples=100).standard_error([0.5, 0.1]).round(3)
        array([0.05, 0.03])
        """
        p = np.asarray(propensity, np.float64)
        return np.zeros_like(p) if self.n_samples is None else np.sqrt(p * (1 - p) / self.n_samples)

    def to_json(self) -> dict[str, Any]:
        """Return the source as a dictionary of plain types."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Any) -> "PropensitySource":
        """Return the source that `to_json` wrote. Raise `ValueError` for anything else."""
        known = _checked(cls, content, SOURCED)
        report = known["report"]
        if (known["kind"] == "monte carlo") != (known["n_samples"] is not None):
            raise ValueError("n_samples belongs to propensities that are shares of draws")
        return cls(**{**known, "report": None if report is None else PropensityReport.from_json(report)})


KINDS = {
    "logged": "as logged",
    "uniform": "uniform, recognized from those of the chosen actions",
    "table": "from a table",
    "function": "from a function",
    "monte carlo": "shares of {samples}draws of the policy",
    "estimated": "estimated from the log",
    "several": "from several sources",
}
"""The kinds of sources, and each in words."""


def joined_source(sources: list[PropensitySource | None]) -> PropensitySource | None:
    """Return the source of logs that are joined: their own where they agree, else one that has each in words.

    It is "estimated" where one of them is, and "several" otherwise.
    """
    distinct = [source for source in dict.fromkeys(sources) if source is not None]
    if len(distinct) < 2:
        return distinct[0] if distinct else None
    estimated = any(source.is_estimated for source in distinct)
    return PropensitySource("estimated" if estimated else "several", detail="; ".join(map(str, distinct)))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 < value < 2**63


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300 and math.isfinite(value)


def _is_text(value: Any) -> bool:
    return type(value) is str and value == value.encode(errors="replace").decode()


def _or_none(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or test(value)


Tests = Mapping[str, Callable[[Any], bool]]
REPORTED: Tests = dict.fromkeys(("n_rows", "n_episodes", "n_parts"), _is_count) | {
    "features": _is_text,
    **dict.fromkeys(("loss", "loss_of_frequencies", "scale", "smallest", "mean_inverse"), _is_number),
    **dict.fromkeys(("p_value", "disagreement"), _or_none(_is_number)),
}
SOURCED: Tests = {
    "kind": lambda value: type(value) is str and value in KINDS,
    "n_samples": _or_none(_is_count),
    "detail": _is_text,
    "report": lambda value: value is None or isinstance(value, dict),
}
"""The test of each field that a file holds."""


def _checked(kind: type, content: Any, tests: Tests) -> dict[str, Any]:
    """Return the fields in a dictionary. Raise `ValueError` where one is missing, is not known, or fails its test."""
    names = {one.name for one in fields(kind)}
    if not isinstance(content, dict) or set(content) != names or not all(tests[name](content[name]) for name in names):
        raise ValueError(f"this is not what {kind.__name__}.to_json wrote")
    return content
