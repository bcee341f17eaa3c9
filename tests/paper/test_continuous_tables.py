import pytest

from paper.continuous_runs import REAL, RETURN, SETS, VALUE, WITHIN, Settings
from paper.continuous_tables import (
    JUDGED,
    PAPERS,
    PUBLISHED_EPOCHS,
    compared,
    completed_epochs,
    errors,
    judgements,
    published,
    published_table,
)
from understudy.runs import About, Runs

SETTINGS = Settings(epoch_steps=10, early=2)


def curved(run_of, lengths, level=0.0, own_logs=True):
    """Runs whose probes all rise from a level, read at the end of each epoch of ten steps."""
    curve = {name: lambda t, level=level: level + t / 100 for name in (RETURN, VALUE, WITHIN)}
    return Runs(tuple(run_of(length, curve) for length in lengths), About(own_logs=own_logs))


def test_epochs_count_only_if_they_were_completed(runs_of):
    assert completed_epochs(runs_of([19, 25, 39]), SETTINGS) == 2.0


def test_the_papers_table_has_its_numbers_beside_ours_over_the_same_epochs(run_of):
    last = 10 * PUBLISHED_EPOCHS
    real = curved(run_of, [last] * 4)
    found = {name: published(curved(run_of, [last] * 4, 0.5), real, SETTINGS) for name in SETS}
    found["random"] = published(curved(run_of, [last, last, 50, 50], 1.0), real, SETTINGS)
    table = published_table(found, dict.fromkeys(SETS, 16.0))
    assert table["simulation"] == [REAL, *SETS]
    at = table["simulation"].index("random")
    assert table["fidelity, ours"][at] == pytest.approx(1.0)
    assert table["fidelity, the paper"][at] == PAPERS["random"][1]
    assert table[f"runs alive at epoch {PUBLISHED_EPOCHS}, %"][at] == 75.0
    rows = {row.what: row for row in compared(found, dict.fromkeys(SETS, 16.0))}
    assert "25% of runs had stopped" in rows["random, fidelity over 16 epochs"].note
    assert "stopped" not in rows["act-only, fidelity over 16 epochs"].note


def test_judgements_are_over_whole_epochs_that_all_reached_and_two_leave_out_the_early_ones(run_of):
    own = {"close": curved(run_of, [45] * 4), "far": curved(run_of, [60] * 4, 1.0)}
    judged = judgements(own, curved(run_of, [80] * 4), SETTINGS)
    assert list(judged) == list(JUDGED)
    assert [set(table["horizon"]) for table in judged.values()] == [{40}] * 3
    assert [table["verdict"] for table in judged.values()] == [["equivalent", "different"]] * 3
    assert [row.what for row in errors(judged, SETTINGS)] == [
        "close, error over 4 epochs, a log for each run",
        "far, error over 4 epochs, a log for each run",
    ]


def test_early_differences_are_left_out_of_the_late_tables(run_of):
    late = {name: lambda t: 5.0 if t <= 20 else t / 100 for name in (VALUE, WITHIN)}
    own = {"a": Runs(tuple(run_of(60, late) for _ in range(4)), About(own_logs=True))}
    verdicts = [table["verdict"] for table in judgements(own, curved(run_of, [60] * 4), SETTINGS).values()]
    assert verdicts == [["different"], ["equivalent"], ["equivalent"]]
