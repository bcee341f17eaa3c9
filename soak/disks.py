"""Disks that fill up: as results folder, as folder for temporary files, and as Numba's cache.

A file system of a few hundred kilobytes in memory is mounted where that is allowed (as root, on Linux); elsewhere the
size of each file is limited instead, which fills up only what is written as one file.
"""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import understudy as us
from soak.kills import digest_of
from soak.processes import Driver, job, understudy

SIZES = (64, 160, 400)
"""Kilobytes that there is room for."""


class Filled(NamedTuple):
    """A command that met a full disk: on which folder, with how much room, what it said, and what went wrong."""

    folder: str
    kilobytes: int
    command: str
    code: int | None
    said: str
    wrong: list[str]


def can_mount() -> bool:
    """True if file systems can be mounted here."""
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("mount") is not None


@contextmanager
def small_disk(path: Path, kilobytes: int) -> Iterator[Path]:
    """Context manager: a folder with room for so many kilobytes."""
    path.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "understudy-soak", str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
        path.rmdir()


def make_room(path: Path) -> None:
    """Give a small disk room for 64 megabytes."""
    subprocess.run(["mount", "-o", "remount,size=64m", str(path)], check=True)


def commands(folder: Path, scratch: Path) -> dict[str, list[str]]:
    """Return the commands that write results into a folder."""
    log = scratch / "grid.parquet"
    if not log.exists():
        us.write(us.record(us.envs.Grid(3), episodes=150, seed=0), log)
    simulate = understudy("simulate", str(log), "--runs", "30", "--halves", "5", "--workers", "2", "--out", str(folder))
    return {"halves": job("halves", folder), "processes": job("processes", folder), "simulate": simulate}


def fill_results(name: str, kilobytes: int, scratch: Path) -> Filled:
    """Run a command whose results folder fills up, then make room, call it again and compare with a whole one."""
    whole = scratch / f"whole-{name}"
    if not whole.exists():
        _ended(commands(whole, scratch)[name], scratch)
    with small_disk(scratch / "disk", kilobytes) as disk:
        folder = disk / "results"
        command = commands(folder, scratch)[name]
        code, said, wrong = _ended(command, scratch)
        sentence = said.strip().splitlines()[-1] if said.strip() else ""
        refused = code == 2 and str(disk) in sentence and "make room" in sentence
        if code != 0 and not refused:  # a small experiment may fit
            wrong.append(f"exit code {code}, and its last line is {sentence[-300:]!r}")
        wrong += _unreadable(folder)
        make_room(disk)
        again, words, more = _ended(command, scratch)
        if again != 0:
            wrong.append(f"with room, exit code {again}: {words[-300:]!r}")
        elif digest_of(folder) != digest_of(whole):
            wrong.append("the runs are not those of a disk with room")
        hidden = [path.name for path in folder.rglob(".*")]
        if hidden:
            wrong.append(f"temporary files stayed: {hidden[:3]}")
        return Filled("results", kilobytes, name, code, sentence[-300:], wrong + more)


def _unreadable(folder: Path) -> list[str]:
    """Return what a reader says of a folder on a full disk: what is there must be whole."""
    wrong = []
    for marker in folder.rglob("experiment.json"):
        try:
            us.load(marker.parent)
        except us.UnderstudyError as error:
            wrong.append(f"what was written cannot be read: {error}")
    return wrong


def fill_beside(variable: str, kilobytes: int, scratch: Path) -> Filled:
    """Run a command whose temporary folder or Numba's cache fills up."""
    with small_disk(scratch / "disk", kilobytes) as disk:
        folder = scratch / f"beside-{variable}-{kilobytes}"
        name = "processes" if variable == "TMPDIR" else "halves"
        code, said, wrong = _ended(job(name, folder), scratch, **{variable: str(disk)})
        sentence = said.strip().splitlines()[-1] if said.strip() else ""
        if code not in (0, 2):
            wrong.append(f"exit code {code}: {said[-600:]!r}")
        if code == 2 and (str(disk) not in sentence or "room" not in sentence):
            wrong.append(f"its last line is {sentence[-300:]!r}")
        if code == 2:
            make_room(disk)
            again, words, more = _ended(job(name, folder), scratch, **{variable: str(disk)})
            wrong += [f"with room, exit code {again}: {words[-300:]!r}"] if again else more
        if variable == "TMPDIR" and any(disk.iterdir()):
            wrong.append(f"it left {[path.name for path in disk.iterdir()][:3]}")
        shutil.rmtree(folder, ignore_errors=True)
        return Filled(variable, kilobytes, name, code, sentence[-300:], wrong)


def _ended(command: list[str], scratch: Path, **environment: str) -> tuple[int | None, str, list[str]]:
    """Run a command to its end. Return its exit code, what it said, and what is wrong with that."""
    driver = Driver(command, scratch, **environment)
    ended = driver.wait(600)
    if environment.get("TMPDIR") is None:
        driver.forget()
    if ended is None:
        return None, "", ["no end within 600 seconds"]
    wrong = [f"it said {line[:300]!r}" for line in ended.noise]
    if ended.stayed:
        wrong.append(f"{len(ended.stayed)} of its processes stayed")
    return ended.code, ended.said, wrong


def limited_writes(folder: Path, octets: int = 600) -> list[str]:
    """Write results, a log and an encoder with a limit on the size of files; return what went wrong. For everywhere."""
    wrong, before = [], resource.getrlimit(resource.RLIMIT_FSIZE)
    log = us.record(us.envs.Grid(3), episodes=60, seed=0)
    encoder = us.encoders.KMeans(3, seed=0).fit(log)
    writes: dict[str, Any] = {
        "log.parquet": lambda path: us.write(log, path),
        "log.csv": lambda path: us.write(log, path),
        "encoder.npz": encoder.save,
        "results": lambda path: us.experiment(us.qbe(log), lambda seed: us.learners.Uniform(5), runs=2, out=path,
                                              progress=False, backend="serial", compiled=False),
    }  # fmt: skip
    resource.setrlimit(resource.RLIMIT_FSIZE, (octets, before[1]))
    try:
        for name, write in writes.items():
            try:
                write(folder / name)
                wrong.append(f"{name} was written, though it does not fit")
            except us.UnderstudyError as error:
                if str(folder / name) not in str(error) or not any(word in str(error) for word in ("room", "space")):
                    wrong.append(f"{name}: {error}")
            except OSError as error:
                wrong.append(f"{name}: {error!r}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    left = [path.name for path in folder.rglob("*") if path.is_file() and path.name != "experiment.json"]
    return wrong + ([f"half-written files stayed: {left}"] if left else [])


def run_disks(scratch: Path, report: Any = print) -> list[Filled]:
    """Fill disks of several sizes in each place, and return what became of the commands."""
    (scratch / "limited").mkdir()
    wrong = limited_writes(scratch / "limited")
    found = [Filled("results", 2, "writing with a limit on files", 2, "", wrong)]
    if not can_mount():
        return found
    cases = [(fill_results, name, size) for name in ("halves", "processes", "simulate") for size in SIZES]
    cases += [(fill_beside, "TMPDIR", size) for size in (8, 1500, 4000)]
    cases += [(fill_beside, "NUMBA_CACHE_DIR", size) for size in (8, 300)]
    for number, (fill, what, size) in enumerate(cases):
        found.append(fill(what, size, scratch))
        report(number + 1, len(cases))
    return found
