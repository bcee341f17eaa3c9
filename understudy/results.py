"""The results folder of `understudy simulate`: sets of runs, their settings, and what checks of the log found.

DIR/rehearsal.json   what was asked for: columns, learner, encoder, seed; the audit of the log; the page's title
DIR/states.json      the audit of the states
DIR/selfcheck.json   the self-check of log and states; selfcheck-qbe.json is one without doubtful propensities
DIR/halves.json      how many halves of the log, and runs on each, were last asked for
DIR/forecast.json    the forecast of each simulator, made before its runs
DIR/rungs.json       for each simulator with lower rungs, which of them the log does not support, and why
DIR/beyond.json      for each of these, how far runs past the exact part can be believed
DIR/replayed.json    after a warm start, the fingerprint of the part of the log that the runs of each set replay
DIR/compared.json    of `understudy compare`: the learners, in the order given, and the probe they are compared by
DIR/off-policy.json  off-policy estimates of the final policy, for each simulator
DIR/SIMULATOR/       a results folder of runs (`runs.folder`) for each simulator
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from understudy.encoders import StateAudit
from understudy.errors import ResultsError
from understudy.evaluation import LearnedPolicy
from understudy.logs import Audit
from understudy.reporting.naming import names_of
from understudy.runs import Runs, load
from understudy.runs.checking import expect
from understudy.runs.describing import differences, digest, plain
from understudy.runs.folder import FORMAT, Folder, folders_in, half_folder, read_sealed, seal, write_text
from understudy.storage import write_first
from understudy.trust import Beyond, Forecast, Selfcheck
from understudy.trust.from_json import audit_from_json, forecast_from_json, selfcheck_from_json

WITHOUT_PROPENSITIES = "selfcheck-qbe"
"""The file of a self-check that leaves doubtful propensities out."""


class AskedComparison(NamedTuple):
    """What `understudy compare` compared: learners, in the order given, and the probe, None for what they earn."""

    learners: tuple[str, ...]
    probe: str | None


@dataclass(frozen=True)
class ResultsFolder:
    """A folder with the results of several simulators, for one learner on one log."""

    folder: Path
    title: str
    settings: dict[str, Any]  # what was asked for; in the file, under "asked"
    audit: Audit
    command: str | None = None  # what was typed to begin it, for people: folders of before do not say

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
                audit_from_json(content["audit"]), expect("command", content.get("command"), "a text, or null"),
            )  # fmt: skip
        except (ValueError, KeyError, TypeError) as error:
            raise ResultsError(
                f"{path} does not say what was asked: {error}; give another folder, or remove this one"
            ) from error

    def check(self) -> bool:
        """True if the folder exists with these settings already; raise `ResultsError` where it has others."""
        there = ResultsFolder.read(self.folder)
        differing = _differing(there.settings, self._content["asked"]) if there is not None else []
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
            raise ResultsError(f"cannot make the folder {self.folder}: {reason}; make room, or give another") from error
        self.check()

    @property
    def _content(self) -> dict[str, Any]:
        content = {"format": FORMAT, "title": self.title, "command": self.command}
        return content | {"asked": plain(self.settings), "audit": self.audit.to_json()}

    def most_finished(self, names: Iterable[str]) -> int:
        """Return how many runs are in the folder of the set that has most."""
        return max(map(self.n_finished, names), default=0)

    def n_finished(self, simulator: str) -> int:
        """Return how many runs of a simulator are in the folder already."""
        return len(Folder(self.folder / simulator).numbers())


def _differing(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return how settings differ, but for the paths of files whose content they have: of an encoder, and, in the log's
    hash, the coding of another log. A folder's file of settings has other paths than the command that made it.
    """
    paths = {"like", *(["encoder"] if {"encoder_content"} <= there.keys() & here.keys() else [])}
    one, other = ({name: value for name, value in each.items() if name not in paths} for each in (there, here))
    return differences(one, other)


def write_state_audit(folder: Path, audit: StateAudit) -> None:
    """Write the audit of the states beside rehearsal.json, for pages that are drawn later."""
    _write_beside(folder, "states", {"audit": audit.to_json()})


def write_selfcheck(folder: Path, found: Selfcheck, kind: str = "selfcheck") -> None:
    """Write the self-check beside rehearsal.json."""
    _write_beside(folder, kind, {"selfcheck": found.to_json()})


def write_forecasts(
    folder: Path, found: Mapping[str, Forecast], asked: Mapping[str, Mapping[str, Any]] | None = None
) -> None:
    """Write the forecast of each simulator beside rehearsal.json, with what each was asked for."""
    asked = asked or {}
    forecasts = {name: {**one.to_json(), "asked": dict(asked.get(name, {}))} for name, one in found.items()}
    _write_beside(folder, "forecast", {"forecasts": forecasts})


