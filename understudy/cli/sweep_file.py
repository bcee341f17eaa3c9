"""The file of a sweep: its tables of learners, simulators, encoders and logs, with the names of flags as keys.

The keys are those of `understudy simulate run.toml`. Those of runs (`runs`, `seed`, `max_steps`, `every`, `out`,
`workers`) are at the top, as is any other that all combinations share. The tables `learners`, `simulators`, `encoders`
and `logs` have a table for each part, by its name; or they are lists, of names of ours, of learners as `understudy
compare` takes them, or of files. `leave_out` is a list of tables of names.
"""

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.cli.choices import is_encoder_file
from understudy.cli.compare import settings_of
from understudy.cli.flags import ENCODERS, SIMULATORS, add_learner, add_log, add_simulation, add_simulator
from understudy.cli.running import use_learner_folder
from understudy.cli.settings_file import (
    PATHS,
    flags_added_by,
    folder_of_learners,
    key_of,
    nearest,
    path_of,
    read_toml,
    refuse_other_kind,
    relative,
    settings_in,
)
from understudy.cli.toml_text import toml_text
from understudy.cli.unused import refuse_unused_settings
from understudy.cli.values import LEARNERS, is_own_learner
from understudy.cli.words import plain_name
from understudy.errors import SettingError
from understudy.runs.describing import digest
from understudy.runs.folder import write_file, write_text
from understudy.storage import read_plain
from understudy.sweeps.names import KEYS, check_names

TABLES = {"learners": "learner", "simulators": "simulator", "encoders": "encoder", "logs": "log"}
"""The tables of parts, and the flag that says which part it is."""

ENCODER_KEYS = ("encoder", "bins", "states")
RUN_KEYS = ("runs", "seed", "max_steps", "every", "out", "workers", "backend")
"""Settings that are the same for all combinations."""


def vocabulary() -> dict[str, dict[str, argparse.Action]]:
    """Return the flags that a file of a sweep may name, by the kind of part that they are about, and "runs"."""
    of_simulators, of_runs = flags_added_by(add_simulator), flags_added_by(add_simulation)
    return {
        "learner": {key: one for key, one in flags_added_by(add_learner).items() if key != "traceback"},
        "simulator": {key: one for key, one in of_simulators.items() if key not in ENCODER_KEYS},
        "encoder": {key: of_simulators[key] for key in ENCODER_KEYS},
        "log": flags_added_by(add_log),
        "runs": {key: of_runs[key] for key in RUN_KEYS},
    }


@dataclass(frozen=True)
class SweepFile:
    """What a file of a sweep says: shared options, those of each part, and rules of what is left out."""

    path: Path
    shared: dict[str, Any]  # options at the top, by their destinations
    parts: dict[str, dict[str, dict[str, Any]]]  # "learner" -> name -> options
    leave_out: list[Any]
    defaults: dict[str, Any]

    @classmethod
    def read(cls, path: Any) -> "SweepFile":
        """Return what a file says. Raise `SettingError` for what it cannot say, with the nearest that it can."""
        path = Path(path)
        content, words = read_toml(path), vocabulary()
        refuse_other_kind(content, path, "sweep")
        every = {key: action for flags in words.values() for key, action in flags.items()}
        known = dict.fromkeys([*TABLES, "leave_out", *every])
        tables = {key_of(written): value for written, value in content.items()}
        for written in content:
            if key_of(written) not in known:
                raise SettingError(f"{path}: there is no setting {written!r}; {nearest(key_of(written), known)}")
        top = {key: value for key, value in tables.items() if key in every}
        for key in ("log", "learner", "simulator", "encoder"):
            if key in top:
                raise SettingError(f"{path}: {key!r} is one of several in a sweep; name it in [{key}s.NAME]")
        parts = {}
        for table, key in TABLES.items():
            given = tables.get(table, ["identity"] if table == "encoders" else None)
            parts[key] = _parts_in(given, key, words[key], path)
            check_names(key, parts[key])
        leave_out = tables.get("leave_out", [])
        defaults = {action.dest: action.default for action in every.values()} | {"given": ()}
        found = cls(path, settings_in(top, every, str(path), path.parent), parts, leave_out, defaults)
        kinds = {name: found.learner_options(learner=name).learner for name in parts["learner"]}
        refuse_unused_settings(list(kinds.values()), found.shared["given"])
        found.use_learner_folders()
        for name, kind in kinds.items():
            refuse_unused_settings([kind], parts["learner"][name]["given"])
        return found

    def use_learner_folders(self) -> None:
        """Let the modules of learners of one's own be found where the file says.

        Raise `SettingError` where that is not a folder, and where two folders have a module of the same name: Python
        knows one.
        """
        found: dict[str, tuple[str, str]] = {}
        for name in self.parts["learner"]:
            options = self.learner_options(learner=name)
            folder, module = options.learner_folder, options.learner.partition(":")[0].partition(".")[0]
            if folder is None or not is_own_learner(options.learner):
                continue
            use_learner_folder(folder)
            other, before = found.setdefault(module, (name, folder))
            if not os.path.samefile(folder, before):
                raise SettingError(
                    f"{self.path}: learners {other!r} and {name!r} are of a module {module} in two folders, {before} "
                    f"and {folder}, of which Python would take one for both; rename one of the modules"
                )

    @property
    def names(self) -> dict[str, list[str]]:
        """The names of the parts."""
        return {key: list(self.parts[key]) for key in KEYS}

    def options(self, **names: str) -> argparse.Namespace:
        """Return the options of parts of these names: what the file says of each, or at its top, or the default."""
        given = [self.shared, *(self.parts[key][name] for key, name in names.items())]
        merged = dict(self.defaults)
        for one in given:
            merged |= one
        merged["given"] = tuple(dict.fromkeys(dest for one in given for dest in one["given"]))
        return argparse.Namespace(**merged)

    def learner_options(self, **names: str) -> argparse.Namespace:
        """Return the options of a learner, those that are written in its name (q-learning:epsilon=0.1) included."""
        options = self.options(**names)
        return settings_of(options.learner, options)


