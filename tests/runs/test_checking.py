"""What is read from results folders is of its type, or refused before anything works with it."""

import numpy as np
import pytest

from understudy.runs.checking import check_about, expect, run_of


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("a table", {}, []), ("a text", "", 3), ("true or false", False, 0), ("a whole number", -3, 3.0),
        ("a count", 0, -1), ("a count", 2**63 - 1, 2**63), ("a count", 1, True), ("a number", 0.5, "0.5"),
        ("a number", 3, float("inf")), ("a number", 3, float("nan")),
        ("a number", 3, 10**400), ("a number", -(10**300), -(10**400)),
    ],
)  # fmt: skip
def test_a_value_is_of_its_kind_or_refused(kind, good, bad):
    assert expect("x", good, kind) == good
    with pytest.raises(ValueError, match=f"'x' is .* instead of {kind}"):
        expect("x", bad, kind)
    with pytest.raises(ValueError, match="'x' is"):
        expect("x", None, kind)
    assert expect("x", None, f"{kind}, or null") is None


@pytest.mark.parametrize(
    "about", [[], {"simulator": 3}, {"simulator": {"simulator": 3}}, {"learner": {"class": []}}, {"log_rows": "many"},
              {"log_return": "much"}, {"every": None}, {"kind": 1}]
)  # fmt: skip
def test_what_runs_are_of_has_its_types(about):
    with pytest.raises(ValueError, match="instead of"):
        check_about(about)
    assert check_about({"simulator": {"simulator": "psrs"}, "log_rows": None}) is not None


def contents(**changes):
    """The contents of a run of ten steps."""
    summary = {
        "seed": 3, "log": None, "length": 10, "partial": None, "not_kept": {}, "stopped": {"cause": "no opening"},
        "shapes": {"g": [[2], []]},
    }  # fmt: skip
    lists = {
        "rows": np.arange(10, dtype=np.int32), "openings": np.zeros(1, np.int32), "ends": np.array([4, 9]),
        "returns": np.zeros(2), "steps": np.array([5, 10]), "curve g": np.zeros(2), "final g": np.zeros(1),
    }  # fmt: skip
    return summary | {k: v for k, v in changes.items() if k in summary}, lists | {
        k.replace("_", " "): v for k, v in changes.items() if k not in summary
    }


RETURNS = {
    "error": 0.1, "skew": 0.0, "single": 0.2, "low": 0, "high": 1.5,
    "rows": [5, 9], "episodes": [1, 2], "earned": [1, 2.5],
}  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [{"error": None}, {"skew": "much"}, {"rows": [5]}, {"rows": [], "episodes": [], "earned": []}, {"earned": 3},
     {"rows": [9, 5]}, {"episodes": [0, 2]}, {"rows": []}, {"high": float("inf")}, {"error": -1}, {"single": 7},
     {"skew": -1e308}, {"low": 2}],
)  # fmt: skip
def test_how_returns_vary_is_refused_where_it_could_not_have_been_told(changes):
    assert check_about({"log_returns": RETURNS})
    assert check_about({"log_returns": None, "log_rows": 3})
    with pytest.raises(ValueError, match="beyond the log"):
        check_about({"log_returns": RETURNS, "log_rows": 8})
    with pytest.raises(ValueError, match="the log's returns"):
        check_about({"log_returns": RETURNS | changes})


def test_contents_that_fit_together_make_a_run():
    run = run_of(*contents())
    assert (len(run), run.seed, run.curves["g"].shape, run.final["g"]) == (10, 3, (2,), 0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"length": 9}, {"rows": np.arange(10.0)}, {"rows": np.arange(9, dtype=np.int32)}, {"ends": np.array([4])},
        {"ends": np.array([9, 4])}, {"ends": np.array([4, 11])}, {"ends": np.array([0, 4])},
        {"steps": np.array([5, 11])}, {"curve_g": np.zeros(3)}, {"curve_g": np.zeros(2, int)},
        {"shapes": {"g": [[1], []]}}, {"shapes": {"h": [[2], []]}}, {"seed": "3"}, {"log": 3}, {"stopped": {}},
        {"stopped": {"cause": "boredom"}}, {"not_kept": {"rows": 3}},
    ],
)  # fmt: skip
def test_contents_that_do_not_fit_together_are_refused(changes):
    with pytest.raises((ValueError, KeyError, TypeError)):
        run_of(*contents(**changes))
