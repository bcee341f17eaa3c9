"""The runner of benchmarks that measure rates over many logs: `python -m benchmarks.trust`, `benchmarks.beyond`.

A part is a module of the benchmark's folder with PROTOCOL (what is measured and what counts as success, written before
the results are looked at), LOGS (how many logs a case has), `cases()`, `measure(case, number)` and `table(results)`.
What was measured is kept, a line of JSON for each log, in the folder's `results`; called again, a part goes on where it
stopped. With --page the tables are written into a page of docs, between the comments that name the part.
"""

import argparse
import importlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DEVELOPMENT = 1_000_000
"""Logs from this number on are for trying things out: the stated rates are of logs that no method was tuned on."""


def main(benchmark: str, parts: Sequence[str], description: str) -> None:
    """Measure the parts of a benchmark that the command line names, or all, and print or write their tables.

    The page is docs/BENCHMARK.md.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{benchmark}", description=description)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)} (all)")
    parser.add_argument("--logs", type=int, help="logs of each case (what the part says)")
    parser.add_argument("--first", type=int, default=0, help=f"number of the first log ({DEVELOPMENT:,} to try out)")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--page", action="store_true", help=f"write the tables into docs/{benchmark}.md")
    options = parser.parse_args()
    for name in options.parts or parts:
        part = importlib.import_module(f"benchmarks.{benchmark}.{name}")
        table = part.table(measured(results_file(benchmark, name), part, options))
        print(table, flush=True)
        if options.page:
            page = HERE.parent / "docs" / f"{benchmark}.md"
            write_table(page, name, f"{part.PROTOCOL.strip()}\n\n{table.strip()}")


def results_file(benchmark: str, part: str) -> Path:
    """Return the file that keeps what was measured for a part."""
    return HERE / benchmark / "results" / f"{part}.jsonl"


def measured(file: Path, part: Any, options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Return what was measured on each log of each case, in the order of cases and logs."""
    cases = {case: given for case, given in part.cases().items() if options.only in case}
    numbers = range(options.first, options.first + (options.logs or part.LOGS))
    file.parent.mkdir(exist_ok=True)
    found = {(line["case"], line["log"]): line["found"] for line in lines_of(file)}
    missing = [(case, number) for number in numbers for case in cases if (case, number) not in found]
    begun = time.perf_counter()
    with file.open("a") as out, ProcessPoolExecutor(options.workers, get_context("forkserver")) as workers:
        tasks = {workers.submit(part.measure, cases[case], number): (case, number) for case, number in missing}
        for done, task in enumerate(as_completed(tasks), start=1):
            case, number = tasks[task]
            found[case, number] = task.result()
            print(json.dumps({"case": case, "log": number, "found": found[case, number]}), file=out, flush=True)
            if done % 50 == 0:
                print(f"{file.stem}: {done:,} of {len(tasks):,}, {time.perf_counter() - begun:,.0f} s", flush=True)
    return {case: [found[case, number] for number in numbers] for case in cases}


def lines_of(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a results file; the last may have been cut off, and is left out then."""
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def write_table(page: Path, name: str, text: str) -> None:
    """Write a part's protocol and table into a page, between the comments that name it."""
    written = page.read_text()
    marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not marked.search(written):
        raise SystemExit(f"{page} has no place for {name}: <!-- {name} --> and <!-- /{name} -->")
    page.write_text(marked.sub(lambda found: f"{found[1]}{text}\n{found[2]}", written))
