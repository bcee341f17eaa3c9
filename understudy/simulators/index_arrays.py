"""The arrays of an index, made block by block: states, where episodes begin, how many rows each state has."""

import numpy as np

from understudy.contracts import Encoder, Log
from understudy.contracts.compiling import routine
from understudy.contracts.encoding import EncodesLog, block_states, encoding_blocks, join_blocks
from understudy.contracts.offering import offers
from understudy.contracts.vocabulary import Vocabulary
from understudy.errors import EncoderError
from understudy.logs.repeated_rows import is_repeated
from understudy.mapped import blocks, new_array, new_zeros
from understudy.simulators.index import SAMPLE, dense, inverse
from understudy.simulators.kernels.tape import BLOCK_END, END_ROW, FIRST_ROW, OPENING


def states_in_files(log: Log, encoder: Encoder | None) -> dict[str, np.ndarray]:
    """Return "state" and "next_state", (N,) int32, as `index` has them, and "encoder_numbers" where there are any.

    Nothing is returned where the log's own observations are these states already.
    """
    codes = encoder is None and log.spec.n_observations is not None
    if codes and log.observation.dtype == np.int32 and int(log.spec.n_observations or 0) < 4 * len(log) + 1024:
        return {}
    if codes and int(log.spec.n_observations or 0) < 4 * len(log) + 1024:
        return as_int32(log.observation, log.next_observation)
    if codes:
        return as_int32(*(np.asarray(column, np.int64) for column in (log.observation, log.next_observation)))
    if encoder is not None and offers(encoder, EncodesLog):
        return as_int32(*encoder.log_states(log))
    state, next_state = new_array(len(log), np.int64), new_array(len(log), np.int64)
    if encoder is None:
        columns = (log.observation, log.next_observation)
        vocabulary = Vocabulary(*(column[rows] for column in columns for rows in blocks(len(log))))
        for rows in blocks(len(log)):
            state[rows] = vocabulary.codes(log.observation[rows])
            next_state[rows] = vocabulary.codes(log.next_observation[rows])
    else:
        parts = encoding_blocks(log.observation)
        for rows in parts:
            state[rows], next_state[rows] = block_states(encoder, log.observation, log.next_observation, rows)
        join_blocks(state, next_state, log.observation, log.next_observation, parts)
    return as_int32(state, next_state)


def as_int32(state: np.ndarray, next_state: np.ndarray) -> dict[str, np.ndarray]:
    """Return states as int32, renumbered as `dense` does where their numbers are much larger than that of the rows."""
    if max(int(state.max()), int(next_state.max())) >= 4 * len(state) + 1024:
        numbers, one, other = dense(state, next_state)
        assert numbers is not None
        return {"encoder_numbers": numbers, "state": one, "next_state": other}
    small = {"state": new_array(len(state), np.int32), "next_state": new_array(len(state), np.int32)}
    for rows in blocks(len(state)):
        small["state"][rows], small["next_state"][rows] = state[rows], next_state[rows]
    return small


def largest_number(*states: np.ndarray) -> int:
    """Return the largest state; raise `EncoderError` where it does not fit 32 bits."""
    largest = max(int(column.max()) for column in states)
    if largest >= 2**31 - 1:
        raise EncoderError(f"state {largest:,} does not fit 32 bits; merge states")
    return largest


def episodes_and_openings(log: Log, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the episodes as a tape has them, (E, 3) int32, and their openings, (E,)."""
    starts, n_episodes, coded = log.starts, log.n_episodes, log.spec.n_observations is not None
    episodes, opening = new_array((n_episodes, 3), np.int32), new_array(n_episodes, OPENING)
    unfinished = []
    for some in blocks(n_episodes):
        first, end = starts[some], starts[some.start + 1 : some.stop + 1]
        episodes[some, FIRST_ROW], episodes[some, END_ROW] = first, end
        opening["row"][some], opening["state"][some] = first, state[first]
        opening["code"][some] = log.observation[first] if coded else 0
        open_end = ~(log.terminated[end - 1] | log.truncated[end - 1])
        unfinished.append(some.start + np.flatnonzero(open_end))
    ends = np.concatenate([*unfinished, [n_episodes]])
    for some in blocks(n_episodes):
        episodes[some, BLOCK_END] = ends[np.searchsorted(ends, np.arange(some.start, some.stop))]
    return episodes, opening


def count_rows(state: np.ndarray, action: np.ndarray, n_states: int, n_actions: int) -> np.ndarray:
    """Return the number of rows of each state and action, (n_states, n_actions)."""
    counts = new_zeros((n_states, n_actions), np.int64)
    for rows in blocks(len(state)):
        add_rows(state[rows], action[rows], counts)
    return counts


@routine
def add_rows(state, action, counts):
    """Count rows by state and action; those without a state are left out."""
    for row in range(len(state)):
        if state[row] >= 0:
            counts[state[row], action[row]] += 1


def queues_by_action(state: np.ndarray, action: np.ndarray, n_actions: int) -> np.ndarray:
    """Return the queue of each row where each state and action has one, (N,) int32; -1 for none."""
    queues = new_array(len(state), np.int32)
    for rows in blocks(len(state)):
        queues[rows] = np.where(state[rows] < 0, -1, state[rows] * n_actions + action[rows])
    return queues


def vectors_in_files(log: Log | None, n_actions: int) -> tuple[np.ndarray | None, np.ndarray]:
    """Return what `inverse_propensities` does, with None in place of vectors that are all 0."""
    matrix = None if log is None else log.propensity
    if matrix is None:
        return None, np.ones((1, n_actions))
    if is_repeated(matrix) or all((matrix[rows] == matrix[0]).all() for rows in blocks(len(matrix))):
        return None, inverse(matrix[:1])
    sample = matrix[:: max(1, len(matrix) // SAMPLE)]
    vector = new_array(len(matrix), np.int32)
    if 2 * len(Vocabulary(sample)) > len(sample):
        for rows in blocks(len(matrix)):
            vector[rows] = np.arange(rows.start, rows.stop)
        found = new_array(matrix.shape, np.float64)
        for rows in blocks(len(matrix)):
            found[rows] = inverse(matrix[rows])
        return vector, found
    vocabulary = Vocabulary(*(matrix[rows] for rows in blocks(len(matrix))))
    for rows in blocks(len(matrix)):
        vector[rows] = vocabulary.codes(matrix[rows])
    return vector, inverse(vocabulary.rows)
