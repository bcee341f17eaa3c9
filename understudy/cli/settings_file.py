"""Settings from a TOML file: the keys are the names of flags, checked by the flags' own definitions.

`understudy simulate run.toml` takes from run.toml what the flags would say; flags that are given, too, come first. So
does `understudy compare run.toml`, where learners that are given, too, are compared as well. A key is a flag's long
name, with hyphens or underscores. Paths are relative to the file.
"""

import argparse
import os
import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from understudy.cli.flags import ENCODERS, StoreGiven, add_comparison, add_log, add_simulation
from understudy.cli.toml_text import toml_text
from understudy.cli.values import is_own_learner
from understudy.errors import SettingError
from understudy.logs.source_files import is_pattern
from understudy.runs.folder import write_text
from understudy.settings import shown
from understudy.storage import error_reason, read_plain

ENDING = ".toml"
PATHS = ("log", "like", "propensities", "encoder", "out", "learner_folder")
"""Settings that are paths, where they are not the names of something else."""

SWEEP_KEYS = {"learners", "simulators", "encoders", "logs", "leave_out"}
"""Keys that only the file of a sweep has."""


def is_settings_file(text: Any) -> bool:
    """True if an argument names a file of settings, by its ending.

    >>> is_settings_file("run.toml"), is_settings_file("events.parquet")
    (True, False)
    """
    return isinstance(text, str | os.PathLike) and str(text).endswith(ENDING)


def flags_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return the flags of a parser by the keys that they have in a file."""
    named = {}
    for action in parser._actions:  # argparse has no other list of them
        name = action.option_strings[0 if is_boolean(action) else -1] if action.option_strings else action.dest
        named[key_of(name)] = action
    for only_typed in ("help", "json", "quiet"):  # what is printed is not a setting of the runs
        named.pop(only_typed, None)
    return named


def flags_added_by(*adding: Callable[[argparse.ArgumentParser], None]) -> dict[str, argparse.Action]:
    """Return the flags that functions add to a parser, by their keys, with the defaults that they have there."""
    parser = argparse.ArgumentParser(add_help=False)
    for add in adding:
        add(parser)
    return flags_of(parser)


def key_of(name: str) -> str:
    """Return the key of a flag, or a key as it was written, with underscores.

    >>> key_of("--max-steps"), key_of("max-steps")
    ('max_steps', 'max_steps')
    """
    return name.removeprefix("--").replace("-", "_")


def is_repeated(action: argparse.Action) -> bool:
    """True if a flag is given several times, each with a value."""
    return isinstance(action, argparse._AppendAction)


def is_boolean(action: argparse.Action) -> bool:
    """True if a flag has a form with --no-."""
    return isinstance(action, argparse.BooleanOptionalAction)


def read_toml(path: Any) -> dict[str, Any]:
    """Return what a TOML file holds. Raise `SettingError` where it cannot be read."""
    try:
        return tomllib.loads(read_plain(Path(path)).decode())
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error_reason(error)}; give a file of settings") from error
    except RecursionError as error:
        raise SettingError(f"{path} has lists or tables in each other without end; mend it there") from error
    except ValueError as error:  # text that is not TOML, or not UTF-8
        raise SettingError(f"{path} is not TOML: {error_reason(error)}; mend it there") from error


def refuse_other_kind(table: Mapping[str, Any], path: Path, command: str, flags: Mapping[str, Any] = {}) -> None:
    """Raise `SettingError` for a file of another command, told by its tables of parts or its list of learners.

    One of simulate's without keys beyond `flags` will do for compare, which may be given further learners.
    """
    keys = set(map(key_of, table))
    if keys & SWEEP_KEYS:
        kind = "sweep"
    elif not keys & {"log", "learner"}:
        return
    else:
        kind = "compare" if isinstance(table.get("learner"), list) else "simulate"
    if kind != command and not (command == "compare" and kind == "simulate" and keys <= flags.keys()):
        raise SettingError(f"{path} is a file of understudy {kind}; give understudy {kind} {shlex.quote(str(path))}")


def settings_in(
    table: Mapping[str, Any], flags: Mapping[str, argparse.Action], place: str, folder: Path
) -> dict[str, Any]:
    """Return the values of flags by their destinations, as the flags would give them, with the names that were given.

    `place` names the table in messages, and paths are relative to `folder`. Raise `SettingError` for an unknown key,
    with the nearest known one, and for a value that the flag would refuse.
    """
    found: dict[str, Any] = {}
    given: list[str] = []
    for written, value in table.items():
        key = key_of(written)
        if key not in flags:
            raise SettingError(f"{place}: there is no setting {written!r}; {nearest(key, flags)}")
        action = flags[key]
        if action.dest in found:
            raise SettingError(f"{place}: {written!r} is given twice; leave one out")
        try:
            found[action.dest] = value_of(action, value)
        except (ValueError, TypeError, argparse.ArgumentTypeError) as error:
            raise SettingError(f"{place}: {written} = {shown(value)} cannot be used: {error}") from None
        if key in PATHS:
            found[action.dest] = path_of(key, found[action.dest], folder)
        if isinstance(action, StoreGiven):
            given.append(action.dest)
    learners = found.get("learner", "")
    own = any(map(is_own_learner, learners if isinstance(learners, list) else [str(learners)]))
    if own and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # a learner of one's own lies beside the file
    return found | {"given": tuple(given)}


def nearest(key: str, known: Mapping[str, Any]) -> str:
    """Return which known key may be meant, as advice.

    >>> nearest("epsilom", {"epsilon": None, "runs": None}), nearest("x", {"runs": None, "seed": None})
    ("'epsilon' is the nearest", 'give one of runs, seed')
    """
    close = get_close_matches(key, known, n=1)
    return f"{close[0]!r} is the nearest" if close else f"give one of {', '.join(sorted(known))}"


def value_of(action: argparse.Action, value: Any) -> Any:
    """Return what a flag makes of a value of a file. Raise `ValueError` or what its type raises where it refuses it."""
    if action.nargs == 0 or is_boolean(action):
        if not isinstance(value, bool):
            raise ValueError("give true or false")
        return value if is_boolean(action) else action.const if value else action.default
    if action.nargs == "+" or is_repeated(action):
        items = value if isinstance(value, list) else [value]
        if not items:
            raise ValueError("give one or more")
        return [read_one(action, item) for item in items]
    if isinstance(value, list) and "," in str(action.metavar):  # a flag that takes names with commas between them
        value = ",".join(map(as_text, value))
    return read_one(action, value)


def read_one(action: argparse.Action, value: Any) -> Any:
    """Return what a flag reads from one value."""
    kind: Callable[[str], Any] = action.type if callable(action.type) else str
    found = kind(as_text(value))
    if action.choices is not None and found not in action.choices:
        raise ValueError(f"give one of {', '.join(map(str, action.choices))}")
    return found


def as_text(value: Any) -> str:
    """Return a value of a file as it would be written in a command."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("give a text or a number")
    return str(value)


