import pytest

from paper.items import Claim


@pytest.mark.parametrize(
    ("holds", "ours", "verdict"),
    [
        (True, False, "Reproduces"),
        (False, False, "Does not reproduce"),
        (True, True, "Holds (ours)"),
        (False, True, "Does not hold (ours)"),
        (None, False, "Undecided"),
        (None, True, "Undecided"),
    ],
)
def test_a_verdict_says_whose_claim_it_is(holds, ours, verdict):
    assert Claim("A claim.", holds, "Evidence.", ours).verdict == verdict
