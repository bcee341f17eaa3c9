"""The table that a terminal shows of some sets of runs."""

from collections import Counter
from typing import Any

from understudy.digits import decimals, percent
from understudy.errors import visible
from understudy.reporting.measurements import Measurements
from understudy.reporting.returns import earnings_cell, earnings_format, notes_on_returns
from understudy.reporting.tables import errors_of, exact_of, fidelity_notes
from understudy.runs.nouns import noun_of, one_of
from understudy.tables import NONE, Column, Table, rounded

GAP = 2
"""Characters between two columns in a terminal."""


def brief_table(measured: Measurements) -> Table:
    """Return what fits a terminal: how long, what ran out and, with real runs, how close to them, else the return."""
    runs, earned, probe = measured.finished, measured.earnings, measured.headline_probe
    title = "steps: median until the log had no further answer; log: share of its rows"
    headings = [Column("", numeric=False), Column("steps")]
    forecasts: dict[str, int] = {}
    horizons: dict[str, int] = {}
    exact = {name: exact_of(measured, name) for name in runs} if measured.rungs else {}
    if exact:
        title += "\nexact: the step up to which nine of ten runs used no lower rung and cut no episode"
        headings.append(Column("exact"))
    if probe is None:  # beside errors there is no room for these; the page has them
        forecasts = {name: found.steps for name, found in measured.forecasts.items()}
        horizons = measured.trusted()
    if forecasts:
        headings.append(Column("forecast"))
    if horizons:
        title += "\ntrusted: the step up to which "
        title += "all evidence agrees" if measured.beyond else "halves of the log agree with the whole"
        title += ", and at most the exact one" * bool(exact and not measured.beyond)
        headings.append(Column("trusted"))
    headings.append(Column("log"))
    errors: dict[str, list[Any]] = {}
    write = earnings_format(earned)
    if probe is not None:
        found = measured.fidelity[probe]
        for name, one in found.at_shared.items():
            rmse, _, mean, largest = errors_of(one)
            errors[name] = [rmse, mean, largest]
        upto = "" if found.shared_horizon is None else f" up to step {found.shared_horizon:,}"
        title += f"\nerrors: of the mean curve of {probe!r} against {measured.reference!r}{upto}"
        headings += [Column("RMSE"), Column("mean"), Column("max")]
        notes = fidelity_notes(found.at_shared)
    else:
        headings.append(Column("return"))
        title += f"; return: of {one_of(noun_of(*runs.values()))}"
        notes = tuple(notes_on_returns(runs, earned, horizons))
    headings.append(Column("ran out", numeric=False))
    digits = decimals([error for row in errors.values() for error in row if error is not None]) if errors else 3
    rows, values = [], []
    for name, set_ in runs.items():
        length = measured.efficiency[name]
        words = {run.stopped.group: run.stopped.what for run in reversed(set_)}
        what, count = Counter(words[run.stopped.group] for run in set_).most_common(1)[0]
        mine: list[Any] = errors.get(name, [None] * 3) if errors else [earned.get(name)]
        cells = [rounded(value, digits) for value in mine] if errors else [earnings_cell(earned.get(name), write)]
        share = NONE if length.share_served is None else percent(length.share_served)
        ran_out = f"{what} ({percent(count / len(set_))})"
        more = [steps.get(name) for steps in (exact, forecasts, horizons) if steps]
        shown = [NONE if value is None else f"{value:,}" for value in more]
        rows.append((name, f"{length.steps:,.0f}", *shown, share, *cells, ran_out))
        values.append((name, length.steps, *more, length.share_served, *mine, ran_out))
    return Table(title, tuple(headings), tuple(rows), tuple(values), notes)


def as_rich(table: Table, width: int) -> Any:
    """Return the table as rich prints it in lines of so many characters, and more where its numbers need them.

    Names are not read as markup, and escape bytes in them are written out. Where there is little room, names and
    headings are folded; numbers are never cut.
    """
    from rich import box
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column, room in zip(table.headings, _widths(table, width), strict=True):
        justify: Any = "right" if column.numeric else "left"
        shown.add_column(Text(visible(column.name)), justify=justify, overflow="fold", width=room)
    for row in table.rows:
        shown.add_row(*(Text(visible(cell)) for cell in row))
    title = "\n".join(map(visible, table.title.split("\n")))
    return Group(Text(title, style="dim"), shown, *(Text(visible(note), style="dim") for note in table.notes))


def least_width(table: Table) -> int:
    """Return how many characters the lines of a table have at least, so that no number is cut."""
    return sum(_least(table, place) + GAP for place in range(len(table.headings)))


def _widths(table: Table, width: int) -> list[int]:
    """Return how wide columns are: as wide as their cells where there is room, else names get what numbers leave."""
    least = [_least(table, place) for place in range(len(table.headings))]
    wanted = [
        max(one, _longest(table, place), len(visible(column.name)))
        for place, (column, one) in enumerate(zip(table.headings, least, strict=True))
    ]
    left = width - sum(least) - GAP * len(least)
    for place in sorted(range(len(least)), key=lambda place: table.headings[place].numeric):  # names first
        more = max(0, min(left, wanted[place] - least[place]))
        least[place] += more
        left -= more
    return least


def _least(table: Table, place: int) -> int:
    """Return the characters that a column needs at least: those of its numbers, or twelve of its names."""
    column, longest = table.headings[place], _longest(table, place)
    longest = max(longest, *(len(word) for word in visible(column.name).split()), 1)
    return longest if column.numeric else min(12, longest)


def _longest(table: Table, place: int) -> int:
    return max((len(visible(row[place])) for row in table.rows), default=0)