def path_of(key: str, text: str, folder: Path) -> str:
    """Return a path relative to a folder; what is not one, such as a name of ours or a Minari id, stays as it is."""
    joined = os.path.join(folder, text)
    if key == "encoder" and text in ENCODERS:
        return text
    return joined if key == "out" or is_pattern(text) or os.path.exists(joined) else text


def with_settings_file(
    parser: argparse.ArgumentParser, options: argparse.Namespace, arguments: Sequence[str] | None
) -> argparse.Namespace:
    """Return the options of a command with those of the file that its LOG names; flags that are given come first."""
    own: argparse.ArgumentParser = options.own_parser
    path = Path(options.log)
    table, flags = read_toml(path), flags_of(own)
    refuse_other_kind(table, path, own.prog.split()[-1], flags)
    found = settings_in(table, flags, str(path), path.parent)
    log = found.pop("log", None)
    if log is None:
        raise SettingError(f'{path} names no log; add log = "FILE"')
    own.set_defaults(**found)
    both = parser.parse_args(arguments)
    both.log = log
    both.typed = vars(options).get("typed")
    both.outcome = vars(options).setdefault("outcome", {})  # what --json prints, whichever options the command has
    return both


def write_settings(path: Path, options: argparse.Namespace, command: str = "simulate") -> None:
    """Write the file of settings that gives these options: what is not as usual, and what was given."""
    adding = add_comparison if command == "compare" else add_simulation
    given = vars(options).get("given", ())
    table: dict[str, Any] = {}
    for key, action in flags_added_by(add_log, adding).items():
        value = vars(options).get(action.dest)
        if value is None or (value == action.default and action.dest not in given):
            continue
        is_switch = action.nargs == 0 and not is_boolean(action)
        table[key] = True if is_switch else relative(key, value, path.parent)
    if (folder := folder_of_learners(options)) is not None:
        table["learner_folder"] = os.path.relpath(folder, path.parent)
    from understudy import __version__

    try:
        text = toml_text(table)
        text.encode()
    except UnicodeEncodeError:
        raise SettingError(
            f"a path among {', '.join(repr(str(table[key])) for key in PATHS if key in table)} is not UTF-8, which the "
            f"file of settings of the results, {path.name}, cannot hold; rename it"
        ) from None
    head = f"# understudy {__version__}: understudy {command} {path.name} makes these runs, with flags to change some\n"
    write_text(path, head + text)


def folder_of_learners(options: argparse.Namespace) -> str | None:
    """Return the folder in which modules of the user's own learners were found; None for those that are installed."""
    learners = options.learner if isinstance(options.learner, list) else [str(options.learner)]
    for text in filter(is_own_learner, learners):
        module = text.partition(":")[0]
        file = vars(sys.modules[module]).get("__file__") if module in sys.modules else None
        if file is None or "site-packages" in Path(file).parts:
            continue
        above = len(module.split(".")) - (Path(file).name != "__init__.py")
        return str(Path(file).resolve().parents[above])
    return None


def was_made_in_full(path: Path) -> bool:
    """True if a file of settings is there, and does not say `quick`."""
    return path.is_file() and not read_toml(path).get("quick", False)


def relative(key: str, value: Any, folder: Path) -> Any:
    """Return a value as a file in a folder has it: paths relative to it."""
    if isinstance(value, tuple):
        return list(value)
    is_path = key in PATHS and (key == "out" or is_pattern(value) or os.path.exists(value))
    return os.path.relpath(value, folder) if is_path and not (key == "encoder" and value in ENCODERS) else value
