"""Plots of runs for notebooks and papers: each draws on the axes it is given, or on new ones, and returns them.

A plot is a function of what was measured; nothing here runs a simulation. Colors follow the order of the sets; the
reference is black. On axes of yours only curves, labels and a legend are drawn: their style stays yours.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import SettingError
from understudy.evaluation.curves import MeanCurve
from understudy.evaluation.earnings import SHARE
from understudy.evaluation.named_runs import named_runs
from understudy.evaluation.rung_use import rung_use
from understudy.reporting.axes import short_label, style_axes
from understudy.reporting.drawing import (
    Look,
    as_drawn,
    draw_differences,
    draw_mean,
    draw_share_going,
    draw_trusted,
    looks_of,
    means_of,
    means_of_returns,
    points_of_mean,
    reference_first,
)
from understudy.reporting.rungs import draw_exact, draw_shares, legend_of, used
from understudy.reporting.state_pictures import states
from understudy.reporting.svg import INK, MUTED, drawn_alike
from understudy.reporting.thinning import thinned
from understudy.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "differences",
    "episode_returns",
    "final_vector",
    "individual_runs",
    "learning_curves",
    "rungs",
    "runs_still_going",
    "states",
]

MOST_RUNS = 30
"""Individual runs drawn of each set."""

MOST_POINTS_OF_RUN, MOST_POINTS_OF_PANEL = 60, 120
"""Readings of a single run, and of the mean over it, that are drawn: panels of single runs are small."""


def learning_curves(
    runs: Mapping[str, Runs] | Runs,
    probe: str | None = None,
    *,
    reference: str | None = None,
    trusted: Mapping[str, int] | None = None,
    share: float = SHARE,
    legend: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the mean curve of a probe, by default the first, for each set of runs, with the band that it lies in.

    The band of runs with halves of their log is the interval of `Halves.interval`, which includes the luck of the log;
    it is lighter, with dashed edges, beyond the steps that halves reach. Other bands are 1.96 standard errors over
    runs, which leave the luck of a log that runs share out. `trusted` marks a step of a set with a diamond, such as
    `{"psrs": found.trusted()}`; beyond it the line is pale.

    A line is solid, with a band, where at least this share of the runs has a reading; a dot marks where that ends.
    Where some runs have none, the band is wider by what those could change. Dashed, it is the mean of the runs that
    were still going, which differ from those that had stopped; it ends where fewer than half are left. `reference`
    names the set that is drawn in black over the others.
    """
    sets = reference_first(_finished(runs), reference)
    probe = _first_probe(sets) if probe is None else probe
    means = means_of(sets, probe, share=share)
    looks = looks_of(sets, reference)
    ax = _new_axes() if ax is None else ax
    _draw_means(ax, means, looks, reference, legend, trusted)
    for name, step in (trusted or {}).items():
        if name in means and step > 0:
            draw_trusted(ax, means[name], step, looks[name])
    ax.set_xlabel("steps")
    ax.set_ylabel(short_label(probe, 40), parse_math=False)
    return ax


