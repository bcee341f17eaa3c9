from dataclasses import replace

import numpy as np

from paper.set_tables import (
    all_equivalent,
    by_set,
    error_of,
    fidelity_columns,
    mean_with_interval,
    one_log_floor,
    ratio_of_medians,
)
from understudy.contracts import Stop
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


def curves(values, logs=None):
    steps, none = np.arange(1, values.shape[1] + 1), np.empty(0)
    logs = [""] * len(values) if logs is None else logs
    return Runs(
        tuple(
            Run(0, np.arange(50), none, None, none, none, steps, {"g": row}, {}, Stop("x"), log=str(log))
            for row, log in zip(values, logs, strict=True)
        )
    )


def test_the_floor_on_one_log_holds_the_luck_of_that_log():
    rng = np.random.default_rng(0)
    luck, run, n, k = 0.3, 0.5, 400, 40  # standard deviations over logs and over runs on one

    def spread(n):
        return run * rng.standard_normal((n, k))

    log = rng.integers(20, size=n)  # as many runs on each as it happens
    one_log, real = curves(spread(100)), curves(spread(100))
    lucky = curves(luck * rng.standard_normal((20, k))[log] + spread(n), log)
    assert np.isclose(one_log_floor(one_log, lucky, real, "g", 50), np.hypot(luck, run * np.sqrt(2 / 100)), rtol=0.1)
    alike = curves(spread(n), log)
    assert np.isclose(one_log_floor(one_log, alike, real, "g", 50), run * np.sqrt(2 / 100), rtol=0.2)


def test_nothing_is_said_of_a_set_that_stopped_before_the_first_reading():
    rng = np.random.default_rng(0)
    real = curves(rng.standard_normal((5, 3)))
    short = Runs(tuple(replace(run, rows=run.rows[:0]) for run in real))
    line = by_set(fidelity_columns({"short": short, "long": real}, real, "g"))["short"]
    assert line["RMSE"] is None
    assert error_of(line) == "short: undecided"
    assert all_equivalent([line]) is None
