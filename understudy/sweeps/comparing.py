"""Learners of a sweep beside each other: paired differences, with intervals from the spread of runs."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.digits import digits
from understudy.errors import SettingError
from understudy.settings import real
from understudy.sweeps.names import Combination
from understudy.tables import NONE, Column, Table, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

    from understudy.sweeps.loaded import Sweep

FEWEST_RUNS = 5
"""Runs that all learners need for a comparison."""

NOTE = (
    "intervals are from the spread of runs, which share the luck of their log: us.compare includes it, and says "
    "whether the log can tell learners apart"
)

TYPES = dict.fromkeys(("simulator", "encoder", "log", "learner"), "string") | {
    "runs": "int64", "step": "int64", "mean": "float64", "behind": "float64", "low": "float64", "high": "float64",
    "told_apart": "bool",
}  # fmt: skip


@dataclass(frozen=True)
class ComparedLearner:
    """A learner beside the best one of the same simulator, encoder and log."""

    simulator: str
    encoder: str
    log: str
    learner: str
    runs: int  # of the same numbers, that all learners finished
    step: int | None  # of the readings that are compared: the last one that all runs reached; None where there is none
    mean: float | None
    behind: float | None = None  # by how much the best is ahead; None for the best, and where runs do not suffice
    low: float | None = None
    high: float | None = None
    told_apart: bool | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SweepComparison:
    """Which learner of a sweep is ahead, in each simulator, encoder and log. Made by `Sweep.compare`.

    Compared are readings of a probe, of which more is better, at the last step that all runs of all learners reached:
    later ones would be of survivors. Run i has the same seed for all learners, and differences are taken run by run.
    Which of equal learners is ahead is luck, so intervals allow for all pairs of N learners: the level of each is
    1 - (1 - level) / (N (N - 1) / 2), and of equal learners any two are told apart with a chance of at most 1 - level.
    """

    probe: str
    level: float
    lines: tuple[ComparedLearner, ...]

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table, a line for each learner of each simulator, encoder and log, the best first."""
        return arrow_table({name: [vars(line)[name] for line in self.lines] for name in TYPES}, TYPES)

    def to_json(self) -> dict[str, Any]:
        """Return what was found as plain values."""
        lines = [dict(vars(line)) for line in self.lines]
        return {"probe": self.probe, "level": self.level, "note": NOTE, "lines": lines}

    def table(self) -> Table:
        """Return the learners as a table for people."""
        headings = tuple(
            Column(name.replace("_", " "), numeric=kind not in ("string", "bool")) for name, kind in TYPES.items()
        )
        return Table(f"{self.probe!r} of learners", headings, tuple(map(_cells, self.lines)), notes=(f"{NOTE}.",))

    @property
    def sentences(self) -> list[str]:
        """Which learner is ahead, a sentence for each simulator, encoder and log."""
        return [sentence_of(lines) for lines in self._settings()]

    def __str__(self) -> str:
        return "\n".join([*self.sentences, f"({NOTE})"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def _settings(self) -> Iterator[list[ComparedLearner]]:
        """Yield the lines of each simulator, encoder and log."""
        found: dict[tuple[str, str, str], list[ComparedLearner]] = {}
        for line in self.lines:
            found.setdefault((line.simulator, line.encoder, line.log), []).append(line)
        yield from found.values()


def sentence_of(lines: list[ComparedLearner]) -> str:
    """Return which of the learners of one simulator, encoder and log is ahead, in words."""
    best, others = lines[0], lines[1:]
    where = f"{best.simulator}, {best.encoder}, {best.log}"
    if best.step is None:
        return f"{where}: no step was reached by all runs; give probes more often, or more runs"
    if not others or any(line.behind is None for line in others):
        return f"{where}: {best.runs} runs of all learners are too few to compare; {FEWEST_RUNS} are needed"
    close = [line.learner for line in others if not line.told_apart]
    rest = f"not told from {', '.join(close)}" if close else "told apart from all others"
    return f"{where}: {best.learner} is ahead at step {best.step:,} of {best.runs:,} runs, {rest}"


def compared(sweep: "Sweep", probe: str, level: float) -> SweepComparison:
    """Return which learner is ahead, in each simulator, encoder and log with two learners or more."""
    level = real("level", level, 0, 1, ends=False)
    lines: list[ComparedLearner] = []
    groups: dict[tuple[str, ...], list[Combination]] = {}
    for one in sweep.combinations:
        groups.setdefault(one[1:], []).append(one)
    for group in groups.values():
        if len(group) > 1:
            lines += _compared(sweep, group, probe, level)
    if not lines:
        raise SettingError(
            f"there is nothing to compare: no simulator, encoder and log has two learners with readings of {probe!r}"
        )
    return SweepComparison(probe, level, tuple(lines))


def _compared(sweep: "Sweep", group: list[Combination], probe: str, level: float) -> list[ComparedLearner]:
    found = {}
    for one in group:
        with suppress(SettingError):  # no run of it has a reading: it is left out
            found[one.learner] = sweep.readings(probe, **one._asdict())
    if len(found) < 2:
        return []
    common = sorted(set.intersection(*(set(numbers.tolist()) for numbers, _, _ in found.values())))
    readings = {}
    for learner, (numbers, steps, values) in found.items():
        chosen = values[np.isin(numbers, common)]
        readings[learner] = {int(step): chosen[:, at] for at, step in enumerate(steps)}
    shared = set.intersection(*(set(one) for one in readings.values())) if common else set()
    complete = [step for step in shared if all(np.isfinite(one[step]).all() for one in readings.values())]
    step = max(complete, default=None)
    line = partial(ComparedLearner, *group[0][1:], runs=len(common), step=step)
    if step is None:
        return [line(learner=learner, mean=None) for learner in readings]
    at_step = {learner: one[step] for learner, one in readings.items()}
    order = sorted(at_step, key=lambda learner: -float(at_step[learner].mean()))
    best = at_step[order[0]]
    lines = [line(learner=order[0], mean=float(best.mean()))]
    n_pairs = len(order) * (len(order) - 1) // 2
    for learner in order[1:]:
        mean = float(at_step[learner].mean())
        if len(common) < FEWEST_RUNS:
            lines.append(line(learner=learner, mean=mean))
            continue
        behind, low, high = paired_interval(best - at_step[learner], 1 - (1 - level) / n_pairs)
        lines.append(line(learner=learner, mean=mean, behind=behind, low=low, high=high, told_apart=low > 0))
    return lines


def paired_interval(differences: np.ndarray, level: float) -> tuple[float, float, float]:
    """Return the mean of differences and the ends of its interval, by Student's t.

    >>> mean, low, high = paired_interval(np.array([1.0, 2.0, 3.0, 2.0, 2.0]), 0.95)
    >>> mean, round(low, 2), round(high, 2)
    (2.0, 1.12, 2.88)
    """
    from scipy import stats

    n = len(differences)
    mean = float(differences.mean())
    half = float(stats.t.ppf((1 + level) / 2, n - 1) * differences.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def _cells(line: ComparedLearner) -> tuple[str, ...]:
    def shown(value: Any) -> str:
        if value is None:
            return NONE
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:,}" if isinstance(value, int) else digits(value, 4) if isinstance(value, float) else str(value)

    return tuple(shown(vars(line)[name]) for name in TYPES)
