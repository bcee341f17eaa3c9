"""One self-contained page about runs."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from understudy.encoders import StateAudit
from understudy.errors import SettingError
from understudy.evaluation import LearnedPolicy
from understudy.evaluation.curves import has_readings, is_scalar, mean_curve, return_curve
from understudy.evaluation.earnings import SHARE
from understudy.evaluation.named_runs import named_runs
from understudy.logs import Audit, Log, check
from understudy.reporting import tables
from understudy.reporting.belief import belief, concerning, without_evidence
from understudy.reporting.cautions import cautions
from understudy.reporting.figures import curves_of_runs, episode_returns, learning_curves, visitation_bars
from understudy.reporting.forecasts import forecast_table
from understudy.reporting.luck import LuckOfSet
from understudy.reporting.measurements import Measurements, measure
from understudy.reporting.off_policy import blocks_of
from understudy.reporting.plots import mean_final_vector
from understudy.reporting.returns import log_value
from understudy.reporting.rung_words import ladder_blocks, rung_sentences
from understudy.reporting.rungs import any_cut
from understudy.reporting.states import state_boxes
from understudy.reporting.summary import (
    earnings_sentences,
    pending_sentences,
    propensity_sentences,
    result_sentences,
    setup_sentence,
    tiles,
    unjudged_rungs,
)
from understudy.reporting.svg import inline_svg
from understudy.runs import Runs
from understudy.runs.folder import write_text
from understudy.tables import NONE, Column, Table
from understudy.trust import Beyond, Forecast, Selfcheck

WIDE, NARROW = 900, 380
"""Figures are drawn twice, for a desk and for a phone; the page shows the one that fits."""


def report(
    runs: Mapping[str, Runs] | Runs,
    path: Any = "report.html",
    *,
    audit: Audit | None = None,
    states: StateAudit | Mapping[str, StateAudit] | None = None,
    selfcheck: Selfcheck | Mapping[str, Selfcheck] | None = None,
    forecasts: Mapping[str, Forecast] | None = None,
    off_policy: Mapping[str, LearnedPolicy] | None = None,
    beyond: Mapping[str, Beyond] | None = None,
    title: str | None = None,
    reference: str | None = None,
    margin: float | None = None,
    log: Log | None = None,
) -> Path:
    """Write a page about one or several sets of runs: one file, which needs no network and no script.

    `reference` names the set that others are measured against, by default the one of real runs. `margin` is what
    `fidelity` and `Halves.trust` take. A `log` given without an `audit` is audited. `states` is what
    `encoder.audit(log)` found, and `selfcheck` what `us.selfcheck(log, encoder)` did, or several such by name;
    `forecasts` are those of `us.forecast`, `off_policy` what `us.off_policy_of_learner` estimates, and `beyond` what
    `us.beyond` found of runs on a ladder, by the names of the sets. The page begins with how far to believe
    the runs: give it those of `us.halves(...)`, as `found.runs`.
    """
    measured = measure(_named(runs), reference=reference, margin=margin, forecasts=forecasts, beyond=beyond)
    if audit is None and log is not None:
        audit = check(log)
    return write_page(
        measured, path, audit=audit, states=states, selfcheck=selfcheck, off_policy=off_policy, title=title
    )


def write_page(
    measured: Measurements,
    path: Any,
    *,
    audit: Audit | None = None,
    states: StateAudit | Mapping[str, StateAudit] | None = None,
    selfcheck: Selfcheck | Mapping[str, Selfcheck] | None = None,
    off_policy: Mapping[str, LearnedPolicy] | None = None,
    rung_notes: Mapping[str, str] | None = None,
    title: str | None = None,
) -> Path:
    """Write the page of runs that were measured before, as `report` does.

    `rung_notes` say which lower rungs of a set the log supports, and why not others, by the names of the sets.
    """
    path = Path(path)
    if os.path.isdir(path):  # False for what cannot be a path, which is refused when the page is written
        raise SettingError(f"{path} is a folder; give the name of a file in it, such as {path / 'report.html'}")
    if not measured.finished:
        raise SettingError("there is no finished run to report on; run the experiment first")
    boxes = state_boxes(states)
    content = _content(measured, audit, title)
    careful = cautions(measured.finished, concerning(measured, audit), states_tested=states is not None)
    checks = {"": selfcheck} if isinstance(selfcheck, Selfcheck) else dict(selfcheck or {})
    found = belief(measured, audit, states, selfcheck)
    html = page_template("report.html.j2").render(
        **content, cautions=careful, state_boxes=boxes, belief=without_evidence(found, measured.beyond),
        selfchecks=checks, off_policy=blocks_of(measured, off_policy),
        ladders=ladder_blocks(measured.finished, measured.beyond, rung_notes or {}, named=len(measured.finished) > 1),
    )  # fmt: skip
    write_text(path, html.encode("utf-8", "replace").decode("utf-8"))
    return path


def _named(runs: Mapping[str, Runs] | Runs) -> dict[str, Runs]:
    """Return the sets of runs by name, each name as text."""
    given = named_runs(runs)
    named = {str(name): set_ for name, set_ in given.items()}
    if len(named) < len(given):
        raise SettingError(
            f"two sets of runs have one name: {', '.join(map(repr, given))}; give each a name of its own"
        )
    return named


def page_template(name: str) -> Any:
    """Return a template of ours, which escapes all that it shows."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("understudy.reporting"),
        autoescape=True,  # every name, label and setting is the user's
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _content(measured: Measurements, audit: Audit | None, title: str | None) -> dict[str, Any]:
    """Return what the template shows."""
    from understudy import __version__

    finished, reference = measured.finished, measured.reference
    names = dict.fromkeys(probe for set_ in finished.values() for probe in set_.probes)
    holders = {probe: {name: set_ for name, set_ in finished.items() if probe in set_.probes} for probe in names}
    stops = tables.stops_table(finished)
    figures, skipped = _figures(holders, measured)
    return {
        "title": title or "What the rehearsal showed",
        "lead": [
            *(measured.learners.sentences if measured.learners else []),
            setup_sentence(measured),
            *propensity_sentences(measured),
            *earnings_sentences(measured),
            *result_sentences(measured),
            *pending_sentences(measured),
            *unjudged_rungs(measured),
        ],
        "tiles": tiles(measured),
        "figures": figures,
        "returns": _returns(finished, reference),
        "skipped": skipped,
        "efficiency": tables.efficiency_table(measured),
        "forecasts": forecast_table(measured),
        "fidelity": [tables.fidelity_table(found, probe) for probe, found in measured.fidelity.items()],
        "reference": reference,
        "stops": stops,
        "names_states": any(places for *_, places in stops.values),
        "audit": audit,
        "settings": {name: _settings(set_) for name, set_ in measured.runs.items()},
        "differing_settings": _differing_settings(measured.runs),
        "with_rungs": bool(measured.rungs),
        "probes_value": "start value" in names,
        "version": __version__,
        "show": as_markup,
    }


