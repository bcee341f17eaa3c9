"""What the command line keeps of a results folder beside its runs: what was asked, and the audit of the log."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.encoders import StateAudit
from understudy.logs import Audit, Finding
from understudy.runs.describing import differences, plain
from understudy.runs.folder import FolderError, write_text
from understudy.storage import parse_json


@dataclass(frozen=True)
class Rehearsal:
    """A folder with the results of several simulators, for one learner on one log."""

    folder: Path
    title: str
    asked: dict[str, Any]
    audit: Audit

    @classmethod
    def of(cls, folder: Path) -> "Rehearsal | None":
        """What is kept in a folder, or None."""
        try:
            kept = parse_json((folder / "rehearsal.json").read_text(encoding="utf-8"))
            audit = kept["audit"]
            findings = tuple(Finding(**finding | {"rows": tuple(finding["rows"])}) for finding in audit["findings"])
            counts = {name: audit[name] for name in ("n_rows", "n_episodes", "n_actions")}
            return cls(folder, kept["title"], kept["asked"], Audit(findings, **counts))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def check(self) -> bool:
        """Whether the folder is ours already. Refuses one in which something else was asked: that would not compare."""
        kept = Rehearsal.of(self.folder)
        apart = differences(kept.asked, plain(self.asked)) if kept is not None else []
        if apart:
            found = f"{self.folder} holds another rehearsal: {'; '.join(apart)}"
            raise FolderError(f"{found}; give another folder with --out, or remove it")
        return kept is not None

    def claim(self) -> None:
        """Take the folder."""
        if self.check():
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FolderError(f"cannot make the folder {self.folder}: {error.strerror}; give another") from error
        content = {"title": self.title, "asked": plain(self.asked), "audit": self.audit.to_json()}
        write_text(self.folder / "rehearsal.json", json.dumps(content, indent=1))

    def n_finished(self, simulator: str) -> int:
        """Runs of a simulator that are there already."""
        return len(list((self.folder / simulator / "runs").glob("*.json")))


def keep_states(folder: Path, audit: StateAudit) -> None:
    """Write what was found of the states beside rehearsal.json, for pages that are drawn later."""
    write_text(folder / "states.json", json.dumps(audit.to_json()))


def kept_states(folder: Path) -> StateAudit | None:
    """What was found of the states of a folder's runs; None where that was not kept."""
    path = folder / "states.json"
    if not (os.path.exists(folder / "rehearsal.json") and os.path.exists(path)):  # someone else's, or none
        return None
    try:
        return StateAudit.from_json(parse_json(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise FolderError(
            f"{path} cannot be read, or is not an audit of states; remove it, and call understudy simulate again to "
            "have it made anew"
        ) from error


def states_of_folders(folders: Sequence[Path]) -> dict[str, StateAudit]:
    """What was found of the states of folders (or of the rehearsals that they are in), once where it is the same."""
    found: dict[str, tuple[list[str], StateAudit]] = {}
    for folder in folders:
        audit = kept_states(folder) or kept_states(folder.parent)
        if audit is not None:
            found.setdefault(json.dumps(audit.to_json()), ([], audit))[0].append(str(folder))
    return {", ".join(names): audit for names, audit in found.values()}
