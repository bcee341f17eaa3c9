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
    """Return a line for each target and signal of the kills, and one of all experiments."""
    titles = {"worker": "a worker", "driver": "the driver", "all": "all of its processes"}
    by_key: dict[tuple[str, str], list[tuple[Any, Any]]] = {}
    for one in found:
        for kill in (kill for kill in one.kills if not kill.late):
            by_key.setdefault((kill.target, kill.signal), []).append((kill.code, one.wrong))
    lines = []
    for (target, signal), ends in sorted(by_key.items()):
        codes = Counter(code for code, _ in ends).most_common()
        ended = ", ".join(f"exit {code}: {n}" for code, n in codes)
        lines.append(_line(f"{signal} to {titles[target]}", ended, [wrong for _, wrong in ends]))
    n_runs = sum(one.seen for one in found)
    told = f"ended bit-equal to undisturbed ones; {n_runs:,} runs that a reader had loaded on the way are still there"
    return [*lines, _line("experiments these were", told, [one.wrong for one in found])]


def _line(what: str, happened: str, wrongs: list[Any]) -> dict[str, Any]:
    return {"what": what, "cases": len(wrongs), "happened": happened, "wrong": sum(map(bool, wrongs))}


def node_lines(found: list[Any]) -> list[dict[str, Any]]:
    """Return a line for each kind of strike against a Ray cluster."""
    titles = {
        "worker": "a worker killed", "node": "a node removed", "driver SIGKILL": "the driver killed",
        "driver SIGINT": "Ctrl-C",
    }  # fmt: skip
    lines = []
    for kind in dict.fromkeys(one.what for one in found):
        mine = [one for one in found if one.what == kind and one.hit]
        codes = ", ".join(f"exit {code}: {n}" for code, n in Counter(one.code for one in mine).most_common())
        lines.append(
            _line(f"Ray, three nodes: {titles[kind]}", f"{codes}; runs bit-equal", [one.wrong for one in mine])
        )
    return lines


def disk_lines(found: list[Any]) -> list[dict[str, Any]]:
    """Return a line for each place that filled up."""
    places = {"results": "a results folder", "TMPDIR": "temporary files", "NUMBA_CACHE_DIR": "Numba's cache"}
    ends = {0: "finished without it", 2: "a sentence and exit 2; went on once there was room"}
    lines = []
    for place in dict.fromkeys(one.folder for one in found):
        mine = [one for one in found if one.folder == place]
        codes = Counter(ends.get(one.code, f"exit {one.code}") for one in mine).most_common()
        told = ", ".join(f"{what}: {n}" for what, n in codes)
        lines.append(_line(f"a full disk under {places[place]}", told, [one.wrong for one in mine]))
    return lines


def driver_lines(found: list[Any]) -> list[dict[str, Any]]:
    """Return a line for each kind of meeting."""
    kinds = {
        "twice": ("the same experiment twice", "both finished, runs as of one alone"),
        "different": ("different experiments", "the second was refused"),
    }
    lines = []
    for word, (title, told) in kinds.items():
        wrongs = [one.wrong for one in found if word in one.what]
        lines.append(_line(f"two drivers on one folder, {title}", told, wrongs))
    return lines
