import numpy as np
import pytest

import understudy as us
from paper.continuous_grid import FORWARD, HOMER
from paper.encoder import Match, apart, concentrated, counts_of, imperfect, searched, states_table, told
from understudy.encoders.homer import Attempt


def test_merged_and_divided_cells_are_found():
    state = np.array([0] * 50 + [0] * 50 + [1] * 60 + [3] * 40 + [4] * 98 + [1] * 2)
    cell = np.repeat([0, 1, 2, 3], [50, 50, 100, 100])
    counts = counts_of(state, cell, n_cells=5)
    found = Match.of(counts)
    assert found.n_states == 4
    assert found.n_cells == 3
    assert found.right == pytest.approx(248 / 300)
    assert found.merged == [(0, [0, 1])]
    assert found.split == [(2, [1, 3])]  # the two stray rows of cell 3 are not worth telling
    assert told("it", found).endswith("state 0 combines cells 0 and 1; cell 2 is divided into states 1 and 3.")
    cells = states_table({"it": counts})["cells (of its rows)"]
    assert cells == ["0 (50%), 1 (50%)", "3 (100%)", "2 (97%), 3 (3%)", "2 (100%)"]


def match(merged=(), split=()):
    return Match(20, 24, 0.9, list(merged), list(split))


@pytest.mark.parametrize(
    ("merged", "split", "capacity", "holds"),
    [
        ([(0, [1, 2])], [(5, [3, 4])], 50, [True, True]),
        ([(0, [1, 2])], [], 50, [True, False]),  # no cell is divided
        ([(0, [1, 2])], [(5, [3, 4])], 20, [False, True]),  # all of the capacity is used
        ([], [], 50, [False, False]),  # a perfect match
    ],
)
def test_a_match_is_imperfect_where_states_combine_cells_or_divide_one(merged, split, capacity, holds):
    combining, dividing = imperfect(match(merged, split), capacity)
    assert [combining.holds, dividing.holds] == holds
    assert f"given {capacity} states" in combining.evidence


@pytest.mark.parametrize(
    ("merged", "holds"), [([(8, [0, 3])], True), ([(13, [4, 9])], False), ([(1, [0, 6, 12])], False), ([], None)]
)
def test_combined_cells_are_apart_where_they_are_no_one_piece(merged, holds):
    assert apart(match(merged), 5).holds is holds


@pytest.mark.slow
def test_forward_finds_the_cells_and_a_short_training_of_homer_does_not(quick):
    _, item = quick("encoder")
    right = {line.what.split(",")[0]: line.ours for line in item.comparisons if line.what.endswith("%")}
    assert right[FORWARD] > 98
    assert right[HOMER] < 80
    homer, _, _, forward, visits = item.claims
    assert (homer.holds, forward.holds, visits.holds) == (True, True, True)
    assert "given 50 states" in homer.evidence
    shares = item.tables[0].columns
    for name in (HOMER, FORWARD):
        total = sum(share for owner, share in zip(shares["encoder"], shares["rows, %"], strict=True) if owner == name)
        assert total == pytest.approx(100, abs=0.2)


def test_a_log_is_concentrated_only_if_it_thins_out_away_from_the_start():
    near, even = np.linspace(2, 1, 25), np.random.default_rng(0).uniform(1, 2, 25)
    assert concentrated(near / near.sum(), 5).holds is True
    assert concentrated(even / even.sum(), 5).holds is False


def test_what_a_search_tried_is_on_the_page():
    assert not searched(us.encoders.Homer())
    tried = us.encoders.Homer()
    tried.searched = [Attempt(50, 64, 1e-3, 0, 0.5, 9, 22, 1.0), Attempt(25, 64, 1e-3, 1, 0.6, 9, 20, 1.0)]
    (table,) = searched(tried)
    assert table.columns["loss"] == [0.5, 0.6]
    assert table.columns["latent"] == [50, 25]
