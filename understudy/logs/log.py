"""Logged steps, held as columns in the order they were recorded."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import LogError, SettingError, visible
from understudy.logs import rules
from understudy.logs.blocks import one_later, slices
from understudy.logs.coded_observations import code_given
from understudy.logs.coding import Coding
from understudy.logs.columns import CLEAN, COLUMNS, action_codes, common_length, count_actions, same_kind
from understudy.logs.ends import add_ends
from understudy.logs.episodes import common_time_limit, starts_of, step_numbers, take_episodes
from understudy.logs.findings import Finding, counted
from understudy.logs.fingerprints import content_of, fingerprint_of
from understudy.logs.lookalikes import notes_on_categories, notes_on_labels
from understudy.logs.next_observations import add_next_observations
from understudy.logs.propensities import PropensityOptions, PropensitySource, prepare
from understudy.logs.propensities.given import given_propensities
from understudy.logs.spec import Spec, spec_of
from understudy.logs.times import TIMES, check_times
from understudy.stored_arrays import made_beside, remembered
from understudy.tables import Column, Table


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
    notes: tuple[str, ...] = ()  # what was derived or dropped when the log was made, each as "rule: sentence"
    derived: tuple[str, ...] = ()  # those of terminated, step and next_observation that were not given
    propensity_source: PropensitySource | None = None  # where propensities came from; None where there are none
    time: np.ndarray | None = None  # (N,) float64, seconds: when each row was decided
    arrival: np.ndarray | None = None  # (N,) float64, seconds: when its outcome was known; inf: never
    dropped_reward: np.ndarray | None = None  # (E,) of a last row that was dropped; NaN where none was; not in files
    source_row: np.ndarray | None = None  # (N,) int32, each row's in what was read; None for 0, 1, ...; not in files

    def __post_init__(self) -> None:
        source = None if self.propensity is None else self.propensity_source or PropensitySource()
        object.__setattr__(self, "propensity_source", source)
        for name, column in self.columns.items():
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
        time: Any = None,
        arrival: Any = None,
        actions: Sequence[str] | None = None,
        n_actions: int | None = None,
        ends: str | None = None,
        n_samples: int | None = None,
        renormalize: bool = False,
    ) -> "Log":
        """Return a log of arrays or lists, one entry a row.

        Observations may be numbers of any shape, text, categories, dates, rows of several of these, or a mapping of
        names to columns; what is not a number is coded by the rules of `read`, which takes a mapping of columns, too,
        and has options for it.

        What is missing is derived, and `notes` say how: `episode` from `terminated` and `truncated`; `step` by
        counting; `next_observation` from the next row of the episode, where an episode's last row then has none and
        is dropped unless it is terminated.

        `actions` are labels in the order of their codes. A label decides which action it names: among numbers and
        truth values, the one it spells ("1", "1.0" and "true" are all 1). Without `actions`, labels are sorted, as
        numbers where all of them spell numbers, and truth values become the codes 0 and 1, labeled false and true.

        Where no column tells how episodes ended, `ends` tells it for all of them: "terminated" (the last row of each
        ended it), "truncated" (a limit cut each off there), "unfinished" (only the recording stopped; with no
        `episode`, all rows are one process that goes on), or "every-row" (each row is a decision by itself: an
        episode of one step, which terminates). Beside a column, "truncated" and "unfinished" are about the episodes
        of whose end it says nothing.

        Propensities are of all actions, (N, A), or of the chosen one, (N,); where the latter are all one over the
        number of actions, the logger chose uniformly, and those of all actions follow. With `n_samples` they are shares
        of so many draws of the policy, besides the draw that acted. With `renormalize` those of a row are divided by
        their sum. `propensity_source` says which it was.

        `time` is when each row was decided, and `arrival` when its outcome was known: seconds, or dates and time
        stamps, which become seconds since 1970 in UTC (so they are taken where they have no time zone). Times must not
        fall within an episode, nor from the start of an episode to that of the next; an arrival is not before its time.
        """
        given = {
            "observation": observation, "action": action, "reward": reward, "next_observation": next_observation,
            "terminated": terminated, "truncated": truncated, "episode": episode, "step": step,
            "propensity": propensity, "time": time, "arrival": arrival,
        }  # fmt: skip
        given = {name: values for name, values in given.items() if values is not None}
        coded, coding, features = code_given(given)
        given |= coded
        common_length(given)
        cleaned = {name: CLEAN[name](name, values) for name, values in given.items() if name != "action"}
        cleaned["action"], labels = action_codes(action, actions)
        log = assemble(
            cleaned, labels, labels_given=actions is not None, n_actions=n_actions, ends=ends, coding=coding,
            propensities=PropensityOptions(n_samples, renormalize),
        )  # fmt: skip
        return log if features is None else replace(log, spec=replace(log.spec, features=features))

    def __len__(self) -> int:
        return len(self.action)

    def __repr__(self) -> str:
        title, lines = self._described()
        return "\n".join([title, *(f"  {name:<17} {words}" for name, words in lines)])

    def _described(self) -> tuple[str, list[tuple[str, str]]]:
        """Return what the log is a log of, and what each column holds."""
        counts = {"row": len(self), "episode": self.n_episodes, "action": self.spec.n_actions}
        title = f"Log of {', '.join(counted(number, noun) for noun, number in counts.items())}"
        shapes = {name: f"{column.shape} {column.dtype}" for name, column in self.columns.items()}
        if self.propensity_source not in (None, PropensitySource()):
            shapes["propensity"] += f", {self.propensity_source}"
        shown = [*COLUMNS, *(name for name in TIMES if name in shapes)]
        lines = [(name, shapes.get(name, "none")) for name in shown]
        lines += [] if self.spec.coding is None else [("coding", visible(str(self.spec.coding)))]
        return title, lines

    def _repr_html_(self) -> str:
        title, lines = self._described()
        headings = (Column("column", numeric=False), Column("holds", numeric=False))
        return Table(title, headings, tuple(lines))._repr_html_()

    @property
    def n_episodes(self) -> int:
        """The number of episodes: runs of rows with one episode id."""
        return len(self.starts) - 1

    @cached_property
    def starts(self) -> np.ndarray:
        """The first row of each episode, then the number of rows."""
        starts = starts_of(self.episode)
        starts.setflags(write=False)
        return starts

    @cached_property
    def unfinished(self) -> np.ndarray:
        """For each episode, True if its last row is neither terminated nor truncated."""
        unfinished = np.empty(self.n_episodes, bool)
        for episodes in slices(self.n_episodes):
            last = self.starts[one_later(episodes)] - 1
            unfinished[episodes] = ~(self.terminated[last] | self.truncated[last])
        return unfinished

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: equal for equal columns, however the log was made.

        So the source of propensities is not in it: runs depend on their values only.
        """
        return self._remembered("fingerprint.json", fingerprint_of)

    @cached_property
    def content(self) -> str:
        """A hash of the rows without their observations: equal for the same rows, however these are coded."""
        return self._remembered("content.json", content_of)

    def _remembered(self, file: str, make: Callable[["Log"], str]) -> str:
        home: tuple[Path, str] | None = self.__dict__.get("_home")  # where a log on disk is, and which it is
        return make(self) if home is None else remembered(home[0] / file, home[1], lambda: make(self))

    def select(self, episodes: Any) -> "Log":
        """Return the log of these episodes, given by position, in this order; one given twice is two episodes."""
        episodes = self._positions(episodes)
        with made_beside(self.action, *self.columns.values()):  # of a log on disk, the selection is there, too
            chosen: dict[str, Any] = {
                name: take_episodes(column, self.starts, episodes) for name, column in self.columns.items()
            }
            if len(np.unique(episodes)) < len(episodes):
                chosen["episode"] = np.repeat(np.arange(len(episodes)), np.diff(self.starts)[episodes])
        dropped = None if self.dropped_reward is None else self.dropped_reward[episodes]
        return replace(self, **chosen, dropped_reward=dropped, source_row=None)

    def with_propensities(self, given: Any) -> "Log":
        """Return the log with the propensities of all actions, from a table or a function of the policy that acted.

        `given` is an array (n_observations, actions) where observations are codes; a mapping from observations, as they
        were before they were coded (tuples where they have several entries), to vectors; a DataFrame, or a Parquet or
        CSV file, with the columns of the observation and one for each action, a row for each distinct observation; a
        function of all observations that returns (N, actions); or a function of one observation and one action that
        returns a probability. Raise `LogError` for the first row where it is not a distribution, or not the propensity
        that the log has for the chosen action.

        >>> log = Log.from_columns(observation=[0, 1, 0], action=[1, 1, 0], reward=[0, 1, 0], ends="every-row",
        ...     propensity=[0.8, 0.5, 0.2])
        >>> log.with_propensities([[0.2, 0.8], [0.5, 0.5]]).propensity.tolist()
        [[0.2, 0.8], [0.5, 0.5], [0.2, 0.8]]
        """
        table, kind = given_propensities(self, given)
        return replace(self, propensity=table, propensity_source=PropensitySource(kind))

    def rows_of(self, episodes: Any) -> np.ndarray:
        """Return the rows of these episodes, given by position, in the order of the episodes.

        >>> log = Log.from_columns(observation=[0, 1, 2], action=[0, 0, 0], reward=[0, 0, 0], terminated=[0, 1, 1])
        >>> log.rows_of([1, 0])
        array([2, 0, 1])
        """
        episodes = self._positions(episodes)
        lengths = self.starts[episodes + 1] - self.starts[episodes]
        return np.arange(lengths.sum()) + np.repeat(self.starts[episodes] - np.cumsum(lengths) + lengths, lengths)

    def rows_in_source(self, rows: Iterable[int]) -> tuple[int, ...]:
        """Return the numbers that rows have in the file or table that was read, from 0 up."""
        return tuple(map(self.row_in_source, rows))

    def row_in_source(self, row: int) -> int:
        """Return the number that a row has in the file or table that was read: messages name it by that."""
        return int(row) if self.source_row is None else int(self.source_row[row])

    def _positions(self, episodes: Any) -> np.ndarray:
        """Return positions of episodes as an array of integers; raise `SettingError` where the log has no such."""
        episodes = np.asarray(episodes)
        if episodes.dtype == bool and len(episodes) == self.n_episodes:
            episodes = np.flatnonzero(episodes)
        if episodes.ndim != 1 or not len(episodes) or episodes.dtype.kind not in "iu":
            raise SettingError("give the positions of one or more episodes as a list of integers")
        if episodes.min() < 0 or episodes.max() >= self.n_episodes:
            raise SettingError(
                f"the log has episodes 0 to {self.n_episodes - 1}, not {episodes.min()} to {episodes.max()}"
            )
        return episodes

    def require_no_errors(self) -> None:
        """Raise `LogError` for the first error that `check` would list; simulators use no log that has one."""
        if self._first_error is not None:
            raise LogError(self._first_error.sentence, self._first_error.rule)

    @cached_property
    def _first_error(self) -> Finding | None:
        findings = (finding for rule in rules.ERRORS for finding in rule(self))
        return next((finding for finding in findings if finding.severity == "error"), None)

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name; `propensity`, `time` and `arrival` only where the log has them."""
        return {name: getattr(self, name) for name in (*COLUMNS, *TIMES) if getattr(self, name) is not None}


def assemble(
    columns: dict[str, np.ndarray],
    labels: tuple[str, ...] | None,
    *,
    labels_given: bool,
    n_actions: int | None,
    ends: str | None,
    coding: Coding | None = None,
    checks_times: bool = True,
    categories: Iterable[str] = (),
    propensities: PropensityOptions = PropensityOptions(),  # noqa: B008 - it cannot be changed
    owned: bool = False,
) -> Log:
    """Return a log of columns that are in their dtypes, with actions as codes; what is missing is derived.

    `categories` names the columns of the coding that are known to be categories. Columns that are `owned` nobody else
    uses: where rows are dropped, those that can be written to are overwritten.
    """
    n_actions = count_actions(columns["action"], labels, n_actions, columns.get("propensity"))
    notes = []
    if labels is not None and not labels_given and "propensity" in columns and columns["propensity"].ndim == 2:
        notes.append(f"labels: propensity columns are taken to be in the order {', '.join(labels)}")
    notes += [] if coding is None else notes_on_categories(coding.columns, categories)
    notes += [] if labels is None or labels_given else notes_on_labels("action", labels)
    derived = [name for name in ("step", "next_observation") if name not in columns]

    columns, notes_on_ends, derived_ends = add_ends(columns, ends)
    starts = starts_of(columns["episode"])
    if checks_times:
        check_times(columns, starts)
    limit = common_time_limit(starts, columns["truncated"])  # before a row is dropped
    if "step" not in columns:
        columns["step"] = step_numbers(starts)
    notes += notes_on_ends
    dropped = None
    if "next_observation" not in columns:
        columns, notes_on_next, dropped = add_next_observations(columns, starts, owned)
        notes += notes_on_next
    observation, next_observation = same_kind(columns["observation"], columns["next_observation"])
    columns |= {"observation": observation, "next_observation": next_observation}
    prepared = prepare(columns.get("propensity"), n_actions, propensities, columns.get("source_row"))
    given: dict[str, Any] = {**columns, "propensity": prepared.propensity}
    return Log(
        **given,
        spec=spec_of(observation, next_observation, n_actions, labels, coding),
        max_episode_steps=limit,
        notes=(*notes, *prepared.notes),
        derived=(*derived_ends, *derived),
        propensity_source=prepared.source,
        dropped_reward=dropped,
    )
