"""Figures of runs. Each is a function of what was measured; nothing here runs a simulation.

Widths are in pixels of the page. Colors follow the order of the sets; the reference is black.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.reporting.curves import MeanCurve, has_readings, mean_curve, shares_going
from understudy.reporting.svg import INK, MUTED, PALETTE, PAPER, RULE, drawn_alike
from understudy.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = ("", "s", "^", "o", "D")
"""When colors come round again, markers tell the sets apart."""

MOST_RUNS = 30
"""Individual runs drawn of each set."""

LEFT, RIGHT, BOTTOM = 56, 28, 40
"""Margins around axes, in pixels."""


def learning_curves(
    named_runs: Mapping[str, Runs], probe: str, reference_name: str | None = None, *, width: int = 900
) -> "Figure":
    """The mean curve of each set with 1.96 standard errors over runs, and the share of runs still going beneath.

    A line is solid, with a band, where every run has a reading; a dot marks where that ends. Dashed, it is the mean of
    the runs that were still going, which differ from those that had stopped; it ends where fewer than a tenth are left.
    """
    named = {name: runs for name, runs in named_runs.items() if has_readings(runs, probe)}
    with drawn_alike():
        legend_height = _legend_height(named_runs, width)
        top, main, gap, beneath = legend_height + 26, min(360, int(0.75 * width)), 34, 64
        figure, place = canvas(width, top + main + gap + beneath + BOTTOM)
        axes = place(LEFT, top, width - LEFT - RIGHT, main)
        going = place(LEFT, top + main + gap, width - LEFT - RIGHT, beneath, sharex=axes)
        looks = _looks(named_runs, reference_name)
        for name, runs in named.items():
            _draw_mean(axes, mean_curve(runs, probe), looks[name], 6 if name == reference_name else 3)
        for name, runs in named_runs.items():
            steps, shares = shares_going(runs)
            going.step(steps, 100 * shares, where="post", color=looks[name]["color"], linewidth=1.4)
        longest = max((int(runs.lengths.max()) for runs in named_runs.values() if len(runs)), default=0)
        axes.set_xlim(0, 1.01 * max(1, longest))
        settle(axes, 6 if width > 600 else 4)
        axes.tick_params(labelbottom=False)
        axes.set_title(_label(probe, 60), loc="left", parse_math=False, color=INK, pad=10)
        settle(going, 6 if width > 600 else 4)
        going.set(ylim=(-4, 104), yticks=[0, 50, 100])
        going.set_title("runs still going, %", loc="left", color=MUTED, fontsize=11, pad=8)
        going.set_xlabel("steps")
        _legend(figure, named_runs, looks, width)
    return figure


def curves_of_runs(
    named_runs: Mapping[str, Runs], probe: str, reference_name: str | None = None, *, width: int = 900
) -> "Figure":
    """Some runs of each set, one by one, with their mean: a panel a set, all on the same axes.

    Where there is a reference, its mean is drawn in every panel.
    """
    named = {name: runs for name, runs in named_runs.items() if has_readings(runs, probe)}
    n_columns = max(1, min(len(named), 4, width // 180))
    n_rows = max(1, -(-len(named) // n_columns))
    with drawn_alike():
        gap, top, between = 14, 28, 34
        across = (width - LEFT - RIGHT - gap * (n_columns - 1)) / n_columns
        down = 132
        figure, place = canvas(width, n_rows * (top + down) + (n_rows - 1) * (between - top) + BOTTOM)
        looks, first = _looks(named_runs, reference_name), None
        means = {name: mean_curve(runs, probe) for name, runs in named.items()}
        for number, (name, runs) in enumerate(named.items()):
            row, column = divmod(number, n_columns)
            axes = place(
                LEFT + column * (across + gap), top + row * (down + between), across, down, sharex=first, sharey=first
            )
            first = first or axes
            axes.plot(*_one_by_one(runs, probe), color=looks[name]["color"], linewidth=0.6, alpha=0.4)
            if reference_name in means and name != reference_name:
                reference = means[reference_name]
                axes.plot(reference.steps, reference.mean, color=INK, linewidth=1.1)
            _draw_mean(axes, means[name], looks[name] | {"marker": "", "linewidth": 1.8}, 4, band=False)
            settle(axes, 3)
            axes.yaxis.set_major_locator(ticks(4))
            axes.set_title(_label(name, int(across / 6.3)), loc="left", parse_math=False, fontsize=11, pad=6)
            below = number + n_columns >= len(named)
            axes.tick_params(labelleft=column == 0, labelbottom=below)
            if below:
                axes.set_xlabel("steps", fontsize=11)
        if first is not None:
            first.set_xlim(0, 1.01 * max(int(runs.lengths.max()) for runs in named.values()))
    return figure


def visitation_bars(
    named_runs: Mapping[str, Runs], probe: str, reference_name: str | None = None, *, width: int = 900
) -> "Figure":
    """A vector probe, such as visitation, when runs stopped: its mean over runs, a bar for each entry, a strip a set.

    The outline is the reference's, where its entries are as many.
    """
    named = {name: runs for name, runs in named_runs.items() if len(runs) and probe in runs.probes}
    vectors = {name: vector for name, runs in named.items() if (vector := final_vector(runs, probe)) is not None}
    with drawn_alike():
        top, down = 28, 56
        between = 48 if len({len(vector) for vector in vectors.values()}) > 1 else 34
        figure, place = canvas(width, top + len(vectors) * (down + between) - between + BOTTOM if vectors else 60)
        looks = _looks(named_runs, reference_name)
        highest = max((float(np.nanmax(vector)) for vector in vectors.values()), default=1.0)
        lowest = min((float(np.nanmin(vector)) for vector in vectors.values()), default=0.0)
        for number, (name, vector) in enumerate(vectors.items()):
            axes = place(LEFT, top + number * (down + between), width - LEFT - RIGHT, down)
            edges = np.arange(len(vector) + 1) - 0.5
            axes.stairs(vector, edges, fill=True, color=looks[name]["color"], alpha=0.75, linewidth=0)
            outline = vectors.get(reference_name) if reference_name is not None else None
            if outline is not None and name != reference_name and len(outline) == len(vector):
                axes.stairs(outline, edges, color=INK, linewidth=1.0, baseline=None)
            settle(axes, 12)
            axes.set(xlim=(edges[0], edges[-1]), ylim=(min(0.0, lowest), 1.05 * highest if highest > 0 else 1.0))
            axes.yaxis.set_major_locator(ticks(2))
            axes.set_title(_label(name, 60), loc="left", parse_math=False, fontsize=11, pad=6)
            last = number == len(vectors) - 1
            axes.tick_params(labelbottom=last or between > 34)
            if last:
                axes.set_xlabel("state, by number")
    return figure


def final_vector(runs: Runs, probe: str) -> np.ndarray | None:
    """The mean over runs of a vector probe's last readings; None where they are no vectors of one length."""
    last = [run.final.get(probe, run.curves[probe][-1:].ravel()) for run in runs]
    vectors = [np.asarray(value, dtype=np.float64) for value in last if np.size(value)]
    if not vectors or any(vector.ndim != 1 or vector.shape != vectors[0].shape for vector in vectors):
        return None
    mean = np.mean(vectors, axis=0)
    return mean if np.isfinite(mean).any() else None


