"""Learners of a sweep are compared run by run, at a step that all reached, by intervals that hold."""

import numpy as np
import pytest

import understudy as us
from understudy.errors import SettingError
from understudy.sweeps.comparing import compared, paired_interval
from understudy.sweeps.names import Combination

STEPS = np.array([10, 20, 30])


class Readings:
    """A sweep of readings made by hand: learner -> numbers and values."""

    def __init__(self, **learners):
        self.readings_of = learners
        self.combinations = tuple(Combination(name, "psrs", "identity", "may") for name in learners)

    def readings(self, probe, learner, **names):
        numbers, values = self.readings_of[learner]
        return np.asarray(numbers), STEPS[: np.shape(values)[1]], np.asarray(values, float)


def steady(level, n=8, noise=0.0, seed=0):
    drawn = level + noise * np.random.default_rng(seed).normal(size=n)
    return np.arange(n), np.repeat(drawn[:, None], 3, axis=1)


def test_learners_are_paired_by_the_numbers_of_their_runs():
    """Unpaired, a spread of 100 between runs would hide a difference of 1."""
    numbers, values = steady(0.0, noise=100.0)
    better = values + 1.0 + 0.01 * np.arange(8)[:, None]
    found = compared(Readings(worse=(numbers, values), better=(numbers[::1], better)), "g", 0.95)
    best, other = found.lines
    assert (best.learner, other.learner, other.told_apart) == ("better", "worse", True)
    assert other.low < 1.035 < other.high < 1.1


def test_only_runs_that_all_learners_finished_count():
    numbers, values = steady(1.0, n=8)
    found = compared(Readings(a=(numbers, values), b=(numbers[2:], values[2:] - 1)), "g", 0.95)
    assert [line.runs for line in found.lines] == [6, 6]


def test_readings_are_those_of_the_last_step_that_all_runs_reached():
    numbers, values = steady(1.0)
    ended = values.copy()
    ended[3, 1:] = np.nan
    found = compared(Readings(a=(numbers, values), b=(numbers, ended)), "g", 0.95)
    assert {line.step for line in found.lines} == {10}
    ended[3] = np.nan
    found = compared(Readings(a=(numbers, values), b=(numbers, ended)), "g", 0.95)
    assert {line.step for line in found.lines} == {None}
    assert "no step was reached by all runs" in str(found)


def test_few_runs_are_not_compared():
    found = compared(Readings(a=steady(1.0, n=4), b=steady(0.0, n=4)), "g", 0.95)
    assert [line.behind for line in found.lines] == [None, None]
    assert "too few to compare" in str(found)


def test_a_learner_without_readings_is_left_out():
    class Lacking(Readings):
        def readings(self, probe, learner, **names):
            if learner == "c":
                raise SettingError("there is no reading")
            return super().readings(probe, learner, **names)

    found = compared(Lacking(a=steady(1.0), b=steady(0.0), c=None), "g", 0.95)
    assert [line.learner for line in found.lines] == ["a", "b"]


def test_one_learner_is_nothing_to_compare():
    with pytest.raises(SettingError, match="nothing to compare"):
        compared(Readings(a=steady(1.0)), "g", 0.95)


def coverage(interval, seed=0, trials=4000, n=6):
    drawn = np.random.default_rng(seed).normal(0.3, 1.0, (trials, n))
    found = [interval(differences) for differences in drawn]
    return float(np.mean([low <= 0.3 <= high for _, low, high in found]))


def test_intervals_hold_as_often_as_they_say():
    """95% of 4,000 intervals of six runs; a z test of 4.5 standard errors, wrong in fewer than one of 1e5."""
    margin = 4.5 * np.sqrt(0.95 * 0.05 / 4000)
    assert abs(coverage(lambda differences: paired_interval(differences, 0.95)) - 0.95) < margin

    def normal(differences):  # the wrong variant: 1.96 standard errors
        half = 1.96 * differences.std(ddof=1) / np.sqrt(len(differences))
        return differences.mean(), differences.mean() - half, differences.mean() + half

    assert abs(coverage(normal) - 0.95) > margin


def told_apart(n_learners, seed, level=0.95):
    """True if any of some equal learners is told from the one that is ahead."""
    rng = np.random.default_rng([77, seed])
    values = {
        f"l{number}": (np.arange(20), np.repeat(rng.normal(size=(20, 1)), 3, axis=1)) for number in range(n_learners)
    }
    return any(line.told_apart for line in compared(Readings(**values), "g", level).lines)


def test_equal_learners_are_told_apart_as_rarely_as_the_level_says_however_many_they_are():
    """Ten equal learners, 400 times: by chance 20 at most on average, and 40 or more with a chance of 1e-5.

    Correcting for the nine others alone, as if the one ahead had been named beforehand, tells some apart in 13%.
    """
    wrong = sum(told_apart(10, seed) for seed in range(400))
    as_if_named_before = sum(told_apart(10, seed, 1 - 0.05 * 5) for seed in range(400))  # 45 pairs for nine: five times
    assert wrong < 40 <= as_if_named_before


def test_a_comparison_shows_itself(made):
    found = us.load_sweep(made).compare()
    assert found.to_frame().column_names[:4] == ["simulator", "encoder", "log", "learner"]
    assert len(found.to_frame()) == len(found.to_json()["lines"]) == 4
    assert "luck of their log" in str(found)
    assert "<table>" in found._repr_html_()
