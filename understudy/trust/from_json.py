"""Checks that were written as JSON, read back: the audit of a log, its self-check, and forecasts.

Each function raises `ValueError`, `KeyError` or `TypeError` for anything else than what `to_json` wrote.
"""

from typing import Any

from understudy.logs import Audit, Finding
from understudy.logs.findings import AuditTest, errors_first
from understudy.runs.checking import expect
from understudy.trust.forecast import Forecast
from understudy.trust.self_tests import SelfTest
from understudy.trust.selfcheck import Selfcheck


def audit_from_json(content: Any) -> Audit:
    """Return the audit that `Audit.to_json` wrote."""
    findings = []
    for finding in content["findings"]:
        for name in ("severity", "rule", "sentence"):
            expect(name, finding[name], "a text")
        rows = tuple(expect("row", row, "a whole number") for row in finding["rows"])
        findings.append(Finding(**finding | {"rows": rows, "count": expect("count", finding["count"], "a count")}))
    return Audit(
        errors_first(findings),
        **{name: expect(name, content[name], "a count, or null") for name in ("n_rows", "n_episodes", "n_actions")},
        tests=tuple(_tested(test) for test in content.get("tests", ())),  # folders of before have none
    )


def _tested(content: Any) -> AuditTest:
    for name in ("rule", "question", "reason"):
        expect(name, content[name], "a text")
    expect("comparisons", content["comparisons"], "a count")
    return AuditTest(**content | {"p_value": expect("p_value", content["p_value"], "a number, or null")})


def selfcheck_from_json(content: Any) -> Selfcheck:
    """Return the self-check that `to_json` wrote."""
    kinds = {"name": "a text", "looked_at": "a text", "found": "a text"}
    kinds |= dict.fromkeys(("statistic", "p_value", "level"), "a number, or null")
    ok, fires = (expect(name, content[name], "true or false") for name in ("ok", "fires"))
    return Selfcheck(
        tuple(SelfTest(**{name: expect(name, test[name], kind) for name, kind in kinds.items()})
              for test in content["tests"]),
        level=expect("level", content["level"], "a number"),
        n_rows=expect("n_rows", content["n_rows"], "a count"),
        n_episodes=expect("n_episodes", content["n_episodes"], "a count"),
        tested_states=ok or fires,
        blind_to=tuple(expect("blind_to", one, "a text") for one in content["blind_to"]),
    )  # fmt: skip


def forecast_from_json(content: Any) -> Forecast:
    """Return the forecast that `to_json` wrote."""
    low, high = (expect("interval", end, "a count") for end in content["interval"])
    counts = {name: expect(name, content[name], "a count") for name in ("steps", "episodes", "pre_runs", "n_limited")}
    runs_out = expect("runs_out", content["runs_out"], "a table")
    return Forecast(
        interval=(low, high),
        level=expect("level", content["level"], "a number"),
        runs_out={what: expect("runs_out", share, "a number") for what, share in runs_out.items()},
        longer={flag: expect("longer", steps, "a count") for flag, steps in content.get("longer", {}).items()},
        **counts,
    )
