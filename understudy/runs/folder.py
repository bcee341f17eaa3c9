"""A results folder: runs written as they finish, whole or not at all, and read back.

DIR/experiment.json     what was run: the fields of `about.About`
DIR/runs/000000.parquet one run's arrays, a list column each
DIR/runs/000000.json    its number and seed, the experiment it belongs to, why it stopped, and a digest of the Parquet
                        file; written last, so it marks a finished run
DIR/runs/000003.failed.json  a run that raised, with its reason and traceback, until it is made
DIR/halves/000/         the same experiment on a random half of the log: a results folder by itself

Each JSON file holds a digest of itself. Files with other names are ignored.
"""

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import ResultsError
from understudy.runs.checking import check_about, failed_run_of, run_of
from understudy.runs.compact import NotKept
from understudy.runs.describing import differences, digest
from understudy.runs.failures import FailedRun
from understudy.runs.run import Run, Runs, seed_of_run
from understudy.settings import shown
from understudy.storage import (
    error_reason,
    parse_json,
    read_plain,
    remove_abandoned,
    write_first,
    write_whole,
)

FORMAT = 2


class Folder:
    """The results folder of one experiment."""

    def __init__(self, path: Any, about: Mapping[str, Any] | None = None) -> None:
        self.path = Path(path)
        self._about = None if about is None else dict(about)

    @property
    def about(self) -> dict[str, Any]:
        """What was run, as `experiment.json` has it."""
        if self._about is None:
            self._about = _read_about(self.path)
        return self._about

    @cached_property
    def identity(self) -> str:
        """A digest of what was run, which each file of a run holds."""
        return seal(self._marker_content)["digest"]

    @property
    def _marker_content(self) -> dict[str, Any]:
        return {"format": FORMAT, "about": self.about}

    def reserve(self) -> None:
        """Reserve the folder for this experiment, or check that it is; of several that try at once, one succeeds.

        Raise `ResultsError` where the folder holds runs of another experiment, or something else.
        """
        marker = self.path / "experiment.json"
        try:
            # Looked for twice: another process may have reserved the folder meanwhile.
            if not marker.exists() and self._holds_other_files() and not marker.exists():
                raise ResultsError(f"{self.path} exists and is not a results folder; give another, or remove it")
            (self.path / "runs").mkdir(parents=True, exist_ok=True)
            if not marker.exists():
                text = json.dumps(seal(self._marker_content), indent=1, allow_nan=False)
                write_first(marker, lambda beside: beside.write_text(text, encoding="utf-8"))
            remove_abandoned(self.path / "runs")
        except (OSError, ValueError) as error:
            if isinstance(error, ResultsError):
                raise
            reason = error_reason(error)
            raise ResultsError(f"cannot make the folder {self.path}: {reason}; make room, or give another") from error
        self.check()

    def check(self) -> None:
        """Raise `ResultsError` where the folder holds runs of another experiment; nothing is written."""
        there = _read_about(self.path)
        found_differences = about_differences(there, self.about)
        if found_differences:
            found = f"{self.path} holds runs of another experiment: {'; '.join(found_differences)}"
            raise ResultsError(f"{found}; give another folder, or remove it")
        self._about = there  # which may tell less of the log, if an earlier version wrote it: its runs are of that
        self.__dict__.pop("identity", None)

    def _holds_other_files(self) -> bool:
        """True if there is something here that no experiment leaves before it has reserved the folder."""
        if not self.path.exists():
            return False
        if not self.path.is_dir():
            return True
        others = [name for name in os.listdir(self.path) if name != "runs" and not name.startswith(".experiment.json.")]
        return bool(others) or any(map(os.listdir, self.path.glob("runs")))

    def save(self, number: int, run: Run) -> None:
        """Write a finished run: its arrays first, and then the JSON file that marks it as finished."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        lists = {"ends": run.ends, "returns": run.returns, "steps": run.steps}
        held: dict[str, Any] = {"rows": run.rows, "openings": run.openings, "emissions": run.emissions}
        held |= {"rungs": run.rungs, "cuts": run.cuts}
        lists |= {name: values for name, values in held.items() if isinstance(values, np.ndarray)}
        lists |= {f"curve {name}": curve.ravel() for name, curve in run.curves.items()}
        lists |= {f"final {name}": np.ravel(value) for name, value in run.final.items()}
        table = pa.table({name: pa.array([np.ascontiguousarray(values)]) for name, values in lists.items()})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", use_dictionary=False)  # row numbers hardly repeat
        content, stop = sink.getvalue(), run.stopped
        summary = {
            "format": FORMAT,
            "experiment": self.identity,
            "number": int(number),
            "parquet": digest(content),
            "seed": int(run.seed),
            "log": run.log,
            "length": len(run),
            "partial": run.partial if run.partial is None or math.isfinite(run.partial) else None,
            "not_kept": {name: len(values) for name, values in held.items() if isinstance(values, NotKept)},
            "stopped": {
                "cause": stop.cause,
                "state": None if stop.state is None else int(stop.state),
                "action": None if stop.action is None else int(stop.action),
                "mass": None if stop.mass is None else float(stop.mass),
                "counts": {name: int(count) for name, count in stop.counts.items()},
                "place": stop.place,
                "example": stop.example,
                "label": stop.label,
                "column": stop.column,
                "others": None if stop.others is None else int(stop.others),
                "bias": None if stop.bias is None else float(stop.bias),
            },
            "shapes": {name: [run.curves[name].shape, np.shape(run.final[name])] for name in run.curves},
        }
        text = json.dumps(seal(summary), indent=1, allow_nan=False)
        parquet = self._file(number, "parquet")
        write_file(parquet, lambda beside: beside.write_bytes(content))
        try:
            write_text(self._file(number, "json"), text)
        except BaseException:  # also Ctrl-C: no half of a run stays
            with suppress(OSError):
                parquet.unlink(missing_ok=True)
            raise

    def load(self, number: int) -> Run:
        """Return a run that was written. Raise `ResultsError` where its files are damaged, or are of another run."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path, parquet = self._file(number, "json"), self._file(number, "parquet")
        again = "remove it and its .parquet to run it again"
        summary = read_sealed(path, again)
        for name, here in (("experiment", self.identity), ("number", number), ("seed", self._seed(number))):
            if here is not None and summary.get(name) != here:
                there = shown(summary.get(name))
                found = f"{path} is not of this run: its {name} is {there}, and here it is {here!r}"
                raise ResultsError(f"{found}; {again}")
        try:
            content = read_plain(parquet)
            if digest(content) != summary.get("parquet"):
                raise ValueError("it is not the file that was written with its .json")
            table = pq.read_table(pa.BufferReader(content))
            lists = {name: table[name].chunk(0).values.to_numpy() for name in table.column_names}
            return run_of(summary, lists)
        except Exception as error:  # a damaged file can raise anything
            found = f"{parquet} cannot be read ({error_reason(error)})"
            raise ResultsError(f"{found}; remove it and its .json to run it again") from error

    def save_failure(self, failed: FailedRun) -> None:
        """Write which run raised, and why."""
        content = {"format": FORMAT, "experiment": self.identity, **failed.to_json()}
        write_text(self._file(failed.number, "failed.json"), json.dumps(seal(content), indent=1))

    def failures(self) -> list[FailedRun]:
        """Return the runs that raised and were not made since, in order. A file that cannot be read is as if not there:
        the run is made again.
        """
        finished, found = set(self.numbers()), []
        for number in self._numbers(".failed.json"):
            with suppress(ResultsError, ValueError, KeyError):
                content = read_sealed(self._file(number, "failed.json"), "remove it")
                failed = failed_run_of(content)
                if number == failed.number and number not in finished and content.get("experiment") == self.identity:
                    found.append(failed)
        return found

    def remove_failure(self, number: int) -> None:
        """Remove what was written of a run that raised: it has been made since."""
        with suppress(OSError):
            self._file(number, "failed.json").unlink(missing_ok=True)

    def numbers(self) -> list[int]:
        """Return the numbers of the finished runs, in order: those with a JSON file named by six digits."""
        return self._numbers(".json")

    def _numbers(self, ending: str) -> list[int]:
        """Return the numbers of the files named by six digits and this ending, in order."""
        try:
            names = os.listdir(self.path / "runs")
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise ResultsError(
                f"{self.path / 'runs'} cannot be read ({error_reason(error)}); give another folder"
            ) from error
        stems = [name.removesuffix(ending) for name in names if name.endswith(ending)]
        return sorted(int(stem) for stem in stems if len(stem) == 6 and stem.isascii() and stem.isdigit())

    def _seed(self, number: int) -> int | None:
        return seed_of_run(self.about, number)

    def _file(self, number: int, kind: str) -> Path:
        return self.path / "runs" / f"{number:06d}.{kind}"


