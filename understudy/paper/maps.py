"""Pictures of the unit square of points: where a log has been, what is a state, and where trajectories went."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from understudy.reporting.plots import canvas
from understudy.reporting.svg import INK, MUTED, PALETTE, PAPER, drawn_alike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP, TOP, SIDE = 22, 34, 12
"""Pixels between panels, above them, and at the sides."""


def squares(titles: Sequence[str], size: int, *, per_row: int, width: int = 900) -> "tuple[Figure, list[Axes]]":
    """A figure of square panels with the lines of a grid of so many cells a side."""
    across = (width - 2 * SIDE - GAP * (per_row - 1)) / per_row
    n_rows = -(-len(titles) // per_row)
    figure, place = canvas(width, n_rows * (TOP + across) + SIDE)
    panels = []
    for number, title in enumerate(titles):
        row, column = divmod(number, per_row)
        axes = place(SIDE + column * (across + GAP), TOP + row * (TOP + across), across, across)
        axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
        axes.set_title(title, loc="left", fontsize=12, color=INK, pad=7)
        for line in np.arange(1, size) / size:
            axes.axhline(line, color=MUTED, linewidth=0.5, alpha=0.5, zorder=3)
            axes.axvline(line, color=MUTED, linewidth=0.5, alpha=0.5, zorder=3)
        panels.append(axes)
    return figure, panels


def state_maps(shares: np.ndarray, pictures: Mapping[str, np.ndarray], size: int) -> "Figure":
    """The share of rows in each cell, and beside it the state of each point of a fine lattice, one map an encoder.

    `shares` is (cells,), and a map (n, n) with rows from the bottom up, -1 where no row is.
    """
    from matplotlib.colors import LinearSegmentedColormap

    n = len(next(iter(pictures.values())))
    with drawn_alike():
        figure, (first, *others) = squares(
            ["rows of the log, by true cell", *pictures], size, per_row=len(pictures) + 1
        )
        dense = LinearSegmentedColormap.from_list("visits", [PAPER, PALETTE[0]])
        first.imshow(shares.reshape(size, size), cmap=dense, extent=(0, 1, 0, 1), origin="lower", vmin=0)
        for cell, share in enumerate(shares):
            x, y = (cell % size + 0.5) / size, (cell // size + 0.5) / size
            color = PAPER if share > 0.6 * shares.max() else INK
            shown = f"{100 * share:.1f} %" if share else "goal"
            first.text(x, y + 0.035, str(cell), ha="center", va="center", fontsize=12, color=color)
            first.text(x, y - 0.035, shown, ha="center", va="center", fontsize=9, color=color)
        for axes, states in zip(others, pictures.values(), strict=True):
            axes.imshow(_colored(states), extent=(0, 1, 0, 1), origin="lower", interpolation="nearest")
            for x, y, state in parts_of(states, n // size):
                axes.text(x, y, str(state), ha="center", va="center", fontsize=11, color=INK)
            axes.text(1 - 0.5 / size, 1 - 0.5 / size, "goal", ha="center", va="center", fontsize=9, color=INK)
    return figure


def parts_of(states: np.ndarray, side: int, fewest: float = 0.12) -> list[tuple[float, float, int]]:
    """Where to write the name of each state: in each cell that it has a good part of, amid that part."""
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
    """The point of a region that is farthest from its border; the one nearest to their mean, where several are."""
    from scipy.ndimage import distance_transform_edt

    depth = distance_transform_edt(np.pad(where, 1))[1:-1, 1:-1]
    deepest = np.argwhere(depth >= depth.max() - 1)
    nearest = np.square(deepest - deepest.mean(axis=0)).sum(axis=1).argmin()
    y, x = deepest[nearest]
    return int(y), int(x)


def _colored(states: np.ndarray) -> np.ndarray:
    from matplotlib.colors import hsv_to_rgb, to_rgb

    place = np.arange(states.max() + 1)
    hue = place * 0.618033988749895 % 1  # neighboring numbers far apart
    colors = hsv_to_rgb(np.stack([hue, 0.22 + 0.2 * (place % 3) / 2, 0.98 - 0.1 * (place % 2)], axis=1))
    return np.concatenate([colors, [to_rgb(PAPER)]])[states]


def bundles(panels: Mapping[str, Sequence[tuple[np.ndarray, np.ndarray]]], size: int) -> "Figure":
    """Many paths in each panel: points, (n + 1, 2), and whether each step is possible. Those that are not stand out."""
    with drawn_alike():
        figure, axes = squares(list(panels), size, per_row=len(panels))
        for panel, paths in zip(axes, panels.values(), strict=True):
            for points, possible in paths:
                steps = np.stack([points[:-1], points[1:]], axis=1)
                for chosen, color, width in ((possible, MUTED, 0.5), (~possible, PALETTE[1], 0.9)):
                    drawn = np.concatenate([steps[chosen], np.full((chosen.sum(), 1, 2), np.nan)], axis=1).reshape(
                        -1, 2
                    )
                    panel.plot(*drawn.T, color=color, linewidth=width, alpha=0.6, zorder=4 if chosen is possible else 5)
                panel.plot(*points.T, ".", color=INK, markersize=2.2, alpha=0.5, zorder=6, markeredgewidth=0)
    return figure


def pairs(panels: Sequence[tuple[str, np.ndarray, np.ndarray]], size: int) -> "Figure":
    """A panel for each title: a simulated path in color, and the true one over it, thin and black."""
    with drawn_alike():
        figure, axes = squares([title for title, _, _ in panels], size, per_row=3)
        for panel, (_, simulated, real) in zip(axes, panels, strict=True):
            for path, color, width, order in ((simulated, PALETTE[1], 4.0, 4), (real, INK, 1.3, 6)):
                panel.plot(*path.T, color=color, linewidth=width, alpha=0.85, zorder=order)
                panel.plot(*path.T, "o", color=color, markersize=width + 2, zorder=order, markeredgewidth=0)
                panel.plot(*path[-1], "X", color=color, markeredgecolor=PAPER, markersize=9 + width, zorder=order + 1)
            panel.plot(*real[0], "o", color=PAPER, markeredgecolor=INK, markersize=10, markeredgewidth=1.6, zorder=8)
    return figure
