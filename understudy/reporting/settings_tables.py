"""Tables of what runs were made with: settings, seeds, what differs between sets, and versions."""

import json
import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from understudy.runs import Runs
from understudy.tables import NONE, Column, Table

DIGEST = re.compile("[0-9a-f]{16,}")

PACKAGES = ("numpy", "numba", "scipy", "pyarrow", "torch")
"""Packages whose version may change a number of the page."""


def differing_settings(named: Mapping[str, Runs]) -> Table | None:
    """Return the settings in which sets differ, a column for each set; None where they differ in none.

    That real runs have no log is said once, by their kind, and digests are shortened: each set has a table of its own.
    """
    flat = [dict(_flat(_settings(runs))) for runs in named.values()]
    keys = dict.fromkeys(key for settings in flat for key in settings)
    rows = tuple((key, *(settings.get(key, NONE) for settings in flat)) for key in keys)
    headings = tuple(Column(name, numeric=False) for name in ("", *named))
    real = [runs.about.is_real for runs in named.values()]
    differing = tuple((row[0], *map(_short, row[1:])) for row in rows if _differs(row[1:], real))
    return Table("What differs between the sets", headings, differing) if differing else None


def _differs(values: tuple[str, ...], real: list[bool]) -> bool:
    """True if sets differ in a setting; real ones are left out where they do not have it."""
    return len({value for value, is_real in zip(values, real, strict=True) if value != NONE or not is_real}) > 1


def _short(value: str) -> str:
    """Return a value with a digest shortened, so that a column of them can be read.

    >>> _short("1a5c0ede673a113eae418e3cc143e5e4"), _short("psrs")
    ('1a5c0ede…', 'psrs')
    """
    return f"{value[:8]}…" if DIGEST.fullmatch(value) else value


def settings_table(runs: Runs) -> Table:
    """Return what the runs are of, and their seeds, a line for each setting."""
    seeds = [str(run.seed) for run in runs[:3]]
    more = [f"... ({len(runs):,} in all)"] if len(runs) > len(seeds) else []
    last = (("runs", f"{len(runs):,}"), ("seeds of runs", ", ".join([*seeds, *more]) or NONE))
    headings = (Column("", numeric=False), Column("", numeric=False))
    return Table("Settings", headings, (*_flat(_settings(runs)), *last))


def origin_table(named: Mapping[str, Runs], command: str | None) -> Table:
    """Return where the numbers of a page come from: the command, the fingerprints of logs, and versions."""
    logs = {runs.about.log: name for name, runs in named.items() if runs.about.log is not None}
    rows = [("command", command)] if command else []
    rows += [("fingerprint of the log" + f" of {name}" * (len(logs) > 1), log) for log, name in logs.items()]
    rows += list(versions().items())
    headings = (Column("", numeric=False), Column("", numeric=False))
    return Table("Where this comes from", headings, tuple(rows))


def versions() -> dict[str, str]:
    """Return the versions of Python, of this library, and of the packages that numbers depend on."""
    from understudy import __version__

    found = {"understudy": __version__, "Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # an extra that is not installed
            continue
    return found


def _settings(runs: Runs) -> dict[str, Any]:
    """Return what runs are of, without the long lists of what the log earned along its rows."""
    about = runs.about.to_json()
    returns = {name: value for name, value in (about["log_returns"] or {}).items() if not isinstance(value, list)}
    return about | {"log_returns": returns or None}


def _flat(settings: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Return the names and values of nested settings."""
    lines = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            lines += _flat(value, f"{prefix}{key} · ")
        else:
            text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
            lines.append((f"{prefix}{key}", NONE if value is None else text))
    return lines
