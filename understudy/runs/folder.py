"""A results folder: runs written as they finish, whole or not at all, and read back.

DIR/experiment.json     what the runs are of
DIR/runs/000000.parquet one run's arrays, a list column each
DIR/runs/000000.json    its seed, why it stopped, and its last readings; written last, so it marks a finished run
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from understudy.contracts import LogError, Stop
from understudy.runs.describing import differences, plain
from understudy.runs.run import Run, Runs
from understudy.storage import parse_json, write_whole

FORMAT = 1


class FolderError(LogError):
    """A results folder that cannot be written, read, or used for these runs."""


class Folder:
    """Where the runs of one experiment are kept."""

    def __init__(self, path: Any, about: Mapping[str, Any] | None = None) -> None:
        self.path = Path(path)
        self.about = dict(about or {})

    def claim(self) -> None:
        """Make the folder, or check that it holds runs of this very experiment."""
        try:
            if (self.path / "experiment.json").exists():
                apart = differences(_about(self.path), self.about)
                if apart:
                    found = f"{self.path} holds runs of another experiment: {'; '.join(apart)}"
                    raise FolderError(f"{found}; give another folder, or remove it")
                return
            if self.path.exists() and not self._is_blank():
                raise FolderError(f"{self.path} is there already and is no results folder; give another, or remove it")
            (self.path / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FolderError(f"cannot make the folder {self.path}: {error.strerror}; give another") from error
        write_text(self.path / "experiment.json", json.dumps({"format": FORMAT, "about": self.about}, indent=1))

    def _is_blank(self) -> bool:
        """Whether nothing is here but what an experiment makes before its first word."""
        if not self.path.is_dir():
            return False
        return os.listdir(self.path) in ([], ["runs"]) and not any(map(os.listdir, self.path.glob("runs")))

    def save(self, number: int, run: Run) -> None:
        """Write a finished run."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        lists = {
            "rows": run.rows,
            "openings": run.openings,
            "ends": run.ends,
            "returns": run.returns,
            "steps": run.steps,
        }
        if run.emissions is not None:
            lists["emissions"] = run.emissions
        lists |= {f"curve {name}": curve.ravel() for name, curve in run.curves.items()}
        lists |= {f"final {name}": np.ravel(value) for name, value in run.final.items()}
        table = pa.table({name: pa.array([np.ascontiguousarray(values)]) for name, values in lists.items()})
        summary = {
            "seed": run.seed,
            "log": run.log,
            "length": len(run),
            "stopped": {
                "cause": run.stopped.cause, "state": run.stopped.state, "action": run.stopped.action,
                "mass": run.stopped.mass, "counts": dict(run.stopped.counts), "place": run.stopped.place,
                "example": run.stopped.example, "label": run.stopped.label,
            },
            "shapes": {name: [run.curves[name].shape, np.shape(run.final[name])] for name in run.curves},
        }  # fmt: skip
        write_file(self._file(number, "parquet"), lambda path: pq.write_table(table, path, compression="zstd"))
        write_text(self._file(number, "json"), json.dumps(plain(summary), indent=1, allow_nan=False))

    def load(self, number: int) -> Run:
        """Read a run back."""
        import pyarrow.parquet as pq

        path = self._file(number, "parquet")
        summary = read_json(self._file(number, "json"))
        try:
            table = pq.read_table(path)
            lists = {name: table[name].chunk(0).values.to_numpy() for name in table.column_names}
            shapes = summary["shapes"].items()
            if any(not isinstance(summary["stopped"].get(word), str | None) for word in ("place", "example", "label")):
                raise ValueError("what stopped it is not told in words")
            return Run(
                seed=summary["seed"],
                rows=lists["rows"],
                openings=lists["openings"],
                emissions=lists.get("emissions"),
                ends=lists["ends"],
                returns=lists["returns"],
                steps=lists["steps"],
                curves={name: lists[f"curve {name}"].reshape(shape) for name, (shape, _) in shapes},
                final={name: lists[f"final {name}"].reshape(shape)[()] for name, (_, shape) in shapes},
                stopped=Stop(**summary["stopped"]),
                log=summary["log"],
            )
        except Exception as error:  # there is no end to what such a file may be instead
            raise FolderError(f"{path} cannot be read ({error}); remove it and its .json to run it again") from error

    def numbers(self) -> list[int]:
        """The finished runs, in order."""
        return sorted(int(path.stem) for path in (self.path / "runs").glob("*.json") if path.stem.isdigit())

    def _file(self, number: int, kind: str) -> Path:
        return self.path / "runs" / f"{number:06d}.{kind}"


def load(path: Any) -> Runs:
    """The finished runs of a results folder."""
    if not (Path(path) / "experiment.json").exists():
        raise FolderError(f"{path} is no results folder: it has no experiment.json; give an experiment's out=")
    about = _about(Path(path))
    folder = Folder(path, about)
    return Runs.of([folder.load(number) for number in folder.numbers()], about)


def _about(path: Path) -> dict[str, Any]:
    """What the runs of a folder are of."""
    content = read_json(path / "experiment.json")
    if content.get("format") != FORMAT:
        found = content.get("format")
        raise FolderError(f"{path} has format {found}, but this version reads {FORMAT}; update understudy")
    if not isinstance(content.get("about"), dict):
        raise FolderError(f"{path / 'experiment.json'} does not say what the runs are of; remove the folder")
    return content["about"]


def write_file(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file whole. Raises `FolderError` where that is not possible."""
    try:
        write_whole(path, write)
    except OSError as error:
        raise FolderError(
            f"cannot write {path}: {error.strerror or error}; make room, or give another folder"
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    write_file(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def read_json(path: Path) -> dict[str, Any]:
    """The content of a file of a results folder, which is a table of names."""
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FolderError(f"{path} cannot be read ({error}); give another folder, or remove it") from error
    if not isinstance(content, dict):
        raise FolderError(f"{path} is no description of results; give another folder, or remove it")
    return content
