"""Figures of runs. Each is a function of what was measured; nothing here runs a simulation.

Widths are in pixels of the page. Colors follow the order of the sets; the reference is black.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.evaluation.curves import MeanCurve, difference, has_readings, mean_curve, return_curve, shares_going
from understudy.reporting.svg import INK, MUTED, PALETTE, PAPER, RULE, drawn_alike
from understudy.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Look = Mapping[str, Any]
"""The color, line and marker of a set, as matplotlib takes them."""

MARKERS = ("", "s", "^", "o", "D")
"""When colors come round again, markers tell the sets apart."""

MOST_RUNS = 30
"""Individual runs drawn of each set."""

MOST_BANDS = 5
"""Sets whose differences have bands; those of more would hide each other."""

LEFT, RIGHT, BOTTOM = 56, 28, 40
"""Margins around axes, in pixels."""


def learning_curves(
    named_runs: Mapping[str, Runs],
    probe: str,
    reference_name: str | None = None,
    *,
    differences: bool = False,
    share: float = 1.0,
    width: int = 900,
) -> "Figure":
    """The mean curve of each set with 1.96 standard errors over runs, and the share of runs still going beneath.

    A line is solid, with a band, where at least this share of the runs has a reading, by default all; a dot marks where
    that ends. Where some have none, the band is wider by what those can change (`MeanCurve`). Dashed, it is the mean of
    the runs that were still going, which differ from those that had stopped; it ends where fewer than half are left.
    With `differences`, a panel between the two tells how far each mean is from the reference's: curves that coincide
    above are told apart there.
    """
    named_runs = reference_first(named_runs, reference_name)
    means = means_of(named_runs, probe, share=share)
    apart = differences and reference_name in means
    with drawn_alike():
        top, main, gap, beneath = legend_height(named_runs, width) + 26, min(360, int(0.75 * width)), 34, 64
        main, middle = (300, 220) if apart else (main, 0)
        figure, place = canvas(width, top + main + gap + beneath + BOTTOM + (middle + gap) * apart)
        across = width - LEFT - RIGHT
        axes = place(LEFT, top, across, main)
        between = place(LEFT, top + main + gap, across, middle, sharex=axes) if apart else None
        going = place(LEFT, top + main + gap + (middle + gap) * apart, across, beneath, sharex=axes)
        looks = looks_of(named_runs, reference_name)
        for name, mean in means.items():
            draw_mean(axes, mean, looks[name], 6 if name == reference_name else 3)
        draw_going(going, named_runs, looks)
        axes.set_xlim(0, 1.03 * _last_drawn(means))
        n_ticks = 6 if width > 600 else 4
        settle(axes, n_ticks)
        axes.tick_params(labelbottom=False)
        axes.set_title(_label(probe, 60), loc="left", parse_math=False, color=INK, pad=10)
        if between is not None and reference_name is not None:
            settle(between, n_ticks)
            between.tick_params(labelbottom=False)
            draw_differences(between, means, reference_name, looks)
            name = _label(reference_name, 20)
            title = f"minus the mean of {name}, with 1.96 standard errors; gray: those of the mean of {name} alone"
            between.set_title(title, loc="left", parse_math=False, color=MUTED, fontsize=11, pad=8)
        settle_going(going, n_ticks)
        going.set_xlabel("steps")
        draw_legend(figure, named_runs, looks, width)
    return figure


def episode_returns(
    named_runs: Mapping[str, Runs],
    reference_name: str | None = None,
    *,
    logged: float | None = None,
    share: float = 1.0,
    width: int = 900,
) -> "Figure":
    """What the first, second, ... episode of each run earned: means over runs, drawn as in `learning_curves`.

    `logged` is what an episode of the log itself earned, a gray line.
    """
    named_runs = reference_first(named_runs, reference_name)
    means = {name: return_curve(runs, share) for name, runs in named_runs.items() if _n_episodes(runs)}
    with drawn_alike():
        top, main = legend_height(means, width) + 26, min(300, int(0.7 * width))
        figure, place = canvas(width, top + main + BOTTOM)
        axes = place(LEFT, top, width - LEFT - RIGHT, main)
        looks = looks_of(named_runs, reference_name)
        for name, mean in means.items():
            draw_mean(axes, mean, looks[name], 6 if name == reference_name else 3)
        if logged is not None:
            axes.axhline(logged, color=MUTED, linewidth=1.2, linestyle=(0, (6, 3)), zorder=2)
            axes.annotate(
                "the log", (1.0, logged), xycoords=("axes fraction", "data"), xytext=(0, 3),
                textcoords="offset points", ha="right", color=MUTED, fontsize=11,
            )  # fmt: skip
        settle(axes, 6 if width > 600 else 4)
        axes.set_xlim(0, 1.03 * _last_drawn(means))
        axes.set_title("return of an episode", loc="left", color=INK, pad=10)
        axes.set_xlabel("episodes of a run, by number")
        draw_legend(figure, means, looks, width)
    return figure


def _n_episodes(runs: Runs) -> int:
    """Finished episodes of all runs."""
    return sum(len(run.returns) for run in runs)


def _last_drawn(means: Mapping[str, MeanCurve]) -> float:
    """The largest step at which some mean is drawn."""
    drawn = [mean.steps[np.isfinite(mean.mean)] for mean in means.values()]
    return max((float(steps.max()) for steps in drawn if len(steps)), default=1.0)


def curves_of_runs(
    named_runs: Mapping[str, Runs],
    probe: str,
    reference_name: str | None = None,
    *,
    looks: Mapping[str, Look] | None = None,
    epoch: int | None = None,
    log_scale: bool = False,
    share: float = 1.0,
    width: int = 900,
) -> "Figure":
    """Some runs of each set, one by one, with their mean: a panel a set, all on the same axes, the reference first.

    Where there is a reference, its mean is drawn in every panel. `epoch` is how many steps a unit of the x axis has.
    """
    named_runs = reference_first(named_runs, reference_name)
    means = means_of(named_runs, probe, epoch, share)
    n_columns = max(1, min(len(means), 4, width // 180))
    n_rows = max(1, -(-len(means) // n_columns))
    with drawn_alike():
        gap, top, between, left = 14, 28, 34, LEFT + 18
        across = (width - left - RIGHT - gap * (n_columns - 1)) / n_columns
        down = 132
        figure, place = canvas(width, n_rows * (top + down) + (n_rows - 1) * (between - top) + BOTTOM)
        looks, first = looks or looks_of(named_runs, reference_name), None
        for number, (name, mean) in enumerate(means.items()):
            row, column = divmod(number, n_columns)
            axes = place(
                left + column * (across + gap), top + row * (down + between), across, down, sharex=first, sharey=first
            )
            first = first or axes
            steps, values = _one_by_one(named_runs[name], probe)
            axes.plot(steps / (epoch or 1), values, color=looks[name]["color"], linewidth=0.6, alpha=0.4)
            if reference_name in means and name != reference_name:
                reference = means[reference_name]
                axes.plot(reference.steps, reference.mean, color=INK, linewidth=1.1)
            draw_mean(axes, mean, {**looks[name], "marker": "", "linestyle": "-", "linewidth": 1.8}, 4, band=False)
            settle(axes, 3)
            if log_scale:
                settle_log(axes)
            else:
                axes.yaxis.set_major_locator(ticks(4))
            axes.set_title(_label(name, int(across / 6.3)), loc="left", parse_math=False, fontsize=11, pad=6)
            below = number + n_columns >= len(means)
            axes.tick_params(labelleft=column == 0, labelbottom=below)
            if below:
                axes.set_xlabel("epochs" if epoch else "steps", fontsize=11)
            if column == 0:
                axes.set_ylabel(_label(probe, 24), fontsize=10, parse_math=False)
        if first is not None:
            longest = max(int(named_runs[name].lengths.max()) for name in means)
            first.set_xlim(0, 1.01 * longest / (epoch or 1))
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
        looks = looks_of(named_runs, reference_name)
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


def reference_first(named_runs: Mapping[str, Runs], reference_name: str | None) -> dict[str, Runs]:
    """The sets as they are drawn and named in legends."""
    return dict(sorted(named_runs.items(), key=lambda item: item[0] != reference_name))


def means_of(
    named_runs: Mapping[str, Runs], probe: str, epoch: int | None = None, share: float = 1.0
) -> dict[str, MeanCurve]:
    """The mean curve of each set that was read, by steps or by epochs of so many."""
    means = {name: mean_curve(runs, probe, share) for name, runs in named_runs.items() if has_readings(runs, probe)}
    return {name: replace(mean, steps=mean.steps / (epoch or 1)) for name, mean in means.items()}


def differences_of(means: Mapping[str, MeanCurve], reference_name: str) -> dict[str, MeanCurve]:
    """Each mean minus the reference's."""
    return {name: difference(mean, means[reference_name]) for name, mean in means.items() if name != reference_name}


