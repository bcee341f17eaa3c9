"""The results of a simulation: one run, and the runs of an experiment."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from understudy.contracts import Stop
from understudy.contracts.streams import spawn
from understudy.errors import SettingError
from understudy.runs.about import About
from understudy.runs.compact import NotKept, RowNumbers
from understudy.runs.failures import FailedRun, failures_sentence
from understudy.runs.frames import episodes_frame, readings_frame, runs_frame
from understudy.small_curves import small_curve
from understudy.tables import Column, Table, record_table

if TYPE_CHECKING:
    import pyarrow as pa

FRAMES = {"reading": readings_frame, "episode": episodes_frame, "run": runs_frame}
MOST_SHOWN = 10
"""The largest number of runs that a notebook lists."""

KINDS = {(False, False): 0, (True, False): 1, (False, True): 2, (True, True): 3}
"""A part of each run's seed, by (real, has a simulator of its own): real and simulated runs never share a seed."""


def seed_of_run(about: Mapping[str, Any], number: int) -> int | None:
    """Return the seed of a run, by what `experiment.json` says of the experiment; None where it says too little."""
    if not {"seed", "kind", "from_factory"} <= about.keys():
        return None
    return spawn(about["seed"], number, KINDS[about["kind"] == "real", about["from_factory"]])