def load(path: Any) -> Runs:
    """Return the finished runs of a results folder, with those on halves of the log where the folder has them.

    Runs that raised and were not made since are in `failed`.
    """
    if not os.path.exists(Path(path) / "experiment.json"):
        raise ResultsError(f"{path} is not a results folder: it has no experiment.json; give an experiment's out=")
    runs = _runs_of(Folder(path))
    found = [_runs_of(Folder(half)) for half in folders_in(Path(path) / "halves")]
    return replace(runs, halves=tuple(found))


def _runs_of(folder: Folder) -> Runs:
    return Runs.of([folder.load(number) for number in folder.numbers()], folder.about, folder.failures())


def half_folder(path: Any, number: int) -> Path:
    """Return the results folder of a half of the log, within that of the whole."""
    return Path(path) / "halves" / f"{number:03d}"


def folders_in(path: Path) -> list[Path]:
    """Return the results folders at a path: the path itself, and folders directly in it."""
    try:
        return [marker.parent for marker in [path / "experiment.json", *sorted(path.glob("*/experiment.json"))]
                if marker.exists()]  # fmt: skip
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path} cannot be read ({error_reason(error)}); give a results folder") from error


def about_differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return how two experiments differ, a phrase for each difference."""
    # Earlier folders say nothing of the log's content, which follows from its fingerprint, nor of its returns.
    hidden = ("digest", "log_content", "log_return_of", "log_returns")
    one, other = ({key: item for key, item in about.items() if key not in hidden} for about in (there, here))
    found = differences(one, other)
    if not found and there.get("digest") != here.get("digest"):
        found = ["what learner, simulator or probes hold or do differs in a part that is not shown here"]
    return found


def _read_about(path: Path) -> dict[str, Any]:
    """Return what was run, from the folder's `experiment.json`."""
    marker = path / "experiment.json"
    content = read_sealed(marker, "give another folder, or remove this one")
    try:
        return check_about(content.get("about"))
    except ValueError as error:
        found = f"{marker} does not say what the runs are of: {error}"
        raise ResultsError(f"{found}; give another folder, or remove this one") from error


