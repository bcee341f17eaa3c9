"""Parts of figures: means with their bands, the share of runs still going, differences, and legends."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.evaluation.curves import (
    MeanCurve,
    difference,
    episodes_of_point,
    has_readings,
    mean_curve,
    return_curve,
    shares_going,
)
from understudy.reporting.axes import LEFT, short_label, ticks
from understudy.reporting.luck import returns_with_luck, with_luck
from understudy.reporting.svg import INK, MUTED, PALETTE, PAPER
from understudy.reporting.thinning import thinned
from understudy.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Look = Mapping[str, Any]
"""The color, line and marker of a set, as matplotlib takes them."""

MARKERS = ("", "s", "^", "o", "D")
"""Where there are more sets than colors, markers distinguish those of one color."""

MOST_POINTS, FEWEST_POINTS, POINTS_OF_ALL = 400, 150, 1800
"""Readings of a mean that are drawn at most, at least, and of all means of a figure together: more would fall on the
same pixels, and make a page of many sets large."""

PALE = 0.5
"""How opaque a line is beyond what can be believed."""

MOST_BANDS = 5
"""Sets whose differences have bands; with more, bands would hide each other."""


def looks_of(names: Iterable[str], reference_name: str | None) -> dict[str, dict[str, Any]]:
    """Return the color, line and marker of each set, by its place among the others; the reference is black."""
    looks = {}
    others = [name for name in names if name != reference_name]
    # Later sets lie over earlier ones and are thinner, so that curves that coincide all show.
    widths = 2.0 + min(0.6, 2.4 / max(1, len(others))) * np.arange(len(others))[::-1]
    for place, name in enumerate(others):
        marker = MARKERS[place // len(PALETTE) % len(MARKERS)]
        looks[name] = {"color": PALETTE[place % len(PALETTE)], "linewidth": float(widths[place]), "marker": marker}
    if reference_name is not None:
        looks[reference_name] = {"color": INK, "linewidth": 1.2, "marker": ""}
    return looks


def reference_first(named_runs: Mapping[str, Runs], reference_name: str | None) -> dict[str, Runs]:
    """Return the sets in the order of legends: the reference first."""
    return dict(sorted(named_runs.items(), key=lambda item: item[0] != reference_name))


def means_of(
    named_runs: Mapping[str, Runs], probe: str, epoch: int | None = None, share: float = 1.0
) -> dict[str, MeanCurve]:
    """Return the mean curve of each set that has a reading, by steps, or by epochs of so many steps.

    Bands include the luck of the log where a set has runs on halves of it.
    """
    read = {name: runs for name, runs in named_runs.items() if has_readings(runs, probe)}
    means = {name: with_luck(mean_curve(runs, probe, share), runs, probe, share) for name, runs in read.items()}
    unit = epoch or 1
    return {
        name: replace(mean, steps=mean.steps / unit, reach=None if mean.reach is None else mean.reach / unit)
        for name, mean in means.items()
    }


def means_of_returns(named_runs: Mapping[str, Runs], share: float = 1.0) -> dict[str, MeanCurve]:
    """Return the mean return of episodes by their number of each set that finished one, in the same groups.

    Bands include the luck of the log where a set has runs on halves of it.
    """
    sets = {name: runs for name, runs in named_runs.items() if any(len(run.returns) for run in runs)}
    size = episodes_of_point(sets.values())
    return {name: returns_with_luck(return_curve(runs, share, size), runs) for name, runs in sets.items()}


def differences_of(means: Mapping[str, MeanCurve], reference_name: str) -> dict[str, MeanCurve]:
    """Return each mean minus the reference's."""
    return {name: difference(mean, means[reference_name]) for name, mean in means.items() if name != reference_name}


