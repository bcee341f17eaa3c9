"""Results folders as they are shown: their runs measured, and what was found of log, states and lower rungs."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import understudy as us
from understudy.logs.findings import errors_first
from understudy.reporting.belief import Belief, belief
from understudy.reporting.luck import are_qbe
from understudy.reporting.measurements import Measurements, measure
from understudy.reporting.naming import names_of
from understudy.reporting.several_logs import LogChecks, belief_of_logs
from understudy.results import (
    ResultsFolder,
    load_set,
    read_beyond_of_runs,
    read_compared,
    read_forecasts,
    read_of_folders,
    read_off_policy,
    read_replayed,
    read_rungs,
    read_selfcheck,
    read_selfcheck_of_qbe,
    read_state_audit,
)
from understudy.runs.folder import folders_in


@dataclass(frozen=True)
class ShownResults:
    """What was read of one results folder, or of several beside each other."""

    folders: list[Path]
    measured: Measurements
    checks: dict[str, Any]  # audit, states and selfcheck, as `belief` and `write_page` take them
    off_policy: dict[str, Any]  # by the names of sets
    rung_notes: dict[str, Any]
    rehearsals: dict[str, ResultsFolder]  # by folder, of those that `simulate` made
    logs: dict[tuple[str, ...], LogChecks]  # the checks of each log, by the names of sets, where these are on several

    @property
    def belief(self) -> Belief | None:
        """How far to believe the runs; None where none of them is on a log."""
        return belief_of_logs(self.measured, self.logs) if self.logs else belief(self.measured, **self.checks)


def shown_results(given: list[str]) -> ShownResults:
    """Return the results in folders. Raise `ResultsError` where there are none, or none of a set is finished."""
    folders = [Path(folder) for folder in given]
    sets: dict[Path, us.Runs] = {}
    for folder in folders:
        paths = [path.resolve() for path in folders_in(folder)]
        if not paths:
            raise us.ResultsError(f"{folder} holds no results: neither it nor a folder in it has an experiment.json")
        for path in paths:
            if path not in sets:
                sets[path] = load_set(path)
                refuse_of_another_log(path, sets[path])
    compared = read_compared(folders[0]) if len(folders) == 1 else None
    if compared is not None:  # in the order in which learners were given, by which ties are broken
        places = {name: place for place, name in enumerate(compared.learners)}
        sets = dict(sorted(sets.items(), key=lambda item: places.get(item[0].name, len(places))))
    runs = dict(zip(names_of_sets(list(sets)), sets.values(), strict=True))
    unfinished = [name for name, found in runs.items() if not len(found)]
    if unfinished:
        raise us.ResultsError(f"no run of {', '.join(unfinished)} is finished; go on with understudy simulate")

    def beside(read: Any) -> dict[str, Any]:
        """Return what a file beside each set's folder says of that set, by name, where it says anything."""
        found = {name: read(path.parent).get(path.name) for name, path in zip(runs, sets, strict=True)}
        return {name: one for name, one in found.items() if one is not None}

    measured = measure(
        runs, forecasts=beside(read_forecasts), beyond=beside(read_beyond_of_runs),
        compared_by=None if compared is None else compared.probe,
    )  # fmt: skip
    off_policy = {name: estimated[0] for name, estimated in beside(read_off_policy).items()}
    by_log: dict[str | None, dict[str, Path]] = {}  # the folder of each set
    for name, path in zip(runs, sets, strict=True):
        if name in measured.luck:
            by_log.setdefault(runs[name].about.rows_of_log, {})[name] = path.parent
    logs = {
        tuple(parents): LogChecks(**checks_of(list(dict.fromkeys(parents.values())), [runs[name] for name in parents]))
        for parents in (by_log.values() if len(by_log) > 1 else ())
    }
    return ShownResults(
        folders, measured, checks_of(folders, list(runs.values())), off_policy, beside(read_rungs),
        {str(folder): found for folder in folders if (found := rehearsal_of(folder)) is not None}, logs,
    )  # fmt: skip


def checks_of(folders: list[Path], runs: list[us.Runs]) -> dict[str, Any]:
    """Return audit, states and self-check of results folders, which hold these sets of runs, by these names."""
    audits = {str(folder): found.audit for folder in folders if (found := rehearsal_of(folder)) is not None}
    checks: dict[str, Any] = {"audit": joined_audit(audits)}
    selfcheck = read_selfcheck_of_qbe if are_qbe(runs) else read_selfcheck
    for name, read in (("states", read_state_audit), ("selfcheck", selfcheck)):
        several = read_of_folders(folders, read)
        checks[name] = next(iter(several.values())) if len(folders) == len(several) == 1 else several
    return checks


def names_of_sets(paths: list[Path]) -> list[str]:
    """Return a name for each set of runs: that of its learner, where rehearsals of several differ in it; else folders.

    Where some of them have several simulators, each set is named by both.
    """
    rehearsals = {path.parent: ResultsFolder.read(path.parent) for path in paths}
    learners = {folder: found and found.settings.get("learner") for folder, found in rehearsals.items()}
    if len(learners) < 2 or None in learners.values() or len(set(learners.values())) < len(learners):
        return names_of(paths)
    return names_of([Path("/", str(learners[path.parent]), path.name) for path in paths])


def refuse_of_another_log(path: Path, runs: us.Runs) -> None:
    """Raise `ResultsError` where runs stand in a rehearsal of another log: its checks say nothing of theirs."""
    rehearsal = ResultsFolder.read(path.parent)
    log = None if rehearsal is None else read_replayed(path.parent).get(path.name, rehearsal.settings.get("log"))
    if log is not None and runs.about.log not in (None, log):
        raise us.ResultsError(
            f"{path} has runs on another log than the one that {path.parent} is of, whose audit and self-check say "
            "nothing of them; move it to a folder of its own"
        )


def rehearsal_of(folder: Path) -> ResultsFolder | None:
    """Return what a folder, or the one that it is in, says of the rehearsal: DIR/psrs belongs to that of DIR."""
    found = ResultsFolder.read(folder)
    return ResultsFolder.read(folder.resolve().parent) if found is None else found


def joined_audit(audits: dict[str, us.Audit]) -> us.Audit | None:
    """Return the audits of several folders as one.

    Where all are equal it is that one; otherwise each finding begins with the name of its folder, and a test that
    several made alike is counted once. None for no audits.
    """
    distinct = {json.dumps(audit.to_json()): audit for audit in audits.values()}
    if len(distinct) < 2:
        return next(iter(distinct.values()), None)
    findings = [
        replace(finding, sentence=f"{name}: {finding.sentence}")
        for name, audit in audits.items()
        for finding in audit.findings
    ]
    counts = [(audit.n_rows or 0, audit.n_episodes or 0, audit.n_actions or 0) for audit in distinct.values()]
    rows, episodes, actions = zip(*counts, strict=True)
    tests = tuple(dict.fromkeys(test for audit in distinct.values() for test in audit.tests))
    return us.Audit(errors_first(findings), max(rows), max(episodes), max(actions), tests)
