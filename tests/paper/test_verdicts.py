import numpy as np
import pytest

from paper.verdicts import all_equivalent, all_longer, error_of, listed, mean_with_interval, smaller


def test_a_mean_without_its_missing_values():
    mean, (low, high) = mean_with_interval(np.array([1.0, 3.0, np.nan]))
    assert mean == 2.0
    assert np.isclose(high - mean, 12.706, atol=1e-2)
    assert np.isclose(low + high, 4.0)


@pytest.mark.parametrize(
    ("verdicts", "holds"),
    [
        (["equivalent", "equivalent"], True),
        (["equivalent", "different"], False),
        (["equivalent", "undecided"], None),
        (["undecided", "different"], False),
    ],
)
def test_all_are_equivalent_only_where_each_is(verdicts, holds):
    assert all_equivalent({"verdict": verdict} for verdict in verdicts) is holds


@pytest.mark.parametrize(
    ("intervals", "holds"),
    [([(1.1, 2), (1.2, 3)], True), ([(1.1, 2), (0.9, 3)], None), ([(1.1, 2), (0.5, 0.9)], False)],
)
def test_one_ratio_below_one_refutes_that_all_are_longer(intervals, holds):
    assert all_longer(intervals) is holds


def test_one_error_is_smaller_only_where_intervals_do_not_meet():
    assert smaller((0.0, 0.1), (0.2, 0.3)) is True
    assert smaller((0.2, 0.3), (0.0, 0.1)) is False
    assert smaller((0.0, 0.2), (0.1, 0.3)) is None
    assert smaller(None, (0.1, 0.3)) is None


def test_an_error_in_words():
    assert error_of({"set": "PSRS", "95%": (0.01, 0.0234), "verdict": "equivalent"}, 3) == (
        "PSRS 0.010 to 0.023, equivalent"
    )
    assert error_of({"set": "PSRS", "95%": None}) == "PSRS: undecided"


def test_names_in_a_sentence():
    assert [listed(names) for names in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]
