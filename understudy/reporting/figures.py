"""Figures of the page: plots in panels, laid out for a width in pixels."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from understudy.evaluation import RungUse
from understudy.evaluation.curves import MeanCurve
from understudy.reporting import plots
from understudy.reporting.axes import (
    BOTTOM,
    LEFT,
    RIGHT,
    canvas,
    short_label,
    style_axes,
    style_log_scale,
    style_share_going,
    ticks,
)
from understudy.reporting.drawing import (
    Look,
    draw_beyond,
    draw_legend,
    draw_longest,
    draw_share_going,
    draw_trusted,
    legend_height,
    looks_of,
    means_of,
    means_of_returns,
    reference_first,
)
from understudy.reporting.rungs import draw_exact, draw_exact_words, draw_strips, strips_height
from understudy.reporting.svg import INK, MUTED, drawn_alike
from understudy.runs import Runs
from understudy.runs.nouns import noun_of, one_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


POINTS_OF_SINGLE, FEWEST_OF_SINGLE = 4800, 16
"""Readings of all single runs of a figure together, and of one at least."""


def learning_curves(
    named_runs: Mapping[str, Runs],
    probe: str,
    reference: str | None = None,
    *,
    differences: bool = False,
    trusted: Mapping[str, int] | None = None,
    rungs: Mapping[str, RungUse] | None = None,
    share: float = 1.0,
    width: int = 900,
) -> "Figure":
    """Return `plots.learning_curves` with the share of runs still going beneath.

    With `differences`, a panel between the two shows each mean minus the reference's. Sets of `rungs` have a strip
    each beneath their curves, of what served their steps, and a line where they end to be exact.
    """
    sets = reference_first(named_runs, reference)
    means = means_of(sets, probe, share=share)
    ladders = {name: rungs[name] for name in means if rungs and name in rungs}
    middle = 220 if differences and reference in means else 0
    with drawn_alike():
        top, main, gap, beneath = legend_height(sets, width) + 26, min(360, int(0.75 * width)), 34, 64
        main = 300 if middle else main
        strips = strips_height(ladders, width)
        extra = (middle + gap if middle else 0) + strips
        figure, place = canvas(width, top + main + gap + beneath + BOTTOM + extra)
        across, n_ticks = width - LEFT - RIGHT, 6 if width > 600 else 4
        axes = place(LEFT, top, across, main)
        between = place(LEFT, top + main + gap, across, middle, sharex=axes) if middle else None
        going = place(LEFT, top + main + gap + extra, across, beneath, sharex=axes)
        plots.learning_curves(sets, probe, reference=reference, trusted=trusted, share=share, legend=False, ax=axes)
        plots.runs_still_going(sets, reference=reference, legend=False, ax=going)
        longest = {name: int(sets[name].lengths.max()) for name in means}
        axes.set_xlim(0, 1.03 * max(_last_step(means), *longest.values()))
        style_axes(axes, n_ticks)
        draw_beyond(axes, max(((trusted or {})[name] for name in means if name in (trusted or {})), default=None))
        looks = looks_of(sets, reference)
        for name, step in longest.items():
            draw_longest(axes, step, looks[name])
        axes.tick_params(labelbottom=False)
        axes.set(xlabel="", ylabel="")
        axes.set_title(short_label(probe, 60), loc="left", parse_math=False, color=INK, pad=10)
        if ladders:
            for name, one in ladders.items():
                draw_exact(axes, one.exact, looks[name])
            draw_exact_words(axes, ladders)
            draw_strips(figure, place, ladders, looks, top + main + extra - strips, width, axes)
        if between is not None and reference is not None:
            style_axes(between, n_ticks)
            between.tick_params(labelbottom=False)
            plots.differences(sets, probe, reference=reference, share=share, legend=False, ax=between)
            between.set(xlabel="", ylabel="")
            name = short_label(reference, 20)
            title = f"minus the mean of {name}, with 1.96 standard errors; gray: those of the mean of {name} alone"
            between.set_title(title, loc="left", parse_math=False, color=MUTED, fontsize=11, pad=8)
        style_share_going(going, n_ticks)
        going.set_ylabel("")
        draw_legend(figure, sets, looks, width)
    return figure


def episode_returns(
    named_runs: Mapping[str, Runs],
    reference: str | None = None,
    *,
    logged: float | None = None,
    trusted: Mapping[str, int] | None = None,
    share: float = 1.0,
    width: int = 900,
) -> "Figure":
    """Return `plots.episode_returns` with the share of runs that had more episodes beneath.

    `trusted` is the last believable episode of each set.
    """
    sets = reference_first(named_runs, reference)
    means = means_of_returns(sets, share)
    with drawn_alike():
        top, main, gap, beneath = legend_height(means, width) + 26, min(300, int(0.7 * width)), 34, 64
        figure, place = canvas(width, top + main + gap + beneath + BOTTOM)
        axes, n_ticks = place(LEFT, top, width - LEFT - RIGHT, main), 6 if width > 600 else 4
        going = place(LEFT, top + main + gap, width - LEFT - RIGHT, beneath, sharex=axes)
        plots.episode_returns(
            sets, reference=reference, logged=logged, trusted=trusted, share=share, legend=False, ax=axes
        )
        finished = {name: np.array([len(run.returns) for run in sets[name]]) for name in means}
        draw_share_going(going, finished, looks_of(sets, reference))
        style_axes(axes, n_ticks)
        axes.set_xlim(0, 1.03 * max(_last_step(means), *(counts.max() for counts in finished.values())))
        axes.tick_params(labelbottom=False)
        looks = looks_of(sets, reference)
        judged = {name: episode for name, episode in (trusted or {}).items() if name in means}
        draw_beyond(axes, max(judged.values(), default=None))
        for name, episode in judged.items():
            if episode:
                draw_trusted(axes, means[name], episode, looks[name])
        axes.set(xlabel="", ylabel="")
        style_share_going(going, n_ticks)
        noun = noun_of(*sets.values())
        going.set_xlabel(f"{noun}s of a run, by number")
        axes.set_title(f"return of {one_of(noun)}", loc="left", color=INK, pad=10)
        draw_legend(figure, means, looks, width)
    return figure


def curves_of_runs(
    named_runs: Mapping[str, Runs],
    probe: str,
    reference: str | None = None,
    *,
    looks: Mapping[str, Look] | None = None,
    epoch: int | None = None,
    log_scale: bool = False,
    share: float = 1.0,
    width: int = 900,
) -> "Figure":
    """Return `plots.individual_runs` of each set: a panel a set, all on the same axes, the reference first.

    Where there is a reference, its mean is drawn in every panel. `epoch` is how many steps a unit of the x axis has.
    """
    sets = reference_first(named_runs, reference)
    sets_read = {name: sets[name] for name in means_of(sets, probe, share=share)}
    n_columns = max(1, min(len(sets_read), 4, width // 180))
    n_rows = max(1, -(-len(sets_read) // n_columns))
    with drawn_alike():
        gap, top, between, left = 14, 28, 34, LEFT + 18
        across = (width - left - RIGHT - gap * (n_columns - 1)) / n_columns
        down = 132
        figure, place = canvas(width, n_rows * (top + down) + (n_rows - 1) * (between - top) + BOTTOM)
        looks, first = looks or looks_of(sets, reference), None
        for number, (name, runs) in enumerate(sets_read.items()):
            row, column = divmod(number, n_columns)
            axes = place(
                left + column * (across + gap), top + row * (down + between), across, down, sharex=first, sharey=first
            )
            first = first or axes
            theirs = sets_read.get(reference) if reference is not None and name != reference else None
            plots.individual_runs(
                runs, probe, reference=theirs, epoch=epoch or 1, share=share, look=looks[name], ax=axes,
                points=points_of_single(sum(min(len(one), plots.MOST_RUNS) for one in sets_read.values())),
            )  # fmt: skip
            style_axes(axes, 3)
            if log_scale:
                style_log_scale(axes)
            else:
                axes.yaxis.set_major_locator(ticks(4))
            axes.set_title(short_label(name, int(across / 6.3)), loc="left", parse_math=False, fontsize=11, pad=6)
            lowest = number + n_columns >= len(sets_read)
            axes.tick_params(labelleft=column == 0, labelbottom=lowest)
            axes.set_xlabel(("epochs" if epoch else "steps") if lowest else "", fontsize=11)
            axes.set_ylabel(short_label(probe, 24) if column == 0 else "", fontsize=10, parse_math=False)
        if first is not None:
            longest = max(int(runs.lengths.max()) for runs in sets_read.values())
            first.set_xlim(0, 1.01 * longest / (epoch or 1))
    return figure


def points_of_single(n_runs: int) -> int:
    """Return how many readings of each of so many runs are drawn in the panels of a figure.

    >>> points_of_single(30), points_of_single(150), points_of_single(1000)
    (60, 32, 16)
    """
    return int(np.clip(POINTS_OF_SINGLE // max(1, n_runs), FEWEST_OF_SINGLE, plots.MOST_POINTS_OF_RUN))


def visitation_bars(
    named_runs: Mapping[str, Runs], probe: str, reference: str | None = None, *, width: int = 900
) -> "Figure":
    """Return `plots.final_vector` of each set, a strip a set, with the reference's outline where lengths are equal."""
    sets = {
        name: runs
        for name, runs in named_runs.items()
        if len(runs) and probe in runs.probes and plots.mean_final_vector(runs, probe) is not None
    }
    vectors = [plots.mean_final_vector(runs, probe) for runs in sets.values()]
    known = [vector for vector in vectors if vector is not None]
    with drawn_alike():
        top, down = 28, 56
        between = 48 if len({len(vector) for vector in known}) > 1 else 34
        figure, place = canvas(width, top + len(sets) * (down + between) - between + BOTTOM if sets else 60)
        looks = looks_of(named_runs, reference)
        highest = max((float(np.nanmax(vector)) for vector in known), default=1.0)
        lowest = min((float(np.nanmin(vector)) for vector in known), default=0.0)
        for number, (name, runs) in enumerate(sets.items()):
            axes = place(LEFT, top + number * (down + between), width - LEFT - RIGHT, down)
            theirs = sets.get(reference) if reference is not None and name != reference else None
            plots.final_vector(runs, probe, reference=theirs, look=looks[name], ax=axes)
            style_axes(axes, 12)
            axes.set(ylim=(min(0.0, lowest), 1.05 * highest if highest > 0 else 1.0), ylabel="")
            axes.yaxis.set_major_locator(ticks(2))
            axes.set_title(short_label(name, 60), loc="left", parse_math=False, fontsize=11, pad=6)
            last = number == len(sets) - 1
            axes.tick_params(labelbottom=last or between > 34)
            if not last:
                axes.set_xlabel("")
    return figure


def _last_step(means: Mapping[str, MeanCurve]) -> float:
    """Return the largest step at which a mean is drawn."""
    drawn = [mean.steps[np.isfinite(mean.mean)] for mean in means.values()]
    return max((float(steps.max()) for steps in drawn if len(steps)), default=1.0)
