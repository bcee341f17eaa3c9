"""Figures as SVG inside a page: in the page's colors, and the same bytes each time."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, RULE, PAPER = "#1b1e23", "#697079", "#e4e6e9", "#fefefe"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d5a")
"""Okabe and Ito's, which color-blind readers can tell apart, with brown for its yellow."""

NAMES = {INK: "ink", MUTED: "muted", RULE: "rule", PAPER: "paper"} | {
    color: f"color-{place}" for place, color in enumerate(PALETTE, start=1)
}
"""The CSS variable of the page for each color; where there is none, the color itself is used."""

STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so that measures are the same everywhere
    "font.size": 12,
    "text.usetex": False,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "axes.titlesize": 12,
    "axes.labelsize": 12,
    "figure.facecolor": "none",
    "savefig.facecolor": "auto",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "path.simplify": True,
    "path.sketch": None,
}
"""All settings of matplotlib that the looks of a figure depend on."""


@contextmanager
def drawn_alike(**more: Any) -> Iterator[None]:
    """Context in which figures have our style, whatever the caller has set; settings are restored after it."""
    import matplotlib

    settings: Any = STYLE | more
    with matplotlib.rc_context(settings):
        yield


def inline_svg(figure: "Figure", description: str, salt: str = "") -> str:
    """Return the figure as an svg element. Text stays text: small, searchable, and in any script of the reader's fonts.

    `salt` keeps the ids of several figures on one page different.
    """
    settings = {"svg.fonttype": "none", "svg.hashsalt": f"understudy {salt}"}
    target = io.StringIO()
    with drawn_alike(**settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # the reader's browser has it
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    text = target.getvalue()
    text = text[text.index("<svg") :]
    for furniture in (r"<metadata>.*?</metadata>", r"<style[^>]*>.*?</style>", r"<!--.*?-->", r"<defs>\s*</defs>"):
        text = re.sub(furniture, "", text, flags=re.DOTALL)
    text = re.sub(r"<[^<>]+>", _trimmed, text)  # within tags only: what users wrote is between them
    text = MARKS.sub(_style_of_marks, text)
    width, height = (round(72 * inches) for inches in figure.get_size_inches())
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'viewBox="0 0 {width} {height}" stroke-linejoin="round" aria-label="{escape(description)}">'
    )
    return opening + re.sub(r"\s*\n\s*", "\n", text[text.index(">") + 1 :]).strip()


MARKS = re.compile(r'<g([^<>]*)>\s*((?:<use [^<>]* style="([^"<>]*)"/>\s*)(?:<use [^<>]* style="\3"/>\s*)+)</g>')
"""Several marks of one style in a group of their own."""


def _style_of_marks(group: re.Match[str]) -> str:
    """Return a group of marks that has their style, instead of each of them: they cost half as many bytes."""
    outer, marks, style = group.groups()
    return f'<g{outer} style="{style}">\n' + marks.replace(f' style="{style}"', "") + "</g>"


def _trimmed(tag: re.Match[str]) -> str:
    """Return a tag without its running id, with two decimals, and with the page's colors."""
    text = re.sub(r'^<g id="[^"]*"', "<g", tag[0])
    text = re.sub(r"(\.\d\d)\d+", r"\1", text)
    return re.sub(r"#[0-9a-f]{6}\b", lambda color: _variable(color[0]), text)


def _variable(color: str) -> str:
    return f"var(--{NAMES[color]},{color})" if color in NAMES else color
