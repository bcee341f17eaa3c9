"""A likeness of one's own needs one method."""

import numpy as np

from understudy.contracts import Likeness, SuggestsRadii
from understudy.contracts.offering import members_of, offers


class NextNumber:
    """State z is alike to z - 1 and z + 1."""

    def neighbors(self, log, state, next_state, n_states, radius):
        lists = [[z for z in (state - 1, state + 1) if 0 <= z < n_states] for state in range(n_states)]
        return np.cumsum([0, *map(len, lists)]), np.concatenate(lists).astype(np.int32)


def test_one_method_makes_a_likeness():
    assert members_of(Likeness) == ("neighbors",)
    assert offers(NextNumber(), Likeness)
    assert not offers(NextNumber(), SuggestsRadii)
    assert not offers(3, Likeness)
