"""Open Bandit's tables: items that a fashion shop recommended, with clicks and the probability of each item."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.errors import LogError
from understudy.logs.action_features import ActionFeatures
from understudy.logs.csv_tables import parse_csv
from understudy.logs.ends import EVERY_ROW
from understudy.logs.formats.loaded import LoadedTable
from understudy.storage import error_reason

NEEDED = ("timestamp", "item_id", "position", "click", "propensity_score")
ITEMS = "item_context.csv"
USER, AFFINITY, ITEM = (
    re.compile(rf"{name}_[0-9]{{1,6}}") for name in ("user_feature", "user-item_affinity", "item_feature")
)


def is_open_bandit(names: Sequence[str]) -> bool:
    """True if a table with these columns is one of Open Bandit's.

    >>> is_open_bandit(["", "timestamp", "item_id", "position", "click", "propensity_score"])
    True
    """
    return set(NEEDED) <= set(names)


def open_bandit(table: Any, path: Path | None = None) -> LoadedTable:
    """Return one of Open Bandit's tables with the names of its columns.

    Each row is an episode of one step, in the order of time. The action is the item, the reward the click, and the
    propensity that of the chosen item at its position. The observation is the position and the features of the user,
    as in Open Bandit's own pipeline; `observation=` can name affinities of user and items too. The three positions of
    one page are three rows, so the position is a part of the context: `log.select(log.observation[:, 0] == 1)` takes
    one. Features of the items are read from `item_context.csv` where that lies beside the file.
    """
    names = table.column_names
    if missing := [name for name in NEEDED if name not in names]:
        raise LogError(
            f"there is no column {', '.join(missing)}, which Open Bandit's tables have; leave format= out if this is "
            "another table"
        )
    affinities = [name for name in names if AFFINITY.fullmatch(name)]
    items = None if path is None else _items(path.with_name(ITEMS))
    n_items = len(items.values) if items is not None else len(affinities) or None
    if affinities and len(affinities) != n_items:
        raise LogError(f"{ITEMS} has {n_items} items and the table affinities to {len(affinities)}; they do not belong")
    notes = (
        "open-bandit: an observation is the position on the page and the features of the user; "
        + (f"{ITEMS} has the features of the items" if items is not None else f"there is no {ITEMS} beside the file"),
    )
    return LoadedTable(
        table,
        {
            "observation": ["position", *(name for name in names if USER.fullmatch(name))],
            "action": "item_id",
            "reward": "click",
            "propensity": "propensity_score",
        },
        order_by="timestamp",
        ends=EVERY_ROW,
        n_actions=n_items,
        action_features=items,
        notes=notes,
    )


def _items(path: Path) -> ActionFeatures | None:
    """Return the features of the items, in the order of their ids; None where there is no such file."""
    if not path.is_file():
        return None
    import pyarrow as pa

    try:
        table = parse_csv(path.read_bytes())
        rows = table.to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise LogError(f"{ITEMS} beside the file cannot be read ({error_reason(error)}); get it again") from None
    names = [name for name in table.column_names if ITEM.fullmatch(name)]
    if "item_id" not in table.column_names or not names:
        raise LogError(f"{ITEMS} beside the file has no item_id or no item_feature_0; get it again, or move it away")
    items = {row["item_id"]: {name: row[name] for name in names} for row in rows}
    if items.keys() != set(range(len(table))):
        raise LogError(f"{ITEMS} beside the file does not number its items 0, 1, 2, ...; get it again, or move it away")
    for item, features in items.items():
        if empty := [name for name, value in features.items() if value is None]:
            raise LogError(f"{ITEMS} beside the file has no {empty[0]} of item {item}; fill it in, or move it away")
    return ActionFeatures.of(items[item] for item in range(len(items)))
