"""A log packed for replay: a record for each row, the state it is in, and where episodes open."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from understudy.contracts import Encoder, Log
from understudy.contracts.compiling import routine
from understudy.contracts.encoding import Encodes
from understudy.contracts.fitting import ensure_fitted
from understudy.contracts.offering import offers
from understudy.contracts.vocabulary import Vocabulary
from understudy.errors import ContractError, EncoderError
from understudy.logs.naming import observation_words
from understudy.simulators.coding import LOG_POSITIONS
from understudy.simulators.kernels.tape import OPENING, RECORD

CHUNK = 65_536
"""Rows that are compared at a time, so that large observations take little memory."""


@dataclass(frozen=True, eq=False)
class Index:
    """What simulators share of a log seen through an encoder. Never written once it is made."""

    log: Log
    state: np.ndarray  # (N,) int32: where each row was taken from; -1 for none
    names: np.ndarray | None  # the encoder's own numbers of states, where they were too sparse to be used as they are
    n_states: int
    records: np.ndarray  # (N,) RECORD
    opening: np.ndarray  # (E,) OPENING
    inverse: np.ndarray  # (V, A) float64: one over each distinct propensity vector
    requeued: bool = False  # whether `state` is of another encoder than the records' next_state

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the states, to tell one encoder's results from another's."""
        digest = blake2b(digest_size=16)
        for part in (self.state, self.records["next_state"]):
            digest.update(np.ascontiguousarray(part).data.cast("B"))
        return digest.hexdigest()

    def encoder_state(self, state: int) -> int:
        """Return the encoder's own number of a state."""
        return int(state if self.names is None or state < 0 else self.names[state])

    def encoder_states(self, states: np.ndarray) -> np.ndarray:
        """Return the encoder's own numbers of states."""
        return states if self.names is None else self.names[states]

    def is_logged(self, state: int) -> bool:
        """Whether any row was taken from a state."""
        return bool((self.state == state).any())

    def words(self, state: int) -> dict[str, Any]:
        """A state in words, as `Stop` takes them: its number, and the observation it stands for or an example.

        Runs stop in few states, so what was found is kept.
        """
        if state not in self._found:
            self._found[state] = self._words(state)
        return self._found[state]

    @cached_property
    def _found(self) -> dict[int, dict[str, Any]]:
        return {}

    def _words(self, state: int) -> dict[str, Any]:
        seen = [(self.log.observation, np.flatnonzero(self.state == state))]
        if not self.requeued:
            seen.append((self.log.next_observation, np.flatnonzero(self.records["next_state"] == state)))
        seen = [(column, rows) for column, rows in seen if len(rows)]
        if not seen:
            return {"state": self.encoder_state(state)}
        example = seen[0][0][seen[0][1][0]]
        exact = all(
            (column[rows[begin : begin + CHUNK]] == example).all()
            for column, rows in seen
            for begin in range(0, len(rows), CHUNK)
        )
        words = observation_words(self.log.spec, example)
        return {"state": self.encoder_state(state), "place" if exact else "example": words}

    def coded(self, codes: Any) -> tuple[np.ndarray, np.ndarray]:
        """Records and openings with a learner's codes for observations."""
        if codes is None:
            return self.records, self.opening
        records, opening = self.records.copy(), self.opening.copy()
        if codes is LOG_POSITIONS:
            records["next_code"], opening["code"] = records["row"], len(records) + np.arange(len(opening))
            return records, opening
        records["next_code"] = codes.batch(self.log.next_observation, ~self.log.terminated)
        opening["code"] = codes.batch(self.log.observation[opening["row"]])
        return records, opening


def index(log: Log, encoder: Encoder | None, *, propensities: bool = False) -> Index:
    """Pack a log, with its propensities if asked to. Raises an error where it, or its states, cannot be replayed."""
    if not isinstance(log, Log):
        raise ContractError(f"a {type(log).__name__} is not a log; make one with us.read or us.Log.from_columns")
    check_encoder(encoder)
    log.require_no_errors()
    names, state, next_state = dense(*states_of_log(log, encoder))
    if state.max() < 0:
        raise EncoderError("the encoder has no state for any observation of this log; fit it on logs like this one")

    vector, inverse = inverse_propensities(log if propensities else None, len(log), log.spec.n_actions)
    records = np.empty(len(log), RECORD)
    code = log.next_observation if log.spec.n_observations is not None else next_state
    pack(records, log.reward, next_state, code, vector, log.action, log.terminated)

    first = log.starts[:-1]
    opening = np.empty(len(first), OPENING)
    opening["row"], opening["state"] = first, state[first]
    opening["code"] = log.observation[first] if log.spec.n_observations is not None else 0
    n_states = 1 + int(max(state.max(), next_state.max()))
    return Index(log, state, names, n_states, records, opening, inverse)


