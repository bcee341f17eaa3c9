"""Run items of the paper into a results folder, and write the page of all items that are in it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from paper.options import Options, code_of, make_folder, take_folder
from paper.page import write_page
from paper.workspace import Workspace
from paper.writing import write_item
from understudy.errors import SettingError
from understudy.extras import require
from understudy.progress import every_minute

ITEMS = ("protocol", "discrete", "continuous", "encoder", "rollouts", "exogenous")
WITH_TORCH = ("continuous", "encoder", "rollouts")

FEWEST_RUNS = 3
"""Standard errors come from the spread of runs, which fewer do not show."""


def say(text: str) -> None:
    """Print a line without buffering it, so that a file of lines can be followed as well."""
    print(text, flush=True)


def reproduce(
    names: Sequence[str] = (),
    out: Any = None,
    *,
    quick: bool = False,
    runs: int | None = None,
    workers: int | None = None,
    seed: int = 0,
    search: bool = False,
    authors: bool = False,
    page: Any = None,
    tell: Callable[[str], Any] = say,
) -> Path:
    """Run items of the paper, by default all, into a folder, and write the page after each; return the page's path.

    `quick` takes small logs and few runs; `runs` overrides the number of runs of a set; `search` repeats the encoder
    search; `authors` follows the conventions of the paper's published code where ours differ. `out` is by default
    `paper-results`, or `paper` with a suffix for each of quick, authors, search and a seed that is not 0, since one
    folder cannot mix them. `page` is a Markdown file to write besides `out`/paper.md, with the pictures in a folder
    beside it. Called again, it goes on where it stopped. `tell` is given lines about the progress, one a minute where
    standard error is not a terminal.
    """
    chosen = items_of(names)
    check_numbers(runs, seed)
    check_extras(chosen)
    if page is not None:
        check_page(Path(page))
    options = Options(quick=bool(quick), authors=bool(authors), search=bool(search), seed=int(seed))
    folder = options.folder if out is None else Path(out)
    if len(take_folder(folder, options, ITEMS, code_of())) > 1:
        tell(
            f"WARNING: {folder} holds results of other code than this, and what is finished there is not run again; "
            "for results of this code alone remove it, or give another folder"
        )
    pages = [folder / "paper.md"] + ([] if page is None else [Path(page)])
    for path in pages:
        make_folder(path.parent)
    for name in chosen:
        run_item(name, Workspace(folder / name, runs=runs, workers=workers, **asdict(options)), tell)
        for path in pages:
            write_page(folder, ITEMS, path)
    return pages[0]


def run_item(name: str, workspace: Workspace, tell: Callable[[str], Any]) -> None:
    """Run an item, and write its files."""
    began = time.monotonic()
    tell(f"{name} ...")
    module = import_module(f"paper.{name}")

    def tell_time() -> None:
        tell(f"{name}: {time.monotonic() - began:,.0f} s, {workspace.n_finished:,} runs are finished")

    with every_minute(tell_time):
        item = module.run(workspace)
    seconds = time.monotonic() - began
    write_item(workspace.folder, module.TITLE, item, workspace, seconds)
    tell(f"{name}: {seconds:,.0f} s")


def items_of(names: Sequence[str]) -> list[str]:
    """Return the items asked for, by default all, in the order of the page."""
    unknown = [name for name in names if name not in ITEMS]
    if unknown:
        raise SettingError(f"the paper has no item {', '.join(unknown)}; there is {', '.join(ITEMS)}")
    return [name for name in ITEMS if name in names or not names]


def check_numbers(runs: int | None, seed: int) -> None:
    """Raise `SettingError` where runs are too few for standard errors, or the seed is negative."""
    if seed < 0:
        raise SettingError(f"the seed is {seed}; give a whole number from 0")
    if runs is not None and runs < FEWEST_RUNS:
        raise SettingError(
            f"runs is {runs}, but errors are told by the spread of runs, which takes {FEWEST_RUNS}; ask for "
            f"{FEWEST_RUNS} or more, or leave it out for the paper's number"
        )


def check_extras(names: Sequence[str]) -> None:
    """Raise `ModuleNotFoundError`, before any item is run, where one of these needs torch and it is not installed."""
    heavy = [name for name in names if name in WITH_TORCH]
    light = [name for name in ITEMS if name not in WITH_TORCH]
    try:
        if heavy:
            require(f"python -m paper {' '.join(heavy)}", "torch")
    except ModuleNotFoundError as error:
        said = f"{error}; python -m paper {' '.join(light)} runs without it"
        raise ModuleNotFoundError(said, name=error.name) from error


def check_page(path: Path) -> None:
    """Raise `SettingError` where a page cannot be written: its pictures go to a folder of its name without .md."""
    if path.suffix != ".md" or path.is_dir():
        found = "is a folder" if path.is_dir() else "does not end in .md"
        raise SettingError(f"the page {path} {found}; give a Markdown file, such as {path.with_suffix('.md')}")
    if path.with_suffix("").is_file():
        raise SettingError(f"the pictures of {path} go to {path.with_suffix('')}, which is a file; give another page")
