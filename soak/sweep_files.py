"""Damaged and forged files of settings, and folders of sweeps."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from soak.kinds import Made
from soak.mutations import ODD_VALUES, damaged_bytes, damaged_text
from soak.own_files import damaged_file
from understudy.runs.describing import digest

RUN = b"""log = "events.parquet"
action = "arm"
propensity = ["p0", "p1"]
learner = "q-learning"
epsilon = 0.1
simulator = ["psrs", "qbe"]
runs = 12
max-steps = 300
keep-going = true
"""

SWEEP = b"""runs = 10
seed = 3
simulators = ["psrs", "qbe"]

[learners.small]
learner = "q-learning"
epsilon = 0.1

[learners.large]
learner = "q-learning:epsilon=0.9"

[logs.may]
log = "may.parquet"
action = "arm"

[[leave_out]]
learner = "small"
simulator = "qbe"
"""


class SettingsFiles:
    """Files of `understudy simulate run.toml` and of `understudy sweep`, which are read and not run."""

    name, share, sealed = "settings files", 4, False

    def prepare(self, scratch: Path) -> None:
        for self.sweeps, content in ((False, RUN), (True, SWEEP)):  # which also loads what reading them needs
            (scratch / "run.toml").write_bytes(content)
            self.read(scratch, np.random.default_rng(0))

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        self.sweeps = bool(rng.random() < 0.5)
        content, words = SWEEP if self.sweeps else RUN, "a value replaced"
        if rng.random() < 0.5:
            lines = content.decode().split("\n")
            at = int(rng.choice([i for i, line in enumerate(lines) if " = " in line]))
            odd = [_toml(value) for value in ODD_VALUES] + [
                "[" * 2000,
                "{a=" * 500,
                "1979-05-27T07:32:00Z",
                "0x" + "f" * 5000,
            ]
            lines[at] = f"{lines[at].split(' = ')[0]} = {odd[rng.integers(len(odd))]}"
            content = "\n".join(lines).encode("utf-8", "surrogatepass")
        else:
            content, words = damaged_text(content, rng)
        (folder / "run.toml").write_bytes(content)
        return Made(words)

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        from understudy.cli.flags import add_log, add_simulation
        from understudy.cli.settings_file import flags_added_by, read_toml, settings_in
        from understudy.cli.sweep_file import SweepFile

        before = list(sys.path)
        try:
            if self.sweeps:
                return SweepFile.read(folder / "run.toml")
            flags = flags_added_by(add_log, add_simulation)
            return settings_in(read_toml(folder / "run.toml"), flags, "run.toml", folder)
        finally:
            sys.path[:] = before

    def same(self, value: Any) -> bool:
        return True


def _toml(value: Any) -> str:
    """Return a value as TOML writes it, or nearly so."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {_toml(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value).lower()


class Sweeps:
    """Folders of sweeps: each file damaged, or forged with a true digest."""

    name, share, sealed = "sweeps", 3, True

    def prepare(self, scratch: Path) -> None:
        self.whole = scratch / "sweep"
        log = us.record(us.envs.Grid(3), episodes=30, seed=0)
        learners = {name: _q_learning(epsilon) for name, epsilon in (("small", 0.1), ("large", 0.9))}
        us.sweep(learners, ["psrs", "qbe"], {"may": log}, out=self.whole, runs=4, max_steps=60, progress=False)
        every = [path.relative_to(self.whole) for path in self.whole.rglob("*") if path.is_file()]
        self.files = sorted(name for name in every if name.suffix in (".json", ".parquet"))
        self.tables = _tables(us.load_sweep(self.whole))

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        shutil.copytree(self.whole, folder, dirs_exist_ok=True, copy_function=os.link)
        name = self.files[rng.integers(len(self.files))]
        if name.suffix == ".parquet" and rng.random() < 0.3:
            content, words = damaged_bytes((folder / name).read_bytes(), rng)
            (folder / name).unlink()
            forged = (folder / name).with_name(f"{name.stem.rpartition('-')[0]}-{digest(content)}.parquet")
            forged.write_bytes(content)
            return Made(f"{name}, digest made anew: {words}")
        return damaged_file(folder, name, rng)

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        sweep = us.load_sweep(folder)
        tables = _tables(sweep)
        if rng.random() < 0.3:
            str(sweep), str(sweep.compare())
        return tables

    def same(self, value: Any) -> bool:
        return all(found.equals(whole) for found, whole in zip(value, self.tables, strict=True))


def _tables(sweep: us.Sweep) -> list[Any]:
    return [sweep.to_frame(table) for table in ("runs", "curves")]


def _q_learning(epsilon: float) -> Any:
    return lambda seed: us.learners.QLearning(9, 5, epsilon=epsilon, seed=seed)


SWEEP_KINDS = [SettingsFiles(), Sweeps()]
