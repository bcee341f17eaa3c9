from dataclasses import replace

import numpy as np
import pytest

from understudy.evaluation.intervals import HalvedReadings
from understudy.evaluation.trusted import trusted_horizon

STEPS = 10 * np.arange(1, 11)


def readings(bias=0.0, noise=0.01, going=None, seed=0):
    """Halves that differ from the whole by `bias`, (10,)."""
    rng = np.random.default_rng(seed)
    whole = noise * rng.standard_normal((100, 10))
    halves = bias + noise * rng.standard_normal((20, 20, 10))
    return HalvedReadings(STEPS, whole, halves, np.ones(10) if going is None else going)


def test_halves_that_agree_are_trusted_to_the_end():
    found = trusted_horizon(readings(), margin=0.05)
    assert (found.steps, found.reason) == (100, "runs end")


def test_a_difference_ends_the_trust():
    found = trusted_horizon(readings(bias=np.where(STEPS > 60, 0.2, 0.0)), margin=0.05)
    assert (found.steps, found.reason) == (60, "difference")
    assert found.difference == pytest.approx(0.2, abs=0.02)
    assert "differ by 0.2" in str(found)


def test_too_much_noise_is_not_taken_for_agreement():
    found = trusted_horizon(readings(noise=2.0), margin=0.05)
    assert (found.steps, found.reason) == (0, "noise")
    assert found.more_halves is None  # hundreds of times as many
    assert "a larger log would tell" in str(found)


def test_more_halves_are_advised_only_where_they_would_tell():
    few = trusted_horizon(readings(noise=0.3), margin=0.06)
    times = (few.error / (0.06 - abs(few.difference))) ** 2
    assert (few.reason, few.more_halves) == ("noise", pytest.approx(max(times, 2.0)))
    assert replace(few, difference=0.0, error=0.07).more_halves == 2.0  # by 1.4 the next reading would fail
    assert "more halves would tell" in str(few)
    assert "more halves" not in str(trusted_horizon(readings(noise=0.3), margin=0.0))


def test_it_ends_where_halves_do():
    found = trusted_horizon(readings(going=np.where(STEPS <= 40, 1.0, 0.8)), margin=0.05)
    assert (found.steps, found.reason) == (40, "halves end")


def test_a_difference_of_the_margin_is_trusted_at_most_as_often_as_stated():
    """500 sets whose halves are off by exactly the margin at each reading: trusted at the first in 5% + 4 s.d."""
    wrong = sum(
        trusted_horizon(readings(bias=0.05, noise=0.3, seed=seed), margin=0.05).steps > 0 for seed in range(500)
    )
    assert wrong / 500 < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 500)
