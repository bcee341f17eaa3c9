"""`python -m soak`: faults and load. The full form takes some 40 minutes on two cores, `--minutes` less."""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import write_table
from soak import record
from soak.disks import run_disks
from soak.drivers import run_drivers
from soak.inputs import Case, run_inputs, show_case
from soak.kills import run_kills
from soak.nodes import run_nodes

ROOT = Path(__file__).parents[1]
PARTS = ("inputs", "kills", "nodes", "disks", "drivers")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that are named, or all. Return 1 where something ended as nothing should, else 0."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--kills", type=int, default=50, help="(%(default)s)")
    parser.add_argument("--inputs", type=int, default=100_000, help="damaged inputs (%(default)s)")
    parser.add_argument("--drivers", type=int, default=8, help="meetings of two drivers (%(default)s)")
    parser.add_argument("--only", default="", help="kinds of inputs whose name contains this")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes that read inputs (%(default)s)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no case after these")
    parser.add_argument("--case", metavar="KIND:NUMBER", help="repeat one input, and show what happens")
    parser.add_argument("--record", type=Path, default=ROOT / "soak" / "record.json", help="(%(default)s)")
    parser.add_argument("--page", action="store_true", help="write the tables into docs/faults.md")
    options = parser.parse_args(arguments)
    if options.case:
        kind, _, number = options.case.rpartition(":")
        print(show_case(Case(kind, int(number)), options.seed))
        return 0
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; give some of {', '.join(PARTS)}")
    whole: dict[str, Any] = {}
    until = time.monotonic() + 60 * options.minutes
    for part in options.parts or PARTS:
        began = time.monotonic()
        found = run_part(part, options, until)
        if found is None:
            continue
        took = {"seed": options.seed, "seconds": time.monotonic() - began, "day": time.strftime("%Y-%m-%d")}
        whole = record.update(options.record, part, {**took, **found})
        for wrong in found["wrong"]:
            print(f"{part}: {wrong}", flush=True)
    if "inputs" in whole:
        show("inputs", record.inputs_table(whole["inputs"]), options)
    if set(whole) - {"inputs"}:
        show("faults", record.faults_table(whole), options)
    return 1 if record.n_wrong(whole) else 0


def show(name: str, table: str, options: argparse.Namespace) -> None:
    """Print a table, and write it into the page where that was asked for."""
    print(f"\n{table}")
    if options.page:
        write_table(ROOT / "docs" / "faults.md", name, table)


def run_part(part: str, options: argparse.Namespace, until: float) -> dict[str, Any] | None:
    """Run one part, and return what the record keeps of it; None where it cannot be run here."""
    if part == "inputs":
        found = run_inputs(options.inputs, options.seed, options.workers, options.only, reporter(part), until)
        return {"counts": found.counts, "wrong": found.wrong, "peak": found.peak}
    with tempfile.TemporaryDirectory(prefix="understudy-soak-") as folder:
        scratch, report = Path(folder), reporter(part)
        lines_of: Any
        if part == "kills":
            cases, lines_of = run_kills(options.kills, options.seed, scratch, report, until=until), record.kill_lines
        elif part == "nodes":
            cases, lines_of = run_nodes(scratch, report), record.node_lines
            if cases is None:
                print("nodes: left out, since ray is not installed", flush=True)
                return None
        elif part == "disks":
            cases, lines_of = run_disks(scratch, report), record.disk_lines
        else:
            cases, lines_of = run_drivers(options.drivers, scratch, report), record.driver_lines
    wrong = [{"case": str(one[:2]), "wrong": one.wrong} for one in cases if one.wrong]
    return {"lines": lines_of(cases), "wrong": wrong, "cases": [one._asdict() for one in cases]}


def reporter(part: str) -> Any:
    """Return a function that prints how far a part is, once in thirty seconds."""
    last = [time.monotonic()]

    def report(done: int, total: int) -> None:
        if time.monotonic() - last[0] > 30 or (done == total and part != "inputs"):
            last[0] = time.monotonic()
            print(f"{part}: {done:,} of {total:,}", file=sys.stderr, flush=True)

    return report


if __name__ == "__main__":
    sys.exit(main())