def write_off_policy(folder: Path, found: Mapping[str, tuple[LearnedPolicy, Mapping[str, Any]]]) -> None:
    """Write the off-policy estimates of each simulator beside rehearsal.json, with what they were asked for."""
    content = {name: {**one.to_json(), "asked": dict(asked)} for name, (one, asked) in found.items()}
    _write_beside(folder, "off-policy", {"off_policy": content})


def write_rungs(folder: Path, notes: Mapping[str, str]) -> None:
    """Write which lower rungs of each simulator the log supports, a sentence each."""
    _write_beside(folder, "rungs", {"rungs": dict(notes)})


def write_beyond(folder: Path, found: Mapping[str, tuple[Beyond, Mapping[str, Any]]]) -> None:
    """Write how far runs past the exact part can be believed, for each simulator, with what was asked for."""
    content = {name: {**one.to_json(), "asked": dict(asked)} for name, (one, asked) in found.items()}
    _write_beside(folder, "beyond", {"beyond": content})


def write_halves(folder: Path, asked: Mapping[str, tuple[int, int]]) -> None:
    """Write how many halves of the log each simulator was last asked for, and how many runs on each."""
    _write_beside(folder, "halves", {"halves": {name: list(counts) for name, counts in asked.items()}})


def write_replayed(folder: Path, logs: Mapping[str, str]) -> None:
    """Write the fingerprint of the log that each set of runs replays, where that is a part of the rehearsal's."""
    _write_beside(folder, "replayed", {"logs": dict(logs)})


def write_compared(folder: Path, compared: AskedComparison) -> None:
    """Write what was compared, and by what."""
    _write_beside(folder, "compared", {"learners": list(compared.learners), "probe": compared.probe})


def _write_beside(folder: Path, name: str, content: Mapping[str, Any]) -> None:
    """Write a JSON file that says to which rehearsal it belongs."""
    sealed = seal({"format": FORMAT, "rehearsal": _identity(folder), **content})
    write_text(folder / f"{name}.json", json.dumps(sealed))


