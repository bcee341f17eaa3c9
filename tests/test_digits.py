import numpy as np
import pytest

from understudy.digits import between, decimals, digits, percent, three_digits

NAN = float("nan")


@pytest.mark.parametrize("value", [999.6, 1000.0, 12_345.6, -2553.2, 3e7, 9.9e14])
def test_large_numbers_are_written_in_full(value):
    text = digits(value)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_smaller_numbers_have_their_significant_digits(n):
    rng = np.random.default_rng(0)
    for value in rng.uniform(-1, 1, 100) * 10.0 ** rng.integers(-4, n, 100):
        assert float(digits(value, n).replace(",", "")) == float(f"{value:.{n}g}")


def test_what_is_not_a_number_or_beyond_counting_is_written_all_the_same():
    assert [digits(value) for value in (np.nan, np.inf, -np.inf, 1e300, 0.0)] == ["nan", "inf", "-inf", "1e+300", "0"]


def test_signs_and_commas_are_a_choice():
    assert (digits(0.5, sign=True), digits(1e6, commas=False)) == ("+0.5", "1000000")
    assert between(-1234.5, 2.5, sign=True) == "-1,234 to +2.5"
    assert (digits(1234.5, 4), digits(999.96, 4), digits(12345, 4)) == ("1,234", "1,000", "12,345")
    assert (digits(-0.0), digits(-0.0, sign=True)) == ("0", "+0")


@pytest.mark.parametrize(
    ("numbers", "found"), [([0.0123, 2.5], 3), ([310.0], 0), ([1e-9], 5), ([0.0, NAN], 2), ([], 2), ([-0.5], 2)]
)
def test_decimals_show_two_digits_of_the_smallest(numbers, found):
    assert decimals(numbers) == found


def test_three_digits_of_the_smallest_are_shown_in_all():
    write = three_digits(0.0123, 45.6)
    assert (write(0.0123), write(45.6)) == ("0.0123", "45.6000")
    assert three_digits()(1.5) == "1.50"


@pytest.mark.parametrize(("share", "found"), [(0.0, "0%"), (1e-5, "0.001%"), (0.5, "50%"), (2.0, "200%")])
def test_a_share_is_0_percent_only_where_it_is_0(share, found):
    assert percent(share) == found
