"""The paper's experiments, an item for each of its figures and tables.

An item is a module here with a `TITLE`, settings at its top (`FULL` and `QUICK`) and `run(stage) -> Item`. To add one,
write the module and its name below.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from understudy.contracts.extras import require
from understudy.contracts.progress import pulse
from understudy.errors import LogError
from understudy.paper.asked import Asked, claim, code_of, make_folder
from understudy.paper.page import write_page
from understudy.paper.stage import Stage
from understudy.paper.writing import write_item

ITEMS = ("protocol", "discrete", "continuous", "encoder", "rollouts", "exogenous")
WITH_TORCH = ("continuous", "encoder", "rollouts")

FEWEST_RUNS = 3
"""Errors are told by the spread of runs, and fewer have too little of it."""


def say(text: str) -> None:
    """Print a line at once, wherever it goes: who reads a file of them waits as well."""
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
    """Run items of the paper, by default all, into a folder, and write the page of all that is there after each.

    `quick` takes small logs and few runs; `runs` overrides how many runs a set has; `search` repeats the encoder
    search; `authors` follows the conventions of the paper's published code where ours differ. `out` is by default
    `paper`, with a suffix for each of quick, authors, search and a seed that is not 0, which one folder cannot mix.
    `page` is a Markdown file to write besides `out`/paper.md, with the pictures in a folder beside it. Called again, it
    goes on where it stopped. Where there is no terminal to draw bars on, `tell` gets a line a minute too.
    """
    wanted = items_of(names)
    check_numbers(runs, seed)
    check_extras(wanted)
    if page is not None:
        check_page(Path(page))
    asked = Asked(quick=bool(quick), authors=bool(authors), search=bool(search), seed=int(seed))
    folder = asked.folder if out is None else Path(out)
    if len(claim(folder, asked, ITEMS, code_of())) > 1:
        tell(
            f"WARNING: {folder} holds results of other code than this, and what is finished there is not run again; "
            "for results of this code alone remove it, or give another folder"
        )
    pages = [folder / "paper.md"] + ([] if page is None else [Path(page)])
    for path in pages:
        make_folder(path.parent)
    for name in wanted:
        perform(name, Stage(folder / name, runs=runs, workers=workers, **asdict(asked)), tell)
        for path in pages:
            write_page(folder, ITEMS, path)
    return pages[0]


def perform(name: str, stage: Stage, tell: Callable[[str], Any]) -> None:
    """Run an item, and write what it leaves."""
    began = time.monotonic()
    tell(f"{name} ...")
    item = import_module(f"understudy.paper.{name}")
    with pulse(lambda: tell(f"{name}: {time.monotonic() - began:,.0f} s, {stage.n_finished:,} runs are finished")):
        found = item.run(stage)
    seconds = time.monotonic() - began
    write_item(stage.folder, item.TITLE, found, stage, seconds)
    tell(f"{name}: {seconds:,.0f} s")


def items_of(names: Sequence[str]) -> list[str]:
    """The items asked for, by default all, in the order of the page."""
    unknown = [name for name in names if name not in ITEMS]
    if unknown:
        raise LogError(f"the paper has no item {', '.join(unknown)}; there is {', '.join(ITEMS)}")
    return [name for name in ITEMS if name in names or not names]


def check_numbers(runs: int | None, seed: int) -> None:
    """Refuse fewer runs than errors can be told from, and a seed that not every item can take."""
    if seed < 0:
        raise LogError(f"the seed is {seed}; give a whole number from 0")
    if runs is not None and runs < FEWEST_RUNS:
        raise LogError(
            f"runs is {runs}, but errors are told by the spread of runs, which takes {FEWEST_RUNS}; ask for "
            f"{FEWEST_RUNS} or more, or leave it out for the paper's number"
        )


def check_extras(names: Sequence[str]) -> None:
    """Refuse items that need what is not installed, before any is run."""
    heavy = [name for name in names if name in WITH_TORCH]
    light = [name for name in ITEMS if name not in WITH_TORCH]
    try:
        if heavy:
            require(f"understudy paper {' '.join(heavy)}", "torch")
    except ModuleNotFoundError as error:
        said = f"{error}; understudy paper {' '.join(light)} runs without it"
        raise ModuleNotFoundError(said, name=error.name) from error


def check_page(path: Path) -> None:
    """Refuse a page that could not be written: its pictures go to a folder of its name without .md."""
    if path.suffix != ".md" or path.is_dir():
        found = "is a folder" if path.is_dir() else "does not end in .md"
        raise LogError(f"the page {path} {found}; give a Markdown file, such as {path.with_suffix('.md')}")
    if path.with_suffix("").is_file():
        raise LogError(f"the pictures of {path} go to {path.with_suffix('')}, which is a file; give another page")
