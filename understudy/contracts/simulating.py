"""What a simulator and its rehearsals promise, and what they may offer beside that.

`Simulator` and `Rehearsal` are needed; every other protocol here is optional. The functions at the end read optional
members, with a default for simulators that do not have them.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from understudy.contracts.learning import HasActionCount, ObservationCodes
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.contracts.steps import EpisodeCut, Step
from understudy.contracts.stops import Stop
from understudy.errors import ContractError
from understudy.logs import Log


@runtime_checkable
class Rehearsal(Protocol):
    """One pass of a simulator over its log. The caller may keep the arrays it returns, and write on them."""

    def begin(self) -> Any:
        """Start an episode and return its first observation. Raise `Exhausted` when there is none."""

    def step(self, policy: np.ndarray) -> Step | EpisodeCut | None:
        """Let this policy act at the current observation, and return the step. Raise `Exhausted` without an answer.

        The policy sums to 1 within 1e-5, and is normalized. After a terminated or truncated step, `begin` comes next.
        Only simulators that say so may return something else: None (`PassesOverEpisodes`), `EpisodeCut` (`HasLadder`).
        """


@runtime_checkable
class Simulator(Protocol):
    """Decides which logged row comes next. It is immutable: what changes is in its rehearsals."""

    def start(self, seed: int) -> Rehearsal:
        """Return a new rehearsal. The same seed gives the same rows for the same policies."""


# What a rehearsal may offer.


@runtime_checkable
class HasOpening(Protocol):
    """A rehearsal that says which row each episode began with.

    Promised: after `begin`, `opening` is that row. Gained: `Run.openings` has it instead of -1.
    """

    opening: int


@runtime_checkable
class HasState(Protocol):
    """A rehearsal that says which state the current observation has.

    Promised: `state` is below the simulator's `n_states`; -1 for none. Gained: probes can count visits.
    """

    state: int


@runtime_checkable
class TellsStop(Protocol):
    """A rehearsal that counts what it did.

    Promised: `stop` can be called at any time. Gained: `Run.stopped` has its counts, also after max_steps.
    """

    def stop(self) -> Stop:
        """Return why it cannot go on, with counts; the cause is "max steps" where it could go on."""


# What a simulator may offer.


@runtime_checkable
class HasLog(Protocol):
    """A simulator that replays a log.

    Promised: rows it serves are rows of `log`; None where there is none. Gained: pages, results folders and env spaces
    are made with that log.
    """

    log: Log | None


@runtime_checkable
class HasStateCount(Protocol):
    """A simulator that knows its number of states.

    Promised: states are below `n_states`; None where the number is not known. Gained: probes can count visits, and
    pages show it.
    """

    n_states: int | None


@runtime_checkable
class HasStatesFingerprint(Protocol):
    """An index of states with a fingerprint. Promised: equal for equal states of all rows, else different."""

    fingerprint: str


@runtime_checkable
class HasIndex(Protocol):
    """A simulator with an index of states. Gained, if it has a fingerprint: results with other states are refused."""

    index: HasStatesFingerprint


@runtime_checkable
class HasKind(Protocol):
    """A simulator that says whether it is "simulated", the default, or "real", a true environment.

    Gained by "real": seeds of its own, so that real and simulated runs are independent; learners with a loop of their
    own act by themselves; comparisons take it as the truth.
    """

    kind: str


@runtime_checkable
class HasEnv(Protocol):
    """A simulator with kind "real" that has its environment as `env`. Gained: envs made of it have the same spaces."""

    env: Any


@runtime_checkable
class SaysWhetherExhaustible(Protocol):
    """A simulator that says whether its rehearsals end by themselves; without it they are taken to.

    Gained by False: a run without max_steps= is refused instead of never ending.
    """

    exhaustible: bool


@runtime_checkable
class SaysRowsServed(Protocol):
    """A simulator that says whether its steps are logged rows; without it they are taken to be.

    Gained by False: runs keep no array of -1.
    """

    serves_rows: bool


@runtime_checkable
class SaysEmissionsServed(Protocol):
    """A simulator that says whether next observations come from other rows than the step; by default they do not.

    Gained by True: `Run.emissions` keeps those rows.
    """

    serves_emissions: bool


@runtime_checkable
class HasObservations(Protocol):
    """A simulator that serves other observations than the log's.

    Promised: `observations` hold every one of them. Gained: envs made of it have spaces that hold them.
    """

    observations: tuple[np.ndarray, ...]  # each (n, ...)


@runtime_checkable
class SharedSimulator(Protocol):
    """A simulator whose log several episodes can share at the same time.

    Gained: `gym_envs`, `vector_env`, and Stable-Baselines3 with n_envs.
    """

    def start_shared(self, seed: int, n: int) -> list[Rehearsal]:
        """Return n rehearsals with an episode each; no row is served by two of them."""


@runtime_checkable
class SelectsEpisodes(Protocol):
    """A simulator that can be had on some of its log's episodes only.

    Promised: `select` changes nothing but the log. Gained: `us.halves`, and all that says how far to believe the runs.
    """

    def select(self, episodes: np.ndarray) -> "Simulator":
        """Return the same simulator on the log of these episodes, given by position in the log, ascending."""


@runtime_checkable
class PassesOverEpisodes(Protocol):
    """A simulator that offers whole episodes of its log, and may pass over one at any of its steps.

    Promised: `step` of its rehearsals returns None where the episode under way is passed over; nothing of that episode
    happened then, and `begin` comes next. An episode whose last step was returned is accepted. `steps_back` is True if
    episodes may have several steps, so that a learner may have learned from one that is passed over later. Gained: the
    loop takes the episode out of the record, and puts the learner back to what it was when the episode began.
    """

    steps_back: bool


@runtime_checkable
class CompiledSimulator(SaysRowsServed, SaysEmissionsServed, SaysWhetherExhaustible, HasStateCount, HasLog, Protocol):
    """A simulator whose rehearsals have a `source` of a class that the kernels of `simulators.kernels` work on.

    Those are the classes of our own simulators: one of yours is compiled where it hands on a rehearsal of ours.

    Promised: where `compilable` is True, kernels and rehearsals serve the same rows; where `foreseeable` is True, the
    next rows of all queues can be listed ahead. Gained: with a compiled learner the whole loop is compiled; with an
    epoch learner, and where `foreseeable` is True, the loop looks ahead.
    """

    compilable: bool
    foreseeable: bool
    n_actions: int

    def start(self, seed: int, codes: ObservationCodes | None = None) -> "CompiledRehearsal":
        """Return a new rehearsal; observations are coded as the learner's tables index them."""


