"""Small curves for notebooks: an SVG picture without axes of a mean with its band, or of several runs."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from understudy.digits import between

WIDTH, HEIGHT, EDGE = 360, 72, 4
MOST_POINTS = 180
"""Points of a line; a picture of this width shows no more."""

MOST_LINES = 30


class Frame(NamedTuple):
    """The part of a plane that a picture shows."""

    left: float
    right: float
    bottom: float
    top: float

    def points(self, x: np.ndarray, y: np.ndarray) -> str:
        """Return points as the attribute of an SVG line has them."""
        across = EDGE + (WIDTH - 2 * EDGE) * (x - self.left) / (self.right - self.left or 1.0)
        up = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (y - self.bottom) / (self.top - self.bottom or 1.0)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))


def small_curve(
    x: Sequence[float] | np.ndarray,
    lines: Iterable[np.ndarray],
    band: tuple[np.ndarray, np.ndarray] | None = None,
) -> str:
    """Return a picture of lines over `x`, and of a band behind them; "" where fewer than two points are known.

    Its smallest and largest value are written beside it. Lines that are not known somewhere have gaps there.

    >>> small_curve([1, 2, 3], [np.array([0.0, 1.0, 4.0])]).count("<polyline")
    1
    >>> small_curve([1], [np.array([0.0])])
    ''
    """
    kept = np.unique(np.linspace(0, max(len(x) - 1, 0), min(MOST_POINTS, len(x))).astype(int))
    steps = np.asarray(x, dtype=float)[kept]
    drawn = [np.asarray(line, dtype=float)[kept] for line, _ in zip(lines, range(MOST_LINES), strict=False)]
    edges = [np.asarray(edge, dtype=float)[kept] for edge in band or ()]
    known = np.concatenate([one[np.isfinite(one)] for one in (*drawn, *edges)]) if drawn else np.empty(0)
    if len(steps) < 2 or len(known) < 2:
        return ""
    frame = Frame(steps[0], steps[-1], known.min(), known.max())
    parts = []
    if edges:
        low, high = edges
        seen = np.isfinite(low) & np.isfinite(high)
        there = frame.points(steps[seen], high[seen])
        back = frame.points(steps[seen][::-1], low[seen][::-1])
        parts.append(f'<polygon points="{there} {back}" fill="currentColor" fill-opacity="0.15"/>')
    opacity = 1.0 if len(drawn) == 1 else 0.35
    for line in drawn:
        for piece in known_pieces(line):
            points = frame.points(steps[piece], line[piece])
            parts.append(
                f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5" '
                f'stroke-opacity="{opacity}"/>'
            )
    said = f"from {between(frame.bottom, frame.top, 4)} over steps {frame.left:,.0f} to {frame.right:,.0f}"
    return (
        f'<figure style="margin:0"><svg role="img" aria-label="A curve {said}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(parts)}</svg><figcaption><small>{said}</small></figcaption></figure>'
    )


def known_pieces(line: np.ndarray) -> list[np.ndarray]:
    """Return the places of each stretch of a line that is known, those of two points or more.

    >>> [piece.tolist() for piece in known_pieces(np.array([1.0, 2.0, np.nan, 3.0, np.nan, 4.0, 5.0]))]
    [[0, 1], [5, 6]]
    """
    places = np.flatnonzero(np.isfinite(line))
    pieces = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return [piece for piece in pieces if len(piece) > 1]
