import numpy as np
import pytest

import understudy as us
from understudy.evaluation.luck_of_differences import luck_of_difference, on_same_halves

ENV = us.envs.Grid(4, slip=0.2)
LOG, OTHER = (us.record(ENV, episodes=60, seed=seed) for seed in (0, 1))
PROBES = {"start value": us.probes.start_value(ENV)}


def make(seed):
    return us.learners.QLearning(16, 5, epsilon=0.9, alpha=0.5, gamma=0.95, seed=seed)


def halves_of(simulator):
    options = {"runs": 30, "halves": 8, "runs_of_half": 8, "every": 100, "max_steps": 800}
    return us.halves(simulator, make, probes=PROBES, progress=False, **options).runs


@pytest.fixture(scope="module")
def sets():
    options = {"runs": 30, "every": 100, "max_steps": 800, "probes": PROBES, "progress": False}
    return {
        "psrs": halves_of(us.psrs(LOG)),
        "qbe": halves_of(us.qbe(LOG)),
        "another log": halves_of(us.psrs(OTHER)),
        "real": us.experiment(us.real(ENV), make, **options),
        "no halves": us.experiment(us.psrs(LOG), make, **options),
    }


POINTS = 100 * np.arange(1, 7)


def luck(sets, one, other):
    return luck_of_difference(sets[one], sets[other], "start value", POINTS)


def test_independent_runs_have_no_luck(sets):
    assert not luck(sets, "real", "real").variance.any()


def test_luck_is_unknown_without_halves(sets):
    assert luck(sets, "no halves", "real") is None
    assert luck(sets, "psrs", "no halves") is None


def test_luck_of_two_logs_adds_up_and_of_one_log_cancels(sets):
    assert on_same_halves(sets["psrs"], sets["qbe"])
    assert not on_same_halves(sets["psrs"], sets["another log"])
    alone = luck(sets, "psrs", "real").variance + luck(sets, "another log", "real").variance
    np.testing.assert_allclose(luck(sets, "psrs", "another log").variance, alone)
    assert luck(sets, "psrs", "psrs").variance.max() == 0.0
