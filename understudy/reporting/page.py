"""One self-contained page about runs."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from understudy.encoders import StateAudit
from understudy.errors import LogError
from understudy.evaluation.curves import has_readings, is_scalar, mean_curve, return_curve
from understudy.evaluation.earnings import SHARE
from understudy.logs import Audit, Log, check
from understudy.reporting import plots, tables
from understudy.reporting.cautions import cautions
from understudy.reporting.learners import compare_learners
from understudy.reporting.states import state_boxes
from understudy.reporting.summary import tiles, what_came_of_it, what_was_done, what_was_earned
from understudy.reporting.svg import inline_svg
from understudy.runs import Runs
from understudy.runs.folder import write_text

WIDE, NARROW = 900, 380
"""Figures are drawn twice, for a desk and for a phone; the page shows the one that fits."""


def report(
    runs: Mapping[str, Runs] | Runs,
    path: Any = "report.html",
    *,
    audit: Audit | None = None,
    states: StateAudit | Mapping[str, StateAudit] | None = None,
    title: str | None = None,
    reference: str | None = None,
    margin: float | None = None,
    log: Log | None = None,
) -> Path:
    """Write a page about one or several sets of runs: one file, which needs no network and no script.

    `reference` names the set that others are measured against, by default the one of real runs. `margin` is what
    `fidelity` takes. A `log` given without an `audit` is audited. `states` is what `encoder.audit(log)` found, or
    several such by name: it is shown first, since no curve is better than the states it was made with.
    """
    path = Path(path)
    if os.path.isdir(path):  # False for whatever is no path, which is told when the page is written
        raise LogError(f"{path} is a folder; give the name of a file in it, such as {path / 'report.html'}")
    named = _named(runs)
    finished = {name: set_ for name, set_ in named.items() if len(set_)}
    if not finished:
        raise LogError("there is no finished run to report on; run the experiment first")
    if reference is None:
        reference = tables.reference_of(finished)
    elif reference not in finished:
        raise LogError(f"there is no set of runs {reference!r} to measure against; there is {', '.join(finished)}")
    if audit is None and log is not None:
        audit = check(log)
    boxes = state_boxes(states)
    content = _content(named, finished, reference, margin, audit, title)
    careful = cautions(finished, audit, states_tested=states is not None)
    html = _template().render(**content, cautions=careful, state_boxes=boxes)
    write_text(path, html.encode("utf-8", "replace").decode("utf-8"))
    return path


def _named(runs: Mapping[str, Runs] | Runs) -> dict[str, Runs]:
    if isinstance(runs, Runs):
        return {str(runs.about.get("simulator", {}).get("simulator", "runs")): runs}
    for name, set_ in runs.items():
        if not isinstance(set_, Runs):
            raise TypeError(f"{name!r} is a {type(set_).__name__}; give the Runs of an experiment, by name")
    named = {str(name): set_ for name, set_ in runs.items()}
    if len(named) < len(runs):
        raise ValueError(f"two sets of runs are named alike: {', '.join(map(repr, runs))}; give each a name of its own")
    return named


def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("understudy.reporting"),
        autoescape=True,  # every name, label and setting is the user's
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


def _content(
    named: Mapping[str, Runs],
    finished: Mapping[str, Runs],
    reference: str | None,
    margin: float | None,
    audit: Audit | None,
    title: str | None,
) -> dict[str, Any]:
    from understudy import __version__

    others = {name: set_ for name, set_ in finished.items() if name != reference}
    names = dict.fromkeys(probe for set_ in finished.values() for probe in set_.probes)
    holders = {probe: {name: set_ for name, set_ in finished.items() if probe in set_.probes} for probe in names}
    compared = tables.compared(finished, reference)
    headline, found = None, None
    if reference is not None and compared:
        headline = compared[0]
        found = tables.comparisons(others, finished[reference], headline, margin=margin)
    rivals = compare_learners(finished)
    stops = tables.stops_table(finished)
    efficiency, *fidelity = tables.tables_of(named, reference=reference, margin=margin)
    figures, skipped = _figures(holders, reference)
    return {
        "title": title or "What the rehearsal showed",
        "lead": [
            *(rivals.sentences if rivals else []),
            what_was_done(finished, reference),
            *what_was_earned(finished, reference),
            *what_came_of_it(finished, reference, headline, found),
        ],
        "tiles": tiles(finished, reference, headline, found, rivals),
        "figures": figures,
        "returns": _returns(finished, reference),
        "skipped": skipped,
        "efficiency": efficiency,
        "fidelity": fidelity,
        "reference": reference,
        "stops": stops,
        "names_states": any(places for *_, places in stops.values),
        "audit": audit,
        "settings": {name: _settings(set_) for name, set_ in named.items()},
        "apart": _apart(named),
        "probes_value": "start value" in names,
        "version": __version__,
    }


def _returns(finished: Mapping[str, Runs], reference: str | None) -> dict[str, Any] | None:
    """The figure of what episodes earned; None where no run finished one."""
    sets = {name: set_ for name, set_ in finished.items() if any(len(run.returns) for run in set_)}
    if not sets:
        return None
    shown, logged = reference if reference in sets else None, tables.logged(finished, "log_return")
    if not any(np.isfinite(return_curve(set_, SHARE).mean).any() for set_ in sets.values()):
        return None
    return {"reference": shown, "logged": logged is not None} | _drawn(
        lambda width: plots.episode_returns(sets, shown, logged=logged, share=SHARE, width=width),
        f"Mean returns of episodes for {', '.join(sets)}",
        "episode_returns",
    )


def _figures(
    holders: Mapping[str, Mapping[str, Runs]], reference: str | None
) -> tuple[dict[str, list[Any]], list[str]]:
    """The figures of each kind, and a sentence for each probe that has none."""
    figures: dict[str, list[Any]] = {"curves": [], "runs": [], "vectors": []}
    skipped = []
    for probe, sets in holders.items():
        scalar = {name: set_ for name, set_ in sets.items() if is_scalar(set_, probe)}
        if any(_has_curve(set_, probe) for set_ in scalar.values()):
            figures["curves"].append(_of_probe(plots.learning_curves, scalar, probe, reference, share=SHARE))
            figures["runs"].append(_of_probe(plots.curves_of_runs, scalar, probe, reference, share=SHARE))
        elif scalar:
            skipped.append(f"“{probe}” has no curve: {_why_no_curve(scalar)}")
        vectors = {name: set_ for name, set_ in sets.items() if name not in scalar}
        if any(plots.final_vector(set_, probe) is not None for set_ in vectors.values()):
            figures["vectors"].append(_of_probe(plots.visitation_bars, vectors, probe, reference))
        elif vectors:
            skipped.append(f"“{probe}” is not drawn: its readings are neither numbers nor vectors of one length.")
    return figures, skipped


def _has_curve(runs: Runs, probe: str) -> bool:
    """Whether some mean is drawn: enough runs have a reading that is a number."""
    return has_readings(runs, probe) and bool(np.isfinite(mean_curve(runs, probe, SHARE).mean).any())


def _why_no_curve(sets: Mapping[str, Runs]) -> str:
    """Why a probe has nothing to draw, and what to do."""
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
    draw: Callable[..., Any], sets: Mapping[str, Runs], probe: str, reference: str | None, **options: Any
) -> dict[str, Any]:
    """A figure of a probe, and what its caption says."""
    shown = reference if reference in sets else None
    most_runs = max(len(set_) for set_ in sets.values())
    return {"probe": probe, "reference": shown, "most_runs": most_runs} | _drawn(
        lambda width: draw(sets, probe, shown, width=width, **options),
        f"{WHAT[draw.__name__]} of {probe} for {', '.join(sets)}",
        f"{draw.__name__} {probe}",
    )


WHAT = {"learning_curves": "Mean curves", "curves_of_runs": "Individual runs", "visitation_bars": "Final readings"}


def _drawn(draw: Callable[[int], Any], description: str, key: str) -> dict[str, Any]:
    """The figure at both widths, as the page holds it."""
    from markupsafe import Markup

    return {
        kind: Markup(inline_svg(draw(width), description, f"{key} {width}"))
        for kind, width in (("wide", WIDE), ("narrow", NARROW))
    }


def _apart(named: Mapping[str, Runs]) -> list[tuple[str, list[str]]]:
    """The settings in which sets differ, and what each set has there; none where there is one set."""
    flat = [dict(_flat(runs.about)) for runs in named.values()]
    keys = dict.fromkeys(key for settings in flat for key in settings)
    rows = [(key, [settings.get(key, tables.NONE) for settings in flat]) for key in keys]
    return [(key, values) for key, values in rows if len(set(values)) > 1]


def _settings(runs: Runs) -> list[tuple[str, str]]:
    """What runs are of, as names and values."""
    seeds = [str(run.seed) for run in runs[:3]]
    more = [f"... ({len(runs):,} in all)"] if len(runs) > len(seeds) else []
    return [
        *_flat(runs.about),
        ("runs", f"{len(runs):,}"),
        ("seeds of runs", ", ".join([*seeds, *more]) or tables.NONE),
    ]


def _flat(settings: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    lines = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            lines += _flat(value, f"{prefix}{key} · ")
        else:
            text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
            lines.append((f"{prefix}{key}", tables.NONE if value is None else text))
    return lines
