"""The results of a sweep, read from its folder: tables that are scanned, not loaded."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.digits import digits
from understudy.errors import ResultsError, SettingError
from understudy.evaluation import MeanCurve
from understudy.evaluation.curves import mean_of_readings
from understudy.runs.about import About
from understudy.runs.run import reached
from understudy.settings import shown
from understudy.storage import error_reason
from understudy.sweeps.comparing import SweepComparison, compared
from understudy.sweeps.folder import ANEW, TABLES, SweepFolder
from understudy.sweeps.names import KEYS, Combination
from understudy.sweeps.run_tables import REWARD, schema_of
from understudy.tables import NONE, Column, Table

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

MOST_SHOWN = 20
"""Combinations that are listed where people look."""


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """The results of a sweep. Made by `us.sweep` and `us.load_sweep`; nothing is loaded before it is asked for.

    Names of parts are given as `learner=`, `simulator=`, `encoder=` and `log=`, and can be left out where the sweep has
    one only.
    """

    path: Path
    combinations: tuple[Combination, ...]

    def names(self, key: str) -> list[str]:
        """Return the names of the learners, simulators, encoders or logs: `names("learner")`."""
        return list(dict.fromkeys(one[KEYS.index(key)] for one in self.combinations))

    def dataset(self, table: str = "runs", **names: str) -> "ds.Dataset":
        """Return the table "runs" or "curves" as an Arrow dataset, which pyarrow, polars and DuckDB scan.

        With names, it has the files of their combinations alone. Pages of damaged files are noticed; `to_frame` notices
        all damage.
        """
        import pyarrow as pa
        import pyarrow.dataset as ds

        self._check_asked(table, names)
        keys = pa.schema([(key, pa.string()) for key in KEYS])
        scan = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
        return ds.dataset(
            [str(file) for file in SweepFolder(self.path).files(table, **names)],
            schema=pa.schema([*keys, *schema_of(table)]),
            format=ds.ParquetFileFormat(default_fragment_scan_options=scan),
            partitioning=ds.partitioning(keys, flavor="hive"),
            partition_base_dir=str(self.path / table),
        )

    def to_frame(self, table: str = "runs", **names: str) -> "pa.Table":
        """Return a table of the sweep as an Arrow table, or those of its rows that have these names.

        "runs" has a row for each run, "curves" one for each reading of a probe; docs/sweeps.md lists their columns.
        """
        self._check_asked(table, names)
        SweepFolder(self.path).check_files(table, **names)
        try:
            return self.dataset(table, **names).to_table()
        except Exception as error:  # a file of someone's own can raise anything
            raise ResultsError(
                f"a file of {self.path / table} cannot be read ({error_reason(error)}); {ANEW}"
            ) from error

    def failed(self) -> "pa.Table":
        """Return the rows of the runs that raised and were not made since."""
        import pyarrow.compute as pc

        found = self.to_frame()
        return found.filter(pc.is_valid(found["failed"])).select([*KEYS, "number", "seed", "failed", "traceback"])

    def about(self, **names: str) -> About:
        """Return what was run in a combination."""
        return About.from_json(SweepFolder(self.path).experiment(self._one(names))["about"])

    def probes(self, **names: str) -> list[str]:
        """Return the names of the probes of a combination."""
        import pyarrow.compute as pc

        return sorted(pc.unique(self.to_frame("curves", **self._one(names)._asdict())["probe"]).to_pylist())

    def readings(self, probe: str = REWARD, **names: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the numbers of a combination's finished runs, the steps of readings, and the readings of a probe.

        These have a row for each run and a column for each step; NaN after a run stopped.
        """
        chosen = self._one(names)._asdict()
        numbers = _finished_numbers(self.to_frame(**chosen))
        return numbers, *_matrix(self.to_frame("curves", **chosen), probe, numbers, self)

    def mean_curve(self, probe: str = REWARD, *, share: float = 1.0, **names: str) -> MeanCurve:
        """Return the mean curve of a probe over the runs of one combination, as `us.mean_curve` does of runs."""
        numbers, steps, values = self.readings(probe, **names)
        if not len(steps):
            raise SettingError(f"no run has a reading of {probe!r} here: all stopped before it; read more often")
        found = self.to_frame(**self._one(names)._asdict())
        lengths = found.filter(found["failed"].is_null())["steps"].to_numpy()
        return mean_of_readings(steps, values, len(numbers), share, reached(lengths, share))

    def compare(self, probe: str = REWARD, *, level: float = 0.95) -> SweepComparison:
        """Return which learner is ahead in each simulator, encoder and log, where runs suffice to tell."""
        return compared(self, probe, level)

    @cached_property
    def counts(self) -> dict[Combination, Mapping[str, Any]]:
        """What became of each combination: finished and failed runs, their mean and median steps, mean total reward."""
        found = self.to_frame().group_by(list(KEYS)).aggregate(
            [("seed", "count"), ("failed", "count"), ("steps", "mean"), ("steps", "approximate_median"),
             ("reward", "mean"), ("seconds", "sum")]
        )  # fmt: skip
        lines = {Combination(*(line[key] for key in KEYS)): line for line in found.to_pylist()}
        return {
            one: {
                "runs": line.get("seed_count", 0) - line.get("failed_count", 0),
                "failed": line.get("failed_count", 0),
                "mean_steps": line.get("steps_mean"),
                "median_steps": line.get("steps_approximate_median"),
                "mean_total_reward": line.get("reward_mean"),
                "seconds": line.get("seconds_sum"),
            }
            for one in self.combinations
            for line in [lines.get(one, {})]
        }

    def table(self) -> Table:
        """Return the combinations as a table for people."""
        return self._table(len(self.combinations))

    def _table(self, most: int) -> Table:
        headings = (
            *(Column(key, numeric=False) for key in KEYS), Column("runs"), Column("failed"), Column("median steps"),
            Column("mean total reward"),
        )  # fmt: skip
        rows = tuple(
            (
                *one, f"{count['runs']:,}", f"{count['failed']:,}" if count["failed"] else NONE,
                NONE if count["median_steps"] is None else f"{count['median_steps']:,.0f}",
                NONE if count["mean_total_reward"] is None else digits(count["mean_total_reward"], 4),
            )
            for one, count in list(self.counts.items())[:most]
        )  # fmt: skip
        left = len(self.combinations) - most
        more = (f"... and {left:,} more combinations: table() has all",) * (left > 0)
        return Table(str(self), headings, rows, notes=more)

    def __str__(self) -> str:
        runs, failed = (sum(count[key] for count in self.counts.values()) for key in ("runs", "failed"))
        sizes = " x ".join(f"{len(self.names(key))} {key}{'s' * (len(self.names(key)) != 1)}" for key in KEYS)
        told = f"{runs:,} run{'s' * (runs != 1)} of {len(self.combinations):,} combinations"
        return f"Sweep {self.path}: {told} ({sizes})" + f", {failed:,} failed" * bool(failed)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._table(MOST_SHOWN)._repr_html_()

    @cached_property
    def _known(self) -> frozenset[Combination]:
        return frozenset(self.combinations)

    def _is_one(self, names: Mapping[str, str]) -> bool:
        """True if these are the names of a combination: told at once, where there are many."""
        return names.keys() == set(KEYS) and Combination(**names) in self._known

    def _check_asked(self, table: str, names: Mapping[str, str]) -> None:
        if table not in TABLES:
            raise SettingError(f"table={table!r} is not one of {', '.join(map(repr, TABLES))}")
        self._check_names(names)

    def _check_names(self, names: Mapping[str, str]) -> None:
        if self._is_one(names):
            return
        for key, name in names.items():
            if key not in KEYS:
                raise SettingError(f"there is no {key!r} in a sweep; give {', '.join(f'{one}=' for one in KEYS)}")
            if name not in self.names(key):
                there = ", ".join(map(repr, self.names(key)))
                raise SettingError(f"there is no {key} {shown(name)} in the sweep; there is {there}")

    def _one(self, names: Mapping[str, str]) -> Combination:
        """Return the one combination with these names. Raise `SettingError` where there are several, or none."""
        if self._is_one(names):
            return Combination(**names)
        self._check_names(names)
        found = [one for one in self.combinations if names.items() <= one._asdict().items()]
        if len(found) == 1:
            return found[0]
        if not found:
            raise SettingError(f"the sweep has no such combination: {shown(dict(names))} was left out")
        several = [key for key in KEYS if len({one[KEYS.index(key)] for one in found}) > 1]
        raise SettingError(
            f"{len(found)} combinations have these names; give {', '.join(f'{key}=' for key in several)}"
        )


