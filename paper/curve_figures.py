"""Mean curves of sets of runs: with a zoom on the first epochs, and in a column for each case."""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.range_figure import in_thousands
from understudy.evaluation.curves import MeanCurve
from understudy.reporting.axes import BOTTOM, LEFT, RIGHT, canvas, style_axes, style_log_scale, style_share_going, ticks
from understudy.reporting.drawing import (
    Look,
    differences_of,
    draw_differences,
    draw_legend,
    draw_mean,
    draw_share_going,
    legend_height,
    looks_of,
    means_of,
    reference_first,
)
from understudy.reporting.svg import INK, MUTED, drawn_alike
from understudy.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def paired_looks(names: Iterable[str], reference_name: str) -> dict[str, dict[str, Any]]:
    """Return the look of each set in all pictures: PSRS and QBE of an encoder have one color, and QBE is dashed.

    >>> looks = paired_looks(["Real", "PSRS-oracle", "QBE-oracle"], "Real")
    >>> looks["PSRS-oracle"]["color"] == looks["QBE-oracle"]["color"]
    True
    """
    names = list(names)
    looks = looks_of([name for name in names if not name.startswith("QBE-")], reference_name)
    dashed = {"linestyle": (0, (6, 2.5))}
    return {name: looks[name] if name in looks else looks[name.replace("QBE-", "PSRS-")] | dashed for name in names}


def with_zoom(
    named_runs: Mapping[str, Runs],
    probe: str,
    reference_name: str,
    *,
    close: Collection[str],
    looks: Mapping[str, Look],
    log_scale: bool = False,
    last: int = 20,
    width: int = 900,
) -> "Figure":
    """Mean curves by epochs: all of them on the left; on the right the first epochs of those that are close.

    An epoch is the steps before the first reading. On the left, x ends where all simulations have; on the right, y has
    room for what follows the first quarter of the epochs shown, since all begin far below.
    """
    sets = reference_first(named_runs, reference_name)
    epoch = min(int(run.steps[0]) for runs in sets.values() for run in runs if len(run.steps))
    means = means_of(sets, probe, epoch)
    near = {name: mean for name, mean in means.items() if name in close or name == reference_name}
    end = max(int(runs.lengths.max()) for name, runs in sets.items() if name != reference_name) / epoch
    until = min(last, end)
    with drawn_alike():
        top, main, gap, beneath, between = legend_height(sets, width) + 30, 290, 38, 120, 62
        across = (width - LEFT - RIGHT - between) / 2
        figure, place = canvas(width, top + main + gap + beneath + BOTTOM)

        def panels(left: float, means: Mapping[str, MeanCurve], until: float, title: str) -> "tuple[Axes, Axes]":
            axes = place(left, top, across, main)
            for name, mean in means.items():
                width_of_line, order = (1.2, 6) if name == reference_name else (1.8, 3)
                draw_mean(axes, mean, {**looks[name], "linewidth": width_of_line}, order)
            style_axes(axes, 6)
            if log_scale:
                style_log_scale(axes)
            axes.set_xlim(0, 1.01 * until)
            axes.set_title(title, loc="left", color=INK, pad=10)
            axes.tick_params(labelbottom=False)
            below = place(left, top + main + gap, across, beneath, sharex=axes)
            below.set_xlabel("epochs")
            return axes, below

        _, going = panels(LEFT, means, end, f"{probe}, all epochs")
        draw_share_going(going, {name: runs.lengths for name, runs in sets.items()}, looks, epoch)
        style_share_going(going, 6)

        zoom, apart = panels(LEFT + across + between, near, until, f"{probe}, epochs 1 to {until:.0f}")
        zoom.set_ylim(_limits(near, until / 4, until, log_scale))
        if log_scale:
            zoom.yaxis.set_major_locator(ticks(6))  # it has less than a decade
        style_axes(apart, 6)
        draw_differences(apart, near, reference_name, looks)
        apart.set_ylim(_limits(differences_of(near, reference_name), until / 4, until))
        minus = f"minus {reference_name}; gray: 1.96 standard errors of it alone"
        apart.set_title(minus, loc="left", color=MUTED, fontsize=11, pad=8)
        draw_legend(figure, sets, looks, width)
    return figure


def _limits(means: Mapping[str, MeanCurve], begin: float, end: float, log_scale: bool = False) -> tuple[float, float]:
    """Return the limits of y that means and their bands need between two values of x."""
    ends: list[np.ndarray] = []
    for mean in means.values():
        within = (mean.steps >= begin) & (mean.steps <= end) & np.isfinite(mean.mean)
        half = np.nan_to_num(mean.half_width[within])
        ends += [mean.mean[within] - half, mean.mean[within] + half]
    values = np.concatenate(ends)
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    if log_scale:
        return low / 1.1, high * 1.1
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room


def curves_by_case(
    cases: Mapping[str, Mapping[str, Runs]], probe: str, reference_name: str, *, width: int = 900
) -> "Figure":
    """A column for each case: its mean curves, and beneath them each minus the reference, as in `learning_curves`.

    Cases are learned at different speeds, so x goes on for half as long again as the reference takes to settle.
    """
    from matplotlib.ticker import FuncFormatter

    names = reference_first(next(iter(cases.values())), reference_name)
    looks = looks_of(names, reference_name)
    with drawn_alike():
        top, main, gap, beneath, apart = legend_height(names, width) + 48, 190, 40, 190, 16
        across = (width - LEFT - RIGHT - apart * (len(cases) - 1)) / len(cases)
        figure, place = canvas(width, top + main + gap + beneath + BOTTOM)
        upper: Axes | None = None
        lower: Axes | None = None
        for number, (case, sets) in enumerate(cases.items()):
            left = LEFT + number * (across + apart)
            upper = place(left, top, across, main, sharey=upper)
            lower = place(left, top + main + gap, across, beneath, sharex=upper, sharey=lower)
            means = means_of(reference_first(sets, reference_name), probe)
            for name, mean in means.items():
                draw_mean(upper, mean, looks[name], 6 if name == reference_name else 3)
            draw_differences(lower, means, reference_name, looks)
            reference = means[reference_name]
            upper.set_xlim(0, min(1.5 * _settled(reference), float(reference.steps[-1])))
            for axes in (upper, lower):
                style_axes(axes, 3)
                axes.xaxis.set_major_formatter(FuncFormatter(in_thousands))
                axes.tick_params(labelleft=number == 0, labelbottom=axes is lower)
            upper.set_title(case, loc="left", color=INK, fontsize=11, pad=6)
            lower.set_xlabel("steps", fontsize=11)
            if number == 0:
                upper.text(0, 1.16, probe, transform=upper.transAxes, color=MUTED, fontsize=11)
                title = f"minus the mean of {reference_name}, with 1.96 standard errors; gray: those of it alone"
                lower.set_title(title, loc="left", color=MUTED, fontsize=11, pad=8)
        draw_legend(figure, names, looks, width)
    return figure


def _settled(mean: MeanCurve, share: float = 0.02) -> float:
    """Return the last step at which a mean is farther from its final value than a share of its range.

    >>> none = np.zeros(5)
    >>> curve = MeanCurve(np.arange(1, 6), np.array([0.0, -1, 0.5, 1, 1]), none, np.ones(5, bool), 5, none, none)
    >>> _settled(curve)
    3.0
    """
    known = mean.mean[np.isfinite(mean.mean)]
    far = np.flatnonzero(np.abs(known - known[-1]) > share * np.ptp(known))
    return float(mean.steps[far[-1] if len(far) else -1])
