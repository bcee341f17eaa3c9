"""Damaged and forged inputs by the thousand, read in forked processes that may crash, hang or run out of memory."""

import json
import mmap
import os
import shutil
import signal
import struct
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from soak.kinds import Kind
from soak.log_files import LOG_KINDS
from soak.own_files import OWN_KINDS
from soak.sweep_files import SWEEP_KINDS
from soak.watching import Outcome, limit_memory, limit_processor_time, outcome_of

SECONDS = 20
"""Processor time that reading an input may take; one that waits for something has three times as long by the clock."""

CASES_AT_ONCE = 500
"""Cases that one process reads: address space that libraries keep must not add up to the limit."""

POSITION = struct.Struct("qd")


class Case(NamedTuple):
    """One input: its kind and its number, from which it can be made again."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"


def kinds_here() -> dict[str, Kind]:
    """Return the kinds of inputs that can be read here, by name: some need an extra."""
    found: list[Any] = [*LOG_KINDS, *OWN_KINDS, *SWEEP_KINDS]
    needs = {"h5py": ("hdf5", "minari"), "minari": ("minari",), "understudy.sweeps": ("settings files", "sweeps")}
    missing = {name for module, names in needs.items() if find_spec(module) is None for name in names}
    return {kind.name: kind for kind in found if kind.name not in missing}


def cases_of(kinds: Sequence[Kind], n: int) -> list[Case]:
    """Return n cases, divided among kinds by their shares; those of all kinds come in turn."""
    shares = np.cumsum([0, *(kind.share for kind in kinds)])
    ends = np.round(shares / shares[-1] * n).astype(int)
    counts = np.diff(ends)
    found = [
        (number / count, Case(kind.name, number))
        for kind, count in zip(kinds, counts, strict=True)
        for number in range(count)
    ]
    return [case for _, case in sorted(found)]


def generator_of(case: Case, seed: int) -> np.random.Generator:
    """Return the generator from which a case is made."""
    return np.random.default_rng([seed, zlib.crc32(case.kind.encode()), case.number])


@contextmanager
def prepared(kinds: Sequence[Kind]) -> Any:
    """Context manager: the kinds' whole inputs are made in a temporary folder, which is given; the working folder is
    one in it.
    """
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="understudy-soak-") as scratch:
        os.chdir(scratch)
        try:
            for number, kind in enumerate(kinds):
                whole = Path(scratch) / f"whole-{number}"
                whole.mkdir()
                kind.prepare(whole)
            yield Path(scratch)
        finally:
            os.chdir(before)


def run_case(kind: Kind, case: Case, seed: int, scratch: Path) -> tuple[Outcome, str]:
    """Make an input and read it. Return how that ended, and what was done to the input."""
    rng = generator_of(case, seed)
    folder = scratch / f"case-{os.getpid()}"
    folder.mkdir()
    try:
        made = kind.make(folder, rng)
        outcome, value = outcome_of(lambda: kind.read(folder, rng), folder, scratch / "CANARY")
        if outcome.end == "read" and not kind.same(value):
            end = "read as other values" if made.forged else "misread" if kind.sealed else "damage not noticed"
            outcome = Outcome(end, "a damaged file was read as another")
    finally:
        shutil.rmtree(folder)
    return outcome, made.words


def show_case(case: Case, seed: int) -> str:
    """Run one case here, and return what happened, with the traceback of what it raised."""
    kind = kinds_here()[case.kind]
    with prepared([kind]) as scratch:
        outcome, words = run_case(kind, case, seed, scratch)
        lines = [f"{case} (seed {seed}): {words}", f"{outcome.end}: {outcome.words}"]
        if outcome.end in ("raised", "no sentence"):
            folder, rng = scratch / f"case-{os.getpid()}", generator_of(case, seed)
            folder.mkdir()
            try:
                kind.make(folder, rng)
                kind.read(folder, rng)
            except Exception:
                lines.append(traceback.format_exc())
        return "\n".join(lines)


class Found(NamedTuple):
    """What became of inputs: how many ended how, by kind, and those that ended as none should."""

    counts: dict[str, dict[str, int]]
    wrong: list[dict[str, Any]]
    seconds: float
    peak: int
    """The most memory, in bytes, by which a process grew."""


def run_inputs(n: int, seed: int, workers: int = 2, only: str = "", report: Any = print, until: float = inf) -> Found:
    """Read n damaged inputs in processes, none begun after `until`, and return what became of them."""
    kinds = {name: kind for name, kind in kinds_here().items() if only in name}
    cases, began = cases_of(list(kinds.values()), n), time.monotonic()
    with prepared(list(kinds.values())) as scratch:
        crews = [_Crew(cases[at::workers], kinds, seed, scratch, at, until) for at in range(workers)]
        while sum([crew.watch() for crew in crews]):  # each of them: `any` would stop at the first
            time.sleep(0.1)
            report(sum(crew.position for crew in crews), n)
        lines = [json.loads(line) for crew in crews for line in crew.file.read_text(encoding="utf-8").splitlines()]
    counts: dict[str, Counter] = {name: Counter() for name in kinds}
    for line in lines:
        if "end" in line:
            counts[line["kind"]][line["end"]] += 1
    wrong = [line for line in lines if "end" in line and not Outcome(line["end"]).fine]
    peak = max((line["peak"] for line in lines if "peak" in line), default=0)
    return Found({name: dict(one) for name, one in counts.items()}, wrong, time.monotonic() - began, peak)


class _Crew:
    """A process at a time that goes through some cases; where it dies, the next one goes on after that case."""

    def __init__(
        self, cases: Sequence[Case], kinds: dict[str, Kind], seed: int, scratch: Path, number: int, until: float
    ) -> None:
        self.until = until
        self.cases, self.kinds, self.seed, self.scratch = cases, kinds, seed, scratch
        self.file = scratch / f"found-{number}.jsonl"
        self.file.touch()
        self.shared = mmap.mmap(-1, POSITION.size)
        self.process = 0
        self._start(0)

    @property
    def position(self) -> int:
        """How many cases are done."""
        return POSITION.unpack(self.shared)[0]

    def _start(self, first: int) -> None:
        if first >= len(self.cases) or time.monotonic() > self.until:
            self.process = 0
            return
        self._note(first)
        self.process = os.fork()
        if self.process == 0:
            code = 1
            try:
                self._work(first)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)

    def _note(self, position: int) -> None:
        self.shared[:] = POSITION.pack(position, time.monotonic())

    def _work(self, first: int) -> None:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        limit_memory()
        base = _resident()
        with self.file.open("a", buffering=1, encoding="utf-8") as file:
            last = min(len(self.cases), first + CASES_AT_ONCE)
            for position in range(first, last):
                if time.monotonic() > self.until:
                    return
                self._note(position)
                limit_processor_time(SECONDS)
                case = self.cases[position]
                outcome, words = run_case(self.kinds[case.kind], case, self.seed, self.scratch)
                file.write(self._line(case, outcome, words))
            self._note(last)
            file.write(json.dumps({"peak": _resident() - base}) + "\n")

    def _line(self, case: Case, outcome: Outcome, words: str) -> str:
        more = {} if outcome.fine else {"words": outcome.words, "done": words}
        return json.dumps({"kind": case.kind, "number": case.number, "end": outcome.end, **more}) + "\n"

    def watch(self) -> bool:
        """True if there is work left. Notice a process that has died or that waits for too long."""
        if not self.process:
            return False
        ended, status = os.waitpid(self.process, os.WNOHANG)
        position, since = POSITION.unpack(self.shared)
        if not ended:
            if time.monotonic() - since > 3 * SECONDS:
                os.kill(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
                self._lost(position, Outcome("hang", f"no end in {3 * SECONDS} seconds"))
            return bool(self.process)
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            self._start(position)
        elif -code == signal.SIGXCPU:
            self._lost(position, Outcome("hang", f"more than {SECONDS} seconds of processor time"))
        else:
            self._lost(position, Outcome("crash", signal.Signals(-code).name if code < 0 else f"exit {code}"))
        return bool(self.process)

    def _lost(self, position: int, outcome: Outcome) -> None:
        for left in self.scratch.glob(f"case-{self.process}"):
            shutil.rmtree(left, ignore_errors=True)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(self._line(self.cases[position], outcome, ""))
        self._start(position + 1)


def _resident() -> int:
    """Return the most memory that this process has had, in bytes; of a fork, since it was forked."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return 0
