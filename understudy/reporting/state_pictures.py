"""The plot of the states that an encoder makes of a log, as a notebook and as a page show it, and as data."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.encoders import StateAudit
from understudy.reporting.axes import short_label, ticks
from understudy.reporting.svg import INK, MUTED, PALETTE, PAPER, RULE
from understudy.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OTHER_COLOR, SUSPICIOUS_COLOR = PALETTE[:2]
MOST_LABELS = 60
MOST_POINTS, MOST_COLORS = 1500, 60
"""Points of a picture on a page, which holds each of them twice, and their colors, at most."""

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

    if ax is not None:
        _draw(ax, audit)
        return ax
    with matplotlib.rc_context(STYLE):
        size = (7.2, 6.4) if in_plane(audit) else (9.0, max(3.6, 1 + 0.25 * n_named(audit)))
        ax = Figure(figsize=size, layout="constrained").add_subplot()
        _draw(ax, audit)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(color=MUTED, labelcolor=MUTED)
        ax.spines[["left", "bottom"]].set_color(MUTED)
    return ax


def draw_on_page(ax: "Axes", audit: StateAudit) -> None:
    """Draw the states on axes of a page: few points, in few colors, since each costs bytes twice."""
    _draw(ax, _with_few_points(audit), _mark_points)


def picture(audit: StateAudit) -> dict[str, Any]:
    """Return what the page draws as data: the states, the largest first, and points of two-dimensional observations.

    `table` says which number is which observation, where the picture has numbers.
    """
    plane, few = in_plane(audit), _with_few_points(audit)
    places = audit.largest[:MOST_LABELS] if plane else audit.largest
    states = [
        {"state": audit.state[place], "rows": audit.rows[place], "suspicious": audit.suspicious[place],
         "example": audit.examples.get(int(audit.state[place]))}
        for place in places
    ]  # fmt: skip
    x, y = few.sample_observation.T
    return {
        "kind": "points" if plane else "bars",
        "axes": list(audit.axes) if plane else ["rows"],
        "states": states,
        "points": {"x": x, "y": y, "state": few.sample_state} if plane else None,
        "table": None if n_named(audit) and not plane else _by_number(audit),
    }


def in_plane(audit: StateAudit) -> bool:
    """True if the picture shows observations, which have two dimensions."""
    return len(audit.sample_observation) > 0


def _by_number(audit: StateAudit) -> Table:
    """Return a table of the states that a picture shows by their numbers."""
    table = audit.to_table(np.sort(audit.largest[:MOST_LABELS]))
    left_out = audit.n_states - len(table.rows)
    return replace(table, notes=(f"... and {left_out:,} more, of fewer rows",) * (left_out > 0))


def _with_few_points(audit: StateAudit) -> StateAudit:
    """Return the audit with the points of a page: one of each state, the largest first, then another of each."""
    known = np.flatnonzero(audit.sample_state >= 0)
    place = np.searchsorted(audit.state, audit.sample_state[known])
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    turn = np.empty(len(known), dtype=np.int64)
    turn[order] = np.arange(len(known)) - np.repeat(starts, np.diff(np.append(starts, len(known))))
    kept = known[np.lexsort((-audit.rows[place], turn))[:MOST_POINTS]]
    return replace(audit, sample_observation=audit.sample_observation[kept], sample_state=audit.sample_state[kept])


def _draw(ax: "Axes", audit: StateAudit, points: "Callable[[Axes, StateAudit], None] | None" = None) -> None:
    if in_plane(audit):
        (points or _scatter_points)(ax, audit)
        _draw_labels(ax, audit)
    else:
        _draw_bars(ax, audit)
    n, mark = int(audit.suspicious.sum()), "crosses" if in_plane(audit) else "orange"
    found = f"{n:,} suspicious ({mark}): observations predict outcomes within" if n else "none suspicious"
    ax.set_title(f"{audit.n_states:,} states, {found}", loc="left", fontsize=11, color=INK, wrap=True)


def _mark_points(ax: "Axes", audit: StateAudit) -> None:
    """Draw the points of a page: those of a color are one line of marks."""
    place = np.searchsorted(audit.state, audit.sample_state)
    looks: tuple[tuple[bool, dict[str, Any]], ...] = (
        (False, {"marker": "o", "markersize": 3.5, "markeredgewidth": 0}),
        (True, {"marker": "x", "markersize": 4, "markeredgewidth": 0.8}),
    )
    for number, color in enumerate(_colors(min(MOST_COLORS, len(audit.state)))):
        for crosses, look in looks:
            chosen = (place % MOST_COLORS == number) & (audit.suspicious[place] == crosses)
            if chosen.any():
                x, y = audit.sample_observation[chosen].T
                ax.plot(x, y, color=color, linestyle="none", **look)


def _scatter_points(ax: "Axes", audit: StateAudit) -> None:
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


def _draw_labels(ax: "Axes", audit: StateAudit) -> None:
    suspicious = audit.state[audit.suspicious]
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
    box = {"boxstyle": "round,pad=0.2", "facecolor": PAPER, "linewidth": 1.0, "alpha": 0.9}
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
    order = audit.largest
    colors = np.where(audit.suspicious[order], SUSPICIOUS_COLOR, OTHER_COLOR)
    ax.bar(np.arange(len(order)), audit.rows[order], width=0.85, color=colors)
    if len(order) <= 50:
        ax.set_xticks(np.arange(len(order)), [str(state) for state in audit.state[order]], fontsize=7)
    ax.set_xlabel("state" if len(order) == audit.n_states else f"the {len(order):,} largest states", color=MUTED)
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
