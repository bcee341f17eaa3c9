"""report.json: every number of a page as data, described by report_schema.json."""

import json
import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.encoders import StateAudit
from understudy.errors import SettingError
from understudy.evaluation import LearnedPolicy
from understudy.reporting.measurements import Measurements
from understudy.reporting.settings_tables import versions
from understudy.reporting.state_pictures import picture
from understudy.runs import Runs
from understudy.runs.folder import write_text
from understudy.storage import parse_json
from understudy.tables import Table

FORMAT, VERSION = "understudy report", "1.4"
SWEEP_FORMAT, SWEEP_VERSION = "understudy sweep report", "1.1"
"""What the file says it is. The second number rises where something is added, the first where something changes."""


def document(
    measured: Measurements,
    shown: Mapping[str, Any],
    states: Mapping[str, StateAudit],
    off_policy: Mapping[str, LearnedPolicy],
) -> dict[str, Any]:
    """Return all that a page says, as plain values; `shown` is what its template is given."""
    found, told = shown["belief"], shown["advice"]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "versions": versions(),
        "title": shown["title"],
        "command": shown["command"],
        "decision": None if told is None else told.to_json(),
        "belief": None if found is None else {"severity": found.severity, "title": found.title,
                                              "sentences": found.sentences, "table": found.table},
        "summary": shown["lead"],
        "cautions": shown["cautions"],
        "headline_numbers": shown["tiles"],
        "reference": measured.reference,
        "sets": {name: _set(name, runs, measured, off_policy) for name, runs in measured.runs.items()},
        "charts": shown["figures"].charts,
        "not_drawn": shown["figures"].skipped,
        "tables": {
            "efficiency": shown["efficiency"], "forecasts": shown["forecasts"], "fidelity": shown["fidelity"],
            "stops": shown["stops"], "against_log": shown["against_log"], "learners": shown["learners"],
            "differing_settings": shown["differing_settings"], "origin": shown["origin"],
            "settings": shown["settings"],
        },
        "log_more": shown["log_more"],
        "off_policy": [{"sentence": block.sentence, "table": block.table} for block in shown["off_policy"]],
        "ladders": [{"sentences": block.sentences, "table": block.table} for block in shown["ladders"]],
        "audit": None if shown["audit"] is None or shown["audits"] else shown["audit"].to_json(),
        "audits": {name: one.to_json() for name, one in shown["audits"].items()},
        "selfchecks": {name: found.to_json() for name, found in shown["selfchecks"].items()},
        "states": [
            {"audit": audit.to_json(), "severity": box.severity, "title": box.title, "sentences": box.sentences,
             "worst": box.worst, "notes": box.notes, "picture": picture(audit) if audit.merges.any() else None}
            for audit, box in zip(states.values(), shown["state_boxes"], strict=True)
        ],
    }  # fmt: skip
    return plain(content)


def json_beside(path: Path) -> Path:
    """Return the path of the JSON file of a page, and refuse to replace a file that is not one."""
    beside = path.with_suffix(".json")
    if beside == path:
        raise SettingError(f"{path} is the name of the page's JSON file, too; give the page a name such as report.html")
    if not os.path.lexists(beside):  # False for what cannot be a path, which is refused when the page is written
        return beside
    try:
        there = parse_json(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        there = None
    if not isinstance(there, dict) or there.get("format") not in (FORMAT, SWEEP_FORMAT):
        raise SettingError(
            f"{beside} is there and is not the JSON file of a page, which would replace it; give the page another name"
        )
    return beside


def write_document(path: Path, content: Mapping[str, Any]) -> None:
    """Write the JSON file of a page, whole or not at all."""
    write_text(path, json.dumps(content, indent=None, separators=(",", ":"), allow_nan=False))


def plain(value: Any) -> Any:
    """Return a value as JSON holds it: tables with their headings, numbers that are not finite as None.

    >>> plain({"a": (1, float("nan")), "b": np.float64(2.5)})
    {'a': [1, None], 'b': 2.5}
    """
    if isinstance(value, Table):
        return _table(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")  # names may hold lone surrogates
    return value if value is None or isinstance(value, bool | int) else str(value)


def _table(table: Table) -> dict[str, Any]:
    """Return a table with its cells as the page shows them, and the values behind them where they are known."""
    columns = [{"name": one.name, "group": one.group, "numeric": one.numeric} for one in table.headings]
    return plain(
        {"title": table.title, "columns": columns, "rows": table.rows, "values": table.values, "notes": table.notes}
    )


def _set(
    name: str, runs: Runs, measured: Measurements, off_policy: Mapping[str, LearnedPolicy]
) -> dict[str, Any]:  # fmt: skip
    """Return what is known of one set of runs."""
    known: dict[str, Any] = {
        "efficiency": measured.efficiency.get(name), "earnings": measured.earnings.get(name),
        "forecast": measured.forecasts.get(name), "rungs": measured.rungs.get(name),
        "beyond": measured.beyond.get(name), "off_policy": off_policy.get(name),
    }  # fmt: skip
    words = {run.stopped.group: run.stopped.what for run in runs}
    stops = Counter((run.stopped.cause, words[run.stopped.group]) for run in runs)
    return {
        "learner": runs.about.learner_name,
        "simulator": runs.about.simulator_name,
        "runs": len(runs),
        "failed": len(runs.failed),
        "seeds": [str(run.seed) for run in runs],  # as texts: many readers of JSON have no integers of 64 bits
        "steps": runs.lengths.tolist() if len(runs) else [],
        "horizons": {
            "trusted": measured.trusted().get(name),
            "exact": measured.rungs[name].exact if name in measured.rungs else None,
            "nine_of_ten": runs.horizon(0.9) if len(runs) else None,
            "longest": int(runs.lengths.max()) if len(runs) else None,
        },
        "stops": [{"cause": cause, "what": what, "runs": count} for (cause, what), count in stops.most_common()],
        "about": runs.about.to_json(),
        **{key: None if one is None else one.to_json() for key, one in known.items()},
    }
