"""`understudy report`: the page of a results folder, or of several beside each other."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import understudy as us
from understudy.cli.words import say, say_pending, show_table
from understudy.logs.findings import errors_first
from understudy.reporting.belief import belief
from understudy.reporting.luck import are_qbe
from understudy.reporting.measurements import measure
from understudy.reporting.naming import names_of
from understudy.reporting.page import write_page
from understudy.results import (
    ResultsFolder,
    load_set,
    read_beyond_of_runs,
    read_forecasts,
    read_of_folders,
    read_off_policy,
    read_rungs,
    read_selfcheck,
    read_selfcheck_of_qbe,
    read_state_audit,
)
from understudy.runs.folder import folders_in


def run_report(options: argparse.Namespace) -> int:
    """Run `understudy report`, and return its exit code."""
    folders = [Path(folder) for folder in options.folders]
    sets: dict[Path, us.Runs] = {}
    for folder in folders:
        paths = [path.resolve() for path in folders_in(folder)]
        if not paths:
            raise us.ResultsError(f"{folder} holds no results: neither it nor a folder in it has an experiment.json")
        sets |= {path: load_set(path) for path in paths if path not in sets}
    runs = dict(zip(names_of(list(sets)), sets.values(), strict=True))
    unfinished = [name for name, found in runs.items() if not len(found)]
    if unfinished:
        raise us.ResultsError(f"no run of {', '.join(unfinished)} is finished; go on with understudy simulate")
    forecasts = {
        name: forecast
        for name, path in zip(runs, sets, strict=True)
        if (forecast := read_forecasts(path.parent).get(path.name)) is not None
    }
    classics = {
        name: estimated[0]
        for name, path in zip(runs, sets, strict=True)
        if (estimated := read_off_policy(path.parent).get(path.name)) is not None
    }
    beyond = {
        name: believed
        for name, path in zip(runs, sets, strict=True)
        if (believed := read_beyond_of_runs(path.parent).get(path.name)) is not None
    }
    notes = {
        name: note
        for name, path in zip(runs, sets, strict=True)
        if (note := read_rungs(path.parent).get(path.name)) is not None
    }
    measured = measure(runs, forecasts=forecasts, beyond=beyond)
    results = {str(folder): found for folder in folders if (found := rehearsal_of(folder)) is not None}
    if len(folders) == 1:
        title, page = (results[str(folders[0])].title if results else None), folders[0] / "report.html"
    else:  # the folders' own pages stay as they are
        title, page = f"{len(runs)} sets of runs compared: {', '.join(runs)}", Path("comparison.html")
    audit = joined_audit({name: found.audit for name, found in results.items()})
    checks: dict[str, Any] = {"audit": audit}
    selfcheck = read_selfcheck_of_qbe if are_qbe(runs.values()) else read_selfcheck
    for name, read in (("states", read_state_audit), ("selfcheck", selfcheck)):
        several = read_of_folders(folders, read)
        checks[name] = next(iter(several.values())) if len(folders) == len(several) == 1 else several
    if (verdict := belief(measured, **checks)) is not None:
        say(f"{verdict}\n")
    show_table(measured)
    say_pending(measured)
    for name, one in classics.items():
        say(f"{name}: {one.sentence}")
    commands = [found.command for found in results.values() if found.command]
    columns = {str(found.settings.get("action") or "action") for found in results.values()}
    page = write_page(
        measured, options.report or page, off_policy=classics, rung_notes=notes, title=title,
        command="; ".join(dict.fromkeys(commands)) or None, action=columns.pop() if len(columns) == 1 else "action",
        **checks,
    )  # fmt: skip
    say(f"\nThe page is {page}")
    return 0


def rehearsal_of(folder: Path) -> ResultsFolder | None:
    """Return what a folder, or the one that it is in, says of the rehearsal: DIR/psrs belongs to that of DIR."""
    found = ResultsFolder.read(folder)
    return ResultsFolder.read(folder.resolve().parent) if found is None else found


def joined_audit(audits: dict[str, us.Audit]) -> us.Audit | None:
    """Return the audits of several folders as one.

    Where all are equal it is that one; otherwise each finding begins with the name of its folder. None for no audits.
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
    tests = tuple(test for audit in distinct.values() for test in audit.tests)
    return us.Audit(errors_first(findings), sum(rows), sum(episodes), max(actions), tests)
