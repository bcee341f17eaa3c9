"""The names of the parts of a sweep, and the folders that they stand for."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from understudy.errors import ResultsError, SettingError
from understudy.settings import shown

NULL = "__HIVE_DEFAULT_PARTITION__"
"""The name that readers of hive partitions take for no name."""

LONGEST = 200
"""Bytes that a name may have in the name of a folder; file systems allow 255 in all."""


class Combination(NamedTuple):
    """The names of a learner, a simulator, an encoder and a log: one experiment of a sweep."""

    learner: str
    simulator: str
    encoder: str
    log: str

    @property
    def partition(self) -> str:
        """The folder of the combination within a table, as hive names it.

        >>> Combination("q / 0.1", "psrs", "identity", "..").partition
        'learner=q%20%2F%200.1/simulator=psrs/encoder=identity/log=..'
        """
        return "/".join(partition_of(key, name) for key, name in self._asdict().items())

    def __str__(self) -> str:
        return ", ".join(f"{key} {name!r}" for key, name in self._asdict().items())


KEYS = Combination._fields
"""What a combination has a name for, in the order of folders."""


def partition_of(key: str, name: str) -> str:
    """Return the name of the folder of a part, in which no letter has a meaning to a file system or a pattern."""
    return f"{key}={quote(name, safe='')}"


def combination_of(folder: str) -> Combination:
    """Return the combination of a partition's folder. Raise `ResultsError` where it is not one of ours.

    >>> combination_of("learner=a%3Db/simulator=psrs/encoder=identity/log=..").learner
    'a=b'
    """
    found = [segment.partition("=") for segment in folder.replace(os.sep, "/").split("/")]
    names = Combination(*(unquote(name) for _, _, name in found)) if len(found) == len(KEYS) else None
    if names is None or names.partition != "/".join(f"{key}={name}" for key, _, name in found):
        raise ResultsError(f"{folder} is not the folder of a combination of a sweep; remove it, or give another folder")
    return names


def check_names(kind: str, names: Iterable[Any]) -> None:
    """Raise `SettingError` where a name cannot be that of a part, or two could not be told apart by their folders."""
    seen: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not name or name == NULL:
            raise SettingError(f"a {kind} of the sweep is named {shown(name)}; name it by a text of a letter or more")
        try:
            length = len(quote(name, safe=""))
        except UnicodeEncodeError:
            raise SettingError(
                f"a {kind} of the sweep is named {shown(name)}, which no file can hold; name it otherwise"
            ) from None
        if length > LONGEST:
            raise SettingError(f"the name {shown(name)} of a {kind} is too long for a folder; give a shorter one")
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise SettingError(
                f"the names {other!r} and {name!r} of two {kind}s are one folder where case does not count; change one"
            )


def is_left_out(combination: Combination, rules: Iterable[Mapping[str, Any]]) -> bool:
    """True if a rule names this combination: a table of names, or of lists of names, that all hold.

    >>> is_left_out(Combination("q", "psrs", "identity", "may"), [{"learner": "q", "log": ["may", "june"]}])
    True
    """
    names = combination._asdict()
    return any(
        all(names[key] in ([one] if isinstance(one, str) else one) for key, one in rule.items()) for rule in rules
    )


def check_rules(rules: Any, names: Mapping[str, Iterable[str]]) -> list[Mapping[str, Any]]:
    """Return the rules of combinations to leave out. Raise `SettingError` where one names a part that is not there."""
    if isinstance(rules, Mapping) or not isinstance(rules, Iterable):
        raise SettingError(
            f'leave_out is {shown(rules)}; give a list of tables, such as [{{"learner": "a", "log": "b"}}]'
        )
    rules = list(rules)
    for rule in rules:
        if not isinstance(rule, Mapping) or not rule or set(rule) - set(KEYS):
            raise SettingError(f"{shown(rule)} in leave_out is not a table of names; give some of {', '.join(KEYS)}")
        for key, given in rule.items():
            for name in given if isinstance(given, Iterable) and not isinstance(given, str) else [given]:
                if name not in names[key]:
                    raise SettingError(
                        f"leave_out names the {key} {shown(name)}, which the sweep does not have; it has "
                        f"{', '.join(map(repr, names[key]))}"
                    )
    return rules
