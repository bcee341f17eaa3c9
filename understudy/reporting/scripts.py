"""The scripts of a page: vendored, ours, and data that no name of a user's can break out of."""

import json
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""What could end a script element, begin a comment or an entity in it, or end a line of JavaScript but not of JSON."""

DIRECTIONS = tuple(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Characters that turn the direction of the text after them: in a name they would turn our own words and numbers."""


CONTROLS = tuple(map(chr, (*range(9), 11, 12, *range(14, 32), *range(127, 160))))
"""Characters that are no text, but for tabs and ends of lines: browsers and editors do with them what they like."""


def script_data(content: Any) -> str:
    r"""Return plain values as JSON that is safe inside a script element.

    >>> print(script_data({"name": "</script><b>&\u2028"}))
    {"name":"\u003c/script\u003e\u003cb\u003e\u0026\u2028"}
    """
    shown = _with_all_visible(content)
    text = json.dumps(shown, separators=(",", ":"), allow_nan=False)  # in ASCII, so that no encoding can change it
    for character, escape in ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _with_all_visible(content: Any) -> Any:
    """Return plain values with such characters written out in all texts."""
    if isinstance(content, str):
        return with_all_visible(content)
    if isinstance(content, dict):
        return {_with_all_visible(name): _with_all_visible(value) for name, value in content.items()}
    return [_with_all_visible(value) for value in content] if isinstance(content, list | tuple) else content


def with_all_visible(html: str) -> str:
    r"""Return a text or a page in which characters that cannot be seen, or turn the direction of text, are written out.

    >>> print(with_all_visible("<p>a\u202eb</p>"))
    <p>a\u202eb</p>
    """
    return html.translate({ord(character): f"\\u{ord(character):04x}" for character in DIRECTIONS + CONTROLS})


@cache
def page_scripts() -> tuple[str, ...]:
    """Return the scripts that a page runs, as they stand in it: uPlot with its licence, then ours."""
    vendor = files("understudy.reporting") / "vendor" / "uplot"
    licence = (vendor / "LICENSE").read_text(encoding="utf-8").strip()
    uplot = (vendor / "uPlot.iife.min.js").read_text(encoding="utf-8").strip()
    ours = (files("understudy.reporting") / "templates" / "report.js").read_text(encoding="utf-8").strip()
    return f"/* uPlot\n{licence}\n*/\n{uplot}", ours


@cache
def page_styles() -> str:
    """Return the style sheet of uPlot."""
    return (files("understudy.reporting") / "vendor" / "uplot" / "uPlot.min.css").read_text(encoding="utf-8").strip()


def content_policy(scripts: Sequence[str]) -> str:
    """Return a Content-Security-Policy under which nothing is loaded, and no script runs but these."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes or chr(39) + 'none' + chr(39)}; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
