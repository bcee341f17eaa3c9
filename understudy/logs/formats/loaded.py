"""A table as a format gives it to `read`: with the names of its columns, and what else the format tells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.logs.action_features import ActionFeatures

Names = str | Sequence[str] | None


@dataclass(frozen=True)
class LoadedTable:
    """An Arrow table, and what its format tells about it. What the user says comes before all of it."""

    table: Any
    columns: Mapping[str, Names] = field(default_factory=dict)  # which columns hold which column of the log
    order_by: Names = None
    ends: str | None = None
    actions: Sequence[str] | None = None
    n_actions: int | None = None
    action_features: ActionFeatures | None = None
    notes: tuple[str, ...] = ()  # for `Log.notes`
