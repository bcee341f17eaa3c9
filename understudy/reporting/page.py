"""One self-contained page about runs."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.encoders import StateAudit
from understudy.errors import SettingError
from understudy.evaluation import LearnedPolicy
from understudy.evaluation.named_runs import named_runs
from understudy.logs import Audit, Log, check
from understudy.reporting import tables
from understudy.reporting.belief import as_believed, belief, by_name, concerning, without_evidence
from understudy.reporting.cautions import cautions
from understudy.reporting.decision import Advice, advice
from understudy.reporting.document import document, json_beside, write_document
from understudy.reporting.forecasts import forecast_table
from understudy.reporting.glossary import explained
from understudy.reporting.measurements import Measurements, measure
from understudy.reporting.naming import quoted
from understudy.reporting.off_policy import blocks_of
from understudy.reporting.page_figures import figures_of
from understudy.reporting.rung_words import ladder_blocks
from understudy.reporting.scripts import content_policy, page_scripts, page_styles, script_data, with_all_visible
from understudy.reporting.settings_tables import differing_settings, origin_table, settings_table
from understudy.reporting.several_logs import Logs, belief_of_logs
from understudy.reporting.shortages import longer_sentences, shortage_sentences
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
from understudy.runs import Runs
from understudy.runs.folder import write_text
from understudy.runs.nouns import one_of
from understudy.tables import Table
from understudy.trust import Beyond, Forecast, Selfcheck


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
    """Write a page about one or several sets of runs: one file, which needs no network, and a JSON file beside it.

    The page can be zoomed and read off; printed, or without scripts, it shows the same figures as they are. The JSON
    file, report.json for report.html, has every number of the page: docs/report_json.md describes it.

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
    command: str | None = None,
    logs: Logs | None = None,
) -> Path:
    """Write the page of runs that were measured before, and its JSON file, as `report` does.

    `rung_notes` say which lower rungs of a set the log supports, and why not others, by the names of the sets.
    `command` is what was typed to make the runs. `logs` are the checks of each log, where the sets are on several.
    """
    path = path_of_page(path)
    if not measured.finished:
        raise SettingError("there is no finished run to report on; run the experiment first")
    beside = json_beside(path)
    boxes, audits = state_boxes(states), by_name(states)
    found = belief_of_logs(measured, logs) if logs else belief(measured, audit, states, selfcheck)
    told = advice(measured, found)
    measured = as_believed(measured, found)
    compared, upto = (None, None) if told is None else (told.whole, told.upto or 0)
    choice = None if told is None or told.comparison is None else told.comparison.best
    shown = _content(measured, audit, title, command, told) | {
        "cautions": cautions(measured.finished, concerning(measured, audit), states_tested=states is not None),
        "state_boxes": boxes,
        "figures": figures_of(measured, audits, compared, choice, upto),
        "advice": told,
        "against_log": [] if told is None else [
            one.against.table() for one in told.deployments.values()
        ],
        "learners": None if told is None else _of_learners(told),
        "compared_by": measured.compared_by,
        "belief": without_evidence(found, measured.beyond),
        "audits": {", ".join(names): one.audit for names, one in (logs or {}).items() if one.audit is not None},
        "selfchecks": by_name(selfcheck),
        "off_policy": blocks_of(measured, off_policy),
        "ladders": ladder_blocks(
            measured.finished, measured.beyond, rung_notes or {}, named=len(measured.finished) > 1
        ),
    }  # fmt: skip
    html = page_template("report.html.j2").render(**shown, **_scripts(shown["figures"].charts))
    write_html(path, html)
    write_document(beside, document(measured, shown, audits, off_policy or {}))
    return path


MARK = b'<meta name="generator" content="understudy '
"""What every page of ours has near its beginning."""


def path_of_page(path: Any) -> Path:
    """Return where a page may be written: not over a folder, nor over a file that is something else."""
    path = Path(path)
    if os.path.isdir(path):  # False for what cannot be a path, which is refused when the page is written
        raise SettingError(f"{path} is a folder; give the name of a file in it, such as {path / 'report.html'}")
    if os.path.exists(path) and not os.path.isfile(path):
        raise SettingError(f"{path} is a pipe or a device, not a file; give the page another name")
    if path.suffix != ".json" and os.path.isfile(path) and os.path.getsize(path):
        with path.open("rb") as file:
            if MARK not in file.read(1 << 16):
                raise SettingError(f"{path} is there, and is not a page of ours; give the page another name")
    return path


def write_html(path: Path, html: str) -> None:
    """Write a page; characters that no encoding has, or that turn the direction of text, are written out."""
    write_text(path, with_all_visible(html).encode("utf-8", "replace").decode("utf-8"))


def _of_learners(told: Advice) -> Table | None:
    """Return the table of learners compared; its title says where that is beyond what can be believed."""
    if told.comparison is None:
        return None
    table = told.comparison.table()
    return table if told.believed else replace(table, title=f"{table.title} (beyond what can be believed)")


def _scripts(charts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the scripts of a page with these charts, their data, and the policy under which no other script runs."""
    from markupsafe import Markup

    scripts = page_scripts() if charts else ()
    return {
        "styles": Markup(page_styles() if charts else ""),
        "policy": content_policy(scripts),
        "chart_data": Markup(script_data(charts)),
        "scripts": [Markup(script) for script in scripts],
    }


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


def _content(
    measured: Measurements, audit: Audit | None, title: str | None, command: str | None, told: Advice | None
) -> dict[str, Any]:
    """Return sentences and tables that the template shows; a decision `told` that compares learners says enough."""
    from understudy import __version__

    finished, reference = measured.finished, measured.reference
    compared = told is not None and told.whole is not None
    return {
        "title": title or "What the rehearsal showed",
        "lead": [
            *(measured.learners.sentences if measured.learners and not compared else []),
            setup_sentence(measured),
            *propensity_sentences(measured),
            *earnings_sentences(measured),
            *result_sentences(measured),
            *pending_sentences(measured),
            *unjudged_rungs(measured),
        ],
        "tiles": tiles(measured, told),
        "efficiency": tables.efficiency_table(measured),
        "forecasts": forecast_table(measured),
        "fidelity": [tables.fidelity_table(found, probe) for probe, found in measured.fidelity.items()],
        "reference": reference,
        "stops": tables.stops_table(finished),
        "log_more": [*shortage_sentences(finished), *longer_sentences(measured.forecasts)],
        "audit": audit,
        "origin": origin_table(measured.runs, command),
        "settings": {name: settings_table(set_) for name, set_ in measured.runs.items()},
        "differing_settings": differing_settings(measured.runs),
        "with_rungs": bool(measured.rungs),
        "probes_value": any("start value" in set_.probes for set_ in finished.values()),
        "version": __version__,
        "command": command,
        "show": as_markup,
        "explained": explained,
        "quoted": quoted,
        "one_of": one_of,
    }


def as_markup(table: Table, headline: int | None = None) -> Any:
    """Return a table as HTML that the template does not escape again; where it scrolls, the keyboard can, too."""
    from markupsafe import Markup, escape

    scrolls = f'<div tabindex="0" role="region" aria-label="{escape(table.title or "Table")}" class="scroll'
    return Markup(table.to_html(headline).replace('<div class="scroll', scrolls, 1))
