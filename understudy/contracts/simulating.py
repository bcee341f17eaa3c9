"""What a simulator and its rehearsals promise, and what they may offer beside that.

`Simulator` and `Rehearsal` are needed; every other protocol here is optional. The functions below read the optional
members, with the value that stands for a simulator that does not have them.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from understudy.contracts.learning import HasActionCount, ObservationCodes
from understudy.contracts.offering import offers
from understudy.contracts.steps import Step
from understudy.contracts.stops import Stop
from understudy.errors import ContractError
from understudy.logs import Log


@runtime_checkable
class Rehearsal(Protocol):
    """One pass of a simulator over its log. Arrays it returns are the caller's own, to keep and to write on."""

    def begin(self) -> Any:
        """Start an episode and return its first observation. Raises `Exhausted` when there is none."""

    def step(self, policy: np.ndarray) -> Step:
        """Let this policy act at the current observation. Raises `Exhausted` when the log has no answer.

        The policy may sum to 1 within 1e-5, and is normalized. After a terminated or truncated step, `begin` comes
        next.
        """


@runtime_checkable
class Simulator(Protocol):
    """Decides which logged row comes next. Immutable: all that changes is in its rehearsals."""

    def start(self, seed: int) -> Rehearsal:
        """Return a new rehearsal. The same seed gives the same rows for the same policies."""


# What a rehearsal may offer.


@runtime_checkable
class HasOpening(Protocol):
    """A rehearsal that tells the row each episode began with. Gained: `Run.openings` has it instead of -1."""

    opening: int


@runtime_checkable
class HasState(Protocol):
    """A rehearsal that tells the state of the current observation, -1 for none. Gained: probes can count visits."""

    state: int


@runtime_checkable
class TellsStop(Protocol):
    """A rehearsal that counts what it did. Gained: `Run.stopped` has its counts, also where max_steps ended the run."""

    def stop(self) -> Stop:
        """Return why it can go no further; cause "max steps" where it could."""


# What a simulator may offer.


@runtime_checkable
class HasLog(Protocol):
    """A simulator that replays a log. Gained: pages, results folders and env spaces are made with that log."""

    log: Log | None


@runtime_checkable
class HasStateCount(Protocol):
    """A simulator that knows its number of states. Gained: probes can count visits, and pages show it."""

    n_states: int | None


@runtime_checkable
class HasStatesFingerprint(Protocol):
    """An index of states with a fingerprint."""

    fingerprint: str


@runtime_checkable
class HasIndex(Protocol):
    """A simulator with an index of states. Gained where that has a fingerprint: other states' results are refused."""

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
    """A real simulator that shows its environment. Gained: envs made of it have the environment's own spaces."""

    env: Any


@runtime_checkable
class SaysWhetherExhaustible(Protocol):
    """A simulator that says whether its rehearsals end by themselves; True is the default.

    Gained by False: a run without max_steps= is refused instead of going on for ever.
    """

    exhaustible: bool


@runtime_checkable
class SaysRowsServed(Protocol):
    """A simulator that says whether its steps are logged rows; True is the default.

    Gained by False: runs keep no array of -1.
    """

    serves_rows: bool


@runtime_checkable
class SaysEmissionsServed(Protocol):
    """A simulator that says whether next observations are lent by rows of their own; False is the default.

    Gained by True: `Run.emissions` keeps those rows.
    """

    serves_emissions: bool


@runtime_checkable
class HasObservations(Protocol):
    """A simulator that serves other observations than the log's. Gained: envs made of it have spaces that hold them."""

    observations: tuple[np.ndarray, ...]  # arrays that together hold every observation it may serve


@runtime_checkable
class SharedSimulator(Protocol):
    """A simulator whose log several episodes can share at a time. Gained: `gym_envs`, `vector_env`, SB3 with n_envs."""

    def start_shared(self, seed: int, n: int) -> list[Rehearsal]:
        """Return n rehearsals that serve no row twice between them, each with an episode of its own."""


@runtime_checkable
class CompiledSimulator(SaysRowsServed, SaysEmissionsServed, SaysWhetherExhaustible, HasStateCount, HasLog, Protocol):
    """A simulator whose rehearsals have a `source` that the kernels of `simulators.kernels` work on.

    Gained: the whole loop is compiled, with a compiled learner. `foreseeable` is True where the next rows of all
    queues can be listed ahead; then epoch learners are run with look-ahead.
    """

    compilable: bool
    foreseeable: bool
    n_actions: int

    def start(self, seed: int, codes: ObservationCodes | None = None) -> "CompiledRehearsal":
        """Return a new rehearsal; observations are coded as the learner's tables index them."""


class CompiledRehearsal(Rehearsal, TellsStop, Protocol):
    """A rehearsal that kernels can take over."""

    source: Any  # a NamedTuple of arrays, registered with the kernels that serve it


def start_copies(simulator: Any, seed: int, n: int) -> list[Rehearsal]:
    """Return n rehearsals that share a simulator's log, or raise `ContractError` where it cannot be shared."""
    if n == 1:
        return [simulator.start(seed)]
    if not offers(simulator, SharedSimulator):
        raise ContractError(f"{simulator} cannot be shared by {n} envs; use one, or give it start_shared(seed, n)")
    return simulator.start_shared(seed, n)


def is_real(simulator: Any) -> bool:
    """True if a simulator is a true environment."""
    return offers(simulator, HasKind) and simulator.kind == "real"


def log_of(simulator: Any) -> Log | None:
    """Return the log that a simulator replays, or None."""
    log = simulator.log if offers(simulator, HasLog) else None
    return log if isinstance(log, Log) else None


def states_fingerprint(simulator: Any) -> str | None:
    """Return a hash of the states of a log, or None where a simulator does not tell."""
    index = simulator.index if offers(simulator, HasIndex) else None
    found = index.fingerprint if offers(index, HasStatesFingerprint) else None
    return found if isinstance(found, str) else None


def n_states_of(simulator: Any) -> int | None:
    """Return a simulator's number of states, or None where it does not know."""
    return simulator.n_states if offers(simulator, HasStateCount) else None


def n_actions_of(part: Any) -> int | None:
    """Return a learner's or simulator's number of actions, or None where it does not say."""
    return part.n_actions if offers(part, HasActionCount) else None


def is_exhaustible(simulator: Any) -> bool:
    """True if rehearsals of a simulator end by themselves, or it does not say."""
    return simulator.exhaustible if offers(simulator, SaysWhetherExhaustible) else True


def serves_rows(simulator: Any) -> bool:
    """True if the steps of a simulator are logged rows, or it does not say."""
    return simulator.serves_rows if offers(simulator, SaysRowsServed) else True


def serves_emissions(simulator: Any) -> bool:
    """True if next observations are lent by rows of their own."""
    return simulator.serves_emissions if offers(simulator, SaysEmissionsServed) else False


def is_compiled(simulator: Any) -> bool:
    """True if a simulator's rehearsals can be taken over by kernels."""
    return offers(simulator, CompiledSimulator) and simulator.compilable


def is_foreseeable(simulator: Any) -> bool:
    """True if the rows that a simulator may serve next can be listed ahead."""
    return is_compiled(simulator) and simulator.foreseeable
