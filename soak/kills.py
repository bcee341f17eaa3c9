"""Workers and drivers killed at random moments, and the same command called again: nothing that was there is lost."""

import hashlib
import pickle
import signal
import time
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import understudy as us
from soak.own_files import fields_of
from soak.processes import Driver, Ended, job, understudy
from understudy.runs.folder import Folder, folders_in

JOBS = ("processes", "processes", "errors kept", "threads", "halves", "simulate", "simulate")
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
TARGETS = ("worker", "driver", "all")
MOST_ATTEMPTS = 6

CODES = {signal.SIGKILL: -9, signal.SIGTERM: -15, signal.SIGINT: 130}
"""The exit code of a driver by the signal that ended it: Ctrl-C is handled, and 130."""


OWN = ("understudy/__main__", "understudy/cli", "soak/jobs.py")
"""What a traceback holds once a command has begun; before that, Python imports the package, and shows its own."""


class Whole(NamedTuple):
    """A job that nothing disturbed: how long it took, and a digest of all of its runs."""

    seconds: float
    digest: str


def command_for(name: str, folder: Path, scratch: Path) -> list[str]:
    """Return the command of a job."""
    if name != "simulate":
        return job(name, folder)
    log = scratch / "grid.parquet"
    if not log.exists():
        us.write(us.record(us.envs.Grid(3), episodes=150, seed=0), log)
    return understudy("simulate", str(log), "--runs", "12", "--halves", "5", "--workers", "2", "--out", str(folder))


def digest_of(folder: Path) -> str:
    """Return a digest of every run below a folder, those on halves and those that failed included."""
    found = [(path.relative_to(folder).as_posix(), fields_of(us.load(path))) for path in folders_in(folder)]
    return hashlib.sha256(pickle.dumps(found)).hexdigest()


def undisturbed(name: str, scratch: Path) -> Whole:
    """Run a job to its end. Raise `AssertionError` where that fails."""
    folder = scratch / f"whole-{name}"
    driver = Driver(command_for(name, folder, scratch), scratch)
    ended = driver.wait(600)
    assert ended is not None
    assert ended.code == 0, ended
    driver.forget()
    return Whole(ended.seconds, digest_of(folder))


