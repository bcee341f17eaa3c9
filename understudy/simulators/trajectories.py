"""PSRS on the endogenous part of observations, with the exogenous part played forward as it was logged."""

import weakref
from copy import copy
from hashlib import blake2b
from typing import Any

import numpy as np

from understudy.contracts import Log, Rehearsal, SplitsObservations
from understudy.contracts.streams import spawn
from understudy.errors import ContractError, SettingError
from understudy.simulators.coding import CodedArrays, largest_observation
from understudy.simulators.index import index
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.trajectories import (
    IN_TURN,
    OF_THE_OPENING,
    ONWARD,
    ONWARD_AT_RESETS,
    TapeAndPath,
)
from understudy.simulators.read_only import read_only
from understudy.simulators.rehearsal import KernelRehearsal
from understudy.simulators.replay import Replay
from understudy.simulators.sharing import shared_rehearsals
from understudy.simulators.splitting import CodedParts, PartEncoder, require_pairs, reward_of_rows, rewarded

PATHS = 3
"""The tag of the stream that orders sequences of one length."""


class TrajectoryReplay:
    """A log whose exogenous part never repeats, or goes on through resets: it is served in the order it was logged.

    An episode gets the exogenous values of one logged episode, or they go on where the last episode ended. Made by
    `exo_psrs`.
    """

    kind = "simulated"
    compilable = True
    exhaustible = True
    foreseeable = False
    serves_rows = serves_emissions = True

    def __init__(self, log: Log, split: SplitsObservations, **options: Any) -> None:
        self.split, self._parts = split, CodedParts(log, split)
        states = index(log, PartEncoder(self._parts.of, 0), propensities=True)
        self._endogenous = Replay(
            "exo_psrs", rewarded(states, reward_of_rows(log, split)), accept=layout.REJECTION, **options
        )
        self._set_path()
        digest = blake2b(self.index.records["reward"].tobytes(), digest_size=8)
        digest.update(repr((split.playing, self._leaving.tobytes(), self._arriving.tobytes())).encode())
        self.settings = self._endogenous.settings | {"played": split.playing.how, "split": digest.hexdigest()}

    def _set_path(self) -> None:
        """Set what depends on the log: its states, and the positions of the exogenous values."""
        self.log, self.index = self._endogenous.log, self._endogenous.index
        self.n_actions, self.n_states = self.log.spec.n_actions, self.index.n_states
        playing, starts, n_rows = self.split.playing, self.log.starts, len(self.log)
        self._first = read_only((starts[:-1] + np.arange(self.log.n_episodes)).astype(np.int32))
        self._lengths = np.diff(starts)
        # An episode of n rows has n + 1 values: that of its opening, and one for each next observation.
        own = np.arange(n_rows) + np.repeat(np.arange(self.log.n_episodes), self._lengths)
        lender = np.empty(n_rows + self.log.n_episodes, np.int64)
        lender[self._first], lender[own + 1] = n_rows + starts[:-1], np.arange(n_rows)
        following = np.arange(1, len(lender) + 1, dtype=np.int32)
        following[-1] = layout.EMPTY
        if playing.how == "episodes":
            following[self._first[1:] - 1] = layout.EMPTY
            self._opens = IN_TURN if playing.longest_first else OF_THE_OPENING
        elif playing.moves_at_reset:
            self._opens = ONWARD_AT_RESETS
        else:
            following[self._first[1:] - 1] += 1  # an opening is the last value once more
            self._opens = ONWARD
        self._lender, self._following = read_only(lender), read_only(following)
        self._values = self._lent(self._lender)
        self._leaving, self._arriving = map(read_only, self.split.reward_shares(self._values))
        require_pairs(self.n_states, len(self._lender))
        self._arrays = CodedArrays(self._coded, largest_observation(*self.observations))

    def start(self, seed: int, codes: Any = None) -> KernelRehearsal:
        """Return a new rehearsal; `codes` are those of a learner with a table of its own."""
        (code,) = self._arrays(codes)
        endogenous = self._endogenous.start(seed, codes)
        tape, first = endogenous.source, self._first
        if self._opens == IN_TURN:
            ties = np.random.default_rng(spawn(seed, PATHS)).random(len(first))
            order = np.lexsort((ties, -self._lengths))
            first = read_only(first[order])
        source = TapeAndPath(
            tape, self._following, self._lender, first, read_only(np.array([self._opens])), code, self._leaving,
            self._arriving, tape.rules, tape.cursor,
        )  # fmt: skip
        rehearsal = KernelRehearsal(
            source,
            n_actions=self.n_actions,
            first_observation=lambda row: self._joined(self.log.observation[row], tape.cursor[layout.LATENT]),
            next_observation=self._next,
            index=self.index,
        )
        # The tape's workspace must not be used again while this rehearsal is alive.
        weakref.finalize(rehearsal, lambda *tapes: None, endogenous).atexit = False
        return rehearsal

    def start_shared(self, seed: int, n: int) -> list[Rehearsal]:
        if self._opens >= ONWARD and n > 1:
            raise ContractError(
                f"the exogenous part goes on from one episode to the next, and {n} envs cannot share it; use one"
            )
        return shared_rehearsals(self.start(seed), n)

    def select(self, episodes: np.ndarray) -> "TrajectoryReplay":
        """Return the same simulator on some episodes; a sequence that goes on through resets skips the others."""
        selected = copy(self)
        selected._endogenous = self._endogenous.select(episodes)
        selected._set_path()
        return selected

    def repeated(self, copies: int) -> "TrajectoryReplay":
        """Return the same simulator over so many copies of its log, as `Replay.repeated` does.

        Raise `SettingError` where episodes have sequences of single episodes: which of them a run needs depends on
        their lengths, so copies do not tell how many a longer run would need.
        """
        if self._opens < ONWARD:
            raise SettingError(
                "the exogenous part is played from single episodes, and how many of them more steps would need cannot "
                "be told from copies of the log; leave steps= out"
            )
        repeated = copy(self)
        repeated.settings, repeated.exhaustible = self.settings | {"copies": copies}, False
        repeated._endogenous = self._endogenous.repeated(copies)
        following = self._following.copy()
        following[-1] = 0
        repeated._following = read_only(following)
        return repeated

    @property
    def observations(self) -> tuple[np.ndarray, ...]:
        """Observations that have the range of all that a learner may meet, parts never logged together included."""
        if self.log.observation.ndim > 1:
            return self.log.observation, self.log.next_observation
        inner, outer = self._parts.examples
        pairs = [self.split.joined(inner, np.broadcast_to(one, inner.shape)) for one in outer]
        return (np.concatenate(pairs),)

    def _lent(self, lender: np.ndarray) -> np.ndarray:
        """Return the observation whose exogenous part each lender stands for."""
        n = len(self.log)
        shown = self.log.next_observation[np.minimum(lender, n - 1)].copy()
        own = lender >= n
        shown[own] = self.log.observation[lender[own] - n]
        return shown

    def _joined(self, observation: Any, position: int) -> Any:
        return self.split.joined(np.asarray(observation)[None], self._values[position][None])[0]

    def _next(self, row: int, emission: int) -> Any:
        value = self._lent(np.array([emission]))
        return self.split.joined(self.log.next_observation[row][None], value)[0]

    def _coded(self, codes: Any) -> tuple[np.ndarray]:
        code = np.zeros((self.n_states, len(self._lender)), np.int32)  # memory that is not touched where all are 0
        if codes is None and self.log.observation.ndim > 1:
            return (code,)
        for z, example in enumerate(self._parts.examples[0]):
            merged = self.split.joined(np.broadcast_to(example, self._values.shape), self._values)
            code[z] = merged if codes is None else codes.batch(merged)
        return (code,)

    def __repr__(self) -> str:
        return f"exo_psrs({len(self.log):,} rows, {self.n_states:,} endogenous parts, played {self.split.playing.how})"
