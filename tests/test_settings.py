import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import understudy as us
from understudy.errors import SettingError
from understudy.settings import real, seed_of, whole

NEITHER = [None, "3", b"3", True, np.True_, math.nan, math.inf, -math.inf, 1j, [3], np.array([3]), object(), np.nan]
FRACTIONS = [1.5, np.float64(0.5), Fraction(1, 3), np.float32(2.5)]


def kind_of(value):
    return type(value).__name__  # some have more digits than Python writes


@pytest.mark.parametrize("number", [3, 3.0, np.int8(3), np.float64(3), np.uint64(3)], ids=kind_of)
def test_whole_numbers_of_every_kind_become_pythons_own(number):
    assert (whole("n", number), type(whole("n", number))) == (3, int)
    assert (real("x", number), type(real("x", number))) == (3.0, float)


@pytest.mark.parametrize(
    "number", [*NEITHER, *FRACTIONS, 0, -1, 11, 10**400, -(10**5000), Fraction(10**400), Decimal(3)], ids=kind_of
)
def test_anything_else_is_refused_in_a_sentence(number):
    with pytest.raises(SettingError, match=r"^n is .*; give n=, a whole number from 1 to 10$") as caught:
        whole("n", number, most=10)
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize("number", [*NEITHER, -0.1, 1.1, 10**400, 10**5000], ids=kind_of)
def test_numbers_outside_their_limits_are_refused(number):
    with pytest.raises(SettingError, match=r"^x is .*; give x=, a number from 0 to 1$"):
        real("x", number, 0, 1)
    with pytest.raises(SettingError, match=r"^x is .*; give x=, a number above 0 and below 1$"):
        real("x", number, 0, 1, ends=False)


def test_limits_may_belong_or_not():
    assert real("x", 1, 0, 1) == 1.0
    for end in (0, 1, 0.0, np.float64(1)):
        with pytest.raises(SettingError):
            real("x", end, 0, 1, ends=False)
    with pytest.raises(SettingError, match="x is nan; give x=, a number that is finite"):
        real("x", math.nan)


@pytest.mark.parametrize("seed", [0, -1, 2**80, 2**127 - 1, -(2**127), np.int64(7), 3.0], ids=kind_of)
def test_seeds_are_whole_numbers_of_either_sign(seed):
    assert seed_of(seed) == seed


@pytest.mark.parametrize("seed", [*NEITHER, *FRACTIONS, 2**127, -(2**127) - 1, 10**5000], ids=kind_of)
def test_what_is_no_seed_is_refused_wherever_one_is_taken(seed):
    log = us.record(us.envs.Grid(), episodes=3, seed=1)
    simulator, takers = us.psrs(log), [
        lambda: seed_of(seed),
        lambda: us.simulate(simulator, us.learners.Uniform(5), seed=seed),
        lambda: us.experiment(simulator, lambda s: us.learners.Uniform(5), runs=1, seed=seed),
        lambda: us.record(us.envs.Grid(), episodes=1, seed=seed),
        lambda: us.learners.QLearning(25, 5, seed=seed),
    ]  # fmt: skip
    for take in takers:
        with pytest.raises(SettingError, match=r"^seed is"):
            take()
