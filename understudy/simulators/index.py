"""A log packed for replay: a record and a state for each row, and the openings of its episodes."""

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contracts import Encoder, Log
from understudy.contracts.compiling import routine
from understudy.contracts.encoding import check_encodes, log_states
from understudy.contracts.fitting import ensure_fitted
from understudy.contracts.vocabulary import Vocabulary
from understudy.errors import EncoderError
from understudy.logs.naming import observation_words
from understudy.logs.repeated_rows import is_repeated
from understudy.mapped import blocks
from understudy.simulators.coding import LOG_POSITIONS, opening_positions
from understudy.simulators.kernels.records import RECORD, RecordColumns
from understudy.simulators.kernels.tape import OPENING
from understudy.simulators.options import require_log
from understudy.simulators.read_only import read_only

if TYPE_CHECKING:
    from understudy.simulators.index_on_disk import IndexOnDisk

CHUNK = 65_536
MOST_COUNTED = 1_000_000  # rows of a log up to which the observations of a state are counted
"""The number of rows compared at a time, so that large observations take little memory."""


@dataclass(frozen=True, eq=False)
class Index:
    """A log, and the states that an encoder gives its observations, as arrays for kernels. They are read-only."""

    log: Log
    state: np.ndarray  # (N,) int32: the state of each row's observation; -1 for none
    encoder_numbers: np.ndarray | None  # (n_states,) the encoder's own number of each state; None where they are equal
    n_states: int
    records: Any  # (N,) RECORD; RecordColumns of a log on disk
    opening: np.ndarray  # (E,) OPENING
    inverse_propensity: np.ndarray  # (V, A) float64: one over each distinct propensity vector
    requeued: bool = False  # True if `state` is of another encoder than the records' next_state
    on_disk: "IndexOnDisk | None" = None  # what more is known of the index of a log on disk

    @property
    def next_state(self) -> np.ndarray:
        """The state of each row's next observation, (N,) int32; -1 for none."""
        return self.records.next_state if isinstance(self.records, RecordColumns) else self.records["next_state"]

    @cached_property
    def n_rows(self) -> np.ndarray:
        """The number of rows of each state, (n_states,)."""
        if self.on_disk is not None:
            return self.on_disk.counts.sum(axis=1)
        return np.bincount(self.state[self.state >= 0] if self.state.min() < 0 else self.state, minlength=self.n_states)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, read_only(value))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the states, by which results of different encoders are told apart."""
        return self._fingerprint() if self.on_disk is None else self.on_disk.remembered(self._fingerprint)

    def _fingerprint(self) -> str:
        digest = blake2b(digest_size=16)
        for part in (self.state, self.next_state):
            for rows in blocks(len(part)):
                digest.update(np.ascontiguousarray(part[rows]).data.cast("B"))
        return digest.hexdigest()

    def encoder_state(self, state: int) -> int:
        """Return the encoder's own number of a state."""
        return int(state if self.encoder_numbers is None or state < 0 else self.encoder_numbers[state])

    def encoder_states(self, states: np.ndarray) -> np.ndarray:
        """Return the encoder's own numbers of states."""
        return states if self.encoder_numbers is None else self.encoder_numbers[states]

    def select(self, episodes: np.ndarray) -> "Index":
        """Return the index of some of the log's episodes, with the same states; its rows are those of the shorter log.

        Observations are not encoded again.
        """
        if self.on_disk is not None:
            return self.on_disk.select(self, episodes)
        rows = self.log.rows_of(episodes)
        log, records = self.log.select(episodes), self.records[rows]
        records["row"] = np.arange(len(rows))
        opening = self.opening[episodes]
        opening["row"] = log.starts[:-1]
        return replace(self, log=log, state=self.state[rows], records=records, opening=opening)

    def is_logged(self, state: int) -> bool:
        """True if the log has a row in a state."""
        return bool(self.n_rows[state] > 0)

    def stop_fields(self, state: int) -> dict[str, Any]:
        """Return the fields of a `Stop` that describe a state: its number, and its only observation or an example.

        Runs stop in few states, so the answers are kept.
        """
        if state not in self._stop_fields:
            self._stop_fields[state] = self._found_stop_fields(state)
        return self._stop_fields[state]

    @cached_property
    def _stop_fields(self) -> dict[int, dict[str, Any]]:
        return {}

    def _found_stop_fields(self, state: int) -> dict[str, Any]:
        seen = [(self.log.observation, self.state)]
        seen += [] if self.requeued else [(self.log.next_observation, self.next_state)]
        example, exact = None, True
        for column, states in seen:
            for rows in blocks(len(column), CHUNK):
                found = np.flatnonzero(states[rows] == state)
                if len(found):
                    example = column[rows][found[0]] if example is None else example
                    exact = bool((column[rows][found] == example).all())
                if example is not None and (not exact or self._is_single):
                    words = observation_words(self.log.spec, example)
                    told = {"place": words} if exact else {"example": words, "others": self._n_others(state)}
                    return {"state": self.encoder_state(state), **told}
        if example is None:
            return {"state": self.encoder_state(state)}
        return {"state": self.encoder_state(state), "place": observation_words(self.log.spec, example)}

    def _n_others(self, state: int) -> int | None:
        """Return how many observations a state stands for beside one; None where counting them would take long."""
        if len(self.log) > MOST_COUNTED:
            return None
        seen = [self.log.observation[self.state == state]]
        seen += [] if self.requeued else [self.log.next_observation[self.next_state == state]]
        return len(np.unique(np.concatenate(seen).reshape(sum(map(len, seen)), -1), axis=0)) - 1

    @property
    def _is_single(self) -> bool:
        """True if each state is known to stand for one observation."""
        return self.on_disk is not None and self.on_disk.single

    def coded(self, codes: Any) -> tuple[Any, np.ndarray]:
        """Return the records and openings with a learner's codes of observations."""
        if self.on_disk is not None:
            return self.on_disk.coded(self, codes)
        if codes is None:
            return self.records, self.opening
        records, opening = self.records.copy(), self.opening.copy()
        if codes is LOG_POSITIONS:
            records["next_code"], opening["code"] = (
                records["row"],
                opening_positions(len(records), range(len(opening))),
            )
            return records, opening
        records["next_code"] = codes.batch(self.log.next_observation, ~self.log.terminated)
        opening["code"] = codes.batch(self.log.observation[opening["row"]])
        return records, opening


