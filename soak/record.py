"""What a soak found, as JSON and as the tables of docs/faults.md."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

FINE = ("refused", "read", "read as other values", "damage not noticed", "refused for memory")
WRONG = ("raised", "no sentence", "misread", "crash", "hang", "code run", "written", "warned")


def update(file: Path, part: str, found: dict[str, Any]) -> dict[str, Any]:
    """Put what a part found into the record, beside what other parts found before, and return the record."""
    record = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    record[part] = found
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return record


def n_wrong(record: dict[str, Any]) -> int:
    """Return how many cases of a record ended as none should."""
    return sum(len(part["wrong"]) for part in record.values())


def inputs_table(found: dict[str, Any]) -> str:
    """Return the table of damaged inputs, a line for each kind."""
    counts = {name: Counter(one) for name, one in found["counts"].items()}
    total = sum(counts.values(), Counter())
    lines = ["| input | inputs | " + " | ".join(FINE) + " | anything else |", "|---|" + "---|" * (len(FINE) + 2)]
    for name, one in (*counts.items(), ("all", total)):
        others = "; ".join(f"{one[end]:,} {end}" for end in WRONG if one[end]) or "0"
        lines.append(f"| {name} | {one.total():,} | " + " | ".join(f"{one[end]:,}" for end in FINE) + f" | {others} |")
    return "\n".join(lines) + f"\n\n{_about(found)} The largest process grew by {found['peak'] >> 20:,} MiB."


def faults_table(record: dict[str, Any]) -> str:
    """Return the table of kills, disks, drivers and nodes, a line for each kind of case."""
    lines = ["| what | cases | what happened | went wrong |", "|---|---|---|---|"]
    notes = []
    for part in ("kills", "nodes", "disks", "drivers"):
        if part in record:
            lines += [f"| {one['what']} | {one['cases']:,} | {one['happened']} | {one['wrong']:,} |"
                      for one in record[part]["lines"]]  # fmt: skip
            notes.append(f"{part.capitalize()}: {_about(record[part])}")
    return "\n".join(lines) + "\n\n" + "\n".join(notes)


def _about(found: dict[str, Any]) -> str:
    return f"Seed {found['seed']}, {found['seconds'] / 60:,.0f} minutes, {found['day']}."


def kill_lines(found: list[Any]) -> list[dict[str, Any]]:
    """Return a line for each target and signal of the kills."""
    kills = [(kill, one) for one in found for kill in one.kills]
    lines = []
    for key in sorted({(kill.target, kill.signal) for kill, _ in kills}):
        mine = [(kill, one) for kill, one in kills if (kill.target, kill.signal) == key]
        codes = Counter(kill.code for kill, _ in mine)
        ended = ", ".join(f"exit {code}: {n}" for code, n in sorted(codes.items(), key=lambda item: -item[1]))
        lines.append({"what": f"{key[1]} to {'a ' * (key[0] == 'worker')}{'the ' * (key[0] == 'driver')}{key[0]}",
                      "cases": len(mine), "happened": ended, "wrong": sum(bool(one.wrong) for _, one in mine)})  # fmt: skip
    n_runs = sum(one.seen for one in found)
    lines.append({"what": "experiments these were", "cases": len(found), "wrong": sum(bool(one.wrong) for one in found),
                  "happened": f"all ended bit-equal to undisturbed ones; {n_runs:,} runs that were seen meanwhile are "
                              "still there" if not any(one.wrong for one in found) else "see the record"})  # fmt: skip
    return lines


def node_lines(found: list[Any]) -> list[dict[str, Any]]:
    """Return a line for each kind of strike against a Ray cluster."""
    titles = {"worker": "a worker killed", "node": "a node removed", "driver SIGKILL": "the driver killed",
              "driver SIGINT": "Ctrl-C"}  # fmt: skip
    lines = []
    for kind in dict.fromkeys(one.what for one in found):
        mine = [one for one in found if one.what == kind]
        codes = Counter(one.code for one in mine)
        lines.append({"what": f"Ray, three nodes: {titles[kind]}", "cases": len(mine),
                      "happened": ", ".join(f"exit {code}: {n}" for code, n in codes.items()) + "; runs bit-equal",
                      "wrong": sum(bool(one.wrong) for one in mine)})  # fmt: skip
    return lines


def disk_lines(found: list[Any]) -> list[dict[str, Any]]:
    """Return a line for each place that filled up."""
    places = {
        "results": "a results folder",
        "TMPDIR": "the folder for temporary files",
        "NUMBA_CACHE_DIR": "Numba's cache",
    }
    lines = []
    for place in dict.fromkeys(one.folder for one in found):
        mine = [one for one in found if one.folder == place]
        codes = Counter("a sentence and exit 2" if one.code == 2 else "finished without" if one.code == 0 else "other"
                        for one in mine)  # fmt: skip
        lines.append({"what": f"a full disk under {places[place]}", "cases": len(mine),
                      "happened": ", ".join(f"{what}: {n}" for what, n in codes.items()),
                      "wrong": sum(bool(one.wrong) for one in mine)})  # fmt: skip
    return lines


def driver_lines(found: list[Any]) -> list[dict[str, Any]]:
    """Return a line for each kind of meeting."""
    lines = []
    for what, told in (("twice", "both finished, runs as of one alone"), ("different", "the second was refused")):
        mine = [one for one in found if what in one.what]
        if mine:
            title = "the same experiment twice" if what == "twice" else "different experiments"
            lines.append({"what": f"two drivers on one folder, {title}", "cases": len(mine), "happened": told,
                          "wrong": sum(bool(one.wrong) for one in mine)})  # fmt: skip
    return lines
