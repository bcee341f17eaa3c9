import numpy as np
import pytest

from understudy.errors import SettingError
from understudy.learners.schedules import (
    Exponential,
    Harmonic,
    Linear,
    WrittenSchedule,
    may_be_in_unit_interval,
    schedule_array,
    schedule_value,
)


@pytest.mark.parametrize(
    ("schedule", "value"),
    [
        (Linear(1.0, 0.2, steps=10), lambda n: 1.0 - 0.8 * min(n, 10) / 10),
        (Linear(0.1, 0.5, steps=4), lambda n: 0.1 + 0.4 * min(n, 4) / 4),
        (Linear(0.9, 0.3, steps=0), lambda n: 0.3),
        (Exponential(0.8, rate=0.5), lambda n: 0.8 * 0.5**n),
        (Exponential(0.8, rate=0.5, end=0.1), lambda n: max(0.1, 0.8 * 0.5**n)),
        (Harmonic(0.8, pace=5), lambda n: 0.8 / (1 + n / 5)),
        (Harmonic(0.8, pace=5, end=0.3), lambda n: max(0.3, 0.8 / (1 + n / 5))),
    ],
)
def test_schedules_by_hand(schedule, value):
    for n in (0, 1, 2, 3, 4, 5, 9, 10, 11, 100):
        assert schedule(n) == pytest.approx(value(n), rel=1e-14)
        assert schedule_value(schedule_array(schedule), n) == schedule(n)


@pytest.mark.parametrize("number", [0.5, 1, np.float32(0.5), np.float64(0.5), np.int64(1)])
def test_a_number_is_constant(number):
    assert [schedule_value(schedule_array(number), n) for n in (0, 7, 10**9)] == [number] * 3


def test_a_callable_has_no_compiled_form():
    assert schedule_array(lambda n: 0.5) is None


def test_they_are_equal_by_value_and_print_what_they_are():
    assert Linear(1.0, 0.1, steps=10) == Linear(1.0, 0.1, steps=10) != Linear(1.0, 0.1, steps=11)
    assert repr(Harmonic(0.5, pace=3)) == "Harmonic(start=0.5, pace=3, end=0.0)"


@pytest.mark.parametrize(
    ("schedule", "allowed"),
    [
        (0, True), (1.0, True), (np.float32(0.5), True), (-0.1, False), (1.1, False), (True, False), ("0.5", False),
        (lambda n: 7.0, True), (Linear(1.0, 0.0, steps=3), True), (Linear(1.2, 0.0, steps=3), False),
        (Linear(1.0, 0.0, steps=0), False), (Exponential(0.5, rate=1.1), False), (Exponential(0.5, rate=1.0), True),
        (Harmonic(0.5, pace=np.inf), False), (Harmonic(0.5, pace=2, end=-1.0), False),
    ],
)  # fmt: skip
def test_a_schedule_that_leaves_the_unit_interval_is_known_beforehand_unless_it_is_a_function(schedule, allowed):
    assert may_be_in_unit_interval(schedule) == allowed


def test_a_written_schedule_is_what_kernels_read():
    ours, own = WrittenSchedule("rate", Harmonic(4.0, pace=2)), WrittenSchedule("rate", lambda n: 4.0 / (1 + n / 2))
    for n in range(5):
        ours.write(n)
        own.write(n)
        assert schedule_value(ours.array, n) == schedule_value(own.array, n)
    assert (ours.compilable, own.compilable) == (True, False)


@pytest.mark.parametrize("schedule", [-0.1, 1.5, np.nan, True, "0.5", Linear(0, 2, 10), Exponential(0.5, rate=2)])
def test_a_written_schedule_that_must_leave_its_range_is_refused(schedule):
    with pytest.raises(SettingError, match="give rate=, a number from 0 to 1 or a schedule of such"):
        WrittenSchedule("rate", schedule, 1.0)
    with pytest.raises(SettingError, match=r"rate is 2\.0 after 7 steps, not in"):
        WrittenSchedule("rate", lambda n: 2.0, 1.0).write(7)
    WrittenSchedule("rate", 1.5)
    with pytest.raises(SettingError, match="give rate=, a finite number from 0 up"):
        WrittenSchedule("rate", np.inf)
