"""What a terminal shows of some runs."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from understudy.errors import visible
from understudy.evaluation import earnings, efficiency
from understudy.reporting.tables import (
    NONE,
    Column,
    Table,
    compared,
    comparisons,
    decimals,
    earned_cell,
    errors_of,
    figures_of,
    notes_on,
    notes_on_returns,
    number,
    percent,
    reference_of,
)
from understudy.runs import Runs


def brief_table(runs: Mapping[str, Runs]) -> Table:
    """All that fits a terminal's width: how long, what ran out and, where real runs are there, how close to them."""
    reference = reference_of(runs)
    probe = next(iter(compared(runs, reference)), None)
    title = "steps: median until the log had no further answer; log: share of its rows"
    headings = [Column("", numeric=False), Column("steps"), Column("log")]
    errors: dict[str, list[Any]] = {}
    earned = earnings(runs)
    show = figures_of(earned)
    notes: tuple[str, ...] = ()
    if reference is not None and probe is not None:
        others = {name: set_ for name, set_ in runs.items() if name != reference}
        found = comparisons(others, runs[reference], probe)
        rows_of = map(errors_of, found.together.values())
        errors = {name: [one[0], one[2], one[3]] for name, one in zip(others, rows_of, strict=True)}
        upto = "" if found.shared is None else f" up to step {found.shared:,}"
        title += f"\nerrors: of the mean curve of {probe!r} against {reference!r}{upto}"
        headings += [Column("RMSE"), Column("mean"), Column("max")]
        notes = notes_on(found.together)
    else:
        headings.append(Column("return"))
        title += "; return: of an episode"
        notes = tuple(notes_on_returns(runs, earned))
    headings.append(Column("ran out", numeric=False))
    digits = decimals([error for row in errors.values() for error in row if error is not None]) if errors else 3
    rows, values = [], []
    for name, set_ in runs.items():
        length = efficiency(set_)
        words = {run.stopped.group: run.stopped.what for run in reversed(set_)}
        what, count = Counter(words[run.stopped.group] for run in set_).most_common(1)[0]
        mine: list[Any] = errors.get(name, [None] * 3) if errors else [earned.get(name)]
        cells = [number(value, digits) for value in mine] if errors else [earned_cell(earned.get(name), show)]
        share = NONE if length.share_served is None else percent(length.share_served)
        ran_out = f"{what} ({percent(count / len(set_))})"
        rows.append((name, f"{length.steps:,.0f}", share, *cells, ran_out))
        values.append((name, length.steps, length.share_served, *mine, ran_out))
    return Table(title, tuple(headings), tuple(rows), tuple(values), notes)


def as_rich(table: Table) -> Any:
    """The table as rich prints it in a terminal. Names are never read as markup, nor obeyed as escape bytes."""
    from rich import box
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in table.headings:
        last = column is table.headings[-1]  # the one that may be folded in a narrow terminal
        shown.add_column(Text(visible(column.name)), justify="right" if column.numeric else "left", no_wrap=not last)
    for row in table.rows:
        shown.add_row(*(Text(visible(cell)) for cell in row))
    title = "\n".join(map(visible, table.title.split("\n")))
    return Group(Text(title, style="dim"), shown, *(Text(visible(note), style="dim") for note in table.notes))
