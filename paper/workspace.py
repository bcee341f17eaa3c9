"""Where an item is run: its folder, its options, and experiments that are kept there."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import understudy as us
from understudy.runs import Runs

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Workspace:
    """The folder and the options of an item: all that its `run` is given."""

    folder: Path
    quick: bool = False
    runs: int | None = None
    workers: int | None = None
    seed: int = 0
    search: bool = False
    authors: bool = False  # the conventions of the paper's published code, where ours differ

    def settings(self, full: Settings, quick: Settings) -> Settings:
        """Return the settings for the full or the quick form, with the number of runs that was asked for."""
        chosen: Any = quick if self.quick else full
        return chosen if self.runs is None else replace(chosen, runs=self.runs)

    @property
    def n_finished(self) -> int:
        """The number of finished runs in the item's folder."""
        return sum(1 for _ in (self.folder / "runs").glob("**/runs/[0-9]*.json"))

    def experiment(
        self, name: str, simulator: Any, make: Callable[[int], Any], *, keep_rows: bool = False, **options: Any
    ) -> Runs:
        """Run `understudy.experiment` with a folder of that name within the item's, where it goes on if interrupted.

        In the full form runs are kept without their rows unless `keep_rows`: a run can be repeated from its seed, and
        the rows of all sets would fill gigabytes.
        """
        folder = self.folder / "runs" / Path(*map(file_name, name.split("/")))
        options = {"seed": self.seed, "workers": self.workers, "title": name} | options
        return us.experiment(simulator, make, out=folder, keep_rows=keep_rows or self.quick, **options)


def file_name(name: str) -> str:
    """Return a name as a folder can have it on any system.

    >>> file_name("k = 4, slip 0.2")
    'k-4-slip-0.2'
    """
    return re.sub(r"[^a-z0-9.]+", "-", name.lower())