def draw_differences(
    axes: "Axes", means: Mapping[str, MeanCurve], reference_name: str, looks: Mapping[str, Look]
) -> None:
    """Each mean minus the reference's, with 1.96 standard errors of that; gray is the error of the reference alone."""
    reference = means[reference_name]
    noise: dict[str, Any] = {"color": MUTED, "alpha": 0.35, "linewidth": 0, "zorder": 1}
    axes.fill_between(reference.steps, -reference.half_width, reference.half_width, **noise)
    axes.axhline(0, color=INK, linewidth=0.8, zorder=2)
    for name, apart in differences_of(means, reference_name).items():
        draw_mean(axes, apart, {**looks[name], "linewidth": 1.6}, 4, band=len(means) <= MOST_BANDS)
    axes.yaxis.set_major_locator(ticks(4))


def draw_going(
    axes: "Axes", named_runs: Mapping[str, Runs], looks: Mapping[str, Look], epoch: int | None = None
) -> None:
    """The share of runs still going, in percent."""
    for name, runs in named_runs.items():
        steps, shares = shares_going(runs)
        line = {"color": looks[name]["color"], "linestyle": looks[name].get("linestyle", "-"), "linewidth": 1.4}
        axes.step(steps / (epoch or 1), 100 * shares, where="post", **line)


