"""Figures that only the paper's items need. Each is a function of a table, or of sets of runs."""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.paper.items import Columns
from understudy.reporting.axes import BOTTOM, LEFT, RIGHT, canvas, style_axes, style_log_scale, style_share_going, ticks
from understudy.reporting.curves import MeanCurve
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
from understudy.reporting.svg import INK, MUTED, PALETTE, PAPER, drawn_alike
from understudy.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOXES: dict[str, list[Any]] = {
    "lane": ["evaluation"] * 4 + ["simulation"] * 4,
    "box": [
        "log",
        "fixed policy",
        "estimator",
        "the policy's value",
        "log",
        "simulator",
        "learner",
        "its learning curve",
    ],
    "left": [20, 20, 320, 690, 20, 250, 480, 710],
    "top": [44, 124, 84, 84, 262, 262, 262, 262],
    "width": [150, 150, 170, 190, 130, 130, 130, 170],
}
"""The drawing of Figure 1: what is in it, and where, in pixels."""

ARROWS: list[tuple[tuple[float, float], tuple[float, float], str, tuple[float, float]]] = [
    ((170, 71), (320, 104), "all rows", (252, 70)),
    ((170, 151), (320, 118), "its probabilities", (262, 154)),
    ((490, 111), (690, 111), "reweighted or modeled", (590, 96)),
    ((150, 289), (250, 289), "row by row", (200, 276)),
    ((380, 278), (480, 278), "a step", (430, 265)),
    ((480, 300), (380, 300), "its policy now", (430, 315)),
    ((610, 289), (710, 289), "probes", (660, 276)),
]
"""From where, to where, what is written beside it, and there."""


def evaluation_and_simulation() -> "tuple[Figure, Columns]":
    """Off-policy evaluation and offline learner simulation, one above the other, and the table of their boxes."""
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    width, height, down = 900, 336, 54
    colors = {"log": MUTED, "fixed policy": PALETTE[1], "learner": PALETTE[1]}
    colors |= {"estimator": PALETTE[0], "simulator": PALETTE[0]}
    look: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 14, "color": MUTED, "linewidth": 1.4}
    titles = {
        "Off-policy evaluation (OPE)": ("a log and a policy that never changes give a number", 18),
        "Offline learner simulation (OLS)": ("a learner asks for steps, and changes its policy after each", 226),
    }
    with drawn_alike():
        figure, place = canvas(width, height)
        axes = place(0, 0, width, height)
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.axis("off")
        for title, (rest, top) in titles.items():
            axes.text(20, top, title, va="center", fontsize=13, fontweight="bold")
            axes.text(28 + 8.1 * len(title), top, rest, va="center", color=MUTED)
        for _, box, left, top, across in zip(*BOXES.values(), strict=True):
            color = colors.get(box, PALETTE[2])
            for face, alpha in ((PAPER, 1.0), (color, 0.12)):
                shape = FancyBboxPatch((left, top), across, down, boxstyle="round,pad=0,rounding_size=9")
                shape.set(edgecolor=color, linewidth=1.4, facecolor=(face, alpha))
                axes.add_patch(shape)
            axes.text(left + across / 2, top + down / 2, box, ha="center", va="center", color=INK)
        for begin, end, label, at in ARROWS:
            axes.add_patch(FancyArrowPatch(begin, end, shrinkA=3, shrinkB=3, **look))
            axes.text(*at, label, ha="center", va="center", color=MUTED, fontsize=11)
    return figure, BOXES


