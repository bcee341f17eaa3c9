import numpy as np
import pytest

from paper.discrete_tables import (
    against_qbe,
    distinct,
    estimates_table,
    lengths_drawn,
    own_ratios,
    ratios_table,
    stacked,
)
from paper.noisy_grid import PSRS_X, PSRS_Z, QBE_X, QBE_Z, SETTINGS, Case, exact_values
from understudy.runs import Runs

LENGTHS = {PSRS_X: 100, PSRS_Z: 150, QBE_X: 80, QBE_Z: 200}


@pytest.fixture
def found(runs_of):
    """Two cases, in which each simulator has runs of one length, in all settings."""
    sets = {name: runs_of([length] * 3) for name, length in LENGTHS.items()}
    return {case: dict.fromkeys(SETTINGS, sets) for case in (Case(1), Case(4))}


def test_medians_and_their_ratios_stand_side_by_side(found):
    table = ratios_table(found)
    assert table["case"] == ["k = 1"] * 3 + ["k = 4"] * 3
    assert table[QBE_Z] == [200.0] * 6
    assert table["PSRS: states / observations"] == [1.5] * 6
    assert table["PSRS / QBE on states"] == [0.75] * 6


def test_ratios_have_intervals_and_name_what_they_are_of(found):
    own = own_ratios(found)
    assert dict(zip(own["simulator"], own["states / observations"], strict=True)) == {"PSRS": 1.5, "QBE": 2.5}
    against = against_qbe(found)
    assert dict(zip(against["queued by"], against["95%"], strict=True)) == {
        "observations": (1.25, 1.25),
        "states": (0.75, 0.75),
    }


def test_lengths_are_drawn_in_a_strip_for_each_setting_and_a_panel_for_each_case(found):
    drawn = lengths_drawn(found)
    assert list(dict.fromkeys(drawn["panel"])) == ["k = 1", "k = 4"]
    assert len(set(drawn["strip"])) == 3
    assert drawn["low"] == drawn["middle"] == drawn["high"] == list(map(float, LENGTHS.values())) * 6


def estimating(run_of, values):
    return Runs(tuple(run_of(30, final={"estimate": value}) for value in values))


def test_estimates_stand_beside_exact_values(run_of):
    exact = exact_values(Case(1))
    noise = 1e-3 * np.arange(-2, 3)
    sets = {setting: {PSRS_X: estimating(run_of, exact[setting] + noise)} for setting in SETTINGS[:2]}
    sets["setting 2"] = {PSRS_X: estimating(run_of, exact["setting 2"] + 1 + noise)}
    table = estimates_table({Case(1): sets})
    assert table["verdict"] == ["equivalent", "different"]
    assert table["mean estimate"] == pytest.approx([exact["setting 1"], exact["setting 2"] + 1])


def test_estimates_are_the_same_whatever_the_order_they_were_summed_in(run_of):
    assert distinct(estimating(run_of, [0.3, 0.1 + 0.2])) == 1
    assert distinct(estimating(run_of, [0.3, 0.31])) == 2


def test_tables_are_stacked_with_their_names():
    table = {"set": ["a", "b"], "n": [1, 2]}
    assert stacked({"x": table, "y": table}) == {
        "case": ["x", "x", "y", "y"],
        "set": ["a", "b", "a", "b"],
        "n": [1, 2, 1, 2],
    }
