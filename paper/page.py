"""The Markdown page of all items in a results folder, made from their files."""

import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from paper.options import n_codes
from understudy.runs.folder import read_json, write_file, write_text
from understudy.tables import NONE

HEAD = """# The paper, reproduced

Written by `python -m paper{call}`.
Numbers, verdicts and pictures are computed from the runs. “The paper” is Tang et al., *Towards Data-Driven Offline
Simulations for Online Reinforcement Learning* (2022). A noise floor is the RMSE that an exact simulator would show:
on one log by the luck of that log and the spread of runs, and where it is called a floor of runs by their spread alone.
Errors are debiased, and judged, where each run has a log of its own. In the results folder each item has a folder with
`item.json`, from which its section is made, `comparisons.csv`, the paper's numbers beside ours, and a CSV for each
picture and table.
"""

QUICK = """**This was a quick run: logs are small and runs are few. Its numbers, and the verdicts they lead to, are not
comparable with the paper's column.**
"""

SEVERAL_CODES = """The results were made by {n} versions of the code: what was finished was not run again when the code
had changed.
"""

CONVENTIONS = """## The authors' conventions

The code that was published with the paper has conventions of its own. These are followed with or without `--authors`,
in rows called “as published” and in the paper's table of PPO:

- the RMSE is between curves that are averaged over runs;
- the probe of Q-learning is max_a Q of a single observation, the one whose counter or bits are 0;
- PPO's RMSE is over T = 16 epochs in every row, and means are over the runs that survive;
- PPO's efficiency is the median number of completed epochs, at most 50;
- PPO's validation is 10 episodes of the stochastic policy, discounted by 0.99.

These are followed with `--authors` only:

- an episode has at most 1,000 steps, and the last of them counts as terminal, with reward 0 (real runs of Q-learning
  are only cut off there); by default it goes on;
- the log is read in row order, its rows shuffled one by one; by default whole episodes are;
- PPO abandons its episode at an epoch's end; by default the episode goes on;
- sim2 draws the observations of a state as often as the log has them; by default uniformly;
- verdicts and curves of Q-learning are of observation 0, too; by default of all opening observations;
- rollouts are of an epsilon-soft policy with epsilon 0.4; by default 0.3.
"""


def write_page(folder: Path, names: Sequence[str], path: Path) -> Path:
    """Write the page of the items found in a folder, and copy their pictures to a place beside it; return its path."""
    items = {name: read_json(file) for name in names if (file := folder / name / "item.json").exists()}
    pictures = folder if path.parent == folder else path.with_suffix("")
    common = common_flags(items)
    parts = [*head(folder, names, items, common), *contents(items)]
    for name, item in items.items():
        for picture in item["pictures"]:
            source, target = (place / name / f"{picture['name']}.png" for place in (folder, pictures))
            if source != target:
                target.parent.mkdir(parents=True, exist_ok=True)
                write_file(target, partial(shutil.copyfile, source))
        own = [flag for flag in flags_of(item["asked"]) if flag not in common]
        parts.append(section(name, item, (pictures / name).relative_to(path.parent).as_posix(), own))
    parts.append(CONVENTIONS)
    write_text(path, "\n".join(parts))
    return path


def head(folder: Path, names: Sequence[str], items: Mapping[str, Any], common: Sequence[str]) -> list[str]:
    """The head of the page: the command that writes it, and what to know before reading its numbers."""
    call = [*(items if len(items) < len(names) else ()), *common]
    parts = [HEAD.format(call="".join(f" {word}" for word in call))]
    parts += [QUICK] if any(item["asked"]["quick"] for item in items.values()) else []
    return parts + ([SEVERAL_CODES.format(n=n)] if (n := n_codes(folder)) > 1 else [])


def flags_of(asked: Mapping[str, Any]) -> list[str]:
    """Return the options of an item as flags of the command line.

    >>> flags_of({"quick": True, "runs": 20, "seed": 3, "search": False, "authors": False})
    ['--quick', '--seed 3', '--runs 20']
    """
    flags = [f"--{name}" for name in ("quick", "authors", "search") if asked.get(name)]
    return flags + [f"--{name} {asked[name]}" for name in ("seed", "runs") if asked.get(name)]


def common_flags(items: Mapping[str, Any]) -> list[str]:
    """Return the flags that all items were run with."""
    flags = [flags_of(item["asked"]) for item in items.values()]
    return [flag for flag in flags[0] if all(flag in others for others in flags)] if flags else []


def contents(items: Mapping[str, Any]) -> list[str]:
    """A table of all claims with their verdicts."""
    lines = [
        f"| {claim['verdict']} | {claim['claim']} | [{name}](#{name}) |"
        for name, item in items.items()
        for claim in item["findings"]
    ]
    return ["\n".join(["| | claim | item |", "|---|---|---|", *lines, ""])] if lines else []


def section(name: str, item: Mapping[str, Any], pictures: str, own_flags: Sequence[str] = ()) -> str:
    """Return the section of an item in Markdown; `own_flags` are those that not all items were run with."""
    parts = [f"## {name}", f"**{item['title']}.** {item['about']}"]
    parts += [f"This item was run with `{' '.join(own_flags)}`."] if own_flags else []
    if item["findings"]:
        parts.append("\n".join(f"- **{c['verdict']}**: {c['claim']} {c['evidence']}" for c in item["findings"]))
    if item["comparisons"]:
        rows = item["comparisons"]
        headings = {
            "what": "",
            "paper": "the paper",
            "ours": "ours",
            "interval": "95%",
            "floor": "noise floor",
            "note": "",
        }
        shown = {head: [row[key] for row in rows] for key, head in headings.items() if key != "note"}
        notes = [row["note"] for row in rows]
        shown |= {"note": notes} if any(notes) else {}
        parts.append(markdown_table(shown))
    parts += [f"![{one['name']}]({pictures}/{one['name']}.png)\n\n{one['caption']}" for one in item["pictures"]]
    parts += [f"{table['caption']}\n\n{markdown_table(table['columns'])}" for table in item["tables"]]
    parts.append(f"Files of the results folder: {', '.join(f'`{name}/{file}`' for file in files_of(item))}.")
    return "\n\n".join(parts) + "\n"


def files_of(item: Mapping[str, Any]) -> list[str]:
    """Return the names of the files that hold an item's numbers."""
    tables = ["comparisons"] if item["comparisons"] else []
    tables += [one["name"] for one in (*item["pictures"], *item["tables"])]
    return ["item.json", *(f"{name}.csv" for name in tables)]


def markdown_table(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return a table in Markdown, with columns of numbers aligned to the right.

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
    """Return a value as the page shows it.

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
