"""The page of a sweep: which learner is ahead where, their curves, and a table of all combinations."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import SettingError
from understudy.evaluation import MeanCurve
from understudy.evaluation.earnings import SHARE
from understudy.reporting.axes import BOTTOM, LEFT, RIGHT, canvas, short_label, style_axes
from understudy.reporting.document import SWEEP_FORMAT, SWEEP_VERSION, json_beside, plain, write_document
from understudy.reporting.drawing import draw_legend, draw_mean, legend_height, looks_of
from understudy.reporting.page import as_markup, page_template, path_of_page, write_html
from understudy.reporting.page_figures import drawn
from understudy.reporting.settings_tables import origin_table, versions
from understudy.reporting.svg import INK, drawn_alike
from understudy.runs import Runs
from understudy.sweeps import Sweep
from understudy.sweeps.comparing import SweepComparison
from understudy.sweeps.folder import SweepFolder
from understudy.sweeps.names import KEYS, Combination
from understudy.sweeps.run_tables import REWARD
from understudy.tables import Column, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAUTION = (
    "How far to believe this was not tested: runs of a sweep are on the whole log. Before one is deployed, rehearse it "
    "with understudy simulate, or those that are close with understudy compare, whose pages say that."
)

MOST_FIGURES, MOST_CURVES, MOST_FAILED = 12, 14, 50
"""Figures of a page, curves of a figure, and failed runs that are listed, at most."""


def write_sweep_page(sweep: Sweep, path: Any, *, probe: str = REWARD, title: str | None = None) -> Path:
    """Write a page about a sweep, one file that needs no network and no script, and return its path.

    The JSON file beside it has every number on the page, by the schema in sweep_report_schema.json.
    """
    from understudy import __version__

    path = path_of_page(path)
    groups: dict[tuple[str, ...], list[Combination]] = {}
    for one in sweep.combinations:
        groups.setdefault(one[1:], []).append(one)
    beside = json_beside(path)
    curves = [(", ".join(key), _curves(sweep, group, probe)) for key, group in list(groups.items())[:MOST_FIGURES]]
    comparison = _comparison(sweep, probe)
    shown = {
        "title": title or f"Sweep {sweep.path.resolve().name}", "probe": probe,
        "decision": [] if comparison is None else [f"{line}." for line in comparison.sentences], "caution": CAUTION,
        "comparison": None if comparison is None else comparison.table(), "combinations": sweep.table(),
        "failed": _failed(sweep), "origin": _origin(sweep),
    }  # fmt: skip
    html = page_template("sweep.html.j2").render(
        **shown,
        lead=f"{sweep}.",
        figures=[_figure(found, where, probe) for where, found in curves if found],
        left_out=max(0, len(groups) - MOST_FIGURES),
        version=__version__,
        show=as_markup,
    )
    write_html(path, html)
    told = {"format": SWEEP_FORMAT, "version": SWEEP_VERSION, "versions": versions(), "summary": f"{sweep}."}
    drawn_curves = [
        {"where": where, "learner": learner, "x": curve.steps, "mean": curve.mean, "low": curve.low, "high": curve.high}
        for where, found in curves
        for learner, curve in found.items()
    ]
    write_document(beside, plain(told | shown | {"curves": drawn_curves}))
    return path


def _comparison(sweep: Sweep, probe: str) -> SweepComparison | None:
    """Return which learner is ahead; None where there is nothing to compare."""
    try:
        return sweep.compare(probe)
    except SettingError:
        return None


def _origin(sweep: Sweep) -> Table:
    """Return where the numbers come from: the file of settings in the folder, the logs' fingerprints, and versions."""
    known = {one.log: one for one in SweepFolder(sweep.path).experiments()}  # none where all runs failed
    logs = {name: Runs((), sweep.about(**one._asdict())) for name, one in known.items()}
    file = sweep.path / "sweep.toml"
    return origin_table(logs, shlex.join(["understudy", "sweep", str(file)]) if file.exists() else None)


def _curves(sweep: Sweep, group: list[Combination], probe: str) -> dict[str, MeanCurve]:
    """Return the mean curves of learners that share simulator, encoder and log, those that have a reading."""
    curves = {}
    for one in group[:MOST_CURVES]:
        try:
            curves[one.learner] = sweep.mean_curve(probe, share=SHARE, **one._asdict())
        except SettingError:  # no run has a reading
            continue
    return curves


def _figure(curves: dict[str, MeanCurve], where: str, probe: str) -> dict[str, Any]:
    """Return the figure of mean curves by learner; `where` names their simulator, encoder and log."""
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