@runtime_checkable
class CompiledRehearsal(Rehearsal, TellsStop, Protocol):
    """A rehearsal that kernels can go on with. Gained: the loop is compiled."""

    source: Any  # a NamedTuple of arrays, registered with the kernels that serve it


def start_copies(simulator: Any, seed: int, n: int) -> list[Rehearsal]:
    """Return n rehearsals that share a simulator's log. Raise `ContractError` where it cannot be shared."""
    if n == 1:
        return [simulator.start(seed)]
    if not offers(simulator, SharedSimulator):
        raise ContractError(
            f"{name_of(simulator)} cannot be shared by {n} envs; use one, or give it start_shared(seed, n)"
        )
    return simulator.start_shared(seed, n)


def is_real(simulator: Any) -> bool:
    """True if a simulator is a true environment."""
    return offers(simulator, HasKind) and simulator.kind == "real"


def log_of(simulator: Any) -> Log | None:
    """Return the log that a simulator replays, or None."""
    log = simulator.log if offers(simulator, HasLog) else None
    return log if isinstance(log, Log) else None


def states_fingerprint(simulator: Any) -> str | None:
    """Return a hash of the states of all rows, or None where a simulator does not say."""
    index = simulator.index if offers(simulator, HasIndex) else None
    found = index.fingerprint if offers(index, HasStatesFingerprint) else None
    return found if isinstance(found, str) else None


def n_states_of(simulator: Any) -> int | None:
    """Return a simulator's number of states, or None where it does not know."""
    return simulator.n_states if offers(simulator, HasStateCount) else None


def n_actions_of(part: Any) -> int | None:
    """Return a learner's or simulator's number of actions, or None where it does not say."""
    return part.n_actions if offers(part, HasActionCount) else None


def n_actions_for(simulator: Any) -> int:
    """Return a simulator's number of actions, or its log's; raise `ContractError` where neither says."""
    n_actions, log = n_actions_of(simulator), log_of(simulator)
    if n_actions is None and log is None:
        raise ContractError(f"{type(simulator).__name__} does not say how many actions there are; give it n_actions")
    return int(n_actions) if n_actions is not None else log.spec.n_actions  # type: ignore[union-attr]


def is_exhaustible(simulator: Any) -> bool:
    """True if rehearsals of a simulator end by themselves, or it does not say."""
    return simulator.exhaustible if offers(simulator, SaysWhetherExhaustible) else True


def serves_rows(simulator: Any) -> bool:
    """True if the steps of a simulator are logged rows, or it does not say."""
    return simulator.serves_rows if offers(simulator, SaysRowsServed) else True


def serves_emissions(simulator: Any) -> bool:
    """True if a simulator says that next observations come from other rows than the step."""
    return simulator.serves_emissions if offers(simulator, SaysEmissionsServed) else False


def passes_over(simulator: Any) -> bool:
    """True if a simulator may pass over episodes: `step` of its rehearsals may return None."""
    return offers(simulator, PassesOverEpisodes)


def steps_back(simulator: Any) -> bool:
    """True if learners may have learned from an episode that is passed over, and have to be put back."""
    return offers(simulator, PassesOverEpisodes) and simulator.steps_back


def is_compiled(simulator: Any) -> bool:
    """True if kernels can work on a simulator's rehearsals."""
    return offers(simulator, CompiledSimulator) and simulator.compilable


def is_foreseeable(simulator: Any) -> bool:
    """True if the rows that a simulator may serve next can be listed ahead."""
    return is_compiled(simulator) and simulator.foreseeable


def serves_positions(simulator: Any) -> bool:
    """True if every observation that kernels meet in a simulator is one of the log's, told by its position there."""
    return is_compiled(simulator) and log_of(simulator) is not None and not serves_emissions(simulator)
