"""Two tapes of one log, by hand: observations are z + 2 * c, of an endogenous part z and an exogenous part c."""

import numpy as np
import pytest

from understudy.simulators import exo_psrs
from understudy.simulators.kernels import exogenous, layout
from understudy.simulators.kernels.layout import EMPTY

ORACLES = {
    "split": lambda x: (x % 2, x // 2),
    "merge": lambda z, c: z + 2 * c,
    "reward": lambda z, c: 10.0 * z + c,
}
LEFT, RIGHT = np.array([1.0, 0.0]), np.array([0.0, 1.0])


@pytest.fixture
def rehearsal(walk_log):
    """In log order, row 0 goes from (0, 0) to (1, 1), row 1 from there to (0, 2), row 2 from (0, 1) to (0, 0)."""
    log = walk_log([0, 3, 4], [2, 0], action=np.array([0, 0, 1]), terminated=np.array([False, False, True]),
                   truncated=np.array([False, True, False]))  # fmt: skip
    return exo_psrs(log, **ORACLES, order="log", max_episode_steps=None).start(0)


def test_an_episode_opens_with_both_parts_of_a_logged_observation(rehearsal, form):
    pair = rehearsal.source
    for row, state, latent, code in ((0, 0, 0, 0), (2, 0, 1, 2)):
        assert form(exogenous.begin)(pair) == row
        assert pair.cursor[[layout.STATE, layout.LATENT, layout.CODE]].tolist() == [state, latent, code]
    assert form(exogenous.begin)(pair) == EMPTY
    assert pair.cursor[layout.CAUSE] == layout.NO_OPENING
    assert pair.cursor[layout.LATENT] == 1


def test_a_step_merges_the_next_parts_of_two_rows(rehearsal, form):
    pair = rehearsal.source
    form(exogenous.begin)(pair)
    outcome = form(exogenous.step)(pair, LEFT)
    assert outcome == (0, 0, 0, 11.0, False, False)
    assert pair.cursor[[layout.STATE, layout.LATENT, layout.CODE]].tolist() == [1, 1, 3]
    outcome = form(exogenous.step)(pair, LEFT)
    assert outcome == (1, 1, 0, 2.0, False, False)
    assert pair.cursor[[layout.STATE, layout.LATENT, layout.CODE]].tolist() == [0, 2, 4]


def test_a_part_without_rows_ends_the_run_before_an_endogenous_row_is_taken(rehearsal, form):
    pair = rehearsal.source
    form(exogenous.begin)(pair)
    form(exogenous.step)(pair, LEFT)
    form(exogenous.step)(pair, LEFT)
    taken = pair.cursor[layout.ROWS_TAKEN]
    assert form(exogenous.step)(pair, LEFT).row == EMPTY  # no row is in the exogenous part 2
    assert (pair.cursor[layout.CAUSE], pair.cursor[layout.STOP_STATE]) == (layout.EXOGENOUS_EMPTY, 2)
    assert pair.cursor[layout.ROWS_TAKEN] == taken


def test_where_no_endogenous_row_is_accepted_no_exogenous_one_is_taken(rehearsal, form):
    pair = rehearsal.source
    form(exogenous.begin)(pair)
    pair.cursor[layout.STATE] = 1  # whose only row has action 0
    assert form(exogenous.step)(pair, RIGHT).row == EMPTY
    assert (pair.cursor[layout.CAUSE], pair.cursor[layout.STOP_STATE]) == (layout.QUEUE_EMPTY, 1)
    assert pair.exogenous.cursor[layout.ROWS_TAKEN] == 0