def points_of_mean(n_sets: int) -> int:
    """Return how many readings of each of so many means are drawn in a figure.

    >>> points_of_mean(1), points_of_mean(10), points_of_mean(100)
    (400, 180, 150)
    """
    return int(np.clip(POINTS_OF_ALL // max(1, n_sets), FEWEST_POINTS, MOST_POINTS))


def draw_mean(
    axes: "Axes",
    curve: MeanCurve,
    look: Look,
    order: float,
    band: bool = True,
    points: int = MOST_POINTS,
    trusted: float | None = None,
) -> None:
    """Draw a mean: solid with a band where complete, a dot where that ends, dashed beyond; `points` readings of it.

    Beyond the step `trusted`, where that is given, the line is pale.
    """
    curve = as_drawn(curve, points)
    solid = np.where(curve.complete, curve.mean, np.nan)
    if band:
        draw_band(axes, curve, look["color"], order - 1)
    marks: dict[str, Any] = {"markevery": max(1, len(solid) // 8), "markersize": 4}
    if trusted is None or not (curve.steps > trusted).any():
        axes.plot(curve.steps, solid, **look, **marks, zorder=order)
    else:  # drawn twice, so that both parts meet at the step itself
        edges = [trusted] * bool(trusted > curve.steps[0])  # before the first reading there is nothing to draw
        at_edge = np.interp(edges, curve.steps, solid)
        for within, alpha in ((curve.steps <= trusted, 1.0), (curve.steps > trusted, PALE)):
            steps, means = np.append(curve.steps[within], edges), np.append(solid[within], at_edge)
            at = np.argsort(steps, kind="stable")
            axes.plot(steps[at], means[at], **look, **marks, alpha=alpha, zorder=order)
    # The dashes start at the last complete point, so that there is no gap between line and dashes.
    beside = ~curve.complete
    beside[:-1] |= ~curve.complete[1:]
    beside[1:] |= ~curve.complete[:-1]
    part = np.where(beside, curve.mean, np.nan)
    dashed = {"color": look["color"], "linewidth": look["linewidth"], "linestyle": (0, (2, 1))}
    dashed |= {} if trusted is None else {"alpha": PALE}
    if (~curve.complete).any():
        axes.plot(curve.steps, part, **dashed, zorder=order - 0.5)
    if curve.complete.any():
        last = np.flatnonzero(curve.complete)[-1]
        end = {"color": look["color"], "markeredgecolor": PAPER, "markeredgewidth": 1.2, "markersize": 7 if band else 5}
        axes.plot(curve.steps[last], curve.mean[last], "o", **end, zorder=9)


def as_drawn(curve: MeanCurve, most: int = MOST_POINTS) -> MeanCurve:
    """Return a curve with as many readings as a figure can show, both ends of what is complete and seen among them."""
    complete = np.flatnonzero(curve.complete)
    edges = [curve.reach, *curve.steps[complete[[0, -1]]]] if len(complete) else [curve.reach]
    at = thinned(curve.steps, curve.mean, most, edges)
    columns = ("steps", "mean", "half_width", "complete", "below", "above")
    return replace(curve, **{name: vars(curve)[name][at] for name in columns})


def draw_band(axes: "Axes", curve: MeanCurve, color: str, order: float) -> None:
    """Draw the band of a mean where it is complete; lighter and with dashed edges where it was extrapolated."""
    seen = curve.complete & (curve.reach is None or curve.steps <= curve.reach)
    low, high = (np.where(seen, end, np.nan) for end in (curve.low, curve.high))
    axes.fill_between(curve.steps, low, high, color=color, alpha=0.18, linewidth=0, zorder=order)
    beyond = curve.complete & ~seen
    if beyond.any():
        beyond[:-1] |= beyond[1:]  # begins where the other part ends
        low, high = (np.where(beyond, end, np.nan) for end in (curve.low, curve.high))
        axes.fill_between(curve.steps, low, high, color=color, alpha=0.08, linewidth=0, zorder=order)
        edge: dict[str, Any] = {"color": color, "linewidth": 0.7, "linestyle": (0, (3, 3)), "zorder": order}
        axes.plot(curve.steps, np.stack([low, high], axis=1), **edge)


def draw_trusted(axes: "Axes", curve: MeanCurve, step: float, look: Look) -> None:
    """Mark the trusted horizon of a set: a diamond on its mean, and a line down to the axis."""
    known = np.isfinite(curve.mean)
    height = float(np.interp(step, curve.steps[known], curve.mean[known]))
    line: dict[str, Any] = {"color": look["color"], "linewidth": 1.0, "linestyle": (0, (1, 2)), "zorder": 2}
    axes.axvline(step, **line)
    diamond = {"color": look["color"], "markeredgecolor": PAPER, "markeredgewidth": 1.2, "markersize": 9}
    axes.plot(step, height, "D", **diamond, zorder=9)


def draw_longest(axes: "Axes", step: float, look: Look) -> None:
    """Mark the end of the longest run of a set: a triangle on the x axis."""
    axes.scatter(
        [step], [0.02], s=60, marker="v", color=look["color"], edgecolors=PAPER, linewidths=1.0, zorder=9,
        transform=axes.get_xaxis_transform(),
    )  # fmt: skip


def draw_beyond(axes: "Axes", step: float | None) -> None:
    """Lay gray over what lies beyond the last step that can be believed; the x axis must have its limits."""
    last = axes.get_xlim()[1]
    if step is not None and step < last:
        axes.axvspan(step, last, color=MUTED, alpha=0.11, linewidth=0, zorder=0)


def draw_differences(
    axes: "Axes", means: Mapping[str, MeanCurve], reference_name: str, looks: Mapping[str, Look]
) -> None:
    """Draw each mean minus the reference's, with 1.96 standard errors; gray is the error of the reference alone."""
    reference = means[reference_name]
    noise: dict[str, Any] = {"color": MUTED, "alpha": 0.35, "linewidth": 0, "zorder": 1}
    axes.fill_between(reference.steps, -reference.half_width, reference.half_width, **noise)
    axes.axhline(0, color=INK, linewidth=0.8, zorder=2)
    for name, apart in differences_of(means, reference_name).items():
        draw_mean(axes, apart, {**looks[name], "linewidth": 1.6}, 4, band=len(means) <= MOST_BANDS)
    axes.yaxis.set_major_locator(ticks(4))


def draw_share_going(
    axes: "Axes", reached: Mapping[str, np.ndarray], looks: Mapping[str, Look], epoch: int | None = None
) -> None:
    """Draw the share of runs still going, in percent; `reached` has the steps or episodes of each run of each set."""
    for name, counts in reached.items():
        steps, shares = shares_going(counts)
        line = {"color": looks[name]["color"], "linestyle": looks[name].get("linestyle", "-"), "linewidth": 1.4}
        axes.step(steps / (epoch or 1), 100 * shares, where="post", **line)


def draw_legend(figure: "Figure", names: Mapping[str, Any], looks: Mapping[str, Look], width: int) -> None:
    """Draw the names of the sets above all panels, row by row."""
    from matplotlib.lines import Line2D

    if not names:
        return
    n_columns, longest = _legend_columns(names, width)
    # matplotlib fills column by column; taken in this order, the rows read from left to right.
    by_row = [name for column in range(n_columns) for name in list(names)[column::n_columns]]
    legend = figure.legend(
        handles=[Line2D([], [], **{**looks[name], "linewidth": 2.4, "markersize": 4}) for name in by_row],
        labels=[short_label(name, longest) for name in by_row],
        loc="upper left", bbox_to_anchor=((LEFT - 8) / width, 1.0), ncols=n_columns, borderaxespad=0.2,
        handlelength=2.2, handletextpad=0.6, columnspacing=1.6, labelspacing=0.5, fontsize=12,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def _legend_columns(names: Mapping[str, Any], width: int) -> tuple[int, int]:
    """Return the number of columns that makes rows about equally long, and how many characters of a name fit."""
    longest = min(44, max((len(short_label(name, 44)) for name in names), default=1), max(8, (width - LEFT - 60) // 8))
    most = max(1, min(len(names), (width - LEFT) // (7 * longest + 52)))
    n_rows = max(1, -(-len(names) // most))
    return max(1, -(-len(names) // n_rows)), longest


def legend_height(names: Mapping[str, Any], width: int) -> int:
    """Return the height of the legend in pixels."""
    return 21 * -(-len(names) // _legend_columns(names, width)[0]) + 8
