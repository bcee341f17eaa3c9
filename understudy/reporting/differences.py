"""How far the other learners are behind the choice, as a figure and as the data of one that a reader can move."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.evaluation.curves import MeanCurve
from understudy.reporting.axes import BOTTOM, LEFT, RIGHT, canvas, short_label, style_axes
from understudy.reporting.charts import MOST_RUNS, curve_of, points_of_run, singles_of
from understudy.reporting.drawing import draw_beyond, draw_legend, draw_mean, draw_trusted, legend_height, looks_of
from understudy.reporting.svg import INK, PALETTE, drawn_alike
from understudy.runs.nouns import one_of
from understudy.trust import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BEHIND = 6
"""Learners that are drawn, those closest to the choice first: more would hide each other."""


def differences_of_learners(found: Comparison, choice: str) -> dict[str, MeanCurve]:
    """Return what an episode of the choice earns more than one of each other learner, by steps, with its interval.

    The choice is the learner that is ahead as far as the log can be believed. Where learners are compared by a probe,
    it is by how much that is higher.

    Where it lies above 0, the choice is ahead there. Intervals include the luck of the log, and hold for all learners
    together at each step by itself.
    """
    curves = {}
    others = (name for name in found.learners if name != choice)
    for name in sorted(others, key=lambda name: -found.means[name].final[0])[:MOST_BEHIND]:
        interval = found.difference(choice, name)
        steps, none = interval.steps, np.zeros(len(interval.steps))
        half_width = (interval.high - interval.low) / 2
        known = np.isfinite(interval.mean)
        curves[name] = MeanCurve(
            steps, interval.mean, half_width, known, int(steps[-1]), none, none, float(interval.reach)
        )
    return curves


def title_of_differences(found: Comparison, choice: str) -> str:
    """Return what the figure shows, in words."""
    best, one = short_label(choice, 40), one_of(found.windows.unit)
    return f"what {one} of {best} earns more" if found.probe is None else f"how much more {found.probe!r} {best} has"


def than(name: str) -> str:
    """Return how the difference from a learner is named."""
    return f"than {name}"


def differences_chart(
    key: str, found: Comparison, choice: str, upto: int | None, learners: Sequence[str]
) -> dict[str, Any]:
    """Return the chart of differences; `upto` is the step that can be believed, and `learners` the order of colors."""
    curves, readings, drawn = differences_of_learners(found, choice), found.windows.readings, []
    runs = found.halves[choice].runs
    places = points_of_run(len(curves) * min(MOST_RUNS, len(runs)))
    for name, curve in curves.items():
        values = readings[choice].whole - readings[name].whole
        one = curve_of(than(name), curve, values, len(runs), [upto, curve.horizon], len(curves))
        pairs = [(run, curve.steps, values[place]) for place, run in enumerate(runs[:MOST_RUNS])]
        marks = {"trusted": upto, "exact": None, "longest": curve.horizon, "going": None, "rungs": None}
        color = 1 + list(learners).index(name) % len(PALETTE)
        drawn.append(one | marks | {"single": singles_of(pairs, curve.steps, places), "color": color})
    title = title_of_differences(found, choice)
    return {
        "id": key, "kind": "difference", "title": title, "unit": "step", "logged": None, "sets": drawn, "rungs": {},
    }  # fmt: skip


def differences_figure(
    found: Comparison, choice: str, upto: int | None, learners: Sequence[str], *, width: int = 900
) -> "Figure":
    """Return the still figure of differences, with zero as a line and gray beyond what can be believed."""
    curves: Mapping[str, MeanCurve] = differences_of_learners(found, choice)
    looks = looks_of(learners, None)
    with drawn_alike():
        top, main = legend_height(curves, width) + 26, min(300, int(0.7 * width))
        figure, place = canvas(width, top + main + BOTTOM)
        axes = place(LEFT, top, width - LEFT - RIGHT, main)
        axes.axhline(0, color=INK, linewidth=0.8, zorder=2)
        for name, curve in curves.items():
            draw_mean(axes, curve, looks[name], 3, trusted=upto)
        style_axes(axes, 6 if width > 600 else 4)
        axes.set_xlim(0, 1.03 * max(curve.horizon for curve in curves.values()))
        draw_beyond(axes, upto)
        if upto:
            for name, curve in curves.items():
                draw_trusted(axes, curve, upto, looks[name])
        axes.set_xlabel("steps")
        title = f"{title_of_differences(found, choice)} than{' one of' * (found.probe is None)}"
        axes.set_title(short_label(title, width // 8), loc="left", parse_math=False, color=INK, pad=10)
        named = {than(name): curve for name, curve in curves.items()}
        draw_legend(figure, named, {than(name): looks[name] for name in curves}, width)
    return figure