def _read_beside(folder: Path, name: str, what: str, found_in: Callable[[dict[str, Any]], Any]) -> Any:
    """Return what a JSON file beside rehearsal.json holds; None where the folder has none.

    Raise `ResultsError` where it is damaged, or of another rehearsal.
    """
    path = folder / f"{name}.json"
    if not (os.path.exists(folder / "rehearsal.json") and os.path.exists(path)):  # without the first it is not ours
        return None
    again = "remove it, and call understudy simulate again to have it made anew"
    try:
        content = read_sealed(path, again)
        found = found_in(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultsError(f"{path} cannot be read, or is not {what}; {again}") from error
    if content.get("rehearsal") != _identity(folder):
        raise ResultsError(f"{path} is of another rehearsal than the one in {folder}; {again}")
    return found


def _identity(folder: Path) -> str | None:
    """Return a digest of the folder's settings: its log, encoder, learner and seed."""
    results = ResultsFolder.read(folder)
    return None if results is None else digest(json.dumps(results.settings, sort_keys=True).encode())


def read_state_audit(folder: Path) -> StateAudit | None:
    """Return the audit of the states of a folder's runs; None where the folder has none."""
    return _read_beside(
        folder, "states", "an audit of states", lambda content: StateAudit.from_json(content.get("audit"))
    )


def read_selfcheck(folder: Path, kind: str = "selfcheck") -> Selfcheck | None:
    """Return the self-check of a folder's log and states; None where the folder has none."""
    return _read_beside(folder, kind, "a self-check", lambda content: selfcheck_from_json(content["selfcheck"]))


def read_selfcheck_of_qbe(folder: Path) -> Selfcheck | None:
    """Return the self-check that leaves doubtful propensities out, where the folder has one; else the usual one."""
    return read_selfcheck(folder, WITHOUT_PROPENSITIES) or read_selfcheck(folder)


def read_forecasts(folder: Path) -> dict[str, Forecast]:
    """Return the forecast of each simulator of a folder; empty where it has none."""
    return {name: found for name, (found, _) in _read_forecasts(folder).items()}


def read_asked_of_forecasts(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what the forecast of each simulator of a folder was asked for; empty where it has none."""
    return {name: asked for name, (_, asked) in _read_forecasts(folder).items()}


def _read_forecasts(folder: Path) -> dict[str, tuple[Forecast, dict[str, Any]]]:
    return _read_by_simulator(folder, "forecast", "forecasts", "a table of forecasts", forecast_from_json)


def read_off_policy(folder: Path) -> dict[str, tuple[LearnedPolicy, dict[str, Any]]]:
    """Return the off-policy estimates of each simulator of a folder, and what they were asked for; empty for none."""
    what = "a table of off-policy estimates"
    return _read_by_simulator(folder, "off-policy", "off_policy", what, LearnedPolicy.from_json)


def read_rungs(folder: Path) -> dict[str, str]:
    """Return what `write_rungs` wrote; empty where the folder has none."""

    def notes(content: dict[str, Any]) -> dict[str, str]:
        return {name: expect("rungs", note, "a text") for name, note in content["rungs"].items()}

    return _read_beside(folder, "rungs", "a table of rungs", notes) or {}


def read_replayed(folder: Path) -> dict[str, str]:
    """Return what `write_replayed` wrote; empty where the folder has none: its runs replay the whole log."""

    def logs(content: dict[str, Any]) -> dict[str, str]:
        return {name: expect("replayed", log, "a text") for name, log in content["logs"].items()}

    return _read_beside(folder, "replayed", "a table of logs", logs) or {}


def read_compared(folder: Path) -> AskedComparison | None:
    """Return what was compared in a folder, and by what; None where `understudy compare` did not make it."""

    def compared(content: dict[str, Any]) -> AskedComparison:
        names = expect("learners", content.get("learners", []), "a list")  # folders of before have none
        learners = tuple(expect("a learner", name, "a text") for name in names)
        return AskedComparison(learners, expect("probe", content["probe"], "a text, or null"))

    return _read_beside(folder, "compared", "the learners of a comparison", compared)


def read_beyond(folder: Path) -> dict[str, tuple[Beyond, dict[str, Any]]]:
    """Return how far runs of each simulator past the exact part can be believed, and what was asked for."""
    return _read_by_simulator(folder, "beyond", "beyond", "a table of evidence", Beyond.from_json)


def read_beyond_of_runs(folder: Path) -> dict[str, Beyond]:
    """Return those of `read_beyond` that are of the halves of the log that were asked for last."""
    halves = read_halves(folder)
    return {
        name: found for name, (found, asked) in read_beyond(folder).items()
        if asked.get("halves") == list(halves.get(name, ()))
    }  # fmt: skip


def _read_by_simulator(
    folder: Path, file: str, key: str, what: str, from_json: Callable[[Any], Any]
) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return what a file has of each simulator, and what that was asked for; empty where there is no such file."""

    def found_in(content: dict[str, Any]) -> dict[str, tuple[Any, dict[str, Any]]]:
        return {name: (from_json(one), dict(one.get("asked", {}))) for name, one in content[key].items()}

    return _read_beside(folder, file, what, found_in) or {}


def read_halves(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what `write_halves` wrote; empty where the folder has none."""

    def counts(content: dict[str, Any]) -> dict[str, tuple[int, int]]:
        asked = {name: [expect("halves", one, "a count") for one in two] for name, two in content["halves"].items()}
        return {name: (n_halves, runs_of_half) for name, (n_halves, runs_of_half) in asked.items()}

    return _read_beside(folder, "halves", "a table of halves", counts) or {}


def load_set(path: Path) -> Runs:
    """Return the runs of a folder, with those on halves of the log that `understudy simulate` asked for last.

    A folder may have others, of before. A half that was asked for and is not there has no runs.
    """
    runs = load(path)
    asked = read_halves(path.parent).get(path.name)
    if asked is None:
        return runs
    n_halves, runs_of_half = asked
    none = Runs((), runs.about)
    there = dict(zip(folders_in(path / "halves"), runs.halves, strict=True))
    halves = [there.get(half_folder(path, number), none)[:runs_of_half] for number in range(n_halves)]
    return replace(runs, halves=tuple(halves))


def read_of_folders(folders: Sequence[Path], read: Callable[[Path], Any]) -> dict[str, Any]:
    """Return what `read` finds in folders, or in the folders that they are in, by name; equal findings once."""
    found: dict[str, tuple[list[str], Any]] = {}
    paths = list(dict.fromkeys(folder.resolve() for folder in folders))  # the parent of "." is "."
    for name, path in zip(names_of(paths) if paths else (), paths, strict=True):
        one = read(path) or read(path.parent)
        if one is not None:
            found.setdefault(json.dumps(one.to_json()), ([], one))[0].append(name)
    return {", ".join(names): one for names, one in found.values()}