def _parts_in(given: Any, key: str, flags: Mapping[str, argparse.Action], path: Path) -> dict[str, dict[str, Any]]:
    """Return the options of each part of a table of parts, or of a list of their names."""
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        named: Any = {plain_name(one) if key == "log" else one: {key: one} for one in given}
        if len(named) < len(given):
            raise SettingError(f"{path}: two of {key}s have one name; give [{key}s.NAME] for each")
    else:
        named = given
    if not isinstance(named, dict) or not named or not all(isinstance(one, dict) for one in named.values()):
        raise SettingError(f"{path}: {key}s is a list of texts, or has a table [{key}s.NAME] for each; there is none")
    known = {"learner": LEARNERS, "simulator": SIMULATORS, "encoder": ENCODERS, "log": ()}[key]
    found = {}
    for name, table in named.items():
        place = f"{path}: [{key}s.{name}]"
        kind = table.get(key, name if name in known else None)
        if not isinstance(kind, str):
            raise SettingError(f"{place} says no {key}; add {key} = ..., a text")
        # The settings of a learner may be written behind its name, which is checked without them.
        bare = kind.partition(":")[0] if key == "learner" and not is_own_learner(kind) else kind
        found[name] = settings_in({**table, key: bare}, flags, place, path.parent)
        if key == "learner":
            found[name][key] = kind
    return found


def write_sweep_file(file: SweepFile, folder: Path, runs: int | None) -> None:
    """Write the file of a sweep into its folder: the same, with paths relative to it, and this number of runs.

    It says where the modules of learners of one's own were found, and names the folder's own copies of encoders that
    came from files.
    """
    from understudy import __version__

    content = moved(read_toml(file.path), file.path.parent, folder) | {"out": "."}
    content |= {} if runs is None else {"runs": runs}
    places: dict[str, dict[str, str]] = {"learner": {}, "encoder": {}}
    for name in file.parts["learner"]:
        if (found := folder_of_learners(file.learner_options(learner=name))) is not None:
            places["learner"][name] = os.path.relpath(found, folder)
    for name in file.parts["encoder"]:
        if is_encoder_file(path := file.options(encoder=name).encoder):
            places["encoder"][name] = os.path.relpath(_kept_encoder(path, folder), folder)
    for key, found_of in places.items():
        tables = content.get(f"{key}s", {})
        if found_of and isinstance(tables, list):
            tables = {name: {key: name} for name in file.parts[key]}
        setting = "learner_folder" if key == "learner" else key
        for name, place in found_of.items():
            others = {written: value for written, value in tables[name].items() if key_of(written) != setting}
            tables[name] = others | {setting: place}
        if found_of:
            content[f"{key}s"] = tables
    head = f"# understudy {__version__}: understudy sweep sweep.toml makes these runs\n"
    write_text(folder / "sweep.toml", head + toml_text(content))


def _kept_encoder(path: str, folder: Path) -> Path:
    """Return the copy of an encoder's file in the folder of a sweep, which has its digest in its name."""
    content = read_plain(Path(path))
    kept = folder / f"encoder-{digest(content)}.npz"
    if not kept.exists():
        write_file(kept, lambda beside: beside.write_bytes(content))
    return kept


def moved(table: Mapping[str, Any], before: Path, folder: Path) -> dict[str, Any]:
    """Return a table whose paths were relative to one folder with paths that are relative to another."""

    def one(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return moved(value, before, folder)
        if isinstance(value, list) and key in TABLES:
            return [one(TABLES[key], item) for item in value]
        is_path = key in PATHS and isinstance(value, str)
        return relative(key, path_of(key, value, before), folder) if is_path else value

    return {key: one(key_of(key), value) for key, value in table.items()}
