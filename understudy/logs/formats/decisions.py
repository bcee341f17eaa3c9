"""Decisions of one step, each with a context, the actions that were offered, and what the chosen one cost."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.action_features import ActionFeatures
from understudy.logs.columns import COLUMNS, MOST_ACTIONS
from understudy.logs.ends import EVERY_ROW
from understudy.logs.formats.feature_columns import FeatureColumns, Features, Value
from understudy.logs.formats.loaded import LoadedTable

Offered = tuple[tuple[tuple[str, Value], ...], ...]
"""The features of each action that was offered."""

CLOSE = 1e-3  # how far two statements of one probability may be apart


class Decisions:
    """Decisions collected one by one, as Vowpal Wabbit logs them: costs, and actions numbered from 1 up.

    Actions that have features are known by them: where each row offers the same, they are one set of actions in
    whatever order, and the features are `log.spec.action_features`; where features of actions change from row to row,
    they are part of the observation.
    """

    def __init__(self) -> None:
        self._context = FeatureColumns()
        self._offered: Offered | None = None
        self._changing: FeatureColumns | None = None
        self._chosen: list[int] = []
        self._cost: list[float] = []
        self._probability: list[float] = []
        self._policies: list[Sequence[float]] | None = []
        self._n_actions = 0

    def __len__(self) -> int:
        return len(self._chosen)

    def add(
        self,
        line: int,
        context: Features,
        chosen: int,
        cost: float,
        probability: float,
        *,
        offered: Offered | None = None,
        policy: Sequence[float] | None = None,
        n_actions: int = 0,
    ) -> None:
        """Add a decision; `chosen` counts from 0 up, and so do the actions that `policy` has the probabilities of."""
        if offered is not None:
            n_actions = len(offered)
        if n_actions > MOST_ACTIONS:
            raise LogError(f"line {line} has {n_actions:,} actions, and {MOST_ACTIONS:,} is the most; number them anew")
        if not 0 <= chosen < n_actions:
            raise LogError(f"line {line} chose action {chosen + 1} of {n_actions}; fix the line")
        if policy is not None and self._policies and len(policy) != len(self._policies[0]):
            raise _other_number(line, n_actions, len(self._policies[0]))
        if policy is not None and abs(policy[chosen] - probability) > CLOSE:
            raise LogError(
                f"line {line} says that the chosen action had probability {probability:.6g}, and {policy[chosen]:.6g} "
                "where all probabilities are; fix the line"
            )
        if offered is not None:
            chosen, policy = self._in_order(line, offered, chosen, policy)
        self._context.add(len(self), line, context)
        self._n_actions = max(self._n_actions, n_actions)
        if policy is None or self._policies is None:
            self._policies = None
        else:
            self._policies.append(policy)
        self._chosen.append(chosen)
        self._cost.append(cost)
        self._probability.append(probability)

    def _in_order(
        self, line: int, offered: Offered, chosen: int, policy: Sequence[float] | None
    ) -> tuple[int, Sequence[float] | None]:
        """Return the chosen action and the policy with actions in the order of the first row."""
        if self._offered is None:
            self._offered = offered
        if self._changing is None and offered == self._offered:
            return chosen, policy
        if len(offered) != len(self._offered):
            raise _other_number(line, len(offered), len(self._offered))
        if self._changing is None:
            place = {action: at for at, action in enumerate(self._offered)}
            if len(place) == len(offered) and place.keys() == set(offered):
                order = np.array([place[action] for action in offered])
                return int(order[chosen]), None if policy is None else [policy[at] for at in np.argsort(order)]
            self._changing = FeatureColumns()
            for row in range(len(self)):
                self._add_changing(row, line, self._offered)
        self._add_changing(len(self), line, offered)
        return chosen, policy

    def _add_changing(self, row: int, line: int, offered: Offered) -> None:
        assert self._changing is not None
        named = ((f"action{at}.{name}", v) for at, action in enumerate(offered, 1) for name, v in action)
        self._changing.add(row, line, named)

    def to_table(self, notes: Sequence[str] = ()) -> LoadedTable:
        """Return the decisions as a table with the columns of a log. Raise `LogError` where there are none."""
        import pyarrow as pa

        n = len(self)
        if not n:
            raise LogError("there is no decision in the file; check which file it is", "file")
        features = None
        if self._changing is None and self._offered is not None and any(self._offered):
            features = ActionFeatures.of(map(dict, self._offered))
        labels = labels_of(features, self._n_actions)
        columns: dict[str, Any] = {
            "action": pa.DictionaryArray.from_arrays(np.array(self._chosen, np.int32), labels),
            "reward": pa.array(-np.array(self._cost, np.float64) + 0.0),  # not -0.0
            "propensity": pa.array(np.array(self._probability, np.float64)),
        }
        if self._policies is not None:
            flat = pa.array(np.asarray(self._policies, np.float64).reshape(-1))
            columns["propensity"] = pa.FixedSizeListArray.from_arrays(flat, self._n_actions)
        observed = self._observed()
        return LoadedTable(
            pa.table(columns | observed),
            {"observation": next(iter(observed)) if len(observed) == 1 else list(observed)},
            ends=EVERY_ROW,
            actions=labels,
            action_features=features,
            notes=tuple(notes),
        )

    def _observed(self) -> dict[str, Any]:
        """Return the columns of the observation; a feature that is named like a column of the log gets another name."""
        import pyarrow as pa

        found = self._context.to_arrow(len(self))
        if self._changing is not None:
            found |= self._changing.to_arrow(len(self))
        if not found:  # a bandit without a context has one observation
            return {"context": pa.array(np.zeros(len(self), np.int64))}
        return {f"context.{name}" if name in COLUMNS else name: column for name, column in found.items()}


def _other_number(line: int, number: int, first: int) -> LogError:
    return LogError(
        f"line {line} offers {number} actions and the first decision {first}, and the actions of a log are the same in "
        "every row; split the file by the number of actions"
    )


def labels_of(features: ActionFeatures | None, n_actions: int) -> list[str]:
    """Return the labels of actions: the first feature that is another text for each, or else 1, 2, 3, ...

    >>> labels_of(ActionFeatures.of([{"size": "L", "id": "a"}, {"size": "L", "id": "b"}]), 2), labels_of(None, 2)
    (['a', 'b'], ['1', '2'])
    """
    columns = [] if features is None else [features.column(name) for name in features.names]
    for column in columns:
        texts = [value for value in column if isinstance(value, str) and value.strip()]
        if len(set(texts)) == len(texts) == n_actions:
            return texts
    return [str(number) for number in range(1, n_actions + 1)]
