"""The figures of a page: still ones, drawn for a desk and for a phone, and the data of those that a reader can move."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy.encoders import StateAudit
from understudy.evaluation.curves import has_readings, is_scalar, mean_curve, return_curve
from understudy.evaluation.earnings import SHARE
from understudy.reporting.charts import probe_chart, returns_chart
from understudy.reporting.differences import differences_chart, differences_figure, title_of_differences
from understudy.reporting.figures import curves_of_runs, episode_returns, learning_curves, visitation_bars
from understudy.reporting.luck import LuckOfSet, shares_a_log
from understudy.reporting.measurements import Measurements
from understudy.reporting.plots import mean_final_vector
from understudy.reporting.returns import cut_sentence, log_value
from understudy.reporting.rung_words import rung_sentences
from understudy.reporting.rungs import any_cut
from understudy.reporting.state_pictures import draw_on_page, in_plane, n_named, picture
from understudy.reporting.svg import drawn_alike, inline_svg
from understudy.runs import Runs
from understudy.runs.nouns import noun_of
from understudy.trust import Comparison

WIDE, NARROW = 900, 380
"""Figures are drawn twice, for a desk and for a phone; the page shows the one that fits."""

DESCRIPTIONS = {
    "learning_curves": "Mean curves",
    "curves_of_runs": "Individual runs",
    "visitation_bars": "Final readings",
}


@dataclass
class Figures:
    """All figures of a page, by kind, with what their captions need."""

    curves: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    vectors: list[dict[str, Any]] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)
    returns: dict[str, Any] | None = None
    differences: dict[str, Any] | None = None
    skipped: list[str] = field(default_factory=list)  # a sentence for each probe that has no figure
    charts: list[dict[str, Any]] = field(default_factory=list)  # the data of figures that a reader can move


def figures_of(
    measured: Measurements,
    states: Mapping[str, StateAudit],
    compared: Comparison | None = None,
    choice: str | None = None,
    upto: int | None = None,
) -> Figures:
    """Return the figures of some sets of runs, and pictures of the states they were made with.

    `compared` are learners whose differences from the `choice` are drawn, by default from the best of them; `upto` is
    the step up to which these can be believed.
    """
    finished, reference = measured.finished, measured.reference
    found = Figures()
    if compared is not None:
        learners = [name for name in finished if name != reference]
        found.differences = _differences(found, compared, choice or compared.best, upto, learners)
    for probe in dict.fromkeys(probe for set_ in finished.values() for probe in set_.probes):
        _add_probe(found, probe, {name: set_ for name, set_ in finished.items() if probe in set_.probes}, measured)
    found.returns = _returns(found, finished, reference, measured.trusted_episodes())
    found.states = [_state_picture(audit, name) for name, audit in states.items() if audit.merges.any()]
    return found


def _add_probe(found: Figures, probe: str, sets: Mapping[str, Runs], measured: Measurements) -> None:
    """Add the figures of one probe."""
    reference = measured.reference
    scalar = {name: set_ for name, set_ in sets.items() if is_scalar(set_, probe)}
    if any(_has_curve(set_, probe) for set_ in scalar.values()):
        ladders = {name: measured.rungs[name] for name in scalar if name in measured.rungs}
        curves = _of_probe(
            learning_curves, scalar, probe, reference, more=rung_sentences(ladders, named=True), share=SHARE,
            trusted=measured.trusted(probe), rungs=ladders,
        )  # fmt: skip
        key = f"chart-{len(found.charts) + 1}"
        found.charts.append(probe_chart(key, scalar, probe, measured))
        curves |= {
            "chart": key,
            "strips": len(ladders),
            "cut": any_cut(ladders),
            "tried": any(name in measured.beyond for name in ladders),
        }
        found.curves.append(curves | _luck_drawn(measured, scalar, probe))
        found.runs.append(_of_probe(curves_of_runs, scalar, probe, reference, share=SHARE))
    elif scalar:
        found.skipped.append(f"“{probe}” has no curve: {_why_no_curve(scalar)}")
    vectors = {name: set_ for name, set_ in sets.items() if name not in scalar}
    if any(mean_final_vector(set_, probe) is not None for set_ in vectors.values()):
        found.vectors.append(_of_probe(visitation_bars, vectors, probe, reference))
    elif vectors:
        found.skipped.append(f"“{probe}” is not drawn: its readings are neither numbers nor vectors of one length.")


def _returns(
    found: Figures, finished: Mapping[str, Runs], reference: str | None, trusted: Mapping[str, int]
) -> dict[str, Any] | None:
    """Return the figure of what episodes earned; None where no run finished one."""
    sets = {name: set_ for name, set_ in finished.items() if any(len(run.returns) for run in set_)}
    if not any(np.isfinite(return_curve(set_, SHARE).mean).any() for set_ in sets.values()):
        return None
    shown, logged = reference if reference in sets else None, log_value(finished, "log_return")
    key = f"chart-{len(found.charts) + 1}"
    chart = returns_chart(key, sets, shown, logged, trusted)
    found.charts.append(chart)
    seen = {one["name"]: one["seen"] for one in chart["sets"] if one["seen"] is not None}
    figure = drawn(
        lambda width: episode_returns(sets, shown, logged=logged, trusted=trusted, share=SHARE, width=width),
        f"Mean returns of episodes for {', '.join(sets)}",
        "episode_returns",
    )
    return figure | {
        "noun": noun_of(*sets.values()),
        "reference": shown,
        "with_luck": list(seen),
        "without_luck": [
            one["name"] for one in chart["sets"] if one["name"] not in seen and shares_a_log(sets[one["name"]])
        ],
        "extrapolated": any(one["seen"] < one["complete"] for one in chart["sets"] if one["name"] in seen),
        "cut": cut_sentence(sets),
        "logged": logged is not None,
        "chart": key,
        **how_believed([trusted[name] for name in sets if name in trusted]),
    }


def _differences(
    found: Figures, compared: Comparison, choice: str, upto: int | None, learners: Sequence[str]
) -> dict[str, Any]:
    """Return the figure of how far other learners are behind the choice."""
    key, title = f"chart-{len(found.charts) + 1}", title_of_differences(compared, choice)
    found.charts.append(differences_chart(key, compared, choice, upto, learners))
    figure = drawn(
        lambda width: differences_figure(compared, choice, upto, learners, width=width),
        f"{title[0].upper()}{title[1:]} than each other learner: {compared.sentence}",
        "differences",
    )
    n_left_out = len(compared.decisions) - len(found.charts[-1]["sets"])
    return figure | {
        "chart": key, "best": choice, "probe": compared.probe, "noun": compared.windows.unit, "left_out": n_left_out,
        "upto": upto,
    }  # fmt: skip


def _state_picture(audit: StateAudit, name: str) -> dict[str, Any]:
    """Return the picture of the states that an encoder makes of a log."""

    def draw(width: int) -> Any:
        from matplotlib.figure import Figure

        height = min(width, 640) if in_plane(audit) else max(0.4 * width, 60 + 17 * n_named(audit))
        with drawn_alike():
            axes = Figure(figsize=(width / 72, height / 72), dpi=72, layout="constrained").add_subplot()
            draw_on_page(axes, audit)
            axes.spines[["top", "right"]].set_visible(False)
        return axes.figure

    of = f" of {name}" if name else ""
    words = f"The {audit.n_states:,} states{of}: {audit.sentence}"
    looks = picture(audit) | {"name": name, "named": n_named(audit) > 0, "n_rows": audit.n_rows}
    return looks | drawn(draw, words, f"states {name}")


def how_believed(steps: Sequence[int]) -> dict[str, bool]:
    """Return what the caption says of how far sets can be believed: `trusted` if one can, `nowhere` if none can."""
    return {"trusted": any(steps), "nowhere": bool(steps) and not any(steps), "several": len(steps) > 1}


def _luck_drawn(measured: Measurements, sets: Mapping[str, Runs], probe: str) -> dict[str, Any]:
    """Return what the caption of mean curves says of the luck of the log: in which bands it is, and how far seen."""
    found = {name: luck for name, luck in measured.luck.items() if name in sets}
    seen = {name: luck for name, luck in found.items() if isinstance(luck, LuckOfSet) and probe in luck.intervals}
    intervals = [luck.intervals[probe] for luck in seen.values()]
    return {
        "with_luck": list(seen),
        "without_luck": [name for name in found if name not in seen],
        "extrapolated": any(found.reach < found.steps[-1] for found in intervals),
        **how_believed([step for name, step in measured.trusted(probe).items() if name in sets]),
    }


def _has_curve(runs: Runs, probe: str) -> bool:
    """True if a mean can be drawn: enough runs have a reading that is a number."""
    return has_readings(runs, probe) and bool(np.isfinite(mean_curve(runs, probe, SHARE).mean).any())


def _why_no_curve(sets: Mapping[str, Runs]) -> str:
    """Return why a probe has no curve, and what to do."""
    longest = max(int(set_.lengths.max()) for set_ in sets.values())
    if not longest:
        return "no run was served a single step."
    if any(len(run.steps) for set_ in sets.values() for run in set_):
        return "fewer than half of the runs have a reading that is a number."
    often = max(1, longest // 20)
    return (
        f"every run stopped before its first reading. Read it more often, with every= (--every) of {often:,} or less."
    )


def _of_probe(
    draw: Callable[..., Any],
    sets: Mapping[str, Runs],
    probe: str,
    reference: str | None,
    more: Sequence[str] = (),
    **options: Any,
) -> dict[str, Any]:
    """Return the figure of a probe, and what its caption needs; `more` is read out to those who cannot see it."""
    shown = reference if reference in sets else None
    most_runs = max(len(set_) for set_ in sets.values())
    return {"probe": probe, "reference": shown, "most_runs": most_runs} | drawn(
        lambda width: draw(sets, probe, shown, width=width, **options),
        ". ".join([f"{DESCRIPTIONS[draw.__name__]} of {probe} for {', '.join(sets)}", *more]),
        f"{draw.__name__} {probe}",
    )


def drawn(draw: Callable[[int], Any], description: str, key: str) -> dict[str, Any]:
    """Return the figure at both widths, as the page holds it; `chart` is the id of what a script draws in its place."""
    from markupsafe import Markup

    return {"chart": None} | {
        kind: Markup(inline_svg(draw(width), description, f"{key} {width}"))
        for kind, width in (("wide", WIDE), ("narrow", NARROW))
    }
