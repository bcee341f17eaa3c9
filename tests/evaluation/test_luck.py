from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.contracts import Stop

LUCK, SPREAD, RUNS, READINGS = 0.3, 0.5, 400, 40  # standard deviations over logs, and over runs on one


def curves(values, logs=None):
    steps, none = np.arange(1, values.shape[1] + 1), np.empty(0)
    logs = ["one"] * len(values) if logs is None else logs
    return us.Runs(
        tuple(
            us.Run(0, np.arange(50), none, None, none, none, steps, {"g": row}, {}, Stop("max steps"), log=str(log))
            for row, log in zip(values, logs, strict=True)
        )
    )


@pytest.fixture(scope="module")
def sets():
    """Runs on one log, on twenty that differ, on twenty that do not, and real ones."""
    rng = np.random.default_rng(0)

    def spread(n):
        return SPREAD * rng.standard_normal((n, READINGS))

    log = rng.integers(20, size=RUNS)  # as many runs on each as it happens
    one_log, real = curves(spread(100)), curves(spread(100))
    lucky = curves(LUCK * rng.standard_normal((20, READINGS))[log] + spread(RUNS), log)
    return one_log, lucky, curves(spread(RUNS), log), real


def test_the_luck_of_logs_is_their_variance_without_that_of_runs(sets):
    _, lucky, alike, _ = sets
    assert us.luck_of_logs(lucky) == pytest.approx(LUCK**2, rel=0.2)
    assert us.luck_of_logs(alike) == pytest.approx(0, abs=0.1 * LUCK**2)


def test_the_floor_on_one_log_holds_the_luck_of_that_log(sets):
    one_log, lucky, alike, real = sets
    runs_alone = SPREAD * np.sqrt(2 / 100)
    assert us.one_log_floor(one_log, lucky, real, "g", 50) == pytest.approx(np.hypot(LUCK, runs_alone), rel=0.1)
    assert us.one_log_floor(one_log, alike, real, "g", 50) == pytest.approx(runs_alone, rel=0.2)


def test_a_horizon_leaves_out_later_readings(sets):
    _, lucky, *_ = sets
    late = [replace(run, curves={"g": np.where(run.steps > 5, 0.0, run.curves["g"])}) for run in lucky]
    assert us.luck_of_logs(us.Runs(tuple(late)), horizon=5) == us.luck_of_logs(lucky, "g", 5)
    assert us.luck_of_logs(lucky, horizon=5) != us.luck_of_logs(lucky)


@pytest.mark.parametrize(("logs", "found"), [("aaaa", "4 runs on 1 log;"), ("abcd", "4 runs on 4 logs")])
def test_luck_needs_several_runs_on_each_of_several_logs(logs, found):
    with pytest.raises(us.SettingError, match=rf"{found}.*on_few_logs"):
        us.luck_of_logs(curves(np.zeros((4, 3)), logs))


def test_runs_without_a_probe_are_refused(runs_of):
    with pytest.raises(us.SettingError, match="no probe"):
        us.luck_of_logs(runs_of([30, 30], probe=None))


def simulator(seed):
    return us.psrs(us.record(us.envs.Grid(), episodes=20, seed=seed))


def make(seed):
    return us.learners.QLearning(25, 5, seed=seed)


def test_runs_on_few_logs_share_them_and_differ():
    runs = us.experiment(us.on_few_logs(simulator, 3), make, runs=12)
    assert {run.log for run in runs} == {simulator(number).log.fingerprint for number in range(3)}
    assert len({run.seed for run in runs}) == 12
    assert not runs.about.own_logs


def test_a_factory_that_was_used_is_the_same_to_a_results_folder(tmp_path):
    few = us.on_few_logs(simulator, 3)
    first = us.experiment(few, make, runs=2, out=tmp_path)
    more = us.experiment(few, make, runs=6, out=tmp_path)
    anew = us.experiment(us.on_few_logs(simulator, 3), make, runs=6, out=tmp_path)
    assert more.lengths.tolist() == anew.lengths.tolist()
    assert more.lengths.tolist()[:2] == first.lengths.tolist()
    with pytest.raises(us.ResultsError, match="another experiment"):
        us.experiment(us.on_few_logs(simulator, 4), make, runs=6, out=tmp_path)


@pytest.mark.parametrize(("factory", "logs", "words"), [(simulator, 0, "logs is 0"), (3, 2, "seed -> simulator")])
def test_zero_logs_and_a_factory_that_cannot_be_called_are_refused(factory, logs, words):
    with pytest.raises(us.UnderstudyError, match=words):
        us.on_few_logs(factory, logs)
