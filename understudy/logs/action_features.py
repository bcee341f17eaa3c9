"""What is known of each action beside its number: the features of items, offers or arms."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from understudy.errors import LogError

if TYPE_CHECKING:
    import pyarrow as pa

Value = float | int | str


@dataclass(frozen=True)
class ActionFeatures:
    """Features of the actions of a log, one value of each for each action.

    >>> found = ActionFeatures.of([{"price": 3, "color": "red"}, {"price": 5}])
    >>> found
    ActionFeatures of 2 actions: price, color
    >>> found.values
    ((3, 'red'), (5, ''))
    """

    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]  # for each action, in the order of their codes, one value of each feature

    @classmethod
    def of(cls, actions: Iterable[Mapping[str, Value]]) -> "ActionFeatures":
        """Return the features of actions; one that an action does not have is 0 there, or "" among texts."""
        actions = list(actions)
        names = tuple(dict.fromkeys(name for action in actions for name in action))
        absent: dict[str, Value] = dict.fromkeys(names, 0)
        for name in names:
            kinds = {isinstance(action[name], str) for action in actions if name in action}
            if len(kinds) > 1:
                raise LogError(f"the feature {name} of actions is text for some and a number for others; make it one")
            absent[name] = "" if kinds == {True} else 0
        return cls(names, tuple(tuple(action.get(name, absent[name]) for name in names) for action in actions))

    def __repr__(self) -> str:
        return f"ActionFeatures of {len(self.values)} actions: {', '.join(self.names)}"

    def column(self, name: str) -> tuple[Value, ...]:
        """Return one feature of all actions, in the order of their codes."""
        at = self.names.index(name)
        return tuple(action[at] for action in self.values)

    def to_json(self) -> dict[str, list]:
        """Return the features as JSON can hold them, by their names."""
        return {name: list(self.column(name)) for name in self.names}

    @classmethod
    def from_json(cls, stored: dict[str, list]) -> "ActionFeatures":
        """Return what `to_json` gave."""
        return cls(tuple(stored), tuple(zip(*stored.values(), strict=True)))

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table with a row for each action."""
        import pyarrow as pa

        return pa.table({"action": range(len(self.values)), **self.to_json()})


def are_action_features(stored: Any) -> bool:
    """True if a value can be what `ActionFeatures.to_json` gave."""
    columns = list(stored.values()) if isinstance(stored, dict) else []
    if not columns or not all(isinstance(column, list) and column for column in columns):
        return False
    plain = all(type(value) in (int, float, str) for column in columns for value in column)
    alike = all(len({type(value) is str for value in column}) == 1 for column in columns)
    return plain and alike and len(set(map(len, columns))) == 1
