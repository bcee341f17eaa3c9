import numpy as np
import pytest
from scipy.stats import norm

from understudy.trust.regret import expected_regret

RNG = np.random.default_rng(0)
APART = RNG.normal(size=(2000, 10))


@pytest.mark.parametrize("behind", [0.0, 0.5, 2.0])
def test_against_one_candidate_it_is_the_mean_of_the_upper_tail(behind):
    expected = 0.3 * (norm.pdf(behind) - behind * norm.sf(behind))
    found = expected_regret(np.array([0.3 * behind]), np.array([0.3]), APART[:, :1])
    assert found == pytest.approx(expected, abs=0.02)


def test_more_candidates_that_are_as_close_make_it_larger():
    regrets = [expected_regret(np.zeros(n), np.ones(n), APART[:, :n]) for n in (1, 3, 10)]
    assert regrets[0] < regrets[1] < regrets[2]
    assert regrets[2] == pytest.approx(1.54, abs=0.06)  # the mean of the largest of ten normal numbers


def test_candidates_whose_errors_go_together_count_as_one():
    alike = np.repeat(APART[:, :1], 10, axis=1)
    one = expected_regret(np.zeros(1), np.ones(1), APART[:, :1])
    assert expected_regret(np.zeros(10), np.ones(10), alike) == pytest.approx(one)


def test_candidates_that_are_far_behind_or_the_same_do_not_count():
    assert expected_regret(np.full(3, 9.0), np.ones(3), APART[:, :3]) == 0.0
    assert expected_regret(np.zeros(2), np.zeros(2), np.zeros((5, 2))) == 0.0


def test_missing_runs_are_left_out():
    deviations = APART[:, :1].copy()
    deviations[::2] = np.nan
    assert expected_regret(np.zeros(1), np.ones(1), deviations) == pytest.approx(0.4, abs=0.02)
