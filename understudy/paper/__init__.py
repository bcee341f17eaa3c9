"""The paper's experiments, an item for each of its figures and tables.

An item is a module here with a `TITLE`, settings at its top (`FULL` and `QUICK`) and `run(stage) -> Item`. To add one,
write the module and its name below.
"""

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from understudy.contracts import LogError
from understudy.paper.page import write_page
from understudy.paper.stage import Stage
from understudy.paper.writing import write_item

ITEMS = ("protocol", "discrete", "continuous", "encoder", "rollouts", "exogenous")


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
    tell: Callable[[str], Any] = print,
) -> Path:
    """Run items of the paper, by default all, into a folder, and write the page of all that is there.

    `quick` takes small logs and few runs; `runs` overrides how many runs a set has; `search` repeats the encoder
    search; `authors` follows the conventions of the paper's published code where ours differ. `page` is a Markdown
    file to write besides `out`/paper.md, with the pictures in a folder beside it. Called again, it goes on where it
    stopped.
    """
    unknown = [name for name in names if name not in ITEMS]
    if unknown:
        raise LogError(f"the paper has no item {', '.join(unknown)}; there is {', '.join(ITEMS)}")
    folder = Path(out or "paper" + "-quick" * quick + "-authors" * authors)
    for name in [name for name in ITEMS if name in names or not names]:
        began = time.monotonic()
        tell(f"{name} ...")
        item = import_module(f"understudy.paper.{name}")
        stage = Stage(folder / name, quick=quick, runs=runs, workers=workers, seed=seed, search=search, authors=authors)
        write_item(folder / name, item.TITLE, item.run(stage), stage)
        tell(f"{name}: {time.monotonic() - began:,.0f} s")
    if page is not None:
        write_page(folder, ITEMS, Path(page))
    return write_page(folder, ITEMS, folder / "paper.md")
