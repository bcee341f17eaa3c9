"""A log encoded in blocks, by as many workers as one likes, and kept on disk for later calls."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.contracts import Backend, Closable, Encoder, Log
from understudy.contracts.backing import Block
from understudy.contracts.encoding import (
    CountsStates,
    Encodes,
    Savable,
    block_states,
    check_encodes,
    encoding_blocks,
    join_blocks,
)
from understudy.contracts.fitting import ensure_fitted
from understudy.contracts.offering import offers
from understudy.encoders.files import contents_digest
from understudy.errors import ContractError, EncoderError
from understudy.progress import progress_bar
from understudy.runs.backends import backend_of, workers_of
from understudy.runs.describing import describe
from understudy.runs.state_files import StateFiles, StatesOf, locked
from understudy.settings import shown, whole
from understudy.simulators.options import require_log


@dataclass(frozen=True, eq=False, repr=False)
class EncodedLog:
    """The states of a log, made by `us.encode`. Give it to a simulator of that log in place of the encoder."""

    encoder: Encodes
    log: str  # the log's fingerprint
    state: np.ndarray  # (N,) int32 or int64: the encoder's state of each observation; -1 for none
    next_state: np.ndarray  # (N,) of each next observation
    fitted = True
    fits = 0

    @property
    def n_states(self) -> int | None:
        """The number of states, where the encoder knows it."""
        return self.encoder.n_states if offers(self.encoder, CountsStates) else None

    def encode(self, observations: np.ndarray) -> np.ndarray:
        """Return the encoder's states of other observations."""
        return self.encoder.encode(observations)

    def log_states(self, log: Log) -> tuple[np.ndarray, np.ndarray]:
        """Return the states of each row. Raise `EncoderError` for another log."""
        if log.fingerprint != self.log:
            raise EncoderError(
                f"these are states of another log, of {len(self.state):,} rows; encode this one with us.encode, or "
                "give the encoder itself"
            )
        return self.state, self.next_state

    def __repr__(self) -> str:
        return f"EncodedLog of {len(self.state):,} rows, by {self.encoder!r}"


def encode(
    log: Log,
    encoder: Encoder | Encodes,
    *,
    out: Any = None,
    workers: int | None = None,
    backend: str | Backend | None = None,
    progress: bool | None = None,
) -> EncodedLog:
    """Return the states that an encoder gives to a log: made in blocks, and kept in a folder.

    Use it where a network takes long to encode a log, or the states do not fit into memory. Simulators of this log
    take what is returned as their encoder: `us.psrs(log, us.encode(log, encoder, out="states"))` serves the same rows
    as `us.psrs(log, encoder)`.

    With `out` the states are memory maps of files in that folder, and later calls with the same log and encoder use
    them again; where a process was killed, the next one goes on at the block it had reached. A folder of another log or
    encoder is refused. An encoder that is not fitted is fitted on this log first.

    Blocks are encoded one after another; with `workers` in so many processes, or as `backend` says: "serial",
    "threads", "processes", "ray", or one of your own (see `contracts.Backend`). States are the same with any of them.

    >>> import understudy as us
    >>> log = us.record(us.envs.Grid(), episodes=20, seed=0)
    >>> encoded = encode(log, us.encoders.Function(lambda observations: observations % 5))
    >>> encoded.state[:3].tolist() == (log.observation[:3] % 5).tolist(), us.qbe(log, encoded).n_states
    (True, 5)
    """
    require_log(log)
    check_encodes(encoder)
    log.require_no_errors()
    workers = None if workers is None else whole("workers", workers)
    work = backend_of(backend or ("serial" if workers in (None, 1) else "processes"))
    encoder = ensure_fitted(encoder, log)
    blocks = encoding_blocks(log.observation)
    run_block = BlockEncoder(encoder, log.observation, log.next_observation, blocks)
    if out is None:
        state, next_state = _filled(_InMemory(len(log), blocks), run_block, work, workers, progress)
    else:
        of = StatesOf(log.fingerprint, digest_of(encoder), len(log))
        with locked(out):
            state, next_state = _filled(StateFiles(out, of, blocks), run_block, work, workers, progress)
    return EncodedLog(encoder, log.fingerprint, state, next_state)


