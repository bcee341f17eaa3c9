"""What an encoder promises, and what it may offer beside that.

`Encoder` is what simulators and learners take; every other protocol here is optional, see `contracts.offering`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from understudy.contracts.offering import offers
from understudy.errors import ContractError, EncoderError
from understudy.logs import Log
from understudy.mapped import blocks as row_blocks


@runtime_checkable
class Encodes(Protocol):
    """The least that a simulator or a learner takes as an encoder. Without a `fit`, it is used as it is."""

    def encode(self, observations: np.ndarray) -> np.ndarray:
        """Return the state of each observation of a batch, (n, ...), as n integers from 0 up; -1 for no state."""


@runtime_checkable
class Encoder(Encodes, Protocol):
    """Maps observations to states, so that rows of a state can stand in for each other.

    Simulators, runs (for the encoder of their learner) and audits fit an encoder on their log before its first use.
    An encoder that was fitted elsewhere says so: see `SaysFitted`.

    The states of a simulator are those of when it was made: after another fit, make another simulator.
    """

    def fit(self, log: Log) -> "Encoder":
        """Learn the states from a log. Return the encoder itself."""


@runtime_checkable
class SaysFitted(Protocol):
    """Promised: `fitted` is True once `fit` was called, or from the start where no `fit` is needed.

    Gained: an encoder that says True is never fitted again; one that says False is fitted on the log it is used with.
    An encoder without the attribute is fitted by its first use, and then given `fitted = True`; so an encoder that you
    fit yourself on another log should have it.
    """

    fitted: bool


@runtime_checkable
class CountsFits(Protocol):
    """Promised: `fits` is a number that grows with each `fit`, and nothing but a `fit` changes the states.

    Gained: the codes of a log's observations are kept from run to run while `fits` stays the same. Without it they are
    computed for each run, so that they always follow the last fit.
    """

    fits: int


@runtime_checkable
class CountsStates(Protocol):
    """Promised: states are below `n_states`, which is None while that number is not known.

    Gained: probes can count visits of states in a real environment, and the command line can size a learner's table.
    """

    n_states: int | None


@runtime_checkable
class RemembersLog(Protocol):
    """Promised: `fitted_on` is the `fingerprint` of the log that `fit` was called with; None before.

    Gained: an audit on that same log says that it saw the rows that the states were learned from.
    """

    fitted_on: str | None


@runtime_checkable
class SplitsObservations(Protocol):
    """Knows an endogenous part of observations, which actions influence, and an exogenous one, which moves by itself.

    Promised: the two move independently of each other. `playing` says how the exogenous part is simulated (`how`:
    "queues", a queue for each value; "episodes", the values of one logged episode after another, and `longest_first`;
    "onward", all values of the log as one sequence, and `moves_at_reset`). `reward_form` is "own" or "additive", the
    reward of the endogenous row, with the exogenous part's share of it exchanged; or "table", one reward for each
    observation that a step arrives at. Where they are not independent, `refusal` says why; else it is None.
    Gained: `exo_psrs(log, split)`.
    """

    @property
    def refusal(self) -> str | None:
        """Return why the parts are not independent, or None."""

    @property
    def playing(self) -> Any:
        """Return how the exogenous part is simulated: `how`, `longest_first` and `moves_at_reset`."""

    @property
    def reward_form(self) -> str | None:
        """Return "own", "additive" or "table"."""

    def parts(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the endogenous and the exogenous part of each observation, (n, ...) both."""

    def joined(self, endogenous: np.ndarray, exogenous: np.ndarray) -> np.ndarray:
        """Return observations with the endogenous part of the first and the exogenous part of the second."""

    def reward_shares(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what exogenous parts add to the reward of a step that leaves them, and of one that arrives."""


@runtime_checkable
class EncodesLog(Protocol):
    """Knows the states of a whole log already, as what `us.encode` returns does.

    Promised: `log_states(log)` returns what `encode` gives for the log's observations and for its next observations.
    Gained: simulators take these states, which may be mapped from files, and encode nothing.
    """

    def log_states(self, log: Log) -> tuple[np.ndarray, np.ndarray]:
        """Return the states of each row, (N,) integers both. Raise `EncoderError` for a log that it does not know."""


class ObservationSpec(NamedTuple):
    """The type and shape of one observation.

    >>> print(ObservationSpec("float", (2,)))
    float observations of shape (2,)
    """

    kind: str  # "integer" or "float"
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.kind} observations" + (f" of shape {self.shape}" if self.shape else "")


@dataclass(frozen=True, eq=False)
class EncoderContents:
    """What a file of an encoder holds: enough to make an encoder with the same states."""

    settings: dict[str, Any]  # values that JSON can hold
    arrays: Mapping[str, np.ndarray]  # of numbers or text
    observation: ObservationSpec | None = None  # of the log it was fitted on
    fitted_on: str | None = None  # that log's fingerprint


@runtime_checkable
class Savable(Protocol):
    """Promised: `from_contents(encoder.contents())` gives an encoder with the same states.

    Gained: once `understudy.encoders.register(name, Class)` was called, `encoders.save` writes the encoder to a file
    and `encoders.load` reads it. Files hold values and arrays, never code: `load` makes only registered classes.
    """

    def contents(self) -> EncoderContents:
        """Return what a file has to hold. Raise `EncoderError` where `fit` was not called yet."""

    @classmethod
    def from_contents(cls, contents: EncoderContents) -> Self:
        """Return the encoder with these contents. Raise any error where they cannot be those of one.

        They come out of a file, which may be damaged or forged: check what `encode` relies on.
        """


def check_encodes(encoder: Any) -> None:
    """Raise `ContractError` where this is not an encoder: an object that has `encode`."""
    if isinstance(encoder, type) or not offers(encoder, Encodes):
        raise ContractError(
            f"{encoder!r} is not an encoder: it needs encode(observations); wrap a function of a batch of observations "
            "in encoders.Function"
        )


def states_of(encoder: Encodes, observations: np.ndarray) -> np.ndarray:
    """Return an encoder's states of some observations. Raise `EncoderError` where they are not one integer for each."""
    states = np.array(encoder.encode(observations.copy()))  # an encoder may write on both
    if states.shape != (len(observations),) or states.dtype.kind not in "iu":
        raise EncoderError(
            f"the encoder made {states.dtype} of shape {states.shape} of {len(observations):,} observations; "
            "encode must return one integer for each"
        )
    if len(states) and states.min() < -1:
        raise EncoderError(f"the encoder made state {states.min()}; states count from 0, and -1 means none")
    if states.dtype == np.uint64 and len(states) and states.max() >= 2**63:
        raise EncoderError(f"the encoder made state {states.max()}; states are below 2**63: number them from 0 up")
    return states


BLOCK_ROWS, BLOCK_ENTRIES = 1 << 18, 1 << 22
"""The most rows of a log, and the most entries of their observations, that are encoded together."""


def encoding_blocks(observation: np.ndarray) -> list[slice]:
    """Return the rows of a log in the blocks in which they are encoded."""
    height = max(1, min(BLOCK_ROWS, BLOCK_ENTRIES // max(1, int(np.prod(observation.shape[1:])))))
    return list(row_blocks(len(observation), height))


def block_states(
    encoder: Encodes, observation: np.ndarray, next_observation: np.ndarray, rows: slice
) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of a block of a log's observations and next observations.

    Most of the latter are the next row's observation, and encoded as such; that of the block's last row is 0 then, for
    `join_blocks` to fill in from the block after it.
    """
    state = states_of(encoder, observation[rows])
    next_state, new = np.append(state[1:], state.dtype.type(0)), ~_is_continued(observation, next_observation, rows)
    if new.any():
        found = states_of(encoder, next_observation[rows][new])
        next_state = next_state.astype(np.result_type(next_state, found), copy=False)
        next_state[new] = found
    return state, next_state


def join_blocks(
    state: np.ndarray,
    next_state: np.ndarray,
    observation: np.ndarray,
    next_observation: np.ndarray,
    blocks: Sequence[slice],
) -> None:
    """Fill in, where a block's last row leads to the first of the next block, the state of that one."""
    for block in blocks[1:]:
        last = slice(block.start - 1, block.start)
        if _is_continued(observation, next_observation, last)[0]:
            next_state[last] = state[block.start]


def _is_continued(observation: np.ndarray, next_observation: np.ndarray, rows: slice) -> np.ndarray:
    """Return, (n,) bool, True for each of some rows whose next observation equals the next row's observation."""
    after = observation[rows.start + 1 : rows.stop + 1]
    same = next_observation[rows][: len(after)] == after
    continued = np.zeros(rows.stop - rows.start, dtype=bool)
    continued[: len(after)] = same.all(axis=tuple(range(1, same.ndim)))
    return continued


def log_states(encoder: Encodes, log: Log) -> tuple[np.ndarray, np.ndarray]:
    """Return an encoder's states of a log's observations and next observations, (N,) integers both.

    They are encoded in blocks, and take 4 bytes a row each, or 8 where some state does not fit.
    """
    if offers(encoder, EncodesLog):
        return encoder.log_states(log)
    state, next_state = np.empty((2, len(log)), np.int32)
    blocks = encoding_blocks(log.observation)
    for rows in blocks:
        found = block_states(encoder, log.observation, log.next_observation, rows)
        if state.dtype == np.int32 and max(part.max() for part in found) > np.iinfo(np.int32).max:
            state, next_state = state.astype(np.int64), next_state.astype(np.int64)
        state[rows], next_state[rows] = found
    join_blocks(state, next_state, log.observation, log.next_observation, blocks)
    return state, next_state