def settle_going(axes: "Axes", n_ticks: int) -> None:
    """Axes of the share of runs still going."""
    settle(axes, n_ticks)
    axes.set(ylim=(-4, 104), yticks=[0, 50, 100])
    axes.set_title("runs still going, %", loc="left", color=MUTED, fontsize=11, pad=8)


def settle_log(axes: "Axes") -> None:
    """A logarithmic y axis with round numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_tick_label))


def draw_mean(axes: "Axes", curve: MeanCurve, look: Look, order: float, band: bool = True) -> None:
    """A mean as `learning_curves` tells."""
    whole = np.where(curve.complete, curve.mean, np.nan)
    if band:
        low, high = (np.where(curve.complete, end, np.nan) for end in (curve.low, curve.high))
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


def looks_of(names: Iterable[str], reference_name: str | None) -> dict[str, dict[str, Any]]:
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


def draw_legend(figure: "Figure", names: Mapping[str, Any], looks: Mapping[str, Look], width: int) -> None:
    """The names above all panels, row by row."""
    from matplotlib.lines import Line2D

    if not names:
        return
    n_columns, longest = _legend_columns(names, width)
    # matplotlib fills column by column; taken in this order, the rows read from left to right.
    by_row = [name for column in range(n_columns) for name in list(names)[column::n_columns]]
    legend = figure.legend(
        handles=[Line2D([], [], **{**looks[name], "linewidth": 2.4, "markersize": 4}) for name in by_row],
        labels=[_label(name, longest) for name in by_row],
        loc="upper left", bbox_to_anchor=((LEFT - 8) / width, 1.0), ncols=n_columns, borderaxespad=0.2,
        handlelength=2.2, handletextpad=0.6, columnspacing=1.6, labelspacing=0.5, fontsize=12,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def _legend_columns(names: Mapping[str, Any], width: int) -> tuple[int, int]:
    """Into how many columns names go, so that rows are about as long, and how many characters of each."""
    longest = min(44, max((len(_label(name, 44)) for name in names), default=1), max(8, (width - LEFT - 60) // 8))
    most = max(1, min(len(names), (width - LEFT) // (7 * longest + 52)))
    n_rows = max(1, -(-len(names) // most))
    return max(1, -(-len(names) // n_rows)), longest


def legend_height(names: Mapping[str, Any], width: int) -> int:
    """The pixels that a legend takes."""
    return 21 * -(-len(names) // _legend_columns(names, width)[0]) + 8


def _label(name: Any, most: int) -> str:
    """A name as it fits in a figure."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"
