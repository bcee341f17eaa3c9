"""The files of an item: its pictures and tables, and item.json, which the page is made from."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from paper.items import Columns, Item
from paper.options import make_folder
from paper.workspace import Workspace
from understudy.reporting.svg import PAPER, drawn_alike
from understudy.runs.folder import write_file, write_text

DOTS_PER_INCH = 144  # figures are laid out in 72nds of an inch, a pixel each; screens have two


def write_item(folder: Path, title: str, item: Item, workspace: Workspace, seconds: float | None = None) -> None:
    """Write the files of an item into its folder, with the seconds that this call took."""
    make_folder(folder)
    for picture in item.pictures:
        write_picture(folder / f"{picture.name}.png", picture.figure)
        write_csv(folder / f"{picture.name}.csv", picture.columns)
    for table in item.tables:
        write_csv(folder / f"{table.name}.csv", table.columns)
    compared = [asdict(comparison) for comparison in item.comparisons]
    if compared:
        write_csv(folder / "comparisons.csv", {name: [row[name] for row in compared] for name in compared[0]})
    content = {
        "title": title,
        "about": item.about,
        "asked": {name: getattr(workspace, name) for name in ("quick", "runs", "seed", "search", "authors")},
        "seconds": seconds,
        "findings": [{"verdict": c.verdict, "claim": c.text, "evidence": c.evidence} for c in item.claims],
        "comparisons": compared,
        "pictures": [{"name": picture.name, "caption": picture.caption} for picture in item.pictures],
        "tables": [{"name": t.name, "caption": t.caption, "columns": dict(t.columns)} for t in item.tables],
    }
    write_text(folder / "item.json", json.dumps(as_json(content), indent=1))


def as_json(value: Any) -> Any:
    """Return a value in types that JSON has: lists, texts, plain numbers."""
    if isinstance(value, dict):
        return {str(key): as_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [as_json(part) for part in value]
    value = value.item() if isinstance(value, np.generic) else value
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write_picture(path: Path, figure: Any) -> None:
    """Write a figure as PNG, on light ground."""
    options: dict[str, Any] = {"format": "png", "dpi": DOTS_PER_INCH, "facecolor": PAPER}
    options |= {"metadata": {"Software": None}, "pil_kwargs": {"optimize": True}}  # the same bytes from any version
    with drawn_alike():
        write_file(path, lambda beside: figure.savefig(beside, **options))


def write_csv(path: Path, columns: Columns) -> None:
    """Write a table as CSV. A column of pairs becomes two columns, low and high."""
    import pyarrow as pa
    import pyarrow.csv

    flat: dict[str, Any] = {}
    for name, values in columns.items():
        if any(isinstance(value, tuple | list) for value in values):
            flat |= {f"{name}, {end}": [pair and pair[i] for pair in values] for i, end in enumerate(("low", "high"))}
        elif len({type(value) for value in values if value is not None} & {str, int, float}) > 1:
            flat[name] = [None if value is None else str(value) for value in values]
        else:
            flat[name] = [value.item() if isinstance(value, np.generic) else value for value in values]
    table = pa.table(flat)
    write_file(path, lambda beside: pyarrow.csv.write_csv(table, beside))