def paired_looks(names: Iterable[str], reference_name: str) -> dict[str, dict[str, Any]]:
    """Looks that sets keep in every picture: PSRS and QBE of an encoder have one color, and QBE is dashed.

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
        draw_share_going(going, sets, looks, epoch)
        style_share_going(going, 6)

        zoom, apart = panels(LEFT + across + between, near, until, f"{probe}, epochs 1 to {until:.0f}")
        zoom.set_ylim(_reach(near, until / 4, until, log_scale))
        if log_scale:
            zoom.yaxis.set_major_locator(ticks(6))  # it has less than a decade
        style_axes(apart, 6)
        draw_differences(apart, near, reference_name, looks)
        apart.set_ylim(_reach(differences_of(near, reference_name), until / 4, until))
        minus = f"minus {reference_name}; gray: 1.96 standard errors of it alone"
        apart.set_title(minus, loc="left", color=MUTED, fontsize=11, pad=8)
        draw_legend(figure, sets, looks, width)
    return figure


def _reach(means: Mapping[str, MeanCurve], begin: float, end: float, log_scale: bool = False) -> tuple[float, float]:
    """What y has to reach to for means and their bands between two points of x."""
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
                axes.xaxis.set_major_formatter(FuncFormatter(_short))
                axes.tick_params(labelleft=number == 0, labelbottom=axes is lower)
            upper.set_title(case, loc="left", color=INK, fontsize=11, pad=6)
            lower.set_xlabel("steps", fontsize=11)
            if number == 0:
                upper.text(0, 1.16, probe, transform=upper.transAxes, color=MUTED, fontsize=11)
                title = f"minus the mean of {reference_name}, with 1.96 standard errors; gray: those of it alone"
                lower.set_title(title, loc="left", color=MUTED, fontsize=11, pad=8)
        draw_legend(figure, names, looks, width)
    return figure


def ranges(columns: Columns, *, unit: str, width: int = 900) -> "Figure":
    """A dot and a range for each set, in panels: strips from top to bottom, columns from left to right.

    The table has the columns strip, panel, set, middle, low and high. Panels of a strip have the same axis. It begins
    at 0, and middles are printed; where the table has exact too, everything is drawn minus that, which is a line at 0
    with the exact value above it.
    """
    from matplotlib.ticker import AutoMinorLocator, FuncFormatter

    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    rows = [_less_exact(row) for row in rows]
    strips, panels, sets = (list(dict.fromkeys(row[key] for row in rows)) for key in ("strip", "panel", "set"))
    left, right, top, head, pitch, gap, between = 138, 16, 24, 26, 24, 12, 46
    head += 14 if "exact" in columns else 0
    down = pitch * len(sets)
    across = (width - left - right - gap * (len(panels) - 1)) / len(panels)
    with drawn_alike():
        figure, place = canvas(width, top + len(strips) * (head + down + between))
        for i, strip in enumerate(strips):
            within = [row for row in rows if row["strip"] == strip]
            above = top + i * (head + down + between) + head
            figure.text(
                8 / width,
                1 - (above - head - 2) / figure.get_size_inches()[1] / 72,
                strip,
                fontweight="bold",
                va="center",
            )
            for j, panel in enumerate(panels):
                axes = place(left + j * (across + gap), above, across, down)
                here = {row["set"]: row for row in within if row["panel"] == panel}
                limits = _limits(within)
                style_axes(axes, 5)
                axes.grid(axis="y", visible=False)
                axes.grid(axis="x")
                axes.xaxis.set_major_formatter(FuncFormatter(_short))
                axes.set_xticks([at for at in ticks(5).tick_values(*limits) if _clear(at, limits)])
                axes.set(xlim=limits, ylim=(len(sets) - 0.4, -0.6), yticks=range(len(sets)), yticklabels=sets)
                axes.tick_params(axis="y", labelleft=j == 0, labelsize=11, labelcolor=INK)
                axes.tick_params(axis="x", labelsize=9.5)
                axes.xaxis.set_minor_locator(AutoMinorLocator(2))
                axes.tick_params(axis="x", which="minor", length=2, color=MUTED)
                title = panel
                if "exact" in columns:
                    axes.axvline(0, color=INK, linewidth=1.2, zorder=1)
                    exact = next(iter(here.values()))["exact"]
                    title += f"\nexact (line): {exact:.3f}".replace("-", "\N{MINUS SIGN}")
                axes.set_title(title, loc="left", fontsize=10.5, color=MUTED, pad=5)
                for number, name in enumerate(sets):
                    if name in here:
                        _draw_range(axes, here[name], number, PALETTE[number % len(PALETTE)])
                if i == len(strips) - 1:
                    axes.set_xlabel(unit, fontsize=11)
    return figure


def _settled(mean: MeanCurve, share: float = 0.02) -> float:
    """The last step at which a mean is farther from its end than a share of its range; the last of all if it is short.

    >>> none = np.zeros(5)
    >>> curve = MeanCurve(np.arange(1, 6), np.array([0.0, -1, 0.5, 1, 1]), none, np.ones(5, bool), 5, none, none)
    >>> _settled(curve)
    3.0
    """
    known = mean.mean[np.isfinite(mean.mean)]
    far = np.flatnonzero(np.abs(known - known[-1]) > share * np.ptp(known))
    return float(mean.steps[far[-1] if len(far) else -1])


def _draw_range(axes: "Axes", row: Mapping[str, Any], at: float, color: str) -> None:
    """A bar from low to high, a stroke in the middle, and its number where axes begin at 0."""
    axes.plot([row["low"], row["high"]], [at, at], color=color, linewidth=5, alpha=0.4, solid_capstyle="butt")
    axes.plot(row["middle"], at, "|", color=color, markersize=13, markeredgewidth=2)
    if "exact" not in row:
        look: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 9.5, "color": INK}
        middle = _short(float(f"{row['middle']:.3g}"), None)
        axes.annotate(middle, (row["low"], at), (-8, 0), textcoords="offset points", **look)


def _less_exact(row: dict[str, Any]) -> dict[str, Any]:
    """A row as it is drawn."""
    return row | {key: row[key] - row.get("exact", 0.0) for key in ("middle", "low", "high")}


def _limits(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """The ends of an axis: from 0, or on both sides of it where there is an exact value."""
    ends = [row[key] for row in rows for key in ("low", "high")]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.08 * (high - low)
    return low - room if low < 0 else 0.0, high + room


def _clear(at: float, limits: tuple[float, float], share: float = 0.06) -> bool:
    """Whether a tick is far enough from the ends for its label to keep off the next panel."""
    low, high = limits
    return at == 0 or low + share * (high - low) <= at <= high - share * (high - low)


def _short(value: float, _: Any) -> str:
    """A tick in thousands where it has them.

    >>> _short(50_000, None), _short(-2.5, None)
    ('50k', '−2.5')
    """
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}".replace("-", "\N{MINUS SIGN}")
