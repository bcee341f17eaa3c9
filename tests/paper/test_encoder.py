import numpy as np
import pytest

from understudy.paper.encoder import Found, counts_of, states_table, told
from understudy.paper.points import FORWARD, HOMER


def test_merged_and_divided_cells_are_found():
    state = np.array([0] * 50 + [0] * 50 + [1] * 60 + [3] * 40 + [4] * 98 + [1] * 2)
    cell = np.repeat([0, 1, 2, 3], [50, 50, 100, 100])
    counts = counts_of(state, cell, n_cells=5)
    found = Found.of(counts)
    assert found.n_states == 4
    assert found.n_cells == 3
    assert found.right == pytest.approx(248 / 300)
    assert found.merged == [(0, [0, 1])]
    assert found.split == [(2, [1, 3])]  # the two stray rows of cell 3 are not worth telling
    assert told("it", found).endswith("state 0 combines cells 0 and 1; cell 2 is divided into states 1 and 3.")
    cells = states_table({"it": counts})["cells (of its rows)"]
    assert cells == ["0 (50%), 1 (50%)", "3 (100%)", "2 (97%), 3 (3%)", "2 (100%)"]


def test_forward_finds_the_cells_and_a_short_training_of_homer_does_not(quick):
    _, item = quick("encoder")
    right = {line.what.split(",")[0]: line.ours for line in item.comparisons if line.what.endswith("%")}
    assert right[FORWARD] > 98
    assert right[HOMER] < 80
    homer, forward = item.findings
    assert (homer.holds, forward.holds) == (True, True)
    shares = item.tables[0].columns
    for name in (HOMER, FORWARD):
        total = sum(share for owner, share in zip(shares["encoder"], shares["rows, %"], strict=True) if owner == name)
        assert total == pytest.approx(100, abs=0.2)