def load_sweep(folder: Any) -> Sweep:
    """Return the results of a sweep that `us.sweep` or `understudy sweep` wrote to this folder."""
    found = SweepFolder(folder)
    found.settings()
    return Sweep(found.path, tuple(found.combinations()))


def _finished_numbers(runs: "pa.Table") -> np.ndarray:
    return np.sort(runs.filter(runs["failed"].is_null())["number"].to_numpy())


def _matrix(curves: "pa.Table", probe: str, numbers: np.ndarray, sweep: Sweep) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps at which a probe was read, and its readings, a row for each of these runs."""
    import pyarrow.compute as pc

    chosen = curves.filter(pc.equal(curves["probe"].cast("string"), probe))
    if not len(chosen):
        there = ", ".join(map(repr, sorted(pc.unique(curves["probe"]).to_pylist()))) or "none"
        raise SettingError(f"there is no reading of a probe {probe!r} here; there are readings of {there}")
    if pc.max(chosen["entry"]).as_py():
        raise SettingError(f"a reading of {probe!r} is a vector, and has no curve; give a probe of one number")
    steps, columns = np.unique(chosen["step"].to_numpy(), return_inverse=True)
    number = chosen["number"].to_numpy()
    rows = np.searchsorted(numbers, number)
    known = (rows < len(numbers)) & (numbers[np.minimum(rows, len(numbers) - 1)] == number)
    values = np.full((len(numbers), len(steps)), np.nan)
    values[rows[known], columns[known]] = chosen["value"].to_numpy()[known]
    return steps, values
