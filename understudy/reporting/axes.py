"""Axes as our figures have them: placed by pixels, with few ticks, no box, and short labels."""

from typing import TYPE_CHECKING, Any

from understudy.reporting.svg import MUTED, RULE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEFT, RIGHT, BOTTOM = 56, 28, 40
"""Margins around axes, in pixels."""


def canvas(width: float, height: float) -> tuple["Figure", Any]:
    """Return a figure, and a function that adds axes to it, given their left, top, width and height in pixels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72), dpi=72)

    def place(left: float, top: float, across: float, down: float, **shared: Any) -> "Axes":
        box = (left / width, 1 - (top + down) / height, across / width, down / height)
        return figure.add_axes(box, **{name: axes for name, axes in shared.items() if axes is not None})

    return figure, place


def style_axes(axes: "Axes", n_ticks: int) -> None:
    """Give axes horizontal rules, no box, at most so many ticks, and commas between thousands."""
    from matplotlib.ticker import FuncFormatter

    axes.grid(axis="y", color=RULE)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0, pad=6)
    axes.tick_params(axis="x", length=3, color=MUTED)
    axes.xaxis.set_major_locator(ticks(n_ticks, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(_tick_label))


def _tick_label(value: float, _: Any) -> str:
    size = abs(value)
    text = f"{value:,.0f}" if 1000 <= size < 1e7 else f"{value:.4g}"
    return "0" if size < 1e-12 else text.replace("-", "\N{MINUS SIGN}")


def ticks(n: int, **options: Any) -> Any:
    """Return a locator of at most n ticks, at round numbers."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=n, steps=[1, 2, 2.5, 5, 10], **options)


def style_share_going(axes: "Axes", n_ticks: int) -> None:
    """Style the axes of the share of runs still going, in percent."""
    style_axes(axes, n_ticks)
    axes.set(ylim=(-4, 104), yticks=[0, 50, 100])
    axes.set_title("runs still going, %", loc="left", color=MUTED, fontsize=11, pad=8)


def style_log_scale(axes: "Axes") -> None:
    """Give axes a logarithmic y axis with round numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_tick_label))


def short_label(name: Any, most: int) -> str:
    """Return a name on one line of at most so many characters."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"
