"""PSRS for problems with an exogenous process, which the learner's actions do not influence."""

import weakref
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from understudy.contracts import Encoder, Log, Rehearsal, SplitsObservations
from understudy.contracts.encoding import states_of
from understudy.contracts.fitting import ensure_fitted
from understudy.contracts.offering import offers
from understudy.errors import ContractError, LogError, SettingError
from understudy.simulators.coding import CodedArrays, largest_observation
from understudy.simulators.index import Index, dense, index
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.exogenous import TwoTapes
from understudy.simulators.options import LOG_LIMIT, require_propensities
from understudy.simulators.read_only import read_only
from understudy.simulators.rehearsal import KernelRehearsal
from understudy.simulators.replay import Replay
from understudy.simulators.sharing import shared_rehearsals
from understudy.simulators.splitting import LearnedRewards, PartEncoder, learned_oracles, require_pairs, rewarded
from understudy.simulators.trajectories import TrajectoryReplay


class ExogenousReplay:
    """Two replays of one log in the same order, by endogenous and by exogenous part. Made by `exo_psrs`."""

    kind = "simulated"
    compilable = True
    exhaustible = True
    foreseeable = False
    serves_rows = serves_emissions = True

    def __init__(
        self,
        log: Log,
        encoder: Encoder | None,
        split: Callable,
        merge: Callable,
        reward: Callable,
        *,
        learned: LearnedRewards | None = None,
        **options: Any,
    ) -> None:
        self.log = log
        endogenous, exogenous = index(log, PartEncoder(split, 0), propensities=True), index(log, PartEncoder(split, 1))
        endogenous = rewarded(endogenous, 0.0 if learned is None else learned.of_row)
        shape = endogenous.n_states, exogenous.n_states
        require_pairs(*shape)
        z, c = (part.ravel() for part in np.indices(shape))

        def pairs() -> tuple[np.ndarray, np.ndarray]:
            return endogenous.encoder_states(z).copy(), exogenous.encoder_states(c).copy()

        self._merged = checked_answer("merge", merge(*pairs()), log.observation, len(z))
        self._reward = checked_answer("reward", reward(*pairs()), log.reward, len(z)).astype(np.float64).reshape(shape)
        self._leaving = np.zeros(shape[1])
        if learned is not None:
            self._leaving[: len(learned.leaving)] = learned.leaving
            self._reward[~learned.known(*pairs()).reshape(shape)] = np.nan
        logged = endogenous.state.astype(np.int64) * shape[1] + exogenous.state
        wrong = ~np.isclose(self._merged[logged], log.observation).reshape(len(log), -1).all(axis=1)
        if wrong.any():
            row = int(wrong.argmax())
            raise ContractError(
                f"split and then merge make {self._merged[logged[row]]} of {log.observation[row]}, the observation in "
                f"row {row}; merge must undo split"
            )
        self._state = z.astype(np.int32).reshape(shape)
        if encoder is not None:
            endogenous, self._state = queued_by(encoder, endogenous, self._merged, shape)
        self._state, self._reward, self._leaving = map(read_only, (self._state, self._reward, self._leaving))
        self.index, self.n_actions, self.n_states = endogenous, log.spec.n_actions, endogenous.n_states
        self._endogenous = Replay("exo_psrs", endogenous, accept=layout.REJECTION, **options)
        self._exogenous = Replay("exo_psrs", exogenous, accept=layout.ALWAYS, **options)
        parts = [exogenous.fingerprint.encode(), self._merged.tobytes(), self._reward.tobytes()]
        if learned is not None:
            parts += [self._leaving.tobytes(), endogenous.records["reward"].tobytes()]
        self.settings = self._endogenous.settings | {"oracles": blake2b(b"".join(parts), digest_size=8).hexdigest()}
        self._arrays = CodedArrays(self._coded, largest_observation(self._merged))

    def start(self, seed: int, codes: Any = None) -> KernelRehearsal:
        """Return a new rehearsal; `codes` are those of a learner with a table of its own."""
        (code,) = self._arrays(codes)
        endogenous, exogenous = self._endogenous.start(seed, codes), self._exogenous.start(seed)
        tapes = endogenous.source, exogenous.source
        source = TwoTapes(*tapes, self._state, code, self._reward, self._leaving, tapes[0].rules, tapes[0].cursor)
        rehearsal = KernelRehearsal(
            source,
            n_actions=self.n_actions,
            first_observation=self.log.observation.__getitem__,
            next_observation=lambda row, emission: self._merged[self._pair(row, emission)],
            index=self.index,
            exogenous_index=self._exogenous.index,
        )
        # The two tapes' workspaces must not be used again while this rehearsal is alive.
        weakref.finalize(rehearsal, lambda *tapes: None, endogenous, exogenous).atexit = False
        return rehearsal

    def start_shared(self, seed: int, n: int) -> list[Rehearsal]:
        return shared_rehearsals(self.start(seed), n)

    def select(self, episodes: np.ndarray) -> "ExogenousReplay":
        selected = copy(self)
        selected._endogenous, selected._exogenous = self._endogenous.select(episodes), self._exogenous.select(episodes)
        selected.index, selected.log = selected._endogenous.index, selected._endogenous.log
        return selected

    def repeated(self, copies: int) -> "ExogenousReplay":
        """Return the same simulator over so many copies of its log, as `Replay.repeated` does."""
        repeated = copy(self)
        repeated.settings, repeated.exhaustible = self.settings | {"copies": copies}, False
        repeated._endogenous, repeated._exogenous = self._endogenous.repeated(copies), self._exogenous.repeated(copies)
        return repeated

    @property
    def observations(self) -> tuple[np.ndarray, ...]:
        """Every observation that a learner may meet: also of parts that were never logged together."""
        return (self._merged,)

    def _pair(self, row: int, emission: int) -> int:
        z, c = self.index.next_state[row], self._exogenous.index.next_state[emission]
        return int(z) * self._reward.shape[1] + int(c)

    def _coded(self, codes: Any) -> tuple[np.ndarray]:
        if codes is not None:
            code = codes.batch(self._merged)
        else:
            code = self._merged if self._merged.ndim == 1 else np.zeros(len(self._merged))
        return (np.ascontiguousarray(code, dtype=np.int32).reshape(self._reward.shape),)

    def __repr__(self) -> str:
        return f"exo_psrs({len(self.log):,} rows, {self._reward.shape[0]:,} x {self._reward.shape[1]:,} parts)"