def check_encoder(encoder: Any) -> None:
    """Raise `ContractError` where this is neither None nor an encoder."""
    if encoder is not None and (isinstance(encoder, type) or not offers(encoder, Encodes)):
        raise ContractError(
            f"{encoder!r} is not an encoder: it needs encode(observations); wrap a function of a batch of observations "
            "in encoders.Function"
        )


def states_of_log(log: Log, encoder: Encoder | None) -> tuple[np.ndarray, np.ndarray]:
    """The states of a log's observations and next observations; without an encoder each observation is a state."""
    if encoder is None and log.spec.n_observations is not None:
        return log.observation, log.next_observation
    if encoder is None:
        vocabulary = Vocabulary(log.observation, log.next_observation)
        return vocabulary.codes(log.observation), vocabulary.codes(log.next_observation)
    encoder = ensure_fitted(encoder, log)
    state = states_of(encoder, log.observation)
    next_state, new = np.append(state[1:], -1), ~goes_on(log)  # most were encoded as the next row's own
    next_state[new] = states_of(encoder, log.next_observation[new])
    return state, next_state


def goes_on(log: Log) -> np.ndarray:
    """Whether a row's next observation is what the next row was taken at, (N,)."""
    found = np.zeros(len(log), dtype=bool)
    for begin in range(0, len(log) - 1, CHUNK):
        part = slice(begin, min(begin + CHUNK, len(log) - 1))
        same = log.next_observation[part] == log.observation[begin + 1 : part.stop + 1]
        found[part] = same.reshape(len(same), -1).all(axis=1)
    return found


def states_of(encoder: Encoder, observations: np.ndarray) -> np.ndarray:
    """An encoder's states of some observations, checked."""
    states = np.array(encoder.encode(observations.copy()))  # an encoder may write on both
    if states.shape != (len(observations),) or states.dtype.kind not in "iu":
        raise EncoderError(
            f"the encoder made {states.dtype} of shape {states.shape} of {len(observations):,} observations; "
            "encode must return one integer for each"
        )
    if len(states) and states.min() < -1:
        raise EncoderError(f"the encoder made state {states.min()}; states count from 0, and -1 means none")
    return states


def dense(state: np.ndarray, next_state: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """States as int32, renumbered where they are few of a vast range; with their own numbers then."""
    if max(state.max(), next_state.max()) < 4 * len(state) + 1024:
        return None, state.astype(np.int32, copy=False), next_state.astype(np.int32, copy=False)
    names = np.unique(np.concatenate([state, next_state]))
    names = names[names >= 0]
    one, other = (np.where(s < 0, -1, np.searchsorted(names, s)).astype(np.int32) for s in (state, next_state))
    return names, one, other


def inverse_propensities(log: Log | None, n_rows: int, n_actions: int) -> tuple[np.ndarray, np.ndarray]:
    """Which of the log's distinct propensity vectors each row has, and one over each of them."""
    if log is None or log.propensity is None:
        return np.broadcast_to(np.int32(0), n_rows), np.ones((1, n_actions))
    matrix = log.propensity
    sample = matrix[:: max(1, n_rows // SAMPLE)]
    if (matrix == matrix[0]).all():
        vector, distinct = np.broadcast_to(np.int32(0), n_rows), matrix[:1]
    elif 2 * len(Vocabulary(sample)) > len(sample):  # hardly any is there twice: looking for those costs more
        vector, distinct = np.arange(n_rows, dtype=np.int32), matrix
    else:
        vocabulary = Vocabulary(matrix)
        vector, distinct = vocabulary.codes(matrix), vocabulary.rows
    with np.errstate(divide="ignore", over="ignore"):
        return vector, 1.0 / (distinct + 0.0)  # -0.0 would give minus infinity


SAMPLE = 1000
"""Rows looked at to tell whether propensity vectors repeat."""


@routine
def pack(records, reward, next_state, code, vector, action, terminated):
    """Gather columns into records."""
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
    """List rows by key: `first` comes with the number of each key's rows cumulated, and leaves with their starts."""
    for row in range(len(key) - 1, -1, -1):
        if key[row] >= 0:
            first[key[row]] -= 1
            members[first[key[row]]] = row


def grouped(key: np.ndarray, n_keys: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each key's rows start in a list of rows, and that list, each key's in log order.

    >>> first, members = grouped(np.array([1, 0, -1, 1]), 2)
    >>> first.tolist(), members.tolist()
    ([0, 1, 3], [1, 0, 3])
    """
    counts = np.bincount(key[key >= 0] if key.min() < 0 else key, minlength=n_keys)
    first = np.append(np.cumsum(counts), counts.sum())
    members = np.empty(counts.sum(), np.int32)
    group(key, first, members)
    return first, members
