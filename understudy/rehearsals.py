"""What the command line keeps of a results folder beside its runs: what was asked, and the audit of the log."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.encoders import StateAudit
from understudy.errors import ResultsError
from understudy.logs import Audit, Finding
from understudy.logs.findings import errors_first
from understudy.reporting.naming import names_of
from understudy.runs.checking import expect
from understudy.runs.describing import differences, plain
from understudy.runs.folder import FORMAT, Folder, read_sealed, seal, write_text
from understudy.runs.graph import digest
from understudy.storage import write_first


@dataclass(frozen=True)
class Rehearsal:
    """A folder with the results of several simulators, for one learner on one log."""

    folder: Path
    title: str
    asked: dict[str, Any]
    audit: Audit

    @classmethod
    def of(cls, folder: Path) -> "Rehearsal | None":
        """What is kept in a folder, or None where nothing is. Raises `ResultsError` where it cannot be read."""
        path = folder / "rehearsal.json"
        if not os.path.lexists(path):
            return None
        kept = read_sealed(path, "give another folder, or remove this one")
        try:
            return cls(
                folder, expect("title", kept["title"], "a text"), expect("asked", kept["asked"], "a table"),
                audit_of(kept["audit"]),
            )  # fmt: skip
        except (ValueError, KeyError, TypeError) as error:
            raise ResultsError(
                f"{path} does not say what was asked: {error}; give another folder, or remove this one"
            ) from error

    def check(self) -> bool:
        """Whether the folder is ours already. Refuses one in which something else was asked: that would not compare."""
        kept = Rehearsal.of(self.folder)
        apart = differences(kept.asked, self._content["asked"]) if kept is not None else []
        if apart:
            found = f"{self.folder} holds another rehearsal: {'; '.join(apart)}"
            raise ResultsError(f"{found}; give another folder with --out, or remove it")
        return kept is not None

    def claim(self) -> None:
        """Take the folder; of several that try, the first one does, and others are refused unless they ask the same."""
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
        return {"format": FORMAT, "title": self.title, "asked": plain(self.asked), "audit": self.audit.to_json()}

    def n_finished(self, simulator: str) -> int:
        """Runs of a simulator that are there already."""
        return len(Folder(self.folder / simulator).numbers())


def audit_of(told: Any) -> Audit:
    """An audit out of JSON. Raises `ValueError`, `KeyError` or `TypeError` where it cannot be one."""
    findings = []
    for finding in told["findings"]:
        for name in ("severity", "rule", "sentence"):
            expect(name, finding[name], "a text")
        rows = tuple(expect("row", row, "a whole number") for row in finding["rows"])
        findings.append(Finding(**finding | {"rows": rows, "count": expect("count", finding["count"], "a count")}))
    return Audit(
        errors_first(findings),
        **{name: expect(name, told[name], "a count, or null") for name in ("n_rows", "n_episodes", "n_actions")},
    )


def keep_states(folder: Path, audit: StateAudit) -> None:
    """Write what was found of the states beside rehearsal.json, for pages that are drawn later."""
    content = {"format": FORMAT, "rehearsal": _identity(folder), "audit": audit.to_json()}
    write_text(folder / "states.json", json.dumps(seal(content)))


def _identity(folder: Path) -> str | None:
    """What tells the rehearsal of a folder from others: its log, encoder, learner and seed."""
    rehearsal = Rehearsal.of(folder)
    return None if rehearsal is None else digest(json.dumps(rehearsal.asked, sort_keys=True).encode())


def kept_states(folder: Path) -> StateAudit | None:
    """What was found of the states of a folder's runs; None where that was not kept."""
    path = folder / "states.json"
    if not (os.path.exists(folder / "rehearsal.json") and os.path.exists(path)):  # someone else's, or none
        return None
    again = "remove it, and call understudy simulate again to have it made anew"
    try:
        kept = read_sealed(path, again)
        audit = StateAudit.from_json(kept.get("audit"))
    except ValueError as error:
        raise ResultsError(f"{path} cannot be read, or is not an audit of states; {again}") from error
    if kept.get("rehearsal") != _identity(folder):
        raise ResultsError(f"{path} is of another rehearsal than the one in {folder}; {again}")
    return audit


def states_of_folders(folders: Sequence[Path]) -> dict[str, StateAudit]:
    """What was found of the states of folders (or of the rehearsals that they are in), once where it is the same."""
    found: dict[str, tuple[list[str], StateAudit]] = {}
    paths = list(dict.fromkeys(folder.resolve() for folder in folders))  # the parent of "." is "."
    for name, path in zip(names_of(paths) if paths else (), paths, strict=True):
        audit = kept_states(path) or kept_states(path.parent)
        if audit is not None:
            found.setdefault(json.dumps(audit.to_json()), ([], audit))[0].append(name)
    return {", ".join(names): audit for names, audit in found.values()}
