"""How much of a log a rehearsal has used, and simulators that can go on with copies of it."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from understudy.contracts.simulating import Simulator
from understudy.contracts.stops import Stop


@dataclass(frozen=True)
class LogUse:
    """How much of its log a rehearsal has used so far."""

    episodes: int  # read so far: a log of so many, in this order, would have served the same steps
    scarcest: Stop  # what was used most of, compared with what was logged, as the stop of a run that finds none left
    rows: int  # of it, used so far
    logged: int  # of it, in the log

    @property
    def share(self) -> float:
        """The share of it that was used."""
        return self.rows / self.logged


@runtime_checkable
class TellsUse(Protocol):
    """A rehearsal that says how much of its log it has used. Gained: see `RepeatableSimulator`."""

    def use(self) -> LogUse | None:
        """Return how much of its log the rehearsal has used; None where rows are never used up."""


@runtime_checkable
class RepeatableSimulator(Protocol):
    """A simulator that can replay its log several times over.

    Promised: rehearsals of `repeated(copies)` serve each row at most `copies` times, read no further than they need,
    and tell their use (`TellsUse`); it is not `exhaustible`, since it may serve more steps than the log has rows.
    Gained: `forecast` says how many episodes a number of steps would need.
    """

    def repeated(self, copies: int) -> Simulator:
        """Return the same simulator over so many copies of its log, one after another."""
