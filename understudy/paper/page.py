"""The page of all items in a folder, in Markdown: made from what they left, never typed."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.reporting.tables import NONE
from understudy.runs.folder import write_text, write_whole

HEAD = """# The paper, reproduced

Written by `understudy paper{flags}`; what it says is computed from the runs, and nothing here is typed by hand. “The
paper” is Tang et al., *Towards Data-Driven Offline Simulations for Online Reinforcement Learning* (2022). The noise
floor is the RMSE that an exact simulator would show: in tables of fidelity by the spread of runs alone, beside the
paper's numbers by the luck of the one log too. Errors are debiased, and judged, where each run has a log of its own.
Behind each picture is a table of the same name (CSV) in the results folder.
"""


def write_page(folder: Path, names: Sequence[str], path: Path) -> Path:
    """Write the page of the items found in a folder; pictures are copied to where the page can show them."""
    items = {
        name: json.loads(file.read_text(encoding="utf-8"))
        for name in names
        if (file := folder / name / "item.json").exists()
    }
    pictures = folder if path.parent == folder else path.with_suffix("")
    parts = [HEAD.format(flags=flags_of(items.values())), *contents(items)]
    for name, item in items.items():
        for picture in item["pictures"]:
            source, target = (place / name / f"{picture['name']}.png" for place in (folder, pictures))
            if source != target:
                target.parent.mkdir(parents=True, exist_ok=True)
                write_whole(target, lambda beside, source=source: shutil.copyfile(source, beside))
        parts.append(section(name, item, (pictures / name).relative_to(path.parent).as_posix()))
    write_text(path, "\n".join(parts))
    return path


def flags_of(items: Any) -> str:
    """What was asked for beyond the paper's own sizes, as flags."""
    asked = [item["asked"] for item in items]
    flags = [f" --{name}" for name in ("quick", "authors") if any(one[name] for one in asked)]
    runs = sorted({one["runs"] for one in asked if one["runs"]})
    return "".join(flags) + (f" --runs {runs[-1]}" if runs else "")


def contents(items: Mapping[str, Any]) -> list[str]:
    """A line for each claim, with its verdict: what a hurried reader wants."""
    lines = [
        f"| {finding['verdict']} | {finding['claim']} | [{name}](#{name}) |"
        for name, item in items.items()
        for finding in item["findings"]
    ]
    return ["\n".join(["| | claim | item |", "|---|---|---|", *lines, ""])] if lines else []


def section(name: str, item: Mapping[str, Any], pictures: str) -> str:
    """An item as Markdown."""
    parts = [f"## {name}", f"**{item['title']}.** {item['about']}"]
    if item["findings"]:
        parts.append("\n".join(f"- **{f['verdict']}**: {f['claim']} {f['evidence']}" for f in item["findings"]))
    if item["comparisons"]:
        rows = item["comparisons"]
        headings = {
            "what": "",
            "paper": "the paper",
            "ours": "ours",
            "interval": "95 %",
            "floor": "noise floor",
            "note": "",
        }
        shown = {head: [row[key] for row in rows] for key, head in headings.items() if key != "note"}
        notes = [row["note"] for row in rows]
        shown |= {"note": notes} if any(notes) else {}
        parts.append(markdown_table(shown))
    parts += [f"![{one['name']}]({pictures}/{one['name']}.png)\n\n{one['caption']}" for one in item["pictures"]]
    parts += [f"{table['caption']}\n\n{markdown_table(table['columns'])}" for table in item["tables"]]
    return "\n\n".join(parts) + "\n"


def markdown_table(columns: Mapping[str, Sequence[Any]]) -> str:
    """A table in Markdown; numbers stand to the right.

    >>> print(markdown_table({"set": ["PSRS"], "steps": [56986.0], "RMSE": [0.00412]}))
    | set | steps | RMSE |
    |---|---:|---:|
    | PSRS | 56,986 | 0.00412 |
    """
    cells = [[cell(value) for value in values] for values in columns.values()]
    right = [not any(isinstance(value, str) for value in values) for values in columns.values()]
    rule = "".join("---:|" if numeric else "---|" for numeric in right)
    rows = [f"| {' | '.join(row)} |" for row in zip(*cells, strict=True)]
    return "\n".join([f"| {' | '.join(columns)} |", f"|{rule}", *rows])


def cell(value: Any) -> str:
    """A value as it is shown.

    >>> cell(None), cell(134925), cell(0.0649), cell((-0.001, 1)), cell("about twice")
    ('–', '134,925', '0.0649', '−0.001 to 1', 'about twice')
    """
    if value is None or value != value:
        return NONE
    if isinstance(value, list | tuple):
        return " to ".join(cell(end) for end in value)
    if isinstance(value, str | bool):
        return str(value)
    if isinstance(value, int) or value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = f"{value:.3g}" if abs(value) < 0.995 else f"{value:.2f}"
    return digits.replace("-", "\N{MINUS SIGN}")
