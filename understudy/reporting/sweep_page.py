"""The page of a sweep: which learner is ahead where, their curves, and a table of all combinations."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import SettingError
from understudy.evaluation import MeanCurve
from understudy.evaluation.earnings import SHARE
from understudy.reporting.axes import BOTTOM, LEFT, RIGHT, canvas, short_label, style_axes
from understudy.reporting.drawing import draw_legend, draw_mean, legend_height, looks_of
from understudy.reporting.page import as_markup, page_template
from understudy.reporting.page_figures import drawn
from understudy.reporting.svg import INK, drawn_alike
from understudy.runs.folder import write_text
from understudy.sweeps import Sweep
from understudy.sweeps.names import KEYS, Combination
from understudy.sweeps.run_tables import REWARD
from understudy.tables import Column, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_FIGURES, MOST_CURVES, MOST_FAILED = 12, 14, 50
"""Figures of a page, curves of a figure, and failed runs that are listed, at most."""


def write_sweep_page(sweep: Sweep, path: Any, *, probe: str = REWARD, title: str | None = None) -> Path:
    """Write a page about a sweep, one file that needs no network and no script, and return its path."""
    from understudy import __version__

    groups: dict[tuple[str, ...], list[Combination]] = {}
    for one in sweep.combinations:
        groups.setdefault(one[1:], []).append(one)
    figures = [_figure(sweep, group, probe) for group in list(groups.values())[:MOST_FIGURES]]
    html = page_template("sweep.html.j2").render(
        title=title or f"Sweep {sweep.path.resolve().name}",
        lead=f"{sweep}.",
        probe=probe,
        comparison=_comparison(sweep, probe),
        figures=[figure for figure in figures if figure is not None],
        left_out=max(0, len(groups) - MOST_FIGURES),
        combinations=sweep.table(),
        failed=_failed(sweep),
        version=__version__,
        show=as_markup,
    )
    path = Path(path)
    write_text(path, html.encode("utf-8", "replace").decode("utf-8"))
    return path


def _comparison(sweep: Sweep, probe: str) -> Table | None:
    """Return which learner is ahead; None where there is nothing to compare."""
    try:
        return sweep.compare(probe).table()
    except SettingError:
        return None


def _figure(sweep: Sweep, group: list[Combination], probe: str) -> dict[str, Any] | None:
    """Return the mean curves of learners that share simulator, encoder and log; None where there are none."""
    curves = {}
    for one in group[:MOST_CURVES]:
        try:
            curves[one.learner] = sweep.mean_curve(probe, share=SHARE, **one._asdict())
        except SettingError:  # no run has a reading
            continue
    if not curves:
        return None
    where = ", ".join(group[0][1:])
    described = f"Mean curves of {probe} for {', '.join(curves)} in {where}"
    return {"where": where} | drawn(lambda width: draw_curves(curves, where, width), described, where)


def draw_curves(curves: dict[str, MeanCurve], title: str, width: int) -> "Figure":
    """Return a figure of mean curves by name."""
    looks = looks_of(curves, None)
    with drawn_alike():
        top, height = legend_height(curves, width) + 26, min(320, int(0.75 * width))
        figure, place = canvas(width, top + height + BOTTOM)
        axes = place(LEFT, top, width - LEFT - RIGHT, height)
        style_axes(axes, 6 if width > 600 else 4)
        for name, curve in curves.items():
            draw_mean(axes, curve, looks[name], 3)
        axes.set_title(short_label(title, 60), loc="left", parse_math=False, color=INK, pad=10)
        draw_legend(figure, curves, looks, width)
    return figure


def _failed(sweep: Sweep) -> Table | None:
    """Return the runs that failed, with their reasons; None where none did."""
    found = sweep.failed()
    if not len(found):
        return None
    lines = found.slice(0, MOST_FAILED).to_pylist()
    names = (*KEYS, "number", "failed")
    headings = tuple(Column("why" if name == "failed" else name, numeric=name == "number") for name in names)
    rows = tuple(tuple(str(line[name]) for name in names) for line in lines)
    more = (f"... and {len(found) - MOST_FAILED:,} more: failed() has all",) * (len(found) > MOST_FAILED)
    return Table("Runs that failed", headings, rows, notes=more)
