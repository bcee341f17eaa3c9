"""What a probe promises."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Probe(Protocol):
    """A function of the learner that is read every so many steps (g in the paper). Its readings are a curve.

    Promised: a number, NaN where there is nothing to measure, or an array of numbers that has the same shape each time;
    reading it changes neither the learner nor any random generator. Gained: each run has a curve of it. A probe of how
    the run goes, not of the learner, is a `History`.
    """

    def __call__(self, learner: Any) -> Any:
        """Return the current value."""