class Seen:
    """Runs that a reader could load while a driver was at work, each with a digest: these must never be lost."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs = folder, dict[tuple[str, int], str]()
        self.changed: list[str] = []

    def look(self) -> None:
        """Load the runs that have appeared. What a reader cannot load, though it is there, is noted."""
        for path in [
            self.folder,
            *self.folder.glob("*"),
            *self.folder.glob("halves/*"),
            *self.folder.glob("*/halves/*"),
        ]:
            if not (path / "experiment.json").exists():
                continue
            folder, name = Folder(path), path.relative_to(self.folder).as_posix()
            try:
                for number in folder.numbers():
                    if (name, number) not in self.runs:
                        self.runs[name, number] = _digest(folder.load(number))
            except us.UnderstudyError as error:
                self.changed.append(f"a reader beside the driver was refused: {error}")

    def check(self) -> list[str]:
        """Return what is wrong with the runs that were seen: lost, or other than they were."""
        wrong = list(self.changed)
        for (name, number), digest in self.runs.items():
            try:
                now = _digest(Folder(self.folder / name).load(number))
            except us.UnderstudyError as error:
                wrong.append(f"run {number} of {name} was there and is lost: {error}")
                continue
            if now != digest:
                wrong.append(f"run {number} of {name} is another than it was")
        return wrong


def _digest(run: Any) -> str:
    return hashlib.sha256(pickle.dumps(fields_of(us.Runs((run,), {})))).hexdigest()


class Kill(NamedTuple):
    """A kill: of whom, by which signal, when (a share of the usual time, or after so many files), and how it ended."""

    target: str
    signal: str
    moment: str
    code: int | None
    left: int
    late: bool = False
    """True if the driver had ended before."""


class Killed(NamedTuple):
    """What became of a case: its kills, and what went wrong."""

    name: str
    kills: list[Kill]
    seen: int
    """Runs that were there when their driver or a worker was killed."""
    wrong: list[str]


def run_kill(number: int, seed: int, wholes: dict[str, Whole], scratch: Path, jobs: Any = JOBS) -> Killed:
    """Kill a job once to three times, call it again until it ends by itself, and compare it with an undisturbed one."""
    rng = np.random.default_rng([seed, 77, number])
    name = str(jobs[rng.integers(len(jobs))])
    if name not in wholes:
        wholes[name] = undisturbed(name, scratch)
    whole = wholes[name]
    folder = scratch / f"killed-{number}"
    seen, kills, wrong, limit = Seen(folder), [], [], 60 + 20 * whole.seconds
    for attempt in range(MOST_ATTEMPTS):
        driver = Driver(command_for(name, folder, scratch), scratch)
        disturbed = attempt == 0 or (attempt < 3 and rng.random() < 0.4)
        if disturbed:
            kills.append(_disturb(driver, seen, folder, whole, rng))
        ended = driver.wait(limit)
        if disturbed and ended is not None:
            kills[-1] = kills[-1]._replace(code=ended.code, left=len(ended.left))
        if ended is not None and ended.code == 0 and attempt == 0:  # so that later kills do not come too late
            wholes[name] = whole._replace(seconds=min(whole.seconds, ended.seconds))
        seen.look()
        wrong += _complaints(ended, kills[-1] if disturbed else None, limit)
        wrong += seen.check()
        driver.forget()
        if wrong or (ended is not None and ended.code == 0):
            break
    else:
        wrong.append(f"not finished in {MOST_ATTEMPTS} attempts")
    if not wrong:
        if digest_of(folder) != whole.digest:
            wrong.append("the runs are not those of an undisturbed experiment")
        allowed = any(kill.signal != "SIGINT" for kill in kills)
        hidden = [str(path) for path in folder.rglob(".*")]
        if hidden and not allowed:
            wrong.append(f"temporary files stayed in the results folder: {hidden[:3]}")
    return Killed(name, kills, len(seen.runs), wrong)


def _disturb(driver: Driver, seen: Seen, folder: Path, whole: Whole, rng: np.random.Generator) -> Kill:
    """Wait for a moment, and kill. A third of the moments is just after a file appeared, while another is written."""
    target, number = str(rng.choice(TARGETS)), SIGNALS[rng.integers(len(SIGNALS))]
    if rng.random() < 0.35:
        n_files = int(rng.integers(1, 40))
        moment = f"after {n_files} files"
        while driver.running() and time.monotonic() - driver.began < 2 * whole.seconds and _n_files(folder) < n_files:
            time.sleep(0.0005)
    else:
        share = float(rng.random())
        moment = f"at {share:.0%} of its time"
        while driver.running() and time.monotonic() - driver.began < share * whole.seconds:
            time.sleep(min(0.25, max(0.0, share * whole.seconds - (time.monotonic() - driver.began))))
            if rng.random() < 0.5:
                seen.look()
    late = not driver.running()
    whom = driver.kill(target, number, int(rng.integers(8)))
    return Kill(whom, number.name, moment, None, 0, late)


def _n_files(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*"))


def _complaints(ended: Ended | None, kill: Kill | None, limit: float) -> list[str]:
    """Return what is wrong with how a driver ended."""
    if ended is None:
        return [f"no end within {limit:.0f} seconds"]
    wrong = [f"it said {line[:300]!r}" for line in ended.noise]
    by_worker = kill is None or kill.target == "worker"
    expected = {0} if by_worker else {0, CODES[signal.Signals[kill.signal]]}
    if kill is not None and kill.signal == "SIGINT" and ended.code == -2:
        if not any(map(ended.said.count, OWN)):
            return []  # Python itself was starting: no line of the command had run
        # A shell shows 130, too: Python ends itself by the signal where that has passed through an `exec`.
        expected |= {-2}
    if ended.code not in expected:
        wrong.append(f"exit code {ended.code} instead of {sorted(expected)}: {ended.said[-300:]!r}")
    if ended.stayed:
        wrong.append(f"{len(ended.stayed)} of its processes stayed")
    spared = kill is not None and kill.target == "all" and kill.signal != "SIGINT"  # nobody was left to remove them
    if ended.left and not spared:
        wrong.append(f"it left {ended.left[:3]} in the temporary folder")
    return wrong


def run_kills(
    n: int, seed: int, scratch: Path, report: Any = print, jobs: Any = JOBS, until: float = inf
) -> list[Killed]:
    """Kill n times, in as many experiments as that takes, none begun after `until`. Return what became of them."""
    wholes: dict[str, Whole] = {}
    found: list[Killed] = []
    while (done := sum(not kill.late for one in found for kill in one.kills)) < n and time.monotonic() < until:
        report(done, n)
        found.append(run_kill(len(found), seed, wholes, scratch, jobs))
    return found
