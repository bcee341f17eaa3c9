import numpy as np

from understudy.contracts import Stop
from understudy.paper.measuring import mean_with_interval, one_log_floor, ratio_of_medians
from understudy.runs import Run, Runs


def runs(lengths):
    none = np.empty(0)
    return Runs(tuple(Run(0, np.arange(n), none, None, none, none, none, {}, {}, Stop("x")) for n in lengths))


def test_the_ratio_of_medians_covers_the_true_one():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(60):
        shared = rng.uniform(0.9, 1.1, 100)  # the log that a pair of runs has in common
        pair = [(scale * shared * rng.uniform(0.9, 1.1, 100)).astype(int) for scale in (3000, 2000)]
        _, (low, high) = ratio_of_medians(*map(runs, pair))
        covered += low <= 1.5 <= high
    assert covered >= 51  # of 95 %, less than this happens once in 500


def test_a_mean_without_its_missing_values():
    mean, (low, high) = mean_with_interval(np.array([1.0, 3.0, np.nan]))
    assert mean == 2.0
    assert np.isclose(high - mean, 12.706, atol=1e-2)
    assert np.isclose(low + high, 4.0)


def test_the_floor_on_one_log_holds_the_luck_of_that_log():
    def curves(values):
        steps, none = np.arange(1, values.shape[1] + 1), np.empty(0)
        made = (Run(0, np.arange(50), none, None, none, none, steps, {"g": row}, {}, Stop("x")) for row in values)
        return Runs(tuple(made))

    rng = np.random.default_rng(0)
    luck, run, n, k = 0.3, 0.5, 400, 40  # standard deviations over logs and over runs on one
    spread = lambda: run * rng.standard_normal((n, k))  # noqa: E731
    own = curves(luck * rng.standard_normal((n, k)) + spread())
    floor = one_log_floor(curves(spread()), own, curves(spread()), "g", 50)
    assert np.isclose(floor, np.hypot(luck, run * np.sqrt(2 / n)), rtol=0.05)
    assert one_log_floor(curves(spread()), curves(spread()), curves(spread()), "g", 50) < 0.1
