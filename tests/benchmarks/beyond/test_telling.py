import numpy as np
import pytest

from benchmarks.beyond import telling


@pytest.mark.slow
def test_a_case_is_measured(monkeypatch):
    monkeypatch.setattr(telling, "RUNS", 20)
    monkeypatch.setattr(telling, "TRUE_RUNS", 50)
    monkeypatch.setattr(telling, "margin_of", lambda name: 0.5)
    found = telling.measure(("slip grid", 1, 0.3), 0)
    assert found["steps"] >= 250
    assert 0 < found["cut"] < 1
    assert 0 < found["told"] < 20
    assert 0 < found["silent"] < 20
    assert "| slip grid | 30 | 0.3 |" in telling.table({"slip grid: 30, max_cut 0.3": [found]})


def test_logs_of_one_problem_and_size_are_one_case():
    def log(told, silent):
        return {"told": told, "silent": silent, "steps": 100, "cut": 0.1}

    results = {
        "slip grid: 10, max_cut 0.1": [log(0.5, 0.6), log(float("nan"), float("nan"))],
        "slip grid: 10, max_cut 0.3": [log(0.5, 0.8)],
        "FrozenLake: 200, max_cut 0.1": [log(1.0, 1.4)],
    }
    more, width = telling.difference(results)
    assert more == pytest.approx((0.2 + 0.4) / 2)
    assert width == pytest.approx(12.706 * 0.1, rel=1e-3)  # t with one degree of freedom
    assert "larger by 0.300 margins" in telling.table(results)


def test_the_error_is_the_root_mean_square_in_margins():
    assert telling.error_of(np.array([1.0, 2.0]), np.array([1.0, 1.0]), 0.5) == pytest.approx(np.sqrt(2))
    assert np.isnan(telling.error_of(np.empty(0), np.empty(0), 0.5))
