"""Logged steps, held as columns in the order they were recorded."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs import columns, rules
from understudy.logs import ends as episode_ends
from understudy.logs.columns import COLUMNS
from understudy.logs.findings import counted

MOST_ACTIONS = 2**20  # a policy is a vector of so many probabilities, made at every step


@dataclass(frozen=True)
class Spec:
    """What a learner must know of a log before it starts."""

    n_actions: int
    actions: tuple[str, ...] | None  # labels, in the order of their codes
    observation_shape: tuple[int, ...]
    observation_dtype: np.dtype
    n_observations: int | None  # 1 + the largest, where observations are single integers from 0 up
    features: tuple[str, ...] | None = None  # the columns that observations were read from, where they had other names


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Logged steps, held as columns in the order they were recorded.

    A row is a step. Every other part of the library names a step by its row number, so a column is read only where
    its values are needed. Columns are read-only, and not copied where they came in the right dtype.

    >>> log = Log.from_columns(observation=[0, 1, 0], action=[1, 1, 0], reward=[0, 1, 0],
    ...     next_observation=[1, 2, 0], terminated=[False, True, False])
    >>> log
    Log of 3 rows, 2 episodes, 2 actions
      observation       (3,) int64
      action            (3,) int32
      reward            (3,) float64
      next_observation  (3,) int64
      terminated        (3,) bool
      truncated         (3,) bool
      episode           (3,) int64
      step              (3,) int32
      propensity        none
    >>> log.starts, log.unfinished
    (array([0, 2, 3]), array([False,  True]))
    """

    observation: np.ndarray  # (N, ...)
    action: np.ndarray  # (N,) int32
    reward: np.ndarray  # (N,) float64
    next_observation: np.ndarray  # (N, ...)
    terminated: np.ndarray  # (N,) bool
    truncated: np.ndarray  # (N,) bool
    episode: np.ndarray  # (N,) int64
    step: np.ndarray  # (N,) int32
    propensity: np.ndarray | None  # (N, A) of all actions, or (N,) of the chosen one, float64
    spec: Spec
    max_episode_steps: int | None = None  # the log's own time limit, where its truncated episodes agree on one
    notes: tuple[str, ...] = ()  # what was derived or dropped on the way in, each as "rule: sentence"
    derived: tuple[str, ...] = ()  # of terminated, step and next_observation, which nobody gave

    def __post_init__(self) -> None:
        for name, column in self._columns():
            view = column.view()
            view.setflags(write=False)
            object.__setattr__(self, name, view)

    @classmethod
    def from_columns(
        cls,
        *,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any = None,
        terminated: Any = None,
        truncated: Any = None,
        episode: Any = None,
        step: Any = None,
        propensity: Any = None,
        actions: Sequence[str] | None = None,
        n_actions: int | None = None,
        ends: str | None = None,
    ) -> "Log":
        """A log from arrays or lists, one entry a row.

        What is missing is derived, and said in `notes`: `episode` from `terminated` and `truncated`; `step` by
        counting; `next_observation` from the next row of the episode, where an episode's last row then has none and
        is dropped unless it is terminated.

        `actions` are labels in the order of their codes. A label decides which action it names: among numbers and
        truth values, the one it spells ("1", "1.0" and "true" are all 1). Without `actions`, labels are sorted, as
        numbers where all of them spell numbers, and truth values become the codes 0 and 1, labeled false and true.

        Where no column tells how episodes ended, `ends` says it of all of them: "terminated" (the last row of each
        ended it), "truncated" (a limit cut each off there), "unfinished" (only the recording stopped; with no
        `episode`, all rows are one process that goes on), or "every-row" (each row is a decision by itself: an
        episode of one step, which terminates).
        """
        given = {
            "observation": observation, "action": action, "reward": reward, "next_observation": next_observation,
            "terminated": terminated, "truncated": truncated, "episode": episode, "step": step,
            "propensity": propensity,
        }  # fmt: skip
        given = {name: values for name, values in given.items() if values is not None}
        n_rows = columns.common_length(given)
        made: dict[str, Any] = {
            name: columns.CLEAN[name](name, values) for name, values in given.items() if name != "action"
        }
        made["action"], labels = columns.action_codes(action, actions)
        n_actions = _n_actions(made["action"], labels, n_actions, made.get("propensity"))
        notes = _notes_on_labels(labels, actions, made.get("propensity"))
        derived = tuple(name for name in ("step", "next_observation") if name not in given)

        ended, untold = episode_ends.complete(made, n_rows, ends)
        notes, derived = [*notes, *ended], (*untold, *derived)
        starts = _starts(made["episode"])
        limit = _time_limit(starts, made["truncated"])  # before a row is dropped
        made.setdefault("step", _count(starts))
        if next_observation is None:
            made, followed = _followed(made, starts)
            notes += followed
        made["observation"], made["next_observation"] = columns.alike(made["observation"], made["next_observation"])
        spec = _spec(made["observation"], made["next_observation"], n_actions, labels)
        made.setdefault("propensity", None)
        return cls(**made, spec=spec, max_episode_steps=limit, notes=tuple(notes), derived=derived)

    def __len__(self) -> int:
        return len(self.action)

    def __repr__(self) -> str:
        counts = {"row": len(self), "episode": self.n_episodes, "action": self.spec.n_actions}
        title = f"Log of {', '.join(counted(number, noun) for noun, number in counts.items())}"
        shapes = {name: f"{column.shape} {column.dtype}" for name, column in self._columns()}
        return "\n".join([title, *(f"  {name:<17} {shapes.get(name, 'none')}" for name in COLUMNS)])

    @property
    def n_episodes(self) -> int:
        """Runs of rows with one episode id."""
        return len(self.starts) - 1

    @cached_property
    def starts(self) -> np.ndarray:
        """The first row of each episode, then the number of rows."""
        starts = _starts(self.episode)
        starts.setflags(write=False)
        return starts

    @cached_property
    def unfinished(self) -> np.ndarray:
        """Whether each episode just stops: its last row is neither terminated nor truncated."""
        last = self.starts[1:] - 1
        return ~(self.terminated[last] | self.truncated[last])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: equal for equal columns, however the log was made."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(json.dumps([self.spec.n_actions, self.spec.actions]).encode())
        for name, column in self._columns():
            digest.update(f"{name} {column.dtype.str} {column.shape}".encode())
            digest.update(np.ascontiguousarray(column).data.cast("B"))
        return digest.hexdigest()

    def select(self, episodes: Any) -> "Log":
        """The log of these episodes, by position and in this order. An episode selected twice is two episodes."""
        episodes = np.asarray(episodes)
        if episodes.dtype == bool and len(episodes) == self.n_episodes:
            episodes = np.flatnonzero(episodes)
        if episodes.ndim != 1 or not len(episodes) or episodes.dtype.kind not in "iu":
            raise LogError("give the positions of one or more episodes as a list of integers")
        if episodes.min() < 0 or episodes.max() >= self.n_episodes:
            raise LogError(f"the log has episodes 0 to {self.n_episodes - 1}, not {episodes.min()} to {episodes.max()}")
        lengths = np.diff(self.starts)[episodes]
        rows = np.arange(lengths.sum()) + np.repeat(self.starts[episodes] - np.cumsum(lengths) + lengths, lengths)
        chosen = {name: column[rows] for name, column in self._columns()}
        if len(np.unique(episodes)) < len(episodes):
            chosen["episode"] = np.repeat(np.arange(len(episodes)), lengths)
        return replace(self, **chosen)

    def sound(self) -> None:
        """Raise `LogError` if simulators cannot use this log: the first error that `check` would list."""
        if self._first_error is not None:
            raise LogError(self._first_error.sentence, self._first_error.rule)

    @cached_property
    def _first_error(self) -> "rules.Finding | None":
        findings = (finding for rule in rules.ERRORS for finding in rule(self))
        return next((finding for finding in findings if finding.severity == "error"), None)

    def _columns(self) -> list[tuple[str, np.ndarray]]:
        return [(name, getattr(self, name)) for name in COLUMNS if getattr(self, name) is not None]


