"""Ranges of numbers in panels: a bar and a mark in it for each set of runs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper.items import Columns
from understudy.reporting.axes import canvas, style_axes, ticks
from understudy.reporting.svg import INK, MUTED, PALETTE, drawn_alike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
                axes.xaxis.set_major_formatter(FuncFormatter(in_thousands))
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


def _draw_range(axes: "Axes", row: Mapping[str, Any], at: float, color: str) -> None:
    """A bar from low to high, a stroke in the middle, and its number where axes begin at 0."""
    axes.plot([row["low"], row["high"]], [at, at], color=color, linewidth=5, alpha=0.4, solid_capstyle="butt")
    axes.plot(row["middle"], at, "|", color=color, markersize=13, markeredgewidth=2)
    if "exact" not in row:
        look: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 9.5, "color": INK}
        middle = in_thousands(float(f"{row['middle']:.3g}"), None)
        axes.annotate(middle, (row["low"], at), (-8, 0), textcoords="offset points", **look)


def _less_exact(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the exact value subtracted."""
    return row | {key: row[key] - row.get("exact", 0.0) for key in ("middle", "low", "high")}


def _limits(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the ends of an axis: from 0, or on both sides of it where there is an exact value."""
    ends = [row[key] for row in rows for key in ("low", "high")]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.08 * (high - low)
    return low - room if low < 0 else 0.0, high + room


def _clear(at: float, limits: tuple[float, float], share: float = 0.06) -> bool:
    """True if a tick is far enough from the ends that its label does not reach into the next panel."""
    low, high = limits
    return at == 0 or low + share * (high - low) <= at <= high - share * (high - low)


def in_thousands(value: float, _: Any) -> str:
    """Return the label of a tick, in thousands from 1,000 up.

    >>> in_thousands(50_000, None), in_thousands(-2.5, None)
    ('50k', '−2.5')
    """
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}".replace("-", "\N{MINUS SIGN}")
