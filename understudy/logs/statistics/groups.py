"""Groups of rows that share a feature known before the action was drawn: the same observation, the same time, ..."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from understudy.digits import digits
from understudy.logs.log import Log
from understudy.logs.naming import action_words, feature_name, is_category, observation_words, value_words
from understudy.logs.recurring import Recurring, recurring

TENTHS = 10
FIFTHS = 5
FEW_VALUES = 10  # a column with no more distinct values is grouped by value
MOST_FEATURES = 16  # entries of an observation by which rows are grouped, where observations do not recur
SAMPLE = 100_000  # rows from which quantiles are taken
MOSTLY = 0.5  # with this share of rows in observations that recur, these are enough
MOST_LABELS = 50  # of a column of categories: the most common ones


class Groups(NamedTuple):
    """A group for each row. `code` is `size` in rows of no group; `words` say which rows a group holds."""

    code: np.ndarray  # (N,)
    size: int
    words: Callable[[int], str]

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Return the sum of a column over the rows of each group."""
        return np.bincount(self.code, weights, self.size + 1)[: self.size]


def all_rows(log: Log) -> Groups:
    """Return one group of all rows."""
    return Groups(np.zeros(len(log), np.int8), 1, lambda _: "in all rows")


def tenths_of_time(log: Log) -> Groups:
    """Return the tenths of the log in its order."""
    code = (np.arange(len(log)) * TENTHS // len(log)).astype(np.int8)
    return Groups(code, TENTHS, lambda group: f"in tenth {group + 1} of the log's rows")


def by_observation(log: Log, states: Recurring, entries_too: bool = False) -> list[Groups]:
    """Return groups by observation where they recur, and by each entry of it where most do not, or `entries_too`.

    An entry is grouped by label, by value where there are few, and else by fifths. Where it is all of the observation,
    and most of these recur, it is not grouped again.
    """
    found = []
    if states.size:
        found.append(
            Groups(
                states.code,
                states.size,
                lambda group: f"where {observation_words(log.spec, log.observation[states.first_row[group]])}",
            )
        )
    flat = log.observation.reshape(len(log), -1)
    if states.share < MOSTLY or (entries_too and flat.shape[1] > 1):
        entries = np.unique(np.linspace(0, flat.shape[1] - 1, MOST_FEATURES).astype(np.int64))
        names = [feature_name(log.spec, int(entry)) for entry in entries]
        for entry, name in zip(entries.tolist(), names, strict=True):
            group = _by_label if is_category(log.spec, entry) else by_value
            found.append(group(flat[:, entry], f"where {name} is", show=partial(value_words, log.spec, entry)))
    return [group for group in found if group.size]


def _by_label(codes: np.ndarray, words: str, show: Callable[[float], str]) -> Groups:
    """Return groups of equal codes, of the most common ones that recur."""
    found = recurring(codes.astype(np.int64), most=MOST_LABELS)
    return Groups(found.code, found.size, lambda group: f"{words} {show(codes[found.first_row[group]])}")


def by_value(
    values: np.ndarray,
    words: str,
    parts: int = FIFTHS,
    show: Callable[[float], str] = lambda value: digits(value + 0.0, 4, commas=False),
) -> Groups:
    """Return groups of equal values where there are few distinct ones, else of values between quantiles.

    `show` is how a value is written in words.

    >>> groups = by_value(np.array([0.0, 1.0, 1.0]), "after a reward of")
    >>> groups.code, groups.words(1)
    (array([0, 1, 1], dtype=int8), 'after a reward of 1')
    """
    sample = values[:: 1 + len(values) // SAMPLE]
    distinct = np.unique(sample)
    if len(distinct) <= FEW_VALUES and np.isin(values, distinct).all():
        code = np.searchsorted(distinct, values).astype(np.int8)
        return Groups(code, len(distinct), lambda group: f"{words} {show(distinct[group])}")
    edges = np.unique(np.quantile(sample, np.linspace(0, 1, parts + 1)[1:-1]))
    code = np.searchsorted(edges, values, side="right").astype(np.int8)
    limits = np.concatenate([[values.min()], edges, [values.max()]]).astype(np.float64)
    return Groups(code, len(edges) + 1, lambda group: f"{words} {show(limits[group])} to {show(limits[group + 1])}")


def by_past(log: Log, states: Recurring) -> list[Groups]:
    """Return groups by what came before in the episode: the last action, reward and observation, and the step."""
    first = np.zeros(len(log), bool)
    first[log.starts[:-1]] = True
    step = log.step - np.repeat(log.step[log.starts[:-1]], np.diff(log.starts))
    doublings = np.log2(np.maximum(step, 0) + 1).astype(np.int8)
    found = [
        Groups(doublings, 1 + int(doublings.max()), lambda group: f"in steps {2**group - 1} to {2 ** (group + 1) - 2}")
    ]
    if first.all():
        return found
    action = Groups(
        log.action,
        log.spec.n_actions,
        lambda group: f"right after {action_words(log.spec, group)}",
    )
    reward = by_value(log.reward, "right after a reward of")
    before = [action, reward]
    if states.size:
        before.append(
            Groups(
                states.code,
                states.size,
                lambda group: f"right after {observation_words(log.spec, log.observation[states.first_row[group]])}",
            )
        )
    return [*found, *(_one_row_later(groups, first) for groups in before)]


def _one_row_later(groups: Groups, first: np.ndarray) -> Groups:
    """Return the groups of the rows before; the first row of an episode has none."""
    code = np.empty(len(first), np.int64)
    code[1:] = groups.code[:-1]
    code[first] = groups.size
    return groups._replace(code=code)