def episode_returns(
    runs: Mapping[str, Runs] | Runs,
    *,
    reference: str | None = None,
    logged: float | None = None,
    trusted: Mapping[str, int] | None = None,
    share: float = SHARE,
    legend: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw what the first, second, ... episode of each run earned: means over runs, drawn as in `learning_curves`.

    `logged` is the mean return of the log's own episodes, drawn as a gray line; `runs.about.log_return` has it.
    `trusted` is the last episode of a set that can be believed: beyond it its line is pale.
    """
    sets = reference_first(_finished(runs), reference)
    means = means_of_returns(sets, share)
    ax = _new_axes() if ax is None else ax
    _draw_means(ax, means, looks_of(sets, reference), reference, legend, trusted)
    if logged is not None:
        ax.axhline(logged, color=MUTED, linewidth=1.2, linestyle=(0, (6, 3)), zorder=2)
        ax.annotate(
            "the log", (1.0, logged), xycoords=("axes fraction", "data"), xytext=(0, 3),
            textcoords="offset points", ha="right", color=MUTED, fontsize=11,
        )  # fmt: skip
    ax.set_xlabel("episodes of a run, by number")
    ax.set_ylabel("return of an episode")
    return ax


def differences(
    runs: Mapping[str, Runs],
    probe: str | None = None,
    *,
    reference: str,
    share: float = SHARE,
    legend: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw each set's mean curve minus the reference's, with the errors of both; gray is the reference's own error.

    Curves that coincide in `learning_curves` can be told apart here.
    """
    sets = reference_first(_finished(runs), reference)
    probe = _first_probe(sets) if probe is None else probe
    means = means_of(sets, probe, share=share)
    if reference not in means:
        raise SettingError(
            f"no reading of {probe!r} in a set named {reference!r}; there is {', '.join(means) or 'none'}"
        )
    looks = looks_of(sets, reference)
    ax = _new_axes() if ax is None else ax
    draw_differences(ax, means, reference, looks)
    ax.set_xlabel("steps")
    ax.set_ylabel(f"{short_label(probe, 30)} minus {short_label(reference, 20)}", parse_math=False)
    _draw_legend(ax, [name for name in means if name != reference], looks, legend)
    return ax


def runs_still_going(
    runs: Mapping[str, Runs] | Runs,
    *,
    reference: str | None = None,
    legend: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the share of runs that had not stopped by each step, in percent."""
    sets = reference_first(_finished(runs), reference)
    looks = looks_of(sets, reference)
    ax = _new_axes() if ax is None else ax
    draw_share_going(ax, {name: set_.lengths for name, set_ in sets.items()}, looks)
    ax.set_xlabel("steps")
    ax.set_ylabel("runs still going, %")
    _draw_legend(ax, list(sets), looks, legend)
    return ax


def rungs(runs: Runs, *, legend: bool = True, ax: "Axes | None" = None) -> "Axes":
    """Draw which rungs of a ladder served the steps of runs, along the run: shares of all steps, stacked to 100%.

    The thin line marks the exact horizon, up to which nine of ten runs used no lower rung and cut no episode.
    """
    found = rung_use(runs)
    if found is None:
        raise SettingError("these runs have no lower rungs to draw; give runs of a simulator that was made with then=")
    ax = _new_axes() if ax is None else ax
    draw_shares(ax, found)
    draw_exact(ax, found.exact, {"color": INK})
    ax.set_xlabel("steps")
    ax.set_ylabel("steps served, %")
    if legend:
        ax.legend(**legend_of(used({"": found})))
    return ax


def individual_runs(
    runs: Runs,
    probe: str | None = None,
    *,
    reference: Runs | None = None,
    epoch: int = 1,
    share: float = SHARE,
    look: Look | None = None,
    points: int = MOST_POINTS_OF_RUN,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw up to thirty runs of a set one by one, thin, with their mean, and the mean of a reference in black.

    `epoch` is how many steps a unit of the x axis has; `look` is color and line width as matplotlib takes them. Of a
    long run about so many `points` are drawn, its extremes among them.
    """
    probe = _first_probe({"": runs}) if probe is None else probe
    look = {**(look or looks_of([""], None)[""]), "marker": "", "linestyle": "-", "linewidth": 1.8}
    ax = _new_axes() if ax is None else ax
    steps, values = _as_one_line(runs, probe, points)
    ax.plot(steps / epoch, values, color=look["color"], linewidth=0.6, alpha=0.4)
    if reference is not None:
        theirs = as_drawn(means_of({"": reference}, probe, epoch, share)[""], MOST_POINTS_OF_PANEL)
        ax.plot(theirs.steps, theirs.mean, color=INK, linewidth=1.1)
    draw_mean(ax, means_of({"": runs}, probe, epoch, share)[""], look, 4, band=False, points=MOST_POINTS_OF_PANEL)
    ax.set_xlabel("steps" if epoch == 1 else "epochs")
    ax.set_ylabel(short_label(probe, 40), parse_math=False)
    return ax


def final_vector(
    runs: Runs,
    probe: str,
    *,
    reference: Runs | None = None,
    look: Look | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a vector probe, such as visitation, when runs stopped: its mean over runs, a bar for each entry.

    The outline is the reference's, where that has as many entries.
    """
    mean = mean_final_vector(runs, probe)
    if mean is None:
        raise SettingError(f"the last readings of {probe!r} are not vectors of one length; give another probe")
    edges = np.arange(len(mean) + 1) - 0.5
    ax = _new_axes() if ax is None else ax
    color = (look or looks_of([""], None)[""])["color"]
    ax.stairs(mean, edges, fill=True, color=color, alpha=0.75, linewidth=0)
    outline = None if reference is None else mean_final_vector(reference, probe)
    if outline is not None and len(outline) == len(mean):
        ax.stairs(outline, edges, color=INK, linewidth=1.0, baseline=None)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_xlabel("state, by number")
    ax.set_ylabel(short_label(probe, 40), parse_math=False)
    return ax


def mean_final_vector(runs: Runs, probe: str) -> np.ndarray | None:
    """Return the mean over runs of a vector probe's last readings; None where they are not vectors of one length."""
    last = [run.final.get(probe, run.curves[probe][-1:].ravel()) for run in runs]
    vectors = [np.asarray(value, dtype=np.float64) for value in last if np.size(value)]
    if not vectors or any(vector.ndim != 1 or vector.shape != vectors[0].shape for vector in vectors):
        return None
    mean = np.mean(vectors, axis=0)
    return mean if np.isfinite(mean).any() else None


def _finished(runs: Mapping[str, Runs] | Runs) -> dict[str, Runs]:
    """Return the sets that have a finished run by name; a single set is named for its simulator."""
    return {name: set_ for name, set_ in named_runs(runs).items() if len(set_)}


def _first_probe(sets: Mapping[str, Runs]) -> str:
    probe = next((probe for set_ in sets.values() for probe in set_.probes), None)
    if probe is None:
        raise SettingError("these runs have no probe to draw; give the experiment probes=")
    return probe


def _new_axes() -> "Axes":
    """Return axes of a new figure in our style, which notebooks show by themselves."""
    from matplotlib import pyplot

    with drawn_alike():
        _, ax = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
        style_axes(ax, 6)
    return ax


def _draw_means(
    ax: "Axes",
    means: Mapping[str, MeanCurve],
    looks: Mapping[str, Look],
    reference: str | None,
    legend: bool,
    trusted: Mapping[str, int] | None,
) -> None:
    for name, mean in means.items():
        order, points = 6 if name == reference else 3, points_of_mean(len(means))
        draw_mean(ax, mean, looks[name], order, points=points, trusted=(trusted or {}).get(name))
    _draw_legend(ax, list(means), looks, legend)


def _draw_legend(ax: "Axes", names: list[str], looks: Mapping[str, Look], wanted: bool) -> None:
    """Draw the names of the sets, unless there is one set only."""
    from matplotlib.lines import Line2D

    if not wanted or len(names) < 2:
        return
    handles = [Line2D([], [], **{**looks[name], "linewidth": 2.4, "markersize": 4}) for name in names]
    for text in ax.legend(handles=handles, labels=[short_label(name, 44) for name in names]).get_texts():
        text.set_parse_math(False)


def _as_one_line(runs: Runs, probe: str, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return up to thirty runs, evenly taken from all, as one line with gaps between them; long ones thinned."""
    chosen = np.unique(np.linspace(0, len(runs) - 1, min(MOST_RUNS, len(runs))).astype(int))
    steps: list[Any] = []
    values: list[Any] = []
    for number in chosen:
        run = runs[int(number)]
        at = thinned(run.steps, run.curves[probe], points)
        steps += [run.steps[at], np.array([np.nan])]
        values += [run.curves[probe][at], np.array([np.nan])]
    return np.concatenate(steps), np.concatenate(values)
