"""`understudy report`: the page of a results folder, or of several beside each other."""

import argparse
from pathlib import Path

import understudy as us
from understudy.cli.shown_results import shown_results
from understudy.cli.telling import keep_for_json
from understudy.cli.words import print_table, say, say_decision, say_pending, show_table
from understudy.reporting.belief import as_believed
from understudy.reporting.page import write_page
from understudy.reporting.sweep_page import write_sweep_page
from understudy.sweeps.folder import is_sweep


def run_report(options: argparse.Namespace) -> int:
    """Run `understudy report`, and return its exit code."""
    if any(map(is_sweep, folders := [Path(folder) for folder in options.folders])):
        return report_sweep(folders, options)
    found = shown_results(options.folders)
    measured, rehearsals = found.measured, list(found.rehearsals.values())
    if len(found.folders) == 1:
        title, page = (rehearsals[0].title if rehearsals else None), found.folders[0] / "report.html"
    else:  # the folders' own pages stay as they are
        title, page = f"{len(measured.runs)} sets of runs compared: {', '.join(measured.runs)}", Path("comparison.html")
    verdict = found.belief
    say_decision(measured, verdict)
    show_table(as_believed(measured, verdict))
    say_pending(measured)
    for name, one in found.off_policy.items():
        say(f"{name}: {one.sentence}")
    commands = [one.command for one in rehearsals if one.command]
    page = write_page(
        measured, options.report or page, off_policy=found.off_policy, rung_notes=found.rung_notes, title=title,
        command="; ".join(dict.fromkeys(commands)) or None,
        logs=found.logs, **found.checks,
    )  # fmt: skip
    say(f"\nThe page is {page}")
    keep_for_json(options, page=page)
    return 0


def report_sweep(folders: list[Path], options: argparse.Namespace) -> int:
    """Write the page of a sweep, and return the exit code."""
    if len(folders) > 1:
        raise us.SettingError("a sweep has a page by itself; give understudy report one folder")
    found = us.load_sweep(folders[0])
    print_table(found.table())
    page = write_sweep_page(found, options.report or folders[0] / "report.html")
    say(f"\nThe page is {page}")
    keep_for_json(options, page=page)
    return 0
