import pytest

from understudy.reporting.formatting import decimals, percent, rounded, three_digits
from understudy.tables import NONE

NAN = float("nan")


@pytest.mark.parametrize(
    ("numbers", "found"), [([0.0123, 2.5], 3), ([310.0], 0), ([1e-9], 5), ([0.0, NAN], 2), ([], 2), ([-0.5], 2)]
)
def test_decimals_show_two_digits_of_the_smallest(numbers, found):
    assert decimals(numbers) == found


def test_three_digits_of_the_smallest_are_shown_in_all():
    write = three_digits(0.0123, 45.6)
    assert (write(0.0123), write(45.6)) == ("0.0123", "45.6000")
    assert three_digits()(1.5) == "1.50"


@pytest.mark.parametrize(("value", "found"), [(None, NONE), (NAN, NONE), (float("inf"), NONE), (-1234.56, "-1,234.6")])
def test_what_is_not_a_number_is_a_dash(value, found):
    assert rounded(value, 1) == found


@pytest.mark.parametrize(("share", "found"), [(0.0, "0%"), (1e-5, "0.001%"), (0.5, "50%"), (2.0, "200%")])
def test_a_share_is_0_percent_only_where_it_is_0(share, found):
    assert percent(share) == found
