"""Two drivers on one folder at the same time: of the same experiment, and of different ones."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from soak.kills import command_for, digest_of, undisturbed
from soak.processes import Driver, Ended, job

PAIRS = ("processes", "halves", "simulate", "threads")


class Met(NamedTuple):
    """Two drivers that met on a folder: what they ran, how they ended, and what went wrong."""

    what: str
    codes: tuple[int | None, ...]
    wrong: list[str]


def same_experiment(name: str, scratch: Path, number: int, digest: str) -> Met:
    """Start a command twice on one folder. Each ends well, or is told why not; the runs are those of one alone."""
    folder = scratch / f"shared-{number}"
    drivers = [Driver(command_for(name, folder, scratch), scratch) for _ in range(2)]
    ended = [driver.wait(600) for driver in drivers]
    wrong = _complaints(ended, {0})
    if not wrong and digest_of(folder) != digest:
        wrong.append("the runs are not those of one driver alone")
    hidden = [path.name for path in folder.rglob(".*")]
    if hidden:
        wrong.append(f"temporary files stayed: {hidden[:3]}")
    for driver in drivers:
        driver.forget()
    return Met(f"{name} twice", tuple(one and one.code for one in ended), wrong)


def other_experiment(scratch: Path, number: int, digests: dict[str, str]) -> Met:
    """Start two experiments on one folder. The first that reserves it has it; the other is refused."""
    rng = np.random.default_rng([88, number])
    folder = scratch / f"fought-over-{number}"
    names = ["processes", "other"]
    rng.shuffle(names)
    drivers = [Driver(job(name, folder), scratch) for name in names]
    ended = [driver.wait(600) for driver in drivers]
    wrong = _complaints(ended, {0, 2})
    codes = [one and one.code for one in ended]
    if sorted(str(code) for code in codes) != ["0", "2"]:
        wrong.append(f"exit codes {codes} instead of one 0 and one 2")
    elif not wrong:
        refused, winner = ended[codes.index(2)], names[codes.index(0)]
        sentence = refused.said.strip().splitlines()[-1] if refused is not None else ""
        if "holds runs of another experiment" not in sentence:
            wrong.append(f"the refused one said {sentence[-300:]!r}")
        if digest_of(folder) != digests[winner]:
            wrong.append("the runs are not those of the first experiment alone")
    for driver in drivers:
        driver.forget()
    return Met("different experiments", tuple(codes), wrong)


def _complaints(ended: list[Ended | None], codes: set[int]) -> list[str]:
    wrong = []
    for one in ended:
        if one is None:
            wrong.append("no end within 600 seconds")
            continue
        wrong += [f"it said {line[:300]!r}" for line in one.noise]
        if one.code not in codes:
            wrong.append(f"exit code {one.code}: {one.said[-300:]!r}")
        if one.left or one.stayed:
            wrong.append(f"it left {one.left[:3]} and {len(one.stayed)} processes")
    return wrong


def run_drivers(n: int, scratch: Path, report: Any = print, pairs: Any = PAIRS) -> list[Met]:
    """Let two drivers meet n times, half of them with the same experiment."""
    digests: dict[str, str] = {}
    found = []
    for number in range(n):
        if number % 2:
            for name in ("processes", "other"):
                digests[name] = digests.get(name) or undisturbed(name, scratch).digest
            found.append(other_experiment(scratch, number, digests))
        else:
            name = pairs[number // 2 % len(pairs)]
            digests[name] = digests.get(name) or undisturbed(name, scratch).digest
            found.append(same_experiment(name, scratch, number, digests[name]))
        report(number + 1, n)
    return found
