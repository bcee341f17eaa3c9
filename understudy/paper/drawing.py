"""Figures that only the paper's items need. Each is a function of a table."""

from typing import TYPE_CHECKING, Any

from understudy.paper.items import Columns
from understudy.reporting.plots import canvas, settle, ticks
from understudy.reporting.svg import INK, MUTED, PALETTE, PAPER, drawn_alike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOXES: dict[str, list[Any]] = {
    "lane": ["evaluation"] * 3 + ["simulation"] * 4,
    "box": ["log", "fixed policy", "its value", "log", "simulator", "learner", "its learning curve"],
    "left": [20, 250, 640, 20, 250, 445, 640],
}
"""The drawing of Figure 1: what is in it, and where, in pixels."""


def evaluation_and_simulation() -> "tuple[Figure, Columns]":
    """Off-policy evaluation and offline learner simulation, one above the other, and the table of their boxes."""
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    width, height, across, down = 900, 330, 150, 62
    tops = {"evaluation": 56, "simulation": 216}
    with drawn_alike():
        figure, place = canvas(width, height)
        axes = place(0, 0, width, height)
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.axis("off")

        def arrow(
            begin: tuple[float, float], end: tuple[float, float], label: str, above: float, bend: float = 0.0
        ) -> None:
            curve = f"arc3,rad={bend}"
            look: dict[str, Any] = {
                "arrowstyle": "-|>",
                "mutation_scale": 14,
                "color": MUTED,
                "linewidth": 1.4,
                "shrinkA": 3,
                "shrinkB": 3,
            }
            axes.add_patch(FancyArrowPatch(begin, end, connectionstyle=curve, **look))
            axes.text(
                (begin[0] + end[0]) / 2, begin[1] - above, label, ha="center", va="center", color=MUTED, fontsize=11
            )

        def title(text: str, rest: str, top: float) -> None:
            axes.text(20, top - 30, text, ha="left", va="center", fontsize=13, fontweight="bold")
            axes.text(20 + 8.2 * len(text) + 8, top - 30, rest, ha="left", va="center", color=MUTED)

        title("Off-policy evaluation", "a policy that never changes, and a number", tops["evaluation"])
        title("Offline learner simulation", "a policy that changes with what it is served", tops["simulation"])
        colors = {"log": MUTED, "simulator": PALETTE[0], "learner": PALETTE[1], "fixed policy": PALETTE[1]}
        for lane, box, left in zip(*BOXES.values(), strict=True):
            color, top = colors.get(box, PALETTE[2]), tops[lane]
            wide = across + 45 if left == 640 else across
            for face, alpha in ((PAPER, 1.0), (color, 0.12)):
                shape = FancyBboxPatch((left, top), wide, down, boxstyle="round,pad=0,rounding_size=9")
                shape.set(edgecolor=color, linewidth=1.4, facecolor=(face, alpha))
                axes.add_patch(shape)
            axes.text(left + wide / 2, top + down / 2, box, ha="center", va="center", color=INK)
        middle = tops["evaluation"] + down / 2
        arrow((170, middle), (250, middle), "all rows", 12)
        arrow((400, middle), (640, middle), "reweighted or modeled", 12)
        high, low = tops["simulation"] + 18, tops["simulation"] + down - 18
        arrow((170, (high + low) / 2), (250, (high + low) / 2), "row by row", 12)
        arrow((400, high), (445, high), "step", 28)
        arrow((445, low), (400, low), "policy", -30)
        arrow((595, (high + low) / 2), (640, (high + low) / 2), "", 12)
    return figure, BOXES


def ranges(columns: Columns, *, unit: str, width: int = 900) -> "Figure":
    """A dot and a range for each set, in panels: strips from top to bottom, columns from left to right.

    The table has the columns strip, panel, set, middle, low and high. Where it has exact too, that is drawn as a line,
    and panels have axes of their own; else those of a strip begin at 0 and are alike.
    """
    from matplotlib.ticker import FuncFormatter

    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    strips, panels, sets = (list(dict.fromkeys(row[key] for row in rows)) for key in ("strip", "panel", "set"))
    left, right, top, head, pitch, gap, between = 138, 16, 24, 26, 24, 12, 46
    down = pitch * len(sets)
    across = (width - left - right - gap * (len(panels) - 1)) / len(panels)
    with drawn_alike():
        figure, place = canvas(width, top + len(strips) * (head + down + between))
        for i, strip in enumerate(strips):
            within = [row for row in rows if row["strip"] == strip]
            above = top + i * (head + down + between) + head
            figure.text(
                8 / width, 1 - (above - 28) / figure.get_size_inches()[1] / 72, strip, fontweight="bold", va="center"
            )
            for j, panel in enumerate(panels):
                axes = place(left + j * (across + gap), above, across, down)
                here = {row["set"]: row for row in within if row["panel"] == panel}
                limits = _limits(list(here.values()) if "exact" in columns else within)
                settle(axes, 3)
                axes.grid(axis="y", visible=False)
                axes.grid(axis="x")
                axes.xaxis.set_major_formatter(FuncFormatter(_short))
                margin = 0.1 * (limits[1] - limits[0]) if "exact" in columns else 0.0  # for labels of the next panel
                within_reach = [
                    at for at in ticks(3).tick_values(*limits) if limits[0] + margin <= at <= limits[1] - margin
                ]
                axes.set_xticks(within_reach)
                axes.set(xlim=limits, ylim=(len(sets) - 0.4, -0.6), yticks=range(len(sets)), yticklabels=sets)
                axes.tick_params(axis="y", labelleft=j == 0, labelsize=11, labelcolor=INK)
                axes.set_title(panel, loc="left", fontsize=11, color=MUTED, pad=5)
                exact = next((row["exact"] for row in here.values() if row.get("exact") is not None), None)
                if exact is not None:
                    axes.axvline(exact, color=INK, linewidth=1.2, zorder=1)
                for number, name in enumerate(sets):
                    if name not in here:
                        continue
                    row, color = here[name], PALETTE[number % len(PALETTE)]
                    axes.plot([row["low"], row["high"]], [number, number], color=color, linewidth=2.4, alpha=0.45)
                    axes.plot(row["middle"], number, "o", color=color, markersize=6, markeredgecolor=PAPER)
                if i == len(strips) - 1:
                    axes.set_xlabel(unit, fontsize=11)
    return figure


def _limits(rows: list[dict[str, Any]]) -> tuple[float, float]:
    ends = [row[key] for row in rows for key in ("low", "high", "exact") if key in row]
    low = min(ends) if "exact" in rows[0] else 0.0
    room = 0.12 * (max(ends) - low)
    return low - room if "exact" in rows[0] else 0.0, max(ends) + room


def _short(value: float, _: Any) -> str:
    """A tick in thousands where it has them.

    >>> _short(50_000, None), _short(-2.5, None)
    ('50k', '−2.5')
    """
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}".replace("-", "\N{MINUS SIGN}")