def index(log: Log, encoder: Encoder | None, *, propensities: bool = False) -> Index:
    """Return the index of a log, with its propensities if asked for.

    Raises `LogError` where the log cannot be replayed, `EncoderError` where the encoder's states cannot be used, and
    `ContractError` where one of the two is something else.
    """
    require_log(log)
    if encoder is not None:
        check_encodes(encoder)
    log.require_no_errors()
    encoder_numbers, state, next_state = dense(*states_of_log(log, encoder))
    if state.max() < 0:
        raise EncoderError("the encoder has no state for any observation of this log; fit it on logs like this one")

    vector, inverse_propensity = inverse_propensities(log if propensities else None, len(log), log.spec.n_actions)
    records = np.empty(len(log), RECORD)
    code = log.next_observation if log.spec.n_observations is not None else next_state
    pack(records, log.reward, next_state, code, vector, log.action, log.terminated)

    first = log.starts[:-1]
    opening = np.empty(len(first), OPENING)
    opening["row"], opening["state"] = first, state[first]
    opening["code"] = log.observation[first] if log.spec.n_observations is not None else 0
    n_states = 1 + int(max(state.max(), next_state.max()))
    return Index(log, state, encoder_numbers, n_states, records, opening, inverse_propensity)


def states_of_log(log: Log, encoder: Encoder | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of a log's observations and next observations; without an encoder each observation is one."""
    if encoder is None and log.spec.n_observations is not None:
        return log.observation, log.next_observation
    if encoder is None:
        vocabulary = Vocabulary(log.observation, log.next_observation)
        return vocabulary.codes(log.observation), vocabulary.codes(log.next_observation)
    return log_states(ensure_fitted(encoder, log), log)


def dense(state: np.ndarray, next_state: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """Return the encoder's numbers, or None, and both arrays of states as int32.

    States are renumbered from 0 up where their numbers are much larger than the number of rows; then the first of the
    three has the encoder's number of each.
    """
    if max(state.max(), next_state.max()) < 4 * len(state) + 1024:
        return None, state.astype(np.int32, copy=False), next_state.astype(np.int32, copy=False)
    numbers = np.unique(np.concatenate([state, next_state]))
    numbers = numbers[numbers >= 0]
    one, other = (np.where(s < 0, -1, np.searchsorted(numbers, s)).astype(np.int32) for s in (state, next_state))
    return numbers, one, other


def inverse_propensities(log: Log | None, n_rows: int, n_actions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which of the log's distinct propensity vectors each row has, (N,), and one over each of them, (V, A).

    Without a log, or without propensities, all rows have the same vector of ones.
    """
    if log is None or log.propensity is None:
        return np.broadcast_to(np.int32(0), n_rows), np.ones((1, n_actions))
    matrix = log.propensity
    sample = matrix[:: max(1, n_rows // SAMPLE)]
    if is_repeated(matrix) or (matrix == matrix[0]).all():
        vector, distinct = np.broadcast_to(np.int32(0), n_rows), matrix[:1]
    elif 2 * len(Vocabulary(sample)) > len(sample):  # few vectors repeat: finding them would cost more than it saves
        vector, distinct = np.arange(n_rows, dtype=np.int32), matrix
    else:
        vocabulary = Vocabulary(matrix)
        vector, distinct = vocabulary.codes(matrix), vocabulary.rows
    return vector, inverse(distinct)


def inverse(propensities: np.ndarray) -> np.ndarray:
    """Return one over propensities, infinite for zeros."""
    with np.errstate(divide="ignore", over="ignore"):
        return 1.0 / (propensities + 0.0)  # -0.0 would give minus infinity


def with_state_means(index: Index) -> Index:
    """Return the index with the mean propensities of all rows of a state in place of each row's own."""
    matrix, n_actions = index.log.propensity, index.log.spec.n_actions
    assert matrix is not None
    total = np.zeros((index.n_states, n_actions))
    for rows in blocks(len(matrix)):
        logged = index.state[rows] >= 0
        state, of_rows = index.state[rows][logged], matrix[rows][logged]
        for action in range(n_actions):
            total[:, action] += np.bincount(state, weights=of_rows[:, action], minlength=index.n_states)
    inverse_propensity = inverse(total / np.maximum(index.n_rows, 1)[:, None])
    if index.on_disk is not None:  # rows without a state are in no queue
        return replace(index, records=index.records._replace(vector=index.state), inverse_propensity=inverse_propensity)
    records = index.records.copy()
    records["vector"] = np.maximum(index.state, 0)
    return replace(index, records=records, inverse_propensity=inverse_propensity)


SAMPLE = 1000
"""The number of rows looked at to estimate whether propensity vectors repeat."""


@routine
def pack(records, reward, next_state, code, vector, action, terminated):
    """Write columns into records."""
    for row in range(len(records)):
        records[row]["reward"] = reward[row]
        records[row]["row"] = row
        records[row]["next_state"] = next_state[row]
        records[row]["next_code"] = code[row]
        records[row]["vector"] = vector[row]
        records[row]["action"] = action[row]
        records[row]["terminated"] = terminated[row]


@routine
def group(key, first, members):
    """Write rows into `members`, grouped by key.

    `first` holds the cumulated number of rows of each key, and afterwards where each key's rows start.
    """
    for row in range(len(key) - 1, -1, -1):
        if key[row] >= 0:
            first[key[row]] -= 1
            members[first[key[row]]] = row


def grouped(key: np.ndarray, n_keys: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where each key's rows start in a list of rows, and that list, each key's in log order; -1 is left out.

    >>> first, members = grouped(np.array([1, 0, -1, 1]), 2)
    >>> first.tolist(), members.tolist()
    ([0, 1, 3], [1, 0, 3])
    """
    counts = np.bincount(key[key >= 0] if key.min() < 0 else key, minlength=n_keys)
    first = np.append(np.cumsum(counts), counts.sum())
    members = np.empty(counts.sum(), np.int32)
    group(read_only(key), first, members)
    return first, members
