"""Schedules: numbers such as epsilon and alpha that change with the number of steps learned.

A schedule is a number or any callable `step -> number`. The classes here have a compiled form too, so learners that use
them run in the compiled loop.
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.errors import SettingError

CONSTANT, LINEAR, EXPONENTIAL, HARMONIC = range(4)


@kernel
def schedule_value(schedule, step):
    """Return the value of a schedule, given as (kind, start, end, pace), after some steps."""
    kind, start, end, pace = schedule[0], schedule[1], schedule[2], schedule[3]
    if kind == CONSTANT:
        return start
    if kind == LINEAR:
        return end if step >= pace else start + (end - start) * (step / pace)
    if kind == EXPONENTIAL:
        return max(end, start * pace**step)
    return max(end, start / (1.0 + step / pace))


@dataclass(frozen=True)
class Linear:
    """From start to end over some steps, then constant.

    >>> Linear(1.0, 0.1, steps=100)(50)
    0.55
    """

    start: float
    end: float
    steps: float

    def __call__(self, step: int) -> float:
        return float(schedule_value(schedule_array(self), step))


@dataclass(frozen=True)
class Exponential:
    """The start times rate**step, but not below the end.

    >>> Exponential(0.5, rate=0.5)(2)
    0.125
    """

    start: float
    rate: float
    end: float = 0.0

    def __call__(self, step: int) -> float:
        return float(schedule_value(schedule_array(self), step))


@dataclass(frozen=True)
class Harmonic:
    """The start / (1 + step / pace), but not below the end.

    >>> Harmonic(0.5, pace=100)(100)
    0.25
    """

    start: float
    pace: float
    end: float = 0.0

    def __call__(self, step: int) -> float:
        return float(schedule_value(schedule_array(self), step))


Schedule = float | Callable[[int], float]


def schedule_array(schedule: Schedule) -> np.ndarray | None:
    """Return a schedule as kernels take it, (kind, start, end, pace); None for a callable of another class."""
    match schedule:
        case Linear(start, end, steps):
            return np.array([LINEAR, start, end, steps], dtype=np.float64)
        case Exponential(start, rate, end):
            return np.array([EXPONENTIAL, start, end, rate], dtype=np.float64)
        case Harmonic(start, pace, end):
            return np.array([HARMONIC, start, end, pace], dtype=np.float64)
        case float() | int() | np.number():
            return np.array([CONSTANT, schedule, schedule, 1.0], dtype=np.float64)
    return None


def may_be_in_unit_interval(schedule: Schedule) -> bool:
    """True if a schedule stays in [0, 1], or is a callable of another class, which is checked at each step."""
    return may_stay_within(schedule, 1.0)


def may_stay_within(schedule: Schedule, most: float) -> bool:
    """True if a schedule stays in [0, most], or is a callable of another class, which is checked at each step."""
    match schedule:
        case Linear(start, end, pace) | Harmonic(start, pace, end):
            return 0.0 <= start <= most and 0.0 <= end <= most and 0.0 < pace < np.inf
        case Exponential(start, rate, end):
            return 0.0 <= start <= most and 0.0 <= rate <= 1.0 and 0.0 <= end <= most
    is_number = isinstance(schedule, Real) and not isinstance(schedule, bool)
    return callable(schedule) or (is_number and 0.0 <= schedule <= most)


class WrittenSchedule:
    """A schedule and its array, which kernels read; a Python function's value is written there before each call.

    >>> epsilon = WrittenSchedule("epsilon", lambda step: 1 / (1 + step), most=1.0)
    >>> epsilon.compilable, epsilon.write(3), float(schedule_value(epsilon.array, 3))
    (False, None, 0.25)
    """

    def __init__(self, name: str, schedule: Schedule, most: float = np.finfo(float).max) -> None:
        if not may_stay_within(schedule, most):
            limits = f"a number from 0 to {most:g}" if most < np.finfo(float).max else "a finite number from 0 up"
            raise SettingError(f"{name} is {schedule!r}; give {name}=, {limits} or a schedule of such")
        self.name, self.schedule, self.most = name, schedule, most
        found = schedule_array(schedule)
        self.compilable = found is not None
        self.array = np.zeros(4) if found is None else found

    def write(self, step: int) -> None:
        """Write the present value of a Python function as a constant. Raise `SettingError` where it is out of range."""
        if not self.compilable:
            self.array[1] = self.schedule(step)  # type: ignore[operator]
            if not 0.0 <= self.array[1] <= self.most:
                limits = f"in [0, {self.most:g}]" if self.most < np.finfo(float).max else "a finite number from 0 up"
                raise SettingError(f"{self.name} is {self.array[1]} after {step:,} steps, not {limits}")
