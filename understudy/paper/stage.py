"""Where an item is run: its folder, how large, and the experiments in it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import understudy as us
from understudy.runs import Run, Runs
from understudy.runs.folder import Folder

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Stage:
    """How an item is to be run. Nothing else reaches it."""

    folder: Path
    quick: bool = False
    runs: int | None = None
    workers: int | None = None
    seed: int = 0
    search: bool = False
    authors: bool = False  # the conventions of the paper's published code, where ours differ

    def settings(self, full: Settings, quick: Settings) -> Settings:
        """The item's settings, with as many runs as were asked for."""
        chosen: Any = quick if self.quick else full
        return chosen if self.runs is None else replace(chosen, runs=self.runs)

    @property
    def n_finished(self) -> int:
        """Runs that are in the item's folder so far."""
        return sum(1 for _ in (self.folder / "runs").glob("**/runs/[0-9]*.json"))

    def experiment(
        self, name: str, simulator: Any, make: Callable[[int], Any], *, keep_rows: bool = False, **options: Any
    ) -> Runs:
        """`understudy.experiment`, kept in the item's folder under a name, so that it goes on where it stopped.

        A finished set of full size is kept without its rows unless they are asked for: a run can be repeated from its
        seed, and the rows of all sets would fill gigabytes.
        """
        folder = self.folder / "runs" / Path(*map(file_name, name.split("/")))
        options = {"seed": self.seed, "workers": self.workers, "title": name} | options
        runs = us.experiment(simulator, make, out=folder, **options)
        return runs if keep_rows or self.quick else without_rows(Folder(folder, runs.about), runs)


def file_name(name: str) -> str:
    """A name as a folder can have it anywhere.

    >>> file_name("k = 4, slip 0.2")
    'k-4-slip-0.2'
    """
    return re.sub(r"[^a-z0-9.]+", "-", name.lower())


def without_rows(folder: Folder, runs: Runs) -> Runs:
    """The runs with every row -1, as in a real environment, in their folder too: as long as before, and tiny."""
    forgotten = []
    for number, run in enumerate(runs):
        short = forget_rows(run)
        if short is not run:
            folder.save(number, short)
        forgotten.append(short)
    return Runs(tuple(forgotten), runs.about)


def forget_rows(run: Run) -> Run:
    """A run that remembers how long it was, but not which rows it was served."""
    if not (run.rows >= 0).any():
        return run
    rows, openings = (np.full(len(kept), -1, dtype=np.int32) for kept in (run.rows, run.openings))
    return replace(run, rows=rows, openings=openings, emissions=None)
