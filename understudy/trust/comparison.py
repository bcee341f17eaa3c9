"""Several learners or settings on one log: which is the best, and can this log tell it from the others?"""

import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contracts import Learner, LoopOwner, Simulator
from understudy.digits import digits
from understudy.errors import FailedRunsWarning, LogError, SettingError
from understudy.evaluation import Halves, Interval
from understudy.evaluation.halves import check_paired, halves_of_each, log_to_halve
from understudy.evaluation.intervals import interval_of
from understudy.runs import simulate
from understudy.runs.nouns import one_of
from understudy.runs.probes import History, named_probes
from understudy.settings import real, seed_of
from understudy.tables import NONE, Column, Table, arrow_table
from understudy.trust.against_log import AgainstLog, against_log
from understudy.trust.decisions import Decision, decide, interval_of_difference, later_halves
from understudy.trust.pairing import LeftOut, common_runs
from understudy.trust.regret import expected_regret
from understudy.trust.sentences import sentence_of
from understudy.trust.windows import Windows, windows_of_episodes, windows_of_probe

if TYPE_CHECKING:
    import pyarrow as pa

Make = Callable[[int], Learner | LoopOwner]

FEW, RUNS_OF_FEW, RUNS_OF_MANY = 4, 40, 20
"""Runs of each learner by default: 40 for up to four learners, 20 for more."""

MOST_WITH_ROWS = 20
"""Learners up to which runs keep their row numbers."""

READINGS = 20
"""About how many readings of a probe the shortest runs have, where `every` is not given."""

