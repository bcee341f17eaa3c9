import numpy as np
import pytest

import understudy as us
from benchmarks.beyond import ladders, lengths, truth, unlimited
from benchmarks.beyond.problems import PANEL
from benchmarks.measuring import main


@pytest.fixture
def known_truth(monkeypatch):
    """The truth of the slip grid by 100 runs, in place of the file that `python -m benchmarks.beyond truth` writes."""
    curves = PANEL["slip grid"].true_curves(2, 100)
    found = {"mean": curves.mean(axis=0).tolist(), "error": (curves.std(axis=0) / 10).tolist(), "runs": 100}
    monkeypatch.setattr(truth, "truth_of", lambda name, size: found)
    return found


@pytest.mark.slow
def test_a_case_is_measured_and_judged(known_truth, monkeypatch):
    """Within what is trusted of a log of 100 episodes a ladder that only cuts is right."""
    monkeypatch.setattr(ladders, "RUNS", 60)
    monkeypatch.setattr(ladders, "ladder_on", lambda log, encoder: (us.qbe(log, encoder, then="cut"), ("cut",)))
    found = ladders.measure(("slip grid", 2), 0)
    assert 700 < found["exact"] < 2_000
    assert found["trusted"] >= found["exact"]
    assert not found["error"] > 1.5  # 60 runs and one log are noisy; NaN where no window is trusted
    shown = ladders.table({"slip grid: 100": [found]})
    assert "| slip grid | 100 | cut |" in shown
    assert "Sound:" in shown


def test_errors_count_within_what_is_trusted_alone(known_truth):
    mean = np.array(known_truth["mean"])
    margin = truth.margin_of("slip grid")
    assert margin == pytest.approx(0.1 * np.ptp(mean))
    off = mean + margin * np.array([0.2, -0.5, 0, 0, 3, 0, 0, 0])
    assert truth.error_of("slip grid", 2, off[:4]) == pytest.approx(0.5)
    assert truth.error_of("slip grid", 2, off) == pytest.approx(3)
    assert np.isnan(truth.error_of("slip grid", 2, off[:0]))


def test_the_summary_counts_sound_long_and_shorter_cases():
    def case(exact, trusted, error):
        return {"exact": exact, "trusted": trusted, "error": error, "rungs": ["like", "cut"], "length": trusted}

    results = {
        "Taxi: 100": [case(100, 1_000, 0.5), case(0, 50, 2.0)],  # outcomes are steady: ratios 10 and 50
        "FrozenLake: 200": [case(400, 100, float("nan"))],
    }
    shown = ladders.table(results)
    assert "Sound: 50% of the 2 cases that trust a window (90% are asked for), of 3 in all." in shown
    assert "the median ratio is 30.0 over 2 cases" in shown
    assert "Shorter than exact: 1 cases" in shown


@pytest.mark.slow
def test_relaxations_and_lengths_are_tables_too(known_truth, monkeypatch):
    monkeypatch.setattr(unlimited, "RUNS", 20)
    found = unlimited.measure(("slip grid", 0), 0)
    assert set(found) == {"reuse", "any"}  # codes have no distances
    assert found["any"]["steps"] < PANEL["slip grid"].steps[0]
    assert "| slip grid | 10 | 1,000 |" in unlimited.table({"slip grid: 10": [found]})
    exact = lengths.measure(("slip grid", 0), 0)
    assert 0 <= exact["qbe"] < 500
    assert "| slip grid | codes | 10 |" in lengths.table({"slip grid: 10": [exact]})


def test_a_truth_that_is_not_known_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(truth, "results_file", lambda *names: tmp_path / "none.jsonl")
    with pytest.raises(SystemExit, match=r"first run python -m benchmarks\.beyond truth"):
        truth.truth_of.__wrapped__("Taxi", 2)


def test_the_command_names_its_parts(monkeypatch, capsys):
    from benchmarks.beyond.__main__ import PARTS

    monkeypatch.setattr("sys.argv", ["benchmarks.beyond", "--help"])
    with pytest.raises(SystemExit):
        main("beyond", PARTS, "measures")
    shown = capsys.readouterr().out
    assert all(part in shown for part in ("truth", "lengths", "unlimited", "ladders"))