def as_markup(table: Table, headline: int | None = None) -> Any:
    """Return a table as HTML that the template does not escape again."""
    from markupsafe import Markup

    return Markup(table.to_html(headline))


def _returns(finished: Mapping[str, Runs], reference: str | None) -> dict[str, Any] | None:
    """Return the figure of what episodes earned; None where no run finished one."""
    sets = {name: set_ for name, set_ in finished.items() if any(len(run.returns) for run in set_)}
    if not sets:
        return None
    shown, logged = reference if reference in sets else None, log_value(finished, "log_return")
    if not any(np.isfinite(return_curve(set_, SHARE).mean).any() for set_ in sets.values()):
        return None
    return {"reference": shown, "logged": logged is not None} | drawn(
        lambda width: episode_returns(sets, shown, logged=logged, share=SHARE, width=width),
        f"Mean returns of episodes for {', '.join(sets)}",
        "episode_returns",
    )


def _figures(
    holders: Mapping[str, Mapping[str, Runs]], measured: Measurements
) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the figures of each kind, and a sentence for each probe that has none."""
    reference = measured.reference
    figures: dict[str, list[Any]] = {"curves": [], "runs": [], "vectors": []}
    skipped = []
    for probe, sets in holders.items():
        scalar = {name: set_ for name, set_ in sets.items() if is_scalar(set_, probe)}
        if any(_has_curve(set_, probe) for set_ in scalar.values()):
            trusted = measured.trusted(probe)
            ladders = {name: measured.rungs[name] for name in scalar if name in measured.rungs}
            curves = _of_probe(
                learning_curves, scalar, probe, reference, more=rung_sentences(ladders, named=True), share=SHARE,
                trusted=trusted, rungs=ladders,
            )  # fmt: skip
            curves |= {
                "strips": len(ladders),
                "cut": any_cut(ladders),
                "tried": any(name in measured.beyond for name in ladders),
            }
            figures["curves"].append(curves | _luck_drawn(measured, scalar, probe))
            figures["runs"].append(_of_probe(curves_of_runs, scalar, probe, reference, share=SHARE))
        elif scalar:
            skipped.append(f"“{probe}” has no curve: {_why_no_curve(scalar)}")
        vectors = {name: set_ for name, set_ in sets.items() if name not in scalar}
        if any(mean_final_vector(set_, probe) is not None for set_ in vectors.values()):
            figures["vectors"].append(_of_probe(visitation_bars, vectors, probe, reference))
        elif vectors:
            skipped.append(f"“{probe}” is not drawn: its readings are neither numbers nor vectors of one length.")
    return figures, skipped


def _luck_drawn(measured: Measurements, sets: Mapping[str, Runs], probe: str) -> dict[str, Any]:
    """Return what the caption of mean curves says of the luck of the log: in which bands it is, and how far seen."""
    found = {name: luck for name, luck in measured.luck.items() if name in sets}
    seen = {name: luck for name, luck in found.items() if isinstance(luck, LuckOfSet) and probe in luck.intervals}
    intervals = [luck.intervals[probe] for luck in seen.values()]
    return {
        "with_luck": list(seen),
        "without_luck": [name for name in found if name not in seen],
        "extrapolated": any(found.reach < found.steps[-1] for found in intervals),
        "trusted": any(measured.trusted(probe).get(name) for name in sets),
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


DESCRIPTIONS = {
    "learning_curves": "Mean curves",
    "curves_of_runs": "Individual runs",
    "visitation_bars": "Final readings",
}


def drawn(draw: Callable[[int], Any], description: str, key: str) -> dict[str, Any]:
    """Return the figure at both widths, as the page holds it."""
    from markupsafe import Markup

    return {
        kind: Markup(inline_svg(draw(width), description, f"{key} {width}"))
        for kind, width in (("wide", WIDE), ("narrow", NARROW))
    }


def _differing_settings(named: Mapping[str, Runs]) -> Table | None:
    """Return the settings in which sets differ, a column for each set; None where they differ in none."""
    flat = [dict(_flat(runs.about.to_json())) for runs in named.values()]
    keys = dict.fromkeys(key for settings in flat for key in settings)
    rows = tuple((key, *(settings.get(key, NONE) for settings in flat)) for key in keys)
    headings = tuple(Column(name, numeric=False) for name in ("", *named))
    differing = tuple(row for row in rows if len(set(row[1:])) > 1)
    return Table("What differs between the sets", headings, differing) if differing else None


def _settings(runs: Runs) -> Table:
    """Return what the runs are of, and their seeds, a line for each setting."""
    seeds = [str(run.seed) for run in runs[:3]]
    more = [f"... ({len(runs):,} in all)"] if len(runs) > len(seeds) else []
    last = (("runs", f"{len(runs):,}"), ("seeds of runs", ", ".join([*seeds, *more]) or NONE))
    headings = (Column("", numeric=False), Column("", numeric=False))
    return Table("Settings", headings, (*_flat(runs.about.to_json()), *last))


def _flat(settings: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Return the names and values of nested settings."""
    lines = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            lines += _flat(value, f"{prefix}{key} · ")
        else:
            text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
            lines.append((f"{prefix}{key}", NONE if value is None else text))
    return lines