def canvas(width: float, height: float) -> tuple["Figure", Any]:
    """A figure, and what places axes in it by their left, top, width and height in pixels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72), dpi=72)

    def place(left: float, top: float, across: float, down: float, **shared: Any) -> "Axes":
        box = (left / width, 1 - (top + down) / height, across / width, down / height)
        return figure.add_axes(box, **{name: axes for name, axes in shared.items() if axes is not None})

    return figure, place


def settle(axes: "Axes", n_ticks: int) -> None:
    """Horizontal rules, no box, and thousands with commas."""
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
    """At most n ticks, at round numbers."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=n, steps=[1, 2, 2.5, 5, 10], **options)


def _draw_mean(axes: "Axes", curve: MeanCurve, look: Mapping[str, Any], order: float, band: bool = True) -> None:
    whole = np.where(curve.complete, curve.mean, np.nan)
    if band:
        low, high = whole - curve.half_width, whole + curve.half_width
        axes.fill_between(curve.steps, low, high, color=look["color"], alpha=0.18, linewidth=0, zorder=order - 1)
    axes.plot(curve.steps, whole, **look, markevery=max(1, len(whole) // 8), markersize=4, zorder=order)
    # The dashes start from the last whole point, so that no gap is left between them.
    beside = ~curve.complete
    beside[:-1] |= ~curve.complete[1:]
    beside[1:] |= ~curve.complete[:-1]
    part = np.where(beside, curve.mean, np.nan)
    dashed = {"color": look["color"], "linewidth": look["linewidth"], "linestyle": (0, (2, 1))}
    if (~curve.complete).any():
        axes.plot(curve.steps, part, **dashed, zorder=order - 0.5)
    if curve.complete.any():
        last = np.flatnonzero(curve.complete)[-1]
        end = {"color": look["color"], "markeredgecolor": PAPER, "markeredgewidth": 1.2, "markersize": 7 if band else 5}
        axes.plot(curve.steps[last], curve.mean[last], "o", **end, zorder=9)


def _one_by_one(runs: Runs, probe: str) -> tuple[np.ndarray, np.ndarray]:
    """Up to thirty runs as one broken line, evenly taken from all."""
    chosen = np.unique(np.linspace(0, len(runs) - 1, min(MOST_RUNS, len(runs))).astype(int))
    steps: list[np.ndarray] = []
    values: list[np.ndarray] = []
    for number in chosen:
        run = runs[int(number)]
        steps += [run.steps, np.array([np.nan])]
        values += [run.curves[probe], np.array([np.nan])]
    return np.concatenate(steps), np.concatenate(values)


def _looks(names: Mapping[str, Any], reference_name: str | None) -> dict[str, dict[str, Any]]:
    """The color, line and marker of each set."""
    looks = {}
    others = [name for name in names if name != reference_name]
    # Later sets lie over earlier ones and are thinner, so that curves that coincide all show.
    widths = 2.0 + min(0.6, 2.4 / max(1, len(others))) * np.arange(len(others))[::-1]
    for place, name in enumerate(others):
        marker = MARKERS[place // len(PALETTE) % len(MARKERS)]
        looks[name] = {"color": PALETTE[place % len(PALETTE)], "linewidth": float(widths[place]), "marker": marker}
    if reference_name is not None:
        looks[reference_name] = {"color": INK, "linewidth": 1.2, "marker": ""}
    return looks


def _legend(figure: "Figure", names: Mapping[str, Any], looks: Mapping[str, Mapping[str, Any]], width: int) -> None:
    from matplotlib.lines import Line2D

    if not names:
        return
    n_columns, longest = _legend_columns(names, width)
    legend = figure.legend(
        handles=[Line2D([], [], **{**looks[name], "linewidth": 2.4, "markersize": 4}) for name in names],
        labels=[_label(name, longest) for name in names],
        loc="upper left", bbox_to_anchor=((LEFT - 8) / width, 1.0), ncols=n_columns, borderaxespad=0.2,
        handlelength=1.5, handletextpad=0.6, columnspacing=1.6, labelspacing=0.5, fontsize=12,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def _legend_columns(names: Mapping[str, Any], width: int) -> tuple[int, int]:
    """Into how many columns names go, and how many characters of each."""
    longest = min(44, max((len(_label(name, 44)) for name in names), default=1), max(8, (width - LEFT - 60) // 8))
    return max(1, min(len(names), (width - LEFT) // (7 * longest + 44))), longest


def _legend_height(names: Mapping[str, Any], width: int) -> int:
    return 21 * -(-len(names) // _legend_columns(names, width)[0]) + 8


def _label(name: Any, most: int) -> str:
    """A name as it fits in a figure."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"