def seal(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a JSON file with a digest of it, which damaged content would not match."""
    return {**content, "digest": digest(json.dumps(content, sort_keys=True).encode())}


def read_sealed(path: Path, advice: str) -> dict[str, Any]:
    """Return the content of a sealed JSON file of this format. Raise `ResultsError`, with the advice, for any other."""
    content = read_json(path)
    found = content.get("format")
    if type(found) is int and found > FORMAT:
        raise ResultsError(f"{path} has format {found}, but this version reads {FORMAT}; update understudy")
    if found is None or (type(found) is int and found < FORMAT):
        raise ResultsError(
            f"{path} has format {found}, of an earlier version that recorded less of what was run; run it again, "
            "into another folder"
        )
    recorded = content.pop("digest", None)
    if found != FORMAT or recorded != seal(content)["digest"]:
        raise ResultsError(f"{path} is damaged: its content does not match its digest; {advice}")
    return content


def write_file(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file whole or not at all. Raise `ResultsError` where it cannot be written."""
    try:
        write_whole(path, write)
    except (OSError, ValueError) as error:  # a path with a NUL byte is a ValueError
        raise ResultsError(f"cannot write {path}: {error_reason(error)}; make room, or give another folder") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all. Raise `ResultsError` where it cannot be written."""
    write_file(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def read_json(path: Path) -> dict[str, Any]:
    """Return the table that a JSON file of a results folder holds. Raise `ResultsError` where it holds none."""
    try:
        content = parse_json(read_plain(path).decode("utf-8"))
    except (OSError, ValueError) as error:
        reason = error_reason(error)
        raise ResultsError(f"{path} cannot be read ({reason}); give another folder, or remove it") from error
    if not isinstance(content, dict):
        raise ResultsError(f"{path} does not describe results; give another folder, or remove it")
    return content
