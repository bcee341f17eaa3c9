import numpy as np
import pytest

from understudy.learners.schedules import Exponential, Harmonic, Linear, cells_of, scheduled


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
        assert scheduled(cells_of(schedule), n) == schedule(n)


@pytest.mark.parametrize("number", [0.5, 1, np.float32(0.5), np.float64(0.5), np.int64(1)])
def test_a_number_is_constant(number):
    assert [scheduled(cells_of(number), n) for n in (0, 7, 10**9)] == [number] * 3


def test_a_callable_has_no_compiled_form():
    assert cells_of(lambda n: 0.5) is None


def test_they_are_equal_by_value_and_print_what_they_are():
    assert Linear(1.0, 0.1, steps=10) == Linear(1.0, 0.1, steps=10) != Linear(1.0, 0.1, steps=11)
    assert repr(Harmonic(0.5, pace=3)) == "Harmonic(start=0.5, pace=3, end=0.0)"
