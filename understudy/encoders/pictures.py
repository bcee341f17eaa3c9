"""Pictures of states."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, RULE = "#1b1e23", "#697079", "#e4e6e9"
SUSPICIOUS, CALM = "#d55e00", "#0072b2"
MOST_BARS = 200


def picture_of_states(audit: Any) -> "Figure":
    """Points colored by state where observations are two-dimensional, else a bar of rows for each state."""
    import matplotlib
    from matplotlib.figure import Figure

    style: Any = {"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 10, "text.color": INK}
    with matplotlib.rc_context(style):
        flat = len(audit.points) > 0
        figure = Figure(figsize=(7.2, 6.4) if flat else (9.0, 3.6), layout="constrained")
        axes = figure.add_subplot()
        (_draw_points if flat else _draw_bars)(axes, audit)
        n = int(audit.suspicious.sum())
        shown = "crosses" if flat else "orange"
        said = f"{n:,} suspicious ({shown}): observations predict outcomes within" if n else "none suspicious"
        axes.set_title(f"{audit.n_states:,} states, {said}", loc="left", fontsize=11, color=INK)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.tick_params(color=MUTED, labelcolor=MUTED)
        axes.spines[["left", "bottom"]].set_color(MUTED)
    return figure


def _draw_points(axes: "Axes", audit: Any) -> None:
    suspicious = audit.state[audit.suspicious]
    place = np.searchsorted(audit.state, audit.point_state)
    known = audit.point_state >= 0
    colors = _colors(len(audit.state))
    marked = np.isin(audit.point_state, suspicious)
    looks: list[tuple[np.ndarray, dict[str, Any]]] = [
        (known & ~marked, {"s": 4, "linewidths": 0, "alpha": 0.8}),
        (known & marked, {"s": 9, "linewidths": 0.7, "marker": "x"}),
    ]
    for chosen, look in looks:
        x, y = audit.points[chosen].T
        axes.scatter(x, y, c=colors[place[chosen]], **look)
    for state in audit.state[np.argsort(-audit.rows)[:60]].tolist():
        _name(axes, audit.points[audit.point_state == state], state, state in suspicious)
    axes.set_xlabel("first dimension of the observation", color=MUTED)
    axes.set_ylabel("second dimension", color=MUTED)


def _name(axes: "Axes", points: np.ndarray, state: int, suspicious: bool) -> None:
    """The state's number in the thick of its points: a mean would lie outside a state that is in pieces."""
    if not len(points):
        return
    few = points[:200]
    scale = np.where(np.ptp(points, axis=0) > 0, np.ptp(points, axis=0), 1)
    distance = np.sqrt(np.square((few[:, None] - few[None]) / scale).sum(axis=2))
    near = np.argsort(distance, axis=1)[:, : 1 + len(few) // 2]
    x, y = few[near[np.argmin(np.take_along_axis(distance, near, axis=1).mean(axis=1))]].mean(axis=0)
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "linewidth": 1.0, "alpha": 0.9}
    edge = SUSPICIOUS if suspicious else "none"
    color = SUSPICIOUS if suspicious else INK
    axes.text(x, y, str(state), ha="center", va="center", fontsize=8, color=color, bbox=box | {"edgecolor": edge})


def _draw_bars(axes: "Axes", audit: Any) -> None:
    order = np.argsort(-audit.rows, kind="stable")[:MOST_BARS]
    colors = np.where(audit.suspicious[order], SUSPICIOUS, CALM)
    axes.bar(np.arange(len(order)), audit.rows[order], width=0.85, color=colors)
    if len(order) <= 50:
        axes.set_xticks(np.arange(len(order)), [str(state) for state in audit.state[order]], fontsize=7)
    hidden = len(audit.state) - len(order)
    axes.set_xlabel("state" if not hidden else f"the {len(order):,} largest states", color=MUTED)
    axes.set_ylabel("rows", color=MUTED)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(axis="y", color=RULE)
    axes.set_axisbelow(True)
    axes.set_xlim(-1, max(1, len(order)))


def _colors(n: int) -> np.ndarray:
    """So many colors, those of neighboring numbers far apart in hue."""
    from matplotlib.colors import hsv_to_rgb

    place = np.arange(n)
    hue = place * 0.618033988749895 % 1
    return hsv_to_rgb(np.stack([hue, 0.45 + 0.4 * (place % 3) / 2, 0.95 - 0.3 * (place % 2)], axis=1))
