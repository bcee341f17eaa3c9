"""Maps of the continuous grid: how often a log visits each cell, the states of encoders, and paths."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.reporting.axes import canvas
from understudy.reporting.svg import INK, MUTED, PALETTE, PAPER, RULE, drawn_alike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP, TOP, SIDE = 22, 34, 12
"""Pixels between panels, above them, and at the sides."""

PARTING: dict[str, Any] = {"color": PALETTE[0], "markeredgecolor": PAPER, "markersize": 11, "markeredgewidth": 1.2}
BEGINNING: dict[str, Any] = {"color": PAPER, "markeredgecolor": INK, "markersize": 10, "markeredgewidth": 1.6}
"""The marks where a simulated path and the true one part, and where both begin."""


def squares(
    titles: Sequence[str], size: int, *, per_row: int, width: int = 900, head: int = 0, above: int = 0
) -> "tuple[Figure, list[Axes]]":
    """A figure of square panels with the lines of a grid of so many cells a side.

    `head` and `above` are extra pixels at the top of the figure, and above each row.
    """
    across = (width - 2 * SIDE - GAP * (per_row - 1)) / per_row
    n_rows, top = -(-len(titles) // per_row), TOP + above
    figure, place = canvas(width, head + n_rows * (top + across) + SIDE)
    panels = []
    for number, title in enumerate(titles):
        row, column = divmod(number, per_row)
        axes = place(SIDE + column * (across + GAP), head + top + row * (top + across), across, across)
        axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
        axes.set_title(title, loc="left", fontsize=12, color=INK, pad=7)
        for line in np.arange(1, size) / size:
            axes.axhline(line, color=MUTED, linewidth=0.5, alpha=0.5, zorder=3)
            axes.axvline(line, color=MUTED, linewidth=0.5, alpha=0.5, zorder=3)
        panels.append(axes)
    return figure, panels


def state_maps(
    shares: np.ndarray, pictures: Mapping[str, np.ndarray], odd: Mapping[str, Collection[int]], size: int
) -> "Figure":
    """The share of rows in each cell, and beside it the state of each point of a fine lattice, one map an encoder.

    `shares` is (cells,), and a map (n, n) with rows from the bottom up, -1 where no row is. Odd states, those that
    combine cells or are part of one, have colors and outlines; all others are gray.
    """
    from matplotlib.colors import LinearSegmentedColormap

    n = len(next(iter(pictures.values())))
    along = (np.arange(n) + 0.5) / n
    with drawn_alike():
        figure, (first, *others) = squares(
            ["rows of the log, by true cell", *pictures], size, per_row=len(pictures) + 1
        )
        dense = LinearSegmentedColormap.from_list("visits", [PAPER, PALETTE[0]])
        first.imshow(shares.reshape(size, size), cmap=dense, extent=(0, 1, 0, 1), origin="lower", vmin=0)
        for cell, share in enumerate(shares):
            x, y = (cell % size + 0.5) / size, (cell // size + 0.5) / size
            color = PAPER if share > 0.6 * shares.max() else INK
            shown = f"{100 * share:.1f}%" if share else "goal"
            first.text(x, y + 0.035, str(cell), ha="center", va="center", fontsize=12, color=color)
            first.text(x, y - 0.035, shown, ha="center", va="center", fontsize=9, color=color)
        for axes, (name, states) in zip(others, pictures.items(), strict=True):
            colors = dict(zip(sorted(odd[name]), itertools.cycle(PALETTE), strict=False))
            axes.imshow(_colored(states, colors), extent=(0, 1, 0, 1), origin="lower", interpolation="nearest")
            for state in colors:
                axes.contour(along, along, states == state, levels=[0.5], colors=INK, linewidths=1.4, zorder=4)
            for x, y, state in parts_of(states, n // size):
                x, y = _inside(x, y, size)
                tag = {"facecolor": _tint(colors[state]), "edgecolor": "none", "pad": 1.5} if state in colors else None
                weight = "bold" if state in colors else "normal"
                axes.text(
                    x,
                    y,
                    str(state),
                    ha="center",
                    va="center",
                    fontsize=11,
                    color=INK,
                    bbox=tag,
                    zorder=5,
                    fontweight=weight,
                )
            axes.text(1 - 0.5 / size, 1 - 0.5 / size, "goal", ha="center", va="center", fontsize=9, color=INK)
    return figure


def _inside(x: float, y: float, size: int, room: float = 0.05) -> tuple[float, float]:
    """Return where to write a number so that it stays within its cell; that of a narrow part is moved to the top.

    >>> _inside(0.5, 0.5, 5), _inside(0.41, 0.5, 5)
    ((0.5, 0.5), (0.45, 0.55))
    """
    left, bottom = int(x * size) / size, int(y * size) / size
    within = min(max(x, left + room), left + 1 / size - room)
    return within, y if abs(within - x) < room / 2 else bottom + 1 / size - room


def parts_of(states: np.ndarray, side: int, fewest: float = 0.12) -> list[tuple[float, float, int]]:
    """Return where to write the number of each state: amid its part of each cell, if that is large enough."""
    n, found = len(states), []
    for bottom in range(0, n, side):
        for left in range(0, n, side):
            cell = states[bottom : bottom + side, left : left + side]
            for state in np.unique(cell[cell >= 0]):
                if (cell == state).mean() >= fewest:
                    y, x = amid(cell == state)
                    found.append(((left + x + 0.5) / n, (bottom + y + 0.5) / n, int(state)))
    return found


def amid(where: np.ndarray) -> tuple[int, int]:
    """Return the point of a region that is farthest from its border; of several, the one nearest to their mean."""
    from scipy.ndimage import distance_transform_edt

    depth = distance_transform_edt(np.pad(where, 1))[1:-1, 1:-1]
    deepest = np.argwhere(depth >= depth.max() - 1)
    nearest = np.square(deepest - deepest.mean(axis=0)).sum(axis=1).argmin()
    y, x = deepest[nearest]
    return int(y), int(x)


def _tint(color: str) -> tuple[float, ...]:
    """Return a lighter color, on which black text can be read."""
    from matplotlib.colors import to_rgb

    return tuple(0.65 * part + 0.35 for part in to_rgb(color))


def _colored(states: np.ndarray, colors: Mapping[int, str]) -> np.ndarray:
    """Return a map of states as colors, (n, n, 3)."""
    from matplotlib.colors import to_rgb

    table = np.tile(to_rgb(RULE), (states.max() + 2, 1))
    table[-1] = to_rgb(PAPER)  # where no row is
    for state, color in colors.items():
        table[state] = _tint(color)
    return table[states]


def flows(panels: Mapping[str, tuple[np.ndarray, np.ndarray]], size: int, *, n_rows: int = 2) -> "Figure":
    """Arrows from cell to cell, as wide as they are frequent: counts of possible moves, (cells, cells), and of others.

    The widest arrow of all panels is that of the largest share of a panel's moves. Moves that stay are dots.
    """
    from matplotlib.lines import Line2D

    legend = 30
    largest = max(max(map(np.max, both)) / sum(map(np.sum, both)) for both in panels.values())
    with drawn_alike():
        figure, axes = squares(list(panels), size, per_row=-(-len(panels) // n_rows), width=760, head=legend)
        for panel, (possible, impossible) in zip(axes, panels.values(), strict=True):
            total = (possible + impossible).sum()
            for moves, color, bend in ((possible, MUTED, 0.12), (impossible, PALETTE[1], 0.25)):
                for begin, end in np.argwhere(moves):
                    weight = moves[begin, end] / total / largest
                    _draw_move(panel, int(begin), int(end), float(weight), size, color, bend)
            _mark_goal(panel, size)
        figure.legend(
            handles=[
                Line2D([], [], color=MUTED, linewidth=3),
                Line2D([], [], color=PALETTE[1], linewidth=3),
                Line2D([], [], color=MUTED, marker="o", linewidth=0, markersize=7),
            ],
            labels=["possible in the true grid", "impossible there", "stays in its cell; width and size: how often"],
            loc="upper left", ncols=3, fontsize=11, borderaxespad=0.3, columnspacing=1.8,
        )  # fmt: skip
    return figure


def _draw_move(axes: "Axes", begin: int, end: int, weight: float, size: int, color: str, bend: float) -> None:
    """One arrow, or a dot where nothing moves; rare ones are faint, and impossible ones lie over the others."""
    from matplotlib.patches import FancyArrowPatch

    order = 5 if color == MUTED else 6
    (x, y), there = (((cell % size + 0.5) / size, (cell // size + 0.5) / size) for cell in (begin, end))
    if begin == end:
        aside = 0 if color == MUTED else 0.3 / size
        axes.plot(x + aside, y + aside, "o", color=color, markersize=2 + 12 * weight**0.5, alpha=0.8, zorder=order)
        return
    look: dict[str, Any] = {
        "color": color,
        "linewidth": 0.3 + 7 * weight,
        "alpha": min(0.85, 0.25 + 12 * weight),
        "zorder": order,
    }
    look |= {"arrowstyle": "-|>", "mutation_scale": 6 + 9 * weight, "shrinkA": 4, "shrinkB": 4}
    axes.add_patch(FancyArrowPatch((x, y), there, connectionstyle=f"arc3,rad={bend}", **look))


def _mark_goal(axes: "Axes", size: int) -> None:
    from matplotlib.patches import Rectangle

    low = 1 - 1 / size
    axes.add_patch(Rectangle((low, low), 1 / size, 1 / size, facecolor=PALETTE[2], alpha=0.18, linewidth=0, zorder=1))
    axes.text(1, 1.02, "goal", ha="right", va="bottom", fontsize=10, color=PALETTE[2])


@dataclass(frozen=True, eq=False)
class PathPair:
    """A simulated path and the true one, and the step after which they are in different cells."""

    title: str
    simulated: np.ndarray  # (n + 1, 2)
    real: np.ndarray  # (m + 1, 2)
    parts: int | None


def draw_path_pairs(rows: Mapping[str, Sequence[PathPair]], size: int) -> "Figure":
    """A row of panels for each title: a simulated path in color, the true one over it, and where they part."""
    from matplotlib.lines import Line2D

    per_row, legend, title_room = max(map(len, rows.values())), 30, 26
    with drawn_alike():
        figure, axes = squares(
            [pair.title for row in rows.values() for pair in row], size, per_row=per_row, head=legend, above=title_room
        )
        for panel, pair in zip(axes, [pair for row in rows.values() for pair in row], strict=True):
            _mark_goal(panel, size)
            for path, color, width, order in ((pair.simulated, PALETTE[1], 4.0, 4), (pair.real, INK, 1.3, 6)):
                panel.plot(*path.T, color=color, linewidth=width, alpha=0.85, zorder=order)
                panel.plot(*path.T, "o", color=color, markersize=width + 2, zorder=order, markeredgewidth=0)
                panel.plot(*path[-1], "X", color=color, markeredgecolor=PAPER, markersize=9 + width, zorder=order + 1)
            panel.plot(*pair.real[0], "o", **BEGINNING, zorder=8)
            if pair.parts is not None:
                panel.plot(*pair.simulated[pair.parts], "D", **PARTING, zorder=9)
        for number, title in enumerate(rows):
            box = axes[number * per_row].get_position()
            height = figure.get_size_inches()[1] * 72
            figure.text(box.x0, box.y1 + (title_room + 12) / height, title, fontweight="bold", va="center")
        figure.legend(
            handles=[
                Line2D([], [], color=PALETTE[1], linewidth=4),
                Line2D([], [], color=INK, linewidth=1.3),
                Line2D([], [], marker="o", linewidth=0, **BEGINNING),
                Line2D([], [], color=INK, marker="X", linewidth=0, markersize=9),
                Line2D([], [], marker="D", linewidth=0, **PARTING),
            ],
            labels=["simulated", "the same actions in truth", "begins", "ends", "the first step in another cell"],
            loc="upper left", ncols=5, fontsize=11, borderaxespad=0.3, columnspacing=1.6,
        )  # fmt: skip
    return figure
