"""The plot of the states that an encoder makes of a log."""

from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.encoders import StateAudit
from understudy.reporting.axes import short_label, ticks
from understudy.reporting.svg import INK, MUTED, PALETTE, RULE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OTHER_COLOR, SUSPICIOUS_COLOR = PALETTE[:2]
MOST_BARS = 200
MOST_LABELS = 60
MOST_NAMED, LONGEST_NAME = 40, 36
STYLE: Any = {"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 10, "text.color": INK}


def states(audit: StateAudit, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the states of an audit on `ax`, or on new axes, and return the axes.

    Two-dimensional observations are points colored by state, with the state's number among them; those of suspicious
    states are crosses. Other observations are not shown: each state is a bar of its rows, suspicious ones in orange.
    Up to 40 states of several observations are named by one of these.
    """
    import matplotlib
    from matplotlib.figure import Figure

    is_plane = len(audit.sample_observation) > 0
    if ax is not None:
        _draw(ax, audit, is_plane)
        return ax
    with matplotlib.rc_context(STYLE):
        size = (7.2, 6.4) if is_plane else (9.0, max(3.6, 1 + 0.25 * n_named(audit)))
        ax = Figure(figsize=size, layout="constrained").add_subplot()
        _draw(ax, audit, is_plane)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(color=MUTED, labelcolor=MUTED)
        ax.spines[["left", "bottom"]].set_color(MUTED)
    return ax


def _draw(ax: "Axes", audit: StateAudit, is_plane: bool) -> None:
    if is_plane:
        _draw_points(ax, audit)
    else:
        _draw_bars(ax, audit)
    n, mark = int(audit.suspicious.sum()), "crosses" if is_plane else "orange"
    found = f"{n:,} suspicious ({mark}): observations predict outcomes within" if n else "none suspicious"
    ax.set_title(f"{audit.n_states:,} states, {found}", loc="left", fontsize=11, color=INK)


def _draw_points(ax: "Axes", audit: StateAudit) -> None:
    suspicious = audit.state[audit.suspicious]
    place = np.searchsorted(audit.state, audit.sample_state)
    known = audit.sample_state >= 0
    colors = _colors(len(audit.state))
    marked = np.isin(audit.sample_state, suspicious)
    looks: list[tuple[np.ndarray, dict[str, Any]]] = [
        (known & ~marked, {"s": 4, "linewidths": 0, "alpha": 0.8}),
        (known & marked, {"s": 9, "linewidths": 0.7, "marker": "x"}),
    ]
    for chosen, look in looks:
        x, y = audit.sample_observation[chosen].T
        ax.scatter(x, y, c=colors[place[chosen]], **look)
    for state in audit.state[np.argsort(-audit.rows)[:MOST_LABELS]].tolist():
        _label(ax, audit.sample_observation[audit.sample_state == state], state, state in suspicious)
    ax.set_xlabel(short_label(audit.axes[0], 60), color=MUTED, parse_math=False)
    ax.set_ylabel(short_label(audit.axes[1], 40), color=MUTED, parse_math=False)


def _label(ax: "Axes", points: np.ndarray, state: int, suspicious: bool) -> None:
    """Write the state's number where its points are dense: their mean may lie outside a state that is in pieces."""
    if not len(points):
        return
    few = points[:200]
    scale = np.where(np.ptp(points, axis=0) > 0, np.ptp(points, axis=0), 1)
    distance = np.sqrt(np.square((few[:, None] - few[None]) / scale).sum(axis=2))
    near = np.argsort(distance, axis=1)[:, : 1 + len(few) // 2]
    x, y = few[near[np.argmin(np.take_along_axis(distance, near, axis=1).mean(axis=1))]].mean(axis=0)
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "linewidth": 1.0, "alpha": 0.9}
    edge = SUSPICIOUS_COLOR if suspicious else "none"
    color = SUSPICIOUS_COLOR if suspicious else INK
    ax.text(x, y, str(state), ha="center", va="center", fontsize=8, color=color, bbox=box | {"edgecolor": edge})


def n_named(audit: StateAudit) -> int:
    """Return how many states have a bar each that is named; 0 where bars are not."""
    return len(audit.state) if audit.examples and len(audit.state) <= MOST_NAMED else 0


def _draw_named_bars(ax: "Axes", audit: StateAudit) -> None:
    """Draw bars from left to right, the largest state at the top, each named by an observation that is in it."""
    order = np.argsort(-audit.rows, kind="stable")
    colors = np.where(audit.suspicious[order], SUSPICIOUS_COLOR, OTHER_COLOR)
    ax.barh(np.arange(len(order)), audit.rows[order], height=0.8, color=colors)
    ax.set_yticks(np.arange(len(order)))
    names = [audit.examples.get(state, f"state {state}") for state in audit.state[order].tolist()]
    ax.set_yticklabels([short_label(name, LONGEST_NAME) for name in names], fontsize=9)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.invert_yaxis()
    ax.set_xlabel("rows", color=MUTED)
    ax.xaxis.set_major_locator(ticks(4, integer=True))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.grid(axis="x", color=RULE)
    ax.set_axisbelow(True)


def _draw_bars(ax: "Axes", audit: StateAudit) -> None:
    if n_named(audit):
        _draw_named_bars(ax, audit)
        return
    order = np.argsort(-audit.rows, kind="stable")[:MOST_BARS]
    colors = np.where(audit.suspicious[order], SUSPICIOUS_COLOR, OTHER_COLOR)
    ax.bar(np.arange(len(order)), audit.rows[order], width=0.85, color=colors)
    if len(order) <= 50:
        ax.set_xticks(np.arange(len(order)), [str(state) for state in audit.state[order]], fontsize=7)
    hidden = len(audit.state) - len(order)
    ax.set_xlabel("state" if not hidden else f"the {len(order):,} largest states", color=MUTED)
    ax.set_ylabel("rows", color=MUTED)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.grid(axis="y", color=RULE)
    ax.set_axisbelow(True)
    ax.set_xlim(-1, max(1, len(order)))


def _colors(n: int) -> np.ndarray:
    """Return n colors, those of consecutive numbers far apart in hue, (n, 3)."""
    from matplotlib.colors import hsv_to_rgb

    number = np.arange(n)
    hue = number * 0.618033988749895 % 1
    return hsv_to_rgb(np.stack([hue, 0.45 + 0.4 * (number % 3) / 2, 0.95 - 0.3 * (number % 2)], axis=1))