@dataclass(frozen=True, eq=False)
class Run:
    """One pass of a learner through a simulator, as the rows it was served and the curves of its probes.

    Rows, openings and emissions are held in few bits, and unpacked each time they are read: keep the array while you
    work on it. With `keep_rows=False` only their number is held, and reading them raises a `UsageError`.
    """

    seed: int
    rows: np.ndarray  # (T,) int32: the row whose action and outcome each step was; -1 in a real environment
    openings: np.ndarray  # int32: the row each episode began with, finished or not
    emissions: np.ndarray | None  # (T,) int32: the row that lent the next observation; None where it is the row itself
    ends: np.ndarray  # int64: the number of steps when each finished episode was over
    returns: np.ndarray  # float64: the sum of its rewards
    steps: np.ndarray  # (K,) int64: after how many steps the probes were read
    curves: Mapping[str, np.ndarray]  # each (K,) or (K, ...)
    final: Mapping[str, Any]  # the same probes when the run stopped
    stopped: Stop
    log: str | None = None  # the fingerprint of the run's own log, where runs were given one each
    partial: float | None = None  # what the episode under way had earned when the run stopped; None between episodes

    rungs: np.ndarray | None = None  # (T,) uint8: the rung of a ladder that served each step, 0 the state's own row
    cuts: np.ndarray | None = None  # int64: after how many steps each episode was cut that had no answer

    def __len__(self) -> int:
        return len(vars(self)["rows"])

    @property
    def exact_steps(self) -> int:
        """The number of steps before the first that a lower rung served, or before the first episode was cut."""
        if self.rungs is None or self.cuts is None:
            return len(self)
        lower = int((self.rungs > 0).argmax()) if self.rungs.any() else len(self)
        return min([lower, *self.cuts[:1].tolist()])

    @property
    def has_rows(self) -> bool:
        """True if the run kept its rows."""
        return not isinstance(vars(self)["rows"], NotKept)

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table with a line for each reading: `step`, and a column for each probe.

        Probes that are vectors have lists. A probe named "step" has the column "probe step".
        """
        return readings_frame([self]).drop_columns(["run", "seed"])

    def __repr__(self) -> str:
        return f"Run of {len(self):,} steps, {len(self.ends):,} finished episodes: {self.stopped}"

    def _repr_html_(self) -> str:
        last = {name: float(value) for name, value in self.final.items() if np.ndim(value) == 0}
        return record_table(repr(self), {"seed": str(self.seed)} | last)._repr_html_()


for _name in ("rows", "openings", "emissions"):
    setattr(Run, _name, RowNumbers(_name))


def reached(lengths: np.ndarray, share: float) -> int:
    """Return the largest number that at least this share of the lengths reaches.

    >>> reached(np.array([5, 30, 40, 50]), 0.75)
    30
    """
    if not 0.0 < share <= 1.0:
        raise SettingError(f"share={share!r} must be above 0 and at most 1")
    needed = int(np.ceil(share * len(lengths) - 1e-9))  # rounding must not ask for one run more
    return int(np.sort(lengths)[len(lengths) - needed])


@dataclass(frozen=True, eq=False)
class Runs(Sequence[Run]):
    """The runs of one experiment, and in `about` what was run.

    `halves` are the runs of the same experiment on random halves of the log, where `us.halves` made them. `failed` are
    the runs that raised and are not among the others, which `experiment(errors="keep")` keeps.
    """

    runs: tuple[Run, ...]
    about: About = field(default_factory=About)
    halves: tuple["Runs", ...] = ()
    failed: tuple[FailedRun, ...] = ()

    @classmethod
    def of(cls, runs: Sequence[Run], about: Mapping[str, Any], failed: Sequence[FailedRun] = ()) -> "Runs":
        """Return the runs with a record of what was run, given as `experiment.json` has it."""
        logs = {run.log for run in runs}
        own_logs = None not in logs and len(logs) == len(runs)
        return cls(tuple(runs), About.from_json(about, own_logs=own_logs), failed=tuple(failed))

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> "Runs": ...
    def __getitem__(self, place: int | slice) -> "Run | Runs":
        return replace(self, runs=self.runs[place]) if isinstance(place, slice) else self.runs[place]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @property
    def lengths(self) -> np.ndarray:
        """The number of steps of each run."""
        return np.array([len(run) for run in self.runs])

    def horizon(self, share: float = 1.0) -> int:
        """Return the largest step that at least this share of runs reached."""
        return reached(self.lengths, share)

    def exact_horizon(self, share: float = 0.9) -> int:
        """Return the largest step up to which at least this share of runs used no lower rung and cut no episode.

        Where a simulator has no lower rungs, that is `horizon(share)`.
        """
        return reached(np.array([run.exact_steps for run in self.runs]), share)

    @property
    def probes(self) -> list[str]:
        """The names of the probes."""
        return list(self.runs[0].curves) if self.runs else []

    def curve(self, probe: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps of all readings, (K,), and each run's readings there, (R, K, ...); NaN after it stopped."""
        if not self.runs or probe not in self.runs[0].curves:
            raise KeyError(f"there is no probe {probe!r}; there is {', '.join(map(repr, self.probes)) or 'none'}")
        longest = max(self.runs, key=lambda run: len(run.steps))
        shape = (len(self), len(longest.steps), *np.shape(longest.curves[probe])[1:])
        values = np.full(shape, np.nan)
        for position, run in enumerate(self.runs):
            if len(run.steps):
                values[position, : len(run.steps)] = run.curves[probe]
        return longest.steps, values

    def to_frame(self, per: Literal["reading", "run", "episode"] = "reading") -> "pa.Table":
        """Return a tidy Arrow table: pandas takes it by `.to_pandas()`, polars by `polars.from_arrow`.

        - per="reading", a line for each run and reading: `run`, `seed`, `step`, and a column for each probe;
        - per="run", a line for each run: `run`, `seed`, `steps`, `episodes`, why it stopped (`cause`, `state`,
          `action`, `reason`), and each probe when it stopped; where a run has lower rungs, `exact_steps` and `cuts`
          (how many episodes were cut), too, null for runs without;
        - per="episode", a line for each run and finished episode: `run`, `seed`, `episode`, `step` (when it was over)
          and `return`.

        Probes that are vectors have lists. A probe named like one of these columns has "probe " before its name. Runs
        stop at different steps: before you average over runs, read what `horizon` and `us.fidelity` say of survivors.
        """
        if per not in FRAMES:
            raise SettingError(f"per={per!r} is not one of {', '.join(map(repr, FRAMES))}")
        return FRAMES[per](self.runs)

    def __repr__(self) -> str:
        failed = f"; {failures_sentence(self.failed, len(self) + len(self.failed))}" if self.failed else ""
        if not self.runs:
            return f"Runs: none{failed}"
        name = self.about.simulator_name or "simulator"
        low, high = self.lengths.min(), self.lengths.max()
        probes = ", ".join(self.probes) or "none"
        return f"{len(self)} runs of {name}, {low:,} to {high:,} steps, probes: {probes}{failed}"

    def _repr_html_(self) -> str:
        headings = (Column("run", numeric=False), Column("steps"), Column("episodes"), Column("stopped", numeric=False))
        rows = tuple(
            (str(number), f"{len(run):,}", f"{len(run.ends):,}", run.stopped.reason)
            for number, run in enumerate(self.runs[:MOST_SHOWN])
        )
        more = (f"... and {len(self) - MOST_SHOWN:,} more: to_frame(per='run') has all",) * (len(self) > MOST_SHOWN)
        return Table(repr(self), headings, rows, notes=more)._repr_html_() + self._small_curves()

    def _small_curves(self) -> str:
        """Return a picture of the first probe that is a number; empty where there is none."""
        for probe in self.probes:
            steps, values = self.curve(probe)
            if values.ndim == 2 and (picture := small_curve(steps, values)):
                return f"<p>{escape(probe)}</p>{picture}"
        return ""
