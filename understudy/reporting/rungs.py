"""Strips beneath learning curves: which rungs of a ladder served the steps, and which episodes were cut."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.evaluation import RungUse
from understudy.evaluation.rung_use import NAMES
from understudy.reporting.axes import LEFT, RIGHT, short_label, style_axes
from understudy.reporting.drawing import Look
from understudy.reporting.svg import INK, MUTED, PALETTE, PAPER, RULE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = {"own": RULE, "like": PALETTE[5], "reuse": PALETTE[0], "untried": INK}
"""Each differs from the others without color, too, on a light page and on a dark one."""

LABELS = {
    "own": "own rows of the state",
    "like": "rows of states alike",
    "reuse": "rows served before",
    "untried": "actions never tried in the state",
}
STRIP, CUT = 24, 34
"""Heights in pixels: of a strip, and of the panel of episodes cut."""

NAME, LEGEND_LINE, TITLE, GAP = 20, 18, 26, 16
"""Heights in pixels: the name of a strip's set, a line of the legend, a title, and the space above all of it."""


def used(found: Mapping[str, RungUse]) -> list[str]:
    """Return the rungs that served a step in any of these sets, the state's own rows first."""
    return [name for rung, name in enumerate(NAMES) if any(np.nansum(one.shares[rung]) for one in found.values())]


def strips_height(found: Mapping[str, RungUse], width: int) -> int:
    """Return how many pixels the strips of these sets need, with their legend and the panel of episodes cut."""
    if not found:
        return 0
    named = NAME * len(found) if len(found) > 1 else 0
    cut = TITLE + CUT if any_cut(found) else 0
    return GAP + TITLE + LEGEND_LINE * _legend_lines(found, width) + named + (STRIP + 6) * len(found) + cut


def any_cut(found: Mapping[str, RungUse]) -> bool:
    """True if an episode was cut in any of these sets."""
    return any(np.nansum(one.cut) for one in found.values())


def draw_strips(
    figure: "Figure",
    place: Any,
    found: Mapping[str, RungUse],
    looks: Mapping[str, Look],
    top: float,
    width: int,
    axes: "Axes",
) -> None:
    """Draw a strip for each set, then the panel of episodes cut, beneath each other from `top` pixels on.

    `place` adds axes by pixels, as `canvas` gives it; they share the x axis of `axes`.
    """
    across = width - LEFT - RIGHT
    draw_strip_legend(figure, found, top + GAP, width)
    at = top + GAP + TITLE + LEGEND_LINE * _legend_lines(found, width)
    for name, one in found.items():
        at += NAME if len(found) > 1 else 0
        strip = place(LEFT, at, across, STRIP, sharex=axes)
        draw_strip(strip, one)
        draw_exact(strip, one.exact, looks[name])
        if len(found) > 1:
            strip.set_title(short_label(name, 60), loc="left", parse_math=False, color=MUTED, fontsize=10, pad=3)
        at += STRIP + 6
    if any_cut(found):
        panel = place(LEFT, at + TITLE, across, CUT, sharex=axes)
        draw_cut(panel, found, looks)


def draw_strip(axes: "Axes", one: RungUse) -> None:
    """Draw the share of steps that each rung served as a strip without frame or ticks."""
    draw_shares(axes, one)
    axes.set(yticks=[0, 100])
    axes.tick_params(labelbottom=False, bottom=False, left=False)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def draw_shares(axes: "Axes", one: RungUse) -> None:
    """Draw the share of steps that each rung served, in bins, stacked to 100%."""
    below = np.zeros(len(one.cut))
    for rung, name in enumerate(NAMES):
        above = below + np.nan_to_num(one.shares[rung])
        if one.shares[rung].any():
            axes.stairs(100 * above, one.edges, baseline=100 * below, fill=True, color=COLORS[name], linewidth=0)
        below = above
    axes.set_ylim(0, 100)


def draw_cut(axes: "Axes", found: Mapping[str, RungUse], looks: Mapping[str, Look]) -> None:
    """Draw which share of the episodes that ended in each bin was cut, in percent, a line for each set."""
    for name, one in found.items():
        line = {"color": looks[name]["color"], "linewidth": 1.4}
        axes.stairs(100 * one.cut, one.edges, baseline=None, **line)
    highest = max(100 * float(np.nanmax(one.cut)) for one in found.values() if np.isfinite(one.cut).any())
    style_axes(axes, 4)
    axes.set(ylim=(-0.04 * highest, 1.04 * highest), yticks=[0, highest])
    axes.set_yticklabels(["0", f"{highest:.0f}" if highest >= 10 else f"{highest:.2g}"])
    axes.tick_params(labelbottom=False)
    axes.set_title("episodes cut, % of those that ended", loc="left", color=MUTED, fontsize=11, pad=8)


def draw_exact(axes: "Axes", step: float, look: Look) -> None:
    """Mark the exact horizon of a set by a thin line."""
    axes.axvline(step, color=look["color"], linewidth=0.9, zorder=2)


def draw_exact_words(axes: "Axes", found: Mapping[str, RungUse]) -> None:
    """Write beside the lines of exact horizons what they are, beneath each other; the x axis must have its limits."""
    last = axes.get_xlim()[1]
    sets: dict[int, list[str]] = {}
    for name, one in found.items():
        sets.setdefault(one.exact, []).append(name)
    for number, (step, names) in enumerate(sets.items()):
        words = f"exact to step {step:,}" + (f": {short_label(', '.join(names), 36)}" if len(found) > 1 else "")
        right = step > 0.6 * last
        axes.annotate(
            words, (min(step, last), 1.0), xycoords=("data", "axes fraction"),
            xytext=(-4 if right else 4, -4 - 15 * number), textcoords="offset points", ha="right" if right else "left",
            va="top", color=MUTED, fontsize=10, zorder=8, parse_math=False,
            bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.75, "pad": 1},
        )  # fmt: skip


def draw_strip_legend(figure: "Figure", found: Mapping[str, RungUse], top: float, width: int) -> None:
    """Draw what strips show, and which shade is which rung, from `top` pixels on."""
    height = figure.bbox.height
    figure.text(LEFT / width, 1 - top / height, "steps served by", fontsize=11, color=MUTED, va="top")
    names, n_columns = used(found), _legend_columns(width)
    by_row = [name for column in range(n_columns) for name in names[column::n_columns]]
    figure.legend(
        **legend_of(by_row), loc="upper left",
        bbox_to_anchor=((LEFT - 4) / width, 1 - (top + TITLE - 6) / height), ncols=n_columns, borderaxespad=0,
        borderpad=0, handlelength=1.2, handleheight=0.9, handletextpad=0.5, columnspacing=1.4, labelspacing=0.5,
        fontsize=10,
    )  # fmt: skip


def legend_of(names: Iterable[str]) -> dict[str, Any]:
    """Return handles and labels of a legend that says which shade is which rung."""
    from matplotlib.patches import Patch

    names = list(names)
    return {
        "handles": [Patch(facecolor=COLORS[name], edgecolor=MUTED, linewidth=0.5) for name in names],
        "labels": [LABELS[name] for name in names],
    }


def _legend_columns(width: int) -> int:
    return 4 if width > 800 else 2 if width > 500 else 1


def _legend_lines(found: Mapping[str, RungUse], width: int) -> int:
    return -(-len(used(found)) // _legend_columns(width))
