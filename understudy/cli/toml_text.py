"""Tables written as TOML, which Python reads and does not write."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any


def toml_text(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """Return a table as TOML: texts, numbers, truth values, lists of these, and tables within tables.

    >>> print(toml_text({"runs": 3, "logs": {"of may": {"log": "may.parquet", "propensity": ["p0", "p1"]}}}))
    runs = 3
    <BLANKLINE>
    [logs."of may"]
    log = "may.parquet"
    propensity = ["p0", "p1"]
    <BLANKLINE>
    """
    plain = {key: value for key, value in table.items() if not _is_table(value)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    if path and (plain or not table):
        lines.insert(0, f"[{'.'.join(map(_key, path))}]")
    blocks = ["\n".join(lines)] if lines else []
    for key, value in table.items():
        if isinstance(value, Mapping):
            blocks.append(toml_text(value, (*path, key)).rstrip("\n"))
        elif _is_table(value):
            name = ".".join(map(_key, (*path, key)))
            blocks += [f"[[{name}]]\n{toml_text(one)}".rstrip("\n") for one in value]
    return "\n\n".join(blocks) + "\n"


def _is_table(value: Any) -> bool:
    """True if a value is a table or a list of tables."""
    several = isinstance(value, Sequence) and not isinstance(value, str) and bool(value)
    return isinstance(value, Mapping) or (several and all(isinstance(one, Mapping) for one in value))


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"TOML cannot hold {value!r}")
