"""SVG files for light and dark pages: with colors of their own, a title and a description, without a font.

A picture in a page is a document by itself: it cannot see the colors of the page. So each has its own background, and
both are exchanged where the reader, or the page around it, asks for dark.
"""

import re
from html import escape
from typing import TYPE_CHECKING

from understudy.reporting.svg import inline_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIGHT = {
    "paper": "#fefefe", "ink": "#1b1e23", "muted": "#5d646d", "rule": "#d5d9de", "color-1": "#0072b2",
    "color-2": "#c25200", "color-3": "#00795a", "color-4": "#b0558a", "tint-1": "#dcecf6", "tint-2": "#fbe6d6",
}  # fmt: skip
DARK = {
    "paper": "#1c1f24", "ink": "#e8eaed", "muted": "#a2a9b3", "rule": "#3b4048", "color-1": "#4aa8e0",
    "color-2": "#f0803c", "color-3": "#2fc49a", "color-4": "#dd95bd", "tint-1": "#16344a", "tint-2": "#4a2a14",
}  # fmt: skip
"""The colors of a picture by name; text in any of them but `rule` and the tints is readable on `paper`."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', Arial, sans-serif"


def _variables(colors: dict[str, str]) -> str:
    return ":root{" + ";".join(f"--{name}:{color}" for name, color in colors.items()) + "}"


CSS = (
    f"{_variables(LIGHT)}\n@media (prefers-color-scheme:dark){{{_variables(DARK)}}}\n"
    f"text{{font-family:{FONT}!important}}"
)


def of_figure(figure: "Figure", title: str, description: str) -> str:
    """Return the text of an SVG file of a figure of matplotlib, drawn in the colors of pages."""
    width, height = (round(72 * inches) for inches in figure.get_size_inches())
    drawn = inline_svg(figure, title)
    return _file(width, height, title, description, drawn[drawn.index(">") + 1 : drawn.rindex("</svg>")])


def _file(width: float, height: float, title: str, description: str, inside: str) -> str:
    inside = re.sub(r"[ \t]+\n", "\n", inside).strip()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" aria-labelledby="title desc" '
        f'stroke-linejoin="round">\n<title id="title">{escape(title)}</title>\n<desc id="desc">{escape(description)}'
        f"</desc>\n<style>{CSS}</style>\n"
        f'<rect width="{width}" height="{height}" rx="6" fill="var(--paper)"/>\n{inside}\n</svg>\n'
    )


class Drawing:
    """A picture of boxes, lines and words. Colors are names of `LIGHT`; lengths are pixels."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self.width, self.height, self.title, self.description = width, height, title, description
        self._parts: list[str] = []

    def box(
        self, x: float, y: float, width: float, height: float, *, fill: str = "none", stroke: str = "none",
        round_: float = 3, dashed: bool = False, opacity: float = 1.0,
    ) -> None:  # fmt: skip
        """Draw a box, by its upper left corner."""
        more = ' stroke-dasharray="3 3"' if dashed else ""
        more += "" if opacity == 1 else f' opacity="{opacity:g}"'
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_:g}" fill="{_color(fill)}" '
            f'stroke="{_color(stroke)}"{more}/>'
        )

    def line(
        self, points: list[tuple[float, float]], *, stroke: str = "muted", width: float = 1.2, dashed: bool = False,
        arrow: bool = False,
    ) -> None:  # fmt: skip
        """Draw a line through points, with the tip of an arrow at the last one."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        more = ' stroke-dasharray="3 3"' if dashed else ""
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{_color(stroke)}" stroke-width="{width:g}"{more}/>'
        )
        if arrow:
            (x0, y0), (x1, y1) = points[-2:]
            length = max(1e-9, ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)
            across, down = (x1 - x0) / length, (y1 - y0) / length
            tip = [(x1, y1), (x1 - 7 * across - 3.5 * down, y1 - 7 * down + 3.5 * across),
                   (x1 - 7 * across + 3.5 * down, y1 - 7 * down - 3.5 * across)]  # fmt: skip
            corners = " ".join(f"{round(x, 2):g},{round(y, 2):g}" for x, y in tip)
            self._parts.append(f'<polygon points="{corners}" fill="{_color(stroke)}"/>')

    def curve(self, path: str, *, stroke: str = "muted", width: float = 1.2) -> None:
        """Draw a path of SVG's own language."""
        self._parts.append(f'<path d="{path}" fill="none" stroke="{_color(stroke)}" stroke-width="{width:g}"/>')

    def dot(self, x: float, y: float, radius: float, fill: str) -> None:
        """Draw a disc."""
        self._parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{_color(fill)}"/>')

    def words(
        self, x: float, y: float, text: str, *, color: str = "ink", size: float = 13, anchor: str = "start",
        bold: bool = False,
    ) -> None:  # fmt: skip
        """Write words; lines are split at newlines."""
        weight = ' font-weight="600"' if bold else ""
        for number, line in enumerate(text.split("\n")):
            self._parts.append(
                f'<text x="{x:g}" y="{y + 1.3 * size * number:g}" font-size="{size:g}" text-anchor="{anchor}"{weight} '
                f'fill="{_color(color)}">{escape(line)}</text>'
            )

    def text(self) -> str:
        """Return the text of the SVG file."""
        return _file(self.width, self.height, self.title, self.description, "\n".join(self._parts))


def _color(name: str) -> str:
    return name if name == "none" else f"var(--{name})"
