"""How long a log will answer for a learner, found by a few runs before the many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta, binom

from understudy.contracts import Backend, Learner, LoopOwner, Simulator
from understudy.contracts.ladders import ladder_of
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.contracts.simulating import is_exhaustible
from understudy.contracts.streams import spawn
from understudy.digits import percent
from understudy.errors import ContractError, SettingError
from understudy.evaluation import efficiency
from understudy.logs.findings import counted
from understudy.progress import progress_bar
from understudy.runs import Run, Runs
from understudy.runs.backends import backend_of, workers_of
from understudy.runs.experiment import results_of
from understudy.runs.plan import Plan
from understudy.runs.prerequisites import check_parts
from understudy.settings import seed_of, steps_of, whole
from understudy.tables import Column, Table, arrow_table
from understudy.trust.needed import Needed, check_repeats, needed_for

if TYPE_CHECKING:
    import pyarrow as pa

LEVEL = 0.9
"""The chance that the length of a run lies in the interval, with 19, 39, 59 or 79 pre-runs."""

FEWEST, MORE, MOST = 19, 20, 79
"""Pre-runs to begin with; by how many at a time they are added where the median is not known; and the most in all."""

TOLERANCE = 0.2
"""How wide, to each side and as a share of it, the 95% interval of the median may be."""

SEEDS = 0xF0
"""Sets the seeds of pre-runs apart from those of an experiment with the same seed."""

EVERY = 1000
"""Steps between two readings of probes, of which there are none."""

TYPES = {
    "steps": "int64", "low": "int64", "high": "int64", "level": "float64", "episodes": "int64", "pre_runs": "int64",
    "n_limited": "int64", "runs_out": "string", "share": "float64", "steps_asked_for": "int64",
    "episodes_needed": "int64", "episodes_for_most": "int64",
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Forecast:
    """How many steps and episodes a log will answer for a learner in a simulator, and what will run out first."""

    steps: int  # the median length of runs, as `median_length` estimates it from the pre-runs
    interval: tuple[int, int]  # a further run on this log is at least and at most so long, with a chance of `level`
    level: float
    episodes: int  # finished ones: the median over pre-runs
    runs_out: dict[str, float]  # what ran out first, and in what share of the pre-runs; the most frequent first
    pre_runs: int
    n_limited: int  # pre-runs that max_steps or the learner stopped: the log could have answered for longer
    needed: Needed | None = None  # the log that steps= would need
    longer: dict[str, int] = field(default_factory=dict)  # flags with which it answers for longer, and how many steps

    @property
    def episodes_needed(self) -> int | None:
        """The episodes of a log with which half of the runs reach `steps=`; None without it, or where it is unknown."""
        return None if self.needed is None else self.needed.episodes

    def __str__(self) -> str:
        (low, high), at_least = self.interval, "at least " if 2 * self.n_limited > self.pre_runs else ""
        sentences = [
            f"the log will answer for {at_least}{counted(self.steps, 'step')} and {counted(self.episodes, 'episode')} "
            f"(median of {self.pre_runs} pre-runs)"
        ]
        if self.n_limited < self.pre_runs:
            sentences[0] += f"; a run has {low:,} to {high:,} steps with a chance of {self.level:.0%}"
        if self.runs_out:
            what, share = next(iter(self.runs_out.items()))
            others = len(self.runs_out) - 1
            rest = f"; in the rest, {others:,} other thing{'s' if others > 1 else ''}" if others else ""
            sentences.append(f"what runs out first: {what} ({percent(share)} of pre-runs{rest})")
        if self.n_limited:
            were = "was" if self.n_limited == 1 else "were"
            stopped = counted(self.n_limited, "pre-run")
            sentences.append(f"{stopped} {were} stopped by max_steps or the learner, not by the log")
        if self.needed is not None:
            sentences.append(str(self.needed))
        sentences += [f"{flag} would answer for about {steps:,} steps" for flag, steps in self.longer.items()]
        return "; ".join(sentences)

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values."""
        needed = None if self.needed is None else dict(vars(self.needed))
        found = {"interval": list(self.interval), "episodes_needed": self.episodes_needed, "needed": needed}
        return dict(vars(self)) | found

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table with a line for each thing that runs out first, and the forecast beside it.

        Where the log itself stopped no pre-run there is one line, without it.
        """
        low, high = self.interval
        needed = {} if self.needed is None else vars(self.needed)
        values = {name: vars(self).get(name) for name in TYPES} | {"low": low, "high": high}
        values |= {"steps_asked_for": needed.get("steps"), "episodes_needed": self.episodes_needed}
        values["episodes_for_most"] = needed.get("episodes_for_most")
        lines = [values | {"runs_out": what, "share": share} for what, share in self.runs_out.items()]
        lines = lines or [values | {"runs_out": None, "share": None}]
        return arrow_table({name: [line[name] for line in lines] for name in TYPES}, TYPES)

    def table(self, most: int = 5) -> Table:
        """Return what runs out first as a table for people, of at most so many lines."""
        first = [(share, what) for what, share in list(self.runs_out.items())[:most]]
        rows = tuple((percent(share), what) for share, what in first)
        left = len(self.runs_out) - len(first)
        notes = (f"{left:,} other things run out first in the other pre-runs",) if left else ()
        headings = Column("pre-runs"), Column("what runs out first", numeric=False)
        return Table("", headings, rows, tuple(first), notes)

    def _repr_html_(self) -> str:
        return replace(self.table(), title=str(self))._repr_html_()


def forecast(
    simulator: Simulator,
    make: Callable[[int], Learner | LoopOwner],
    *,
    steps: int | None = None,
    seed: int = 0,
    pre_runs: int | None = None,
    max_steps: int | None = None,
    workers: int | None = None,
    backend: str | Backend | None = None,
    progress: bool | None = None,
) -> Forecast:
    """Return how many steps the log will answer for a learner in a simulator, and what will run out first.

    Use it before an experiment: it makes a few runs instead of many. These pre-runs are real runs of `make(seed)` in
    the simulator, with seeds that no experiment uses. (Pre-runs with replacement would take as long for each step, and
    are not runs of this simulator: their learners meet rows that the log no longer has.) By default there are 19 of
    them, and up to 79 where lengths differ so much that the median of 19 is not known to a fifth; runs are short there.

    `interval` is a prediction interval for one further run on the same log, free of assumptions: a run is shorter than
    the shortest of 19 others with a chance of 1 in 20, and longer than the longest with the same. `level` is its
    chance, 90% for 19, 39, 59 or 79 pre-runs, and less for fewer than 19. It is about this log, not about
    others like it. (That the number of pre-runs follows from the first 19 of them changes the chance by little:
    benchmarks/trust measures it.)

    With `steps`, the result says how many episodes like those of this log so many steps would need: pre-runs of that
    length go on, where the log has no answer, with copies of it, and count how much they read. What was never logged
    is in no copy; where half of the runs come to that, `episodes_needed` is None. Rates of rare rows are taken from the
    log as they are, so on small logs with rare actions more may be asked for than is needed.

    `workers` and `backend` are those of `experiment`. (What `steps` needs is found in this process.)

    Pre-runs are stopped at `max_steps`, where given; `n_limited` counts those. A learner that trains a network takes
    long for each run: give `pre_runs`, 5 or so.

    >>> import understudy as us
    >>> log = us.record(us.envs.Grid(), episodes=100, seed=0)
    >>> make = lambda seed: us.learners.QLearning(25, 5, epsilon=0.9, seed=seed)
    >>> found = forecast(us.qbe(log), make, steps=10_000)
    >>> found.level, found.interval[0] <= found.steps <= found.interval[1], found.episodes_needed > 100
    (0.9, True, True)
    """
    check_can_end(simulator)
    if steps is not None:
        check_repeats(simulator)  # before pre-runs are made for nothing
    if not callable(make):
        raise ContractError(f"give a function seed -> learner, not {make!r}: each pre-run needs a learner of its own")
    seed, steps, max_steps = seed_of(seed), steps_of("steps", steps), steps_of("max_steps", max_steps)
    pre_runs = None if pre_runs is None else whole("pre_runs", pre_runs, least=2)
    workers = None if workers is None else whole("workers", workers)
    backend = None if backend is None else backend_of(backend)
    plan = Plan(simulator, make, spawn(seed, SEEDS), max_steps, {}, EVERY, compiled=None, keep_rows=False)
    check_parts(simulator, plan.first.learner, max_steps, EVERY)  # before workers are started for nothing
    runs = pre_runs_of(plan, pre_runs, backend, workers, progress)
    lengths = np.sort(runs.lengths)
    low, high, level = prediction_interval(lengths)
    median, measured = median_length(lengths), efficiency(runs)
    limits = {run.stopped.reason for run in runs if is_limited(run)}
    needed = None
    if steps is not None:
        seeds = [run.seed for run in runs[: pre_runs or FEWEST]]
        needed = needed_for(steps, simulator, make, seeds, usual=median)
    return Forecast(
        steps=median,
        interval=(low, high),
        level=level,
        episodes=int(measured.episodes),
        runs_out={what: n / len(runs) for what, n in measured.stops.items() if what not in limits},
        pre_runs=len(runs),
        n_limited=measured.n_limited,
        needed=needed,
    )


def check_can_end(simulator: Any) -> None:
    """Raise an error where there is nothing to forecast."""
    if not offers(simulator, Simulator):
        raise ContractError(f"{simulator!r} is not a simulator; give one, such as us.psrs(log), not a function")
    if ladder_of(simulator) and not is_exhaustible(simulator):
        raise SettingError(
            "where rows are served again the log never runs out, so there is no length to forecast: runs go on for as "
            "long as max_steps= says; leave reuse and untried out of then= to see how long the log itself can answer"
        )
    if not is_exhaustible(simulator):
        raise SettingError(
            f"{name_of(simulator)} uses up no rows, so there is no length to forecast: it goes on for as long "
            "as max_steps= says, or to an action that was never logged in a state; forecast psrs or qbe to see how "
            "long the log itself can answer"
        )


def pre_runs_of(
    plan: Plan, pre_runs: int | None, backend: Backend | None, workers: int | None, progress: bool | None
) -> Runs:
    """Return so many pre-runs, or, for None, as many as it takes to know the median length."""
    found = made(plan, range(pre_runs or FEWEST), backend, workers, progress)
    if pre_runs is None:
        more = range(FEWEST, enough(np.sort([len(run) for run in found])))
        found += made(plan, more, backend, workers, progress)
    return Runs(tuple(found))


def made(
    plan: Plan, numbers: Sequence[int], backend: Backend | None, workers: int | None, progress: bool | None
) -> list[Run]:
    """Return the runs of these numbers: an experiment without what describes it, which takes longer than short runs."""
    workers = workers_of(backend, workers)
    blocks, runs = plan.blocks(numbers, workers), dict[int, Run]()
    with progress_bar("forecast", len(numbers), progress) as report:
        for block, its_runs in results_of(plan, blocks, backend, workers):
            runs |= zip(block, its_runs, strict=True)
            report(len(runs))
    return [runs[number] for number in sorted(runs)]


def is_limited(run: Run) -> bool:
    """True if a run was stopped by something else than its log."""
    return run.stopped.cause in ("max steps", "learner ended")


def enough(lengths: np.ndarray) -> int:
    """Return how many pre-runs it takes to know the median, from the sorted lengths of the first 19 of them.

    The width of its 95% interval, between two of the lengths, falls with the root of their number.

    >>> enough(np.linspace(900, 1100, 19)), enough(np.linspace(500, 1500, 19)), enough(np.linspace(0, 2000, 19))
    (19, 39, 79)
    """
    cut = int(binom.ppf(0.025, len(lengths), 0.5))
    width, allowed = lengths[-cut] - lengths[cut - 1], 2 * TOLERANCE * np.median(lengths)
    n = FEWEST
    while n < MOST and width * sqrt(len(lengths) / n) > allowed:
        n += MORE
    return n


def median_length(lengths: np.ndarray) -> int:
    """Return an estimate of the median from sorted lengths: a weighted mean of those in the middle (Harrell and Davis).

    Its error is some 10% smaller than that of the one length in the middle.

    >>> median_length(np.array([10, 11, 30])), median_length(np.array([7, 7, 7]))
    (16, 7)
    """
    n = len(lengths)
    weight = np.diff(beta.cdf(np.arange(n + 1) / n, (n + 1) / 2, (n + 1) / 2))
    return round(float(weight @ lengths))


def prediction_interval(lengths: np.ndarray) -> tuple[int, int, float]:
    """Return where the next of some sorted numbers, drawn alike, lies with a chance of 90%, and that chance.

    It is less than 90% for fewer than 19 numbers.

    >>> prediction_interval(np.arange(1, 20)), prediction_interval(np.arange(1, 5))
    ((1, 19, 0.9), (1, 4, 0.6))
    """
    n = len(lengths)
    cut = max(1, int((n + 1) * (1 - LEVEL) / 2 + 1e-9))
    return int(lengths[cut - 1]), int(lengths[n - cut]), (n + 1 - 2 * cut) / (n + 1)
