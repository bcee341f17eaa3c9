"""Fidelity and efficiency side by side, the two aspects by which the paper judges a simulation."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.items import Columns, Picture
from paper.set_tables import by_set
from understudy.reporting.axes import canvas, style_axes
from understudy.reporting.svg import INK, MUTED, PALETTE, drawn_alike
from understudy.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def fidelity_and_efficiency_picture(
    figure_number: str, own: Mapping[str, Runs], judged: Columns, looks: Mapping[str, Mapping[str, Any]] | None = None
) -> Picture:
    """Return the picture of sets with a log for each run; `judged` is their table of `fidelity_columns`."""
    table = fidelity_and_efficiency_table(own, judged)
    colors = [PALETTE[at % len(PALETTE)] for at in range(len(own))]
    if looks is not None:
        colors = [looks[name]["color"] for name in table["set"]]
    margins = {margin for margin in table["margin"] if margin is not None}
    dotted = f" (dotted: the margin, {margins.pop():.3g})" if len(margins) == 1 else ""
    caption = (
        f"{figure_number}: fidelity, the error with noise taken off and its 95% interval{dotted}, and efficiency, "
        "the median length and quartiles" + (", open where runs were cut" if any(table["cut"]) else "") + ". "
        "A log for each run."
    )
    return Picture("fidelity-and-efficiency", caption, two_aspects(table, colors), table)


def fidelity_and_efficiency_table(own: Mapping[str, Runs], judged: Columns) -> Columns:
    """Return the table that is drawn: of each set its error, its length, and whether its runs were cut."""
    lines = by_set(judged)
    sets = [name for name in own if lines[name].get("95%") is not None]
    quartiles = [np.quantile(own[name].lengths, [0.25, 0.5, 0.75]).tolist() for name in sets]
    return {
        "set": sets,
        "error": [lines[name]["debiased error"] for name in sets],
        "error, low": [lines[name]["95%"][0] for name in sets],
        "error, high": [lines[name]["95%"][1] for name in sets],
        "margin": [lines[name]["margin"] for name in sets],
        "steps": [middle for _, middle, _ in quartiles],
        "steps, low": [low for low, *_ in quartiles],
        "steps, high": [high for *_, high in quartiles],
        "cut": [all(run.stopped.cause == "max steps" for run in own[name]) for name in sets],
    }


def two_aspects(columns: Columns, colors: Sequence[str], *, width: int = 900) -> "Figure":
    """Draw a line for each set: on the left its error, on the right its length."""
    left, right, top, bottom, between, pitch = 178, 26, 40, 52, 60, 30
    across, down = (width - left - right - between) / 2, pitch * max(1, len(columns["set"]))
    with drawn_alike():
        figure, place = canvas(width, top + down + bottom)
        fidelity = place(left, top, across, down)
        efficiency = place(left + across + between, top, across, down)
        for axes, aspect, label in ((fidelity, "error", "error"), (efficiency, "steps", "steps")):
            _draw_aspect(axes, columns, aspect, colors)
            axes.set_xlabel(label)
        fidelity.set_title("fidelity: shorter is better", loc="left", color=INK, pad=10)
        efficiency.set_title("efficiency: longer is better", loc="left", color=INK, pad=10)
        fidelity.tick_params(axis="y", labelleft=True, labelcolor=INK)
        for at, margin in enumerate(columns["margin"]):
            if margin is not None:
                fidelity.plot([margin, margin], [at - 0.5, at + 0.5], color=INK, linewidth=1.2, linestyle=":")
    return figure


def _draw_aspect(axes: "Axes", columns: Columns, aspect: str, colors: Sequence[str]) -> None:
    """Draw bars from 0 with their ranges; an arrow stands for lengths that are unknown since runs were cut."""
    from matplotlib.ticker import FuncFormatter

    sets, ends = columns["set"], [columns[f"{aspect}, {end}"] for end in ("low", "high")]
    style_axes(axes, 5)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x")
    for at, (middle, low, high) in enumerate(zip(columns[aspect], *ends, strict=True)):
        look: dict[str, Any] = {"color": colors[at]}
        axes.barh(at, middle, height=0.5, alpha=0.35, **look)
        if aspect == "steps" and columns["cut"][at]:
            axes.annotate("cut", (middle, at), (34, 0), textcoords="offset points", va="center", color=MUTED,
                          arrowprops={"arrowstyle": "<-", "color": colors[at], "linewidth": 1.6})  # fmt: skip
        else:
            axes.plot([low, high], [at, at], linewidth=2.5, solid_capstyle="butt", **look)
    axes.set(xlim=(0, 1.06 * max([*ends[1], *_shown(columns["margin"], aspect)], default=1.0)))
    axes.set(ylim=(len(sets) - 0.5, -0.5), yticks=range(len(sets)), yticklabels=sets)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.tick_params(axis="y", labelleft=False)
    axes.tick_params(axis="x", labelcolor=MUTED)


def _shown(margins: Any, aspect: str) -> list[float]:
    """Return the margins if this aspect shows them."""
    return [margin for margin in margins if margin is not None] if aspect == "error" else []
