"""Rows of a table in the order of a log: sorted by columns, and the rows of an episode together."""

from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrow_columns import sort_key
from understudy.logs.episodes import ranks_by_first_appearance


def sorted_rows(table: Any, names: list[str]) -> np.ndarray:
    """Return the row numbers sorted by these columns; rows that are equal in them keep their order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        keys = {name: sort_key(name, table.column(name)) for name in names}
        return pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys]).to_numpy()
    except (pa.ArrowException, NotImplementedError):
        raise LogError(f"rows cannot be sorted by {', '.join(names)}; give order_by numbers, dates or text") from None


def with_episodes_together(order: np.ndarray, episode: np.ndarray | None) -> tuple[np.ndarray, str]:
    """Return the order with the rows of each episode together, episodes by first appearance, and words for a note."""
    if episode is None:
        return order, ""
    rank = ranks_by_first_appearance(episode[order])
    if np.all(rank[1:] >= rank[:-1]):
        return order, ""
    return order[np.argsort(rank, kind="stable")], " and, since episodes overlapped, gathered by episode"