TYPES = {
    "learner": "string", "mean": "float64", "low": "float64", "high": "float64", "behind": "float64",
    "behind_low": "float64", "behind_high": "float64", "told_apart": "bool",
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Several learners on the same log, the same halves of it and the same random numbers. Made by `us.compare`.

    What is compared is what an episode earns, over the first episodes that the runs of all learners finished, or a
    probe, of which more is better. The decision is one test: the mean of the later half of what was compared, on the
    whole log, with an interval that includes the log's luck. With N learners the best is compared with each of the
    others at a level of 1 - .05 / (N - 1): in at most 5% of logs the truly best is neither the choice nor among
    `undecided`.

    >>> from understudy.envs import Grid, record
    >>> from understudy.learners import QLearning
    >>> from understudy.simulators import psrs
    >>> log = record(Grid(slip=0.2), episodes=200, seed=0)
    >>> learners = {f"epsilon {e}": lambda seed, e=e: QLearning(25, 5, epsilon=e, seed=seed) for e in (0.9, 0.5)}
    >>> found = compare(learners, psrs(log), runs=20, progress=False)
    >>> found.best, found.is_decided
    ('epsilon 0.5', True)
    >>> steps, mean, low, high = found.difference("epsilon 0.5", "epsilon 0.9")
    >>> bool(low[-1] > 0)
    True
    """

    halves: Mapping[str, Halves]
    probe: str | None = None  # None for what an episode earns
    level: float = 0.95
    left_out: LeftOut | None = None  # runs that a learner raised in, left out of all; None where there are none
    upto: int | None = None  # with a step, what was earned or read by then is compared

    def __post_init__(self) -> None:
        if len(self.halves) < 2:
            raise SettingError(
                f"there is nothing to compare: {len(self.halves)} learner given; give two or more by name"
            )
        first = next(iter(self.halves.values()))
        for found in self.halves.values():
            check_paired(first, found)
            if self.probe is not None and self.probe not in found.probes:
                raise SettingError(f"not all learners have the probe {self.probe!r}; give all the same probes=")

    @property
    def learners(self) -> list[str]:
        """The names of the learners, in the order they were given."""
        return list(self.halves)

    @property
    def note(self) -> str:
        """What speaks against the intervals, where something was found in the log; else ""."""
        return next(iter(self.halves.values())).note

    @property
    def corrected_level(self) -> float:
        """The level of each comparison with the best, corrected for their number."""
        return 1 - (1 - self.level) / (len(self.halves) - 1)

    @cached_property
    def windows(self) -> Windows:
        """The readings that are compared."""
        if self.probe is None:
            return windows_of_episodes(self.halves, self.upto)
        return windows_of_probe(self.halves, self.probe, self.upto)

    @cached_property
    def means(self) -> dict[str, Interval]:
        """Each learner's mean over the later half of the readings so far, with its interval; the last is compared."""
        return {name: interval_of(later_halves(found), self.level) for name, found in self.windows.readings.items()}

    @cached_property
    def best(self) -> str:
        """The name of the choice: the learner with the highest mean. `is_decided` tells if the others are worse."""
        return max(self.learners, key=lambda name: self.means[name].final[0])

    @cached_property
    def decisions(self) -> dict[str, Decision]:
        """The choice against each of the others, by name, at a level that is corrected for their number."""
        readings = self.windows.readings
        others = (name for name in self.learners if name != self.best)
        return {name: decide(readings[self.best], readings[name], self.corrected_level) for name in others}

    @property
    def undecided(self) -> list[str]:
        """The learners that cannot be told from the choice, those closest to it first."""
        close = [name for name, decision in self.decisions.items() if not decision.ahead]
        return sorted(close, key=lambda name: self.decisions[name].mean)

    @property
    def is_decided(self) -> bool:
        """True if the choice is better than every other learner, by tests that are corrected for their number."""
        return not self.undecided

    @cached_property
    def regret(self) -> float:
        """The expected regret of the choice: by how much the best of the learners may truly be ahead of it.

        In what an episode earns, or in the probe's units, over the later half of what was compared.
        """
        choice = later_halves(self.windows.readings[self.best])
        others = [later_halves(self.windows.readings[name]) for name in self.decisions]
        mean, low, high = np.array([interval_of_difference(choice, other).final for other in others]).T
        ahead = np.stack([choice.whole[:, -1] - other.whole[:, -1] for other in others], axis=1)
        return expected_regret(mean, (high - low) / 2 / 1.96, ahead - mean)

    @cached_property
    def against_log(self) -> dict[str, AgainstLog]:
        """Each learner beside the logging policy, by what an episode earns, whatever the probe."""
        windows = self.windows if self.probe is None else windows_of_episodes(self.halves, self.upto)
        return {name: against_log(name, found, windows) for name, found in self.halves.items()}

    @cached_property
    def sentence(self) -> str:
        """The decision with its evidence."""
        return sentence_of(self.best, self.decisions, self.windows, self.probe)

    def difference(self, one: str, other: str, *, level: float | None = None) -> Interval:
        """Return what one learner has more than another in each window; it unpacks to steps, mean, low and high.

        The interval holds at each window by itself and includes the log's luck; its level is by default corrected for
        the number of learners. Windows of episodes end, in steps, where the slower of the two finished them in the
        median run; `windows.ends` has the episodes.
        """
        for name in (one, other):
            if name not in self.halves:
                raise SettingError(f"there is no learner {name!r}; there is {', '.join(map(repr, self.learners))}")
        level = self.corrected_level if level is None else real("level", level, 0, 1, ends=False)
        return interval_of_difference(self.windows.readings[one], self.windows.readings[other], level)

    def to_json(self) -> dict[str, Any]:
        """Return what was found as plain values."""
        lines = self.to_frame().to_pylist()
        return {
            "sentence": self.sentence, "note": self.note,
            "best": self.best, "is_decided": self.is_decided, "undecided": self.undecided,
            "probe": self.probe, "level": self.level, "corrected_level": self.corrected_level,
            "regret": self.regret if np.isfinite(self.regret) else None,
            "unit": self.windows.unit, "compared": [self.windows.first(self._first), int(self.windows.ends[-1])],
            "learners": [{name: value for name, value in line.items() if value is not None} for line in lines],
            "against_log": [found.to_json() for found in self._against_log()],
            "left_out": None if self.left_out is None else self.left_out.to_json(),
        }  # fmt: skip

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table, a line for each learner, the best first.

        `mean`, `low` and `high` are of the later half of what was compared; `behind` says by how much the learner is
        behind the choice, with its interval, and `told_apart` whether that is certain.
        """
        lines: list[tuple[Any, ...]] = []
        for name in sorted(self.learners, key=lambda name: -self.means[name].final[0]):
            found = self.decisions.get(name)
            behind = (None,) * 3 if found is None else (found.mean, found.low, found.high)
            values = (
                None if value is None or np.isnan(value) else value for value in (*self.means[name].final, *behind)
            )
            lines.append((name, *values, None if found is None else found.ahead))
        return arrow_table(dict(zip(TYPES, map(list, zip(*lines, strict=True)), strict=True)), TYPES)

    @property
    def _first(self) -> int:
        return next(iter(self.decisions.values())).first

    def _against_log(self) -> list[AgainstLog]:
        """Return the learners beside the logging policy, the choice first; none where either is unknown."""
        try:
            found = self.against_log
        except LogError:  # what the log earned is not known, or no episode ends by then
            return []
        return sorted(found.values(), key=lambda one: one.learner != self.best)

    def __str__(self) -> str:
        lines = [f"{self.sentence}."]
        what = one_of(self.windows.unit) if self.probe is None else f"in {self.probe!r}"
        regret = f"{digits(self.regret, 2)} {what}" if np.isfinite(self.regret) else "not known"
        lines.append(f"expected regret of choosing {self.best}: {regret}.")
        lines += [f"{found}." for found in self._against_log()[:1]]
        lines += [self.note] * bool(self.note)
        lines += [f"{self.left_out}."] * (self.left_out is not None)
        return "\n".join(lines)

    __repr__ = __str__

    def table(self) -> Table:
        """Return the learners as a table for people, the best first."""
        names = ("learner", "earns" if self.probe is None else "mean", "95%", "behind by", "told apart")
        rows, values = [], []
        for line in self.to_frame().to_pylist():
            mean, *ends = (_three_digits(line[name]) for name in ("mean", "low", "high", "behind_low", "behind_high"))
            (low, high), behind, apart = ends[:2], ends[2:], line["told_apart"]
            between = " to ".join(behind) if line["behind_low"] is not None else NONE
            answer = {True: "yes", False: "no", None: "the choice" if self.is_decided else "ahead so far"}[apart]
            rows.append((line["learner"], mean, f"{low} to {high}", between, answer))
            values.append(tuple(line.values()))
        headings = tuple(Column(name, numeric=name not in ("learner", "told apart")) for name in names)
        place = self.windows.first(self._first), int(self.windows.ends[-1])
        what = f"What {one_of(self.windows.unit)} earns" if self.probe is None else f"Probe {self.probe!r}"
        title = f"{what}, {self.windows.unit}s {place[0]:,} to {place[1]:,}"
        return Table(title, headings, tuple(rows), tuple(values))

    def _repr_html_(self) -> str:
        return replace(self.table(), title=self.sentence, notes=tuple(str(self).split("\n")[1:]))._repr_html_()


def _three_digits(value: float | None) -> str:
    return NONE if value is None else digits(value)


def compare(
    learners: Mapping[str, Make],
    simulator: Simulator,
    *,
    probe: str | Callable[[Any], Any] | History | None = None,
    runs: int | None = None,
    halves: int = 20,
    runs_of_half: int | None = None,
    seed: int = 0,
    every: int | None = None,
    max_steps: int | None = None,
    probes: Mapping[str, Any] | None = None,
    level: float = 0.95,
    out: Any = None,
    progress: bool | None = None,
    **options: Any,
) -> Comparison:
    """Return which of several learners is the best on a log, and whether the log can tell.

    `learners` has a function seed -> learner for each name; two or two hundred of them may be settings of one. All are
    run on the log of `simulator`, on the same random halves of it, and with the same seeds, so that luck that they
    share cancels. They are compared by what an episode earns, or by `probe`: a probe, or the name of one of `probes`,
    of which more is better. It is read every so many steps; without `every`, about twenty times in the shortest runs.

    Each learner has `runs` runs, by default 40, or 20 where there are more than four learners, and a fifth as many on
    each of the `halves`: three times the time of the runs alone. For networks give fewer, such as `runs=10, halves=8`.
    With `out`, each learner has a results folder there, by its name. `workers` and further options are `experiment`'s.

    With `errors="keep"`, where a learner raises in a run, the runs of that seed are left out of all learners, and
    `left_out` says how many; where fewer than half are left, `RunError` is raised.
    """
    learners = _named(learners, with_folders=out is not None)
    log_to_halve(simulator)
    level, seed = real("level", level, 0, 1, ends=False), seed_of(seed)
    given = named_probes(probes)
    if probe is not None and not isinstance(probe, str):
        probe, given = "probe", {"probe": probe, **given}
    if probe is not None and probe not in given:
        raise SettingError(f"there is no probe {probe!r}; give it as probes={{{probe!r}: ...}}, or as probe= itself")
    if runs is None:
        runs = RUNS_OF_FEW if len(learners) <= FEW else RUNS_OF_MANY
    if every is None and given:
        trials = []
        for make in learners.values():
            with suppress(Exception) if options.get("errors") == "keep" else nullcontext():
                trials.append(len(simulate(simulator, make(seed), seed, max_steps)))
        every = max(1, min(trials, default=READINGS) // READINGS)
    # Which rows runs met tells how much of the log an answer rests on; of very many learners that is a lot to keep.
    options = {"keep_rows": len(learners) <= MOST_WITH_ROWS} | options | ({} if every is None else {"every": every})
    outs = {name: None if out is None else Path(out) / name for name in learners}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FailedRunsWarning)  # said below, once
        found = halves_of_each(
            simulator, learners, outs=outs, runs=runs, halves=halves, runs_of_half=runs_of_half, seed=seed,
            max_steps=max_steps, probes=given, progress=progress, title=f"{len(learners)} learners", **options,
        )  # fmt: skip
    found, left_out = common_runs(found)
    if left_out is not None:
        warnings.warn(str(left_out), FailedRunsWarning, stacklevel=2)
    return Comparison(found, probe, level, left_out)


def _named(learners: Any, with_folders: bool) -> dict[str, Make]:
    """Return the learners by name. Raise `SettingError` where they are not two or more by names that can be used."""
    if not isinstance(learners, Mapping):
        raise SettingError(
            f"learners is a {type(learners).__name__}; give a mapping of names to functions seed -> learner, such as "
            '{"a": make_a, "b": make_b}'
        )
    if len(learners) < 2:
        raise SettingError(f"there is nothing to compare: {len(learners)} learner given; give two or more by name")
    for name in learners:
        if not isinstance(name, str) or not name:
            raise SettingError(f"a learner is named {name!r}; name it by a text")
        if with_folders and (Path(name).name != name or name == ".."):
            raise SettingError(f"with out=, each learner has a folder of its name, and {name!r} cannot be one")
    return dict(learners)