def concatenate(logs: Sequence[Log]) -> Log:
    """One log after another. Episodes are renumbered, so that those of different logs stay apart.

    >>> log = Log.from_columns(observation=[0, 1], action=[0, 1], reward=[0, 1], terminated=[False, True])
    >>> concatenate([log, log]).episode
    array([0, 0, 1, 1])
    """
    logs = list(logs)
    if not logs:
        raise LogError("there is no log to concatenate; give at least one")
    for position, log in enumerate(logs):
        _refuse_unlike(logs[0], log, position)
    joined = {name: np.concatenate([getattr(log, name) for log in logs]) for name, _ in logs[0]._columns()}
    joined["episode"] = _apart([log.episode for log in logs])
    columns.common_length(joined)
    sizes = [log.spec.n_observations for log in logs]
    features = {log.spec.features for log in logs}
    spec = replace(
        logs[0].spec,
        n_observations=None if None in sizes else max(size for size in sizes if size),
        features=features.pop() if len(features) == 1 else None,
    )
    limits = {log.max_episode_steps for log in logs if log.truncated.any()}
    longest = max(np.diff(log.starts).max() for log in logs)
    limit = limits.pop() if len(limits) == 1 else None
    if limit is not None and longest > limit:
        limit = None
    notes = tuple(dict.fromkeys(note for log in logs for note in log.notes))
    # Steps are looked at where one log has them; of what else was derived in any log it must stay known.
    derived = dict.fromkeys(name for log in logs for name in log.derived)
    if not all("step" in log.derived for log in logs):
        derived.pop("step", None)
    return replace(logs[0], **joined, spec=spec, max_episode_steps=limit, notes=notes, derived=tuple(derived))