def checked_answer(oracle: str, answer: Any, like: np.ndarray, n: int) -> np.ndarray:
    """Return a copy of an oracle's answer. Raise `ContractError` unless it has n entries like a log's column."""
    answer = np.array(answer)
    kinds = "iub" if like.dtype.kind in "iu" else "iufb"
    if answer.shape != (n, *like.shape[1:]) or answer.dtype.kind not in kinds or not np.isfinite(answer).all():
        raise ContractError(
            f"{oracle} made {answer.dtype} of shape {answer.shape}, where the log has {like.dtype} of shape "
            f"{like.shape[1:]} for each; it is given two arrays of {n:,} parts and returns a finite entry for each pair"
        )
    return answer


def queued_by(
    encoder: Encoder, endogenous: Index, merged: np.ndarray, shape: tuple[int, int]
) -> tuple[Index, np.ndarray]:
    """Return the index with rows queued by an encoder's states instead, and the state of each pair of parts."""
    encoder = ensure_fitted(encoder, endogenous.log)
    numbers, state, paired = dense(states_of(encoder, endogenous.log.observation), states_of(encoder, merged))
    opening = endogenous.opening.copy()
    opening["state"] = state[opening["row"]]
    n_states = 1 + int(max(state.max(), paired.max()))
    return replace(
        endogenous, state=state, encoder_numbers=numbers, n_states=n_states, opening=opening, requeued=True
    ), paired.reshape(shape)


def exo_psrs(
    log: Log,
    encoder: Encoder | SplitsObservations | None = None,
    *,
    split: Callable | SplitsObservations | None = None,
    merge: Callable | None = None,
    reward: Callable | None = None,
    order: str = "episodes",
    openings: str = "queue",
    max_episode_steps: int | str | None = LOG_LIMIT,
) -> ExogenousReplay | TrajectoryReplay:
    """PSRS on the endogenous part of observations; the exogenous part is replayed apart from it.

    `exo_psrs(log, us.exogenous_split(log))` uses a split that was learned, which says how the exogenous part is played
    and how rewards are formed. Where the true split is known, three functions of batches give it:
    `split(observations) -> (z, c)`, integers from 0 up; `merge(z, c) -> observations`; `reward(z, c) -> rewards`, the
    reward of a step that arrives there. A step takes a row of the current z by rejection sampling, and then, once, the
    next row of the current c; the learner sees the two next parts merged. With an encoder, rows are queued by its
    states instead of by z. Other options as for `psrs`.
    """
    require_propensities(log, "exo_psrs")
    if "next_observation" in log.derived and log.terminated.any():
        raise LogError(
            "exo_psrs computes rewards from where a step arrives, and this log does not say where terminated rows did: "
            "their next observation was derived; give next_observation="
        )
    options: dict[str, Any] = {"order": order, "openings": openings, "max_episode_steps": max_episode_steps}
    learned: Any = split if encoder is None or not offers(encoder, SplitsObservations) else encoder
    queued: Any = None if learned is encoder else encoder
    if learned is None or not offers(learned, SplitsObservations):
        if learned is None or merge is None or reward is None:
            raise SettingError(
                "exo_psrs needs a split of observations: give us.exogenous_split(log), or split=, merge= and reward="
            )
        return ExogenousReplay(log, queued, learned, merge, reward, **options)
    if merge is not None or reward is not None:
        raise SettingError("a learned split merges and rewards by itself; leave merge= and reward= out")
    if learned.refusal is not None:
        raise LogError(learned.refusal)
    if learned.playing.how == "queues":
        return ExogenousReplay(log, queued, **learned_oracles(log, learned), **options)
    if queued is not None:
        raise SettingError(
            "the exogenous part is played as it was logged, and rows are queued by z; leave encoder= out"
        )
    return TrajectoryReplay(log, learned, **options)
