"""The results folder of `understudy simulate`: sets of runs, their settings, and the audits of log and states.

DIR/rehearsal.json   what was asked for: columns, learner, encoder, seed; the audit of the log; the page's title
DIR/states.json      the audit of the states
DIR/SIMULATOR/       a results folder of runs (`runs.folder`) for each simulator
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.encoders import StateAudit
from understudy.errors import ResultsError
from understudy.logs import Audit, Finding
from understudy.logs.findings import AuditTest, errors_first
from understudy.reporting.naming import names_of
from understudy.runs.checking import expect
from understudy.runs.describing import differences, digest, plain
from understudy.runs.folder import FORMAT, Folder, read_sealed, seal, write_text
from understudy.storage import write_first


@dataclass(frozen=True)
class ResultsFolder:
    """A folder with the results of several simulators, for one learner on one log."""

    folder: Path
    title: str
    settings: dict[str, Any]  # what was asked for; in the file, under "asked"
    audit: Audit

    @classmethod
    def read(cls, folder: Path) -> "ResultsFolder | None":
        """Return what a folder says of itself; None where it has no rehearsal.json. Raise `ResultsError` if damaged."""
        path = folder / "rehearsal.json"
        if not os.path.lexists(path):
            return None
        content = read_sealed(path, "give another folder, or remove this one")
        try:
            return cls(
                folder, expect("title", content["title"], "a text"), expect("asked", content["asked"], "a table"),
                audit_from_json(content["audit"]),
            )  # fmt: skip
        except (ValueError, KeyError, TypeError) as error:
            raise ResultsError(
                f"{path} does not say what was asked: {error}; give another folder, or remove this one"
            ) from error

    def check(self) -> bool:
        """True if the folder exists with these settings already; raise `ResultsError` where it has others."""
        there = ResultsFolder.read(self.folder)
        differing = differences(there.settings, self._content["asked"]) if there is not None else []
        if differing:
            found = f"{self.folder} holds another rehearsal: {'; '.join(differing)}"
            raise ResultsError(f"{found}; give another folder with --out, or remove it")
        return there is not None

    def create(self) -> None:
        """Make the folder, or go on with it where it has these settings; raise `ResultsError` where it has others.

        Of several processes that create one folder with different settings, the first succeeds.
        """
        path = self.folder / "rehearsal.json"
        text = json.dumps(seal(self._content), indent=1)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                write_first(path, lambda beside: beside.write_text(text, encoding="utf-8"))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ResultsError(f"cannot make the folder {self.folder}: {reason}; give another") from error
        self.check()

    @property
    def _content(self) -> dict[str, Any]:
        return {"format": FORMAT, "title": self.title, "asked": plain(self.settings), "audit": self.audit.to_json()}

    def n_finished(self, simulator: str) -> int:
        """Return how many runs of a simulator are in the folder already."""
        return len(Folder(self.folder / simulator).numbers())


def audit_from_json(content: Any) -> Audit:
    """Return the audit that `Audit.to_json` wrote. Raise `ValueError`, `KeyError` or `TypeError` for anything else."""
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


def write_state_audit(folder: Path, audit: StateAudit) -> None:
    """Write the audit of the states beside rehearsal.json, for pages that are drawn later."""
    content = {"format": FORMAT, "rehearsal": _identity(folder), "audit": audit.to_json()}
    write_text(folder / "states.json", json.dumps(seal(content)))


def _identity(folder: Path) -> str | None:
    """Return a digest of the folder's settings: its log, encoder, learner and seed."""
    results = ResultsFolder.read(folder)
    return None if results is None else digest(json.dumps(results.settings, sort_keys=True).encode())


def read_state_audit(folder: Path) -> StateAudit | None:
    """Return the audit of the states of a folder's runs; None where the folder has none."""
    path = folder / "states.json"
    if not (os.path.exists(folder / "rehearsal.json") and os.path.exists(path)):  # without the first it is not ours
        return None
    again = "remove it, and call understudy simulate again to have it made anew"
    try:
        content = read_sealed(path, again)
        audit = StateAudit.from_json(content.get("audit"))
    except ValueError as error:
        raise ResultsError(f"{path} cannot be read, or is not an audit of states; {again}") from error
    if content.get("rehearsal") != _identity(folder):
        raise ResultsError(f"{path} is of another rehearsal than the one in {folder}; {again}")
    return audit


def read_state_audits(folders: Sequence[Path]) -> dict[str, StateAudit]:
    """Return the audits of states of folders, or of the folders that they are in, by name; equal ones once."""
    found: dict[str, tuple[list[str], StateAudit]] = {}
    paths = list(dict.fromkeys(folder.resolve() for folder in folders))  # the parent of "." is "."
    for name, path in zip(names_of(paths) if paths else (), paths, strict=True):
        audit = read_state_audit(path) or read_state_audit(path.parent)
        if audit is not None:
            found.setdefault(json.dumps(audit.to_json()), ([], audit))[0].append(name)
    return {", ".join(names): audit for names, audit in found.values()}