def _refuse_unlike(one: Log, other: Log, position: int) -> None:
    for name in ("n_actions", "actions", "observation_shape", "observation_dtype"):
        mine, theirs = getattr(one.spec, name), getattr(other.spec, name)
        if mine != theirs:
            raise LogError(f"{name} is {mine} in log 0 and {theirs} in log {position}; make them alike first")
    mine, theirs = (None if log.propensity is None else log.propensity.ndim for log in (one, other))
    if mine != theirs:
        kinds = {None: "no", 1: "chosen-action", 2: "full"}
        raise LogError(
            f"log 0 has {kinds[mine]} propensities and log {position} {kinds[theirs]} ones; make them alike first"
        )


def _apart(ids: list[np.ndarray]) -> np.ndarray:
    offset, renumbered = 0, []
    for episode in ids:
        distinct, codes = np.unique(episode, return_inverse=True)
        renumbered.append(codes.astype(np.int64) + offset)
        offset += len(distinct)
    return np.concatenate(renumbered)


def _starts(episode: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.flatnonzero(episode[1:] != episode[:-1]) + 1, [len(episode)]]).astype(np.int64)


def _notes_on_labels(
    labels: tuple[str, ...] | None, asked: Sequence[str] | None, propensity: np.ndarray | None
) -> list[str]:
    if labels is None or asked is not None or propensity is None or propensity.ndim == 1:
        return []
    return [f"labels: propensity columns are taken to be in the order {', '.join(labels)}"]


def _count(starts: np.ndarray) -> np.ndarray:
    return (np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))).astype(np.int32)


def _time_limit(starts: np.ndarray, truncated: np.ndarray) -> int | None:
    lengths = np.diff(starts)
    cut = lengths[truncated[starts[1:] - 1]]
    return int(cut[0]) if len(cut) and np.all(cut == lengths.max()) else None


def _followed(made: dict[str, np.ndarray], starts: np.ndarray) -> tuple[dict[str, np.ndarray], list[str]]:
    """The columns with `next_observation` from the next row, less the rows that have none, and what to say of it."""
    last = starts[1:] - 1
    over = made["terminated"][last]
    ends = made["terminated"] | made["truncated"]
    ended_before = ends.sum() > ends[last].sum()
    # Dropping last rows would hide that episodes are in pieces, or that one ended before its last row.
    stays = over | ended_before | (len(rules.later_pieces(made["episode"], starts)) > 0)
    lost = last[~stays]
    following = np.arange(1, starts[-1] + 1)
    following[last] = last  # only terminated ones stay, and theirs is never learned from
    truncated = made["truncated"].copy()
    truncated[lost[truncated[lost] & (lost > starts[:-1][~stays])] - 1] = True
    made = {**made, "next_observation": made["observation"][following], "truncated": truncated}
    taken = ["next_observation was taken from the next row of the episode"] * (len(last) < len(following))
    if over.any():
        n = int(over.sum())
        few = f"{counted(n, 'terminated row')} {'has' if n == 1 else 'have'} none, and show{'s' * (n == 1)}"
        taken.append(f"{few} {'its' if n == 1 else 'their'} own observation")
    notes = [f"no-next-observation: {'; '.join(taken)}"] if taken else []
    if len(lost):
        notes.append(
            f"dropped: {counted(len(lost), 'last row')} had no next observation, did not terminate and "
            f"{'was' if len(lost) == 1 else 'were'} dropped; row numbers here count the rows that are left"
        )
        kept = np.ones(len(following), bool)
        kept[lost] = False
        made = {name: column[kept] for name, column in made.items()}
    if not len(made["action"]):
        raise LogError("no row has a next observation; give next_observation=, or more than one row an episode")
    return made, notes


def _n_actions(
    codes: np.ndarray, labels: tuple[str, ...] | None, asked: int | None, propensity: np.ndarray | None
) -> int:
    """The number of actions, from the first that tells; where several tell, they must agree."""
    if asked is not None and (isinstance(asked, bool) or not isinstance(asked, int | np.integer) or asked < 1):
        raise LogError(f"n_actions={asked!r} must be a positive integer")
    told = {
        "propensity has a column for": propensity.shape[1] if propensity is not None and propensity.ndim == 2 else None,
        "n_actions says": asked,
        "there are labels for": len(labels) if labels is not None else None,
    }
    known = {source: number for source, number in told.items() if number is not None}
    if len(set(known.values())) > 1:
        listing = ", ".join(f"{source} {number}" for source, number in known.items())
        raise LogError(f"the number of actions is unclear: {listing}; make them agree (actions= takes all labels)")
    number = int(next(iter(known.values()), max(int(codes.max()) + 1, 1)))
    if number > MOST_ACTIONS:
        raise LogError(
            f"there would be {columns.shown(number)} actions, and {MOST_ACTIONS:,} is the most; number them from 0 up "
            "without gaps, or give the values as labels with actions="
        )
    return number


def _spec(
    observation: np.ndarray, next_observation: np.ndarray, n_actions: int, labels: tuple[str, ...] | None
) -> Spec:
    n_observations = None
    if observation.ndim == 1 and observation.dtype.kind in "iu":
        lowest = min(observation.min(), next_observation.min())
        n_observations = None if lowest < 0 else 1 + int(max(observation.max(), next_observation.max()))
    return Spec(n_actions, labels, observation.shape[1:], observation.dtype, n_observations)