def _filled(
    store: "_InMemory | StateFiles",
    run_block: "BlockEncoder",
    work: Backend,
    workers: int | None,
    progress: bool | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of a log, after what was missing of them was encoded."""
    blocks = store.blocks
    restarted = True
    while restarted:  # once more where states turn out to need wider integers
        numbers, dtype = store.missing(), store.dtype
        with progress_bar("encode", len(blocks), progress, len(blocks) - len(numbers)) as report:
            done, chosen = len(blocks) - len(numbers), min(workers_of(work, workers), max(1, len(numbers)))
            with closing(_results(work, run_block, [(number,) for number in numbers], chosen)) as results:
                for number, states in results:
                    store.write(number, states)
                    report(done := done + 1)
        restarted = store.dtype != dtype
    if numbers or store.is_unfinished:
        join_blocks(*store.arrays("r+"), run_block.observation, run_block.next_observation, blocks)
        store.finish()
    return store.arrays()


class BlockEncoder:
    """Encodes the blocks of a log: the `run_block` of a backend."""

    def __init__(
        self, encoder: Encodes, observation: np.ndarray, next_observation: np.ndarray, blocks: Sequence[slice]
    ) -> None:
        self.encoder, self.observation, self.next_observation = encoder, observation, next_observation
        self.blocks = blocks

    def __call__(self, block: Block, keep_going: Callable[[], bool]) -> tuple[np.ndarray, np.ndarray]:
        return block_states(self.encoder, self.observation, self.next_observation, self.blocks[block[0]])


class _InMemory:
    """States in memory: what `StateFiles` is on disk."""

    def __init__(self, n_rows: int, blocks: Sequence[slice]) -> None:
        self.blocks, self._written = blocks, [False] * len(blocks)
        self._states = np.empty((2, n_rows), np.int32)
        self.is_unfinished = True

    @property
    def dtype(self) -> str:
        return self._states.dtype.str

    def missing(self) -> list[int]:
        return [number for number, written in enumerate(self._written) if not written]

    def write(self, number: int, states: Sequence[np.ndarray]) -> None:
        if max(int(column.max()) for column in states) > np.iinfo(self._states.dtype).max:
            self._states = self._states.astype(np.int64)
        self._states[:, self.blocks[number]] = states
        self._written[number] = True

    def arrays(self, mode: str = "r") -> tuple[np.ndarray, np.ndarray]:
        return self._states[0], self._states[1]

    def finish(self) -> None:
        self._states.setflags(write=False)


def digest_of(encoder: Encodes) -> str:
    """Return a hash of what an encoder is. Raise `EncoderError` where that cannot be told."""
    if offers(encoder, Savable):
        return contents_digest(encoder)
    described = describe(encoder)
    if described.unknown:
        path, what = next(iter(described.unknown.items()))
        raise EncoderError(
            f"with out=, states of another encoder could not be told from these: {path} is {what}, which cannot be "
            "described; give the encoder a property settings, a mapping of all that makes it what it is"
        )
    return described.digest


def _results(
    work: Backend, run_block: BlockEncoder, blocks: Sequence[Block], workers: int
) -> Generator[tuple[int, Sequence[np.ndarray]], None, None]:
    """Yield the number of each block with its states. Raise `ContractError` where the backend leaves one out."""
    if not blocks:
        return
    results, missing = work(run_block, blocks, workers), set(blocks)
    try:
        for block, states in results:
            if tuple(block) not in missing:
                raise ContractError(f"the backend yielded {shown(block)}, which it was not given or has yielded before")
            missing.remove(tuple(block))
            yield block[0], states
    finally:
        if offers(results, Closable):
            results.close()
    if missing:
        raise ContractError(f"the backend ended without block {min(missing)[0]}; it must yield every block it is given")
