"""What a simulation leaves behind: one run, and the runs of an experiment."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from understudy.contracts import Stop
from understudy.contracts.streams import spawn
from understudy.runs.compact import NotKept, RowNumbers

KINDS = {(False, False): 0, (True, False): 1, (False, True): 2, (True, True): 3}
"""Part of each run's seed, by whether it is real, and has a simulator of its own: the same number never couples real
and simulated runs."""


def seed_of_run(about: Mapping[str, Any], number: int) -> int | None:
    """The seed of an experiment's run, by what the experiment is; None where that does not tell."""
    if not {"seed", "kind", "from_factory"} <= about.keys():
        return None
    return spawn(about["seed"], number, KINDS[about["kind"] == "real", about["from_factory"]])


@dataclass(frozen=True, eq=False)
class Run:
    """One pass of a learner through a simulator, as the rows it was served and the curves of its probes.

    Rows, openings and emissions are held in few bits, and made an array each time they are read: keep that array
    while you work on it. With `keep_rows=False` they are not held at all: their number is known, and whoever reads
    them is told so by a `LogError`.
    """

    seed: int
    rows: np.ndarray  # (T,) int32: whose action and outcome each step was; -1 in a real environment
    openings: np.ndarray  # int32: the row each episode began with, finished or not
    emissions: np.ndarray | None  # (T,) int32: who lent the next observation, where that is not the row itself
    ends: np.ndarray  # int64: the number of steps when each finished episode was over
    returns: np.ndarray  # float64: the sum of its rewards
    steps: np.ndarray  # (K,) int64: after how many steps the probes were read
    curves: Mapping[str, np.ndarray]  # each (K,) or (K, ...)
    final: Mapping[str, Any]  # the same probes when the run stopped
    stopped: Stop
    log: str | None = None  # the fingerprint of the run's own log, where runs were given one each
    partial: float | None = None  # what the episode under way had earned when the run stopped; None between episodes

    def __len__(self) -> int:
        return len(vars(self)["rows"])

    @property
    def has_rows(self) -> bool:
        """Whether its rows were kept."""
        return not isinstance(vars(self)["rows"], NotKept)

    def __repr__(self) -> str:
        return f"Run of {len(self):,} steps, {len(self.ends):,} finished episodes: {self.stopped}"


for _name in ("rows", "openings", "emissions"):
    setattr(Run, _name, RowNumbers(_name))


def reached(lengths: np.ndarray, share: float) -> int:
    """The largest number that at least this share of the lengths reaches.

    >>> reached(np.array([5, 30, 40, 50]), 0.75)
    30
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share={share!r} must be above 0 and at most 1")
    needed = int(np.ceil(share * len(lengths) - 1e-9))  # rounding must not ask for one run more
    return int(np.sort(lengths)[len(lengths) - needed])


@dataclass(frozen=True, eq=False)
class Runs(Sequence[Run]):
    """The runs of one experiment, and what they are runs of."""

    runs: tuple[Run, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, runs: Sequence[Run], about: Mapping[str, Any]) -> "Runs":
        """Runs, and whether each had a log of its own: two that share one are not independent."""
        logs = {run.log for run in runs}
        return cls(tuple(runs), {**about, "own_logs": None not in logs and len(logs) == len(runs)})

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> "Runs": ...
    def __getitem__(self, place: int | slice) -> "Run | Runs":
        return Runs(self.runs[place], self.about) if isinstance(place, slice) else self.runs[place]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @property
    def lengths(self) -> np.ndarray:
        """The number of steps of each run."""
        return np.array([len(run) for run in self.runs])

    def horizon(self, share: float = 1.0) -> int:
        """The largest step that at least this share of runs reached."""
        return reached(self.lengths, share)

    @property
    def probes(self) -> list[str]:
        """The names of what was measured."""
        return list(self.runs[0].curves) if self.runs else []

    def curve(self, probe: str) -> tuple[np.ndarray, np.ndarray]:
        """The steps at which any run was probed, (K,), and each run's values, (R, K, ...); NaN after it stopped."""
        if not self.runs or probe not in self.runs[0].curves:
            raise KeyError(f"there is no probe {probe!r}; there is {', '.join(map(repr, self.probes)) or 'none'}")
        longest = max(self.runs, key=lambda run: len(run.steps))
        shape = (len(self), len(longest.steps), *np.shape(longest.curves[probe])[1:])
        values = np.full(shape, np.nan)
        for place, run in enumerate(self.runs):
            if len(run.steps):
                values[place, : len(run.steps)] = run.curves[probe]
        return longest.steps, values

    def __repr__(self) -> str:
        if not self.runs:
            return "Runs: none"
        name = self.about.get("simulator", {}).get("simulator", "simulator")
        low, high = self.lengths.min(), self.lengths.max()
        return f"{len(self)} runs of {name}, {low:,} to {high:,} steps, probes: {', '.join(self.probes) or 'none'}"
