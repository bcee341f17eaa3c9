"""A tape and a path, by hand: observations are z + 2 * c, and c is never the same twice."""

from typing import NamedTuple

import numpy as np
import pytest

from understudy.simulators.kernels import layout, trajectories
from understudy.simulators.kernels.layout import EMPTY
from understudy.simulators.trajectories import TrajectoryReplay

LEFT, RIGHT = np.array([1.0, 0.0]), np.array([0.0, 1.0])


class Played(NamedTuple):
    how: str
    longest_first: bool = False
    moves_at_reset: bool = False


class Halves:
    """z is the last bit of an observation, c the rest of it; leaving c adds c / 10, arriving there 100 c."""

    refusal, reward_form = None, "additive"

    def __init__(self, *playing):
        self.playing = Played(*playing)

    def parts(self, observations):
        return observations % 2, observations // 2

    def joined(self, endogenous, exogenous):
        return endogenous % 2 + 2 * (exogenous // 2)

    def reward_shares(self, observations):
        return observations // 2 / 10, 100.0 * (observations // 2)


@pytest.fixture
def start(walk_log):
    """In log order, c is 0, 1, 2 in the first episode and 3, 4, 5, 6 in the second; z is 0, 1, 0 and 1, 0, 1, 0."""
    log = walk_log([0, 3, 4], [7, 8, 11, 12], action=np.array([0, 1, 0, 1, 0]))
    return lambda *playing: TrajectoryReplay(log, Halves(*playing), order="log", max_episode_steps=None).start(0).source


def where(pair):
    return pair.cursor[[layout.STATE, layout.LATENT, layout.CODE]].tolist()


def test_an_episode_opens_with_the_longest_sequence_or_with_that_of_its_own_opening(start, form):
    pair = start("episodes", True)
    assert form(trajectories.begin)(pair) == 0
    assert where(pair) == [0, 3, 6]  # z of row 0, and the c of row 2
    assert form(trajectories.begin)(pair) == 2
    assert where(pair) == [1, 0, 1]
    pair = start("episodes", False)
    form(trajectories.begin)(pair)
    assert where(pair) == [0, 0, 0]
    form(trajectories.begin)(pair)
    assert where(pair) == [1, 3, 7]
    assert form(trajectories.begin)(pair) == EMPTY
    assert pair.cursor[layout.CAUSE] == layout.NO_OPENING


def test_a_step_has_its_rows_reward_with_the_exogenous_share_exchanged(start, form):
    pair = start("episodes", True)
    form(trajectories.begin)(pair)
    outcome = form(trajectories.step)(pair, LEFT)
    own = 0.0 - 0 / 10 - 100.0 * 1  # row 0 goes from c = 0 to 1, and has reward 0
    assert (outcome.row, outcome.emission, outcome.action) == (0, 2, 0)
    assert outcome.reward == pytest.approx(own + 3 / 10 + 100.0 * 4)
    assert where(pair) == [1, 4, 9]


def test_a_sequence_that_ends_before_the_episode_ends_the_run(start, form):
    pair = start("episodes", False)
    form(trajectories.begin)(pair)
    form(trajectories.step)(pair, LEFT)
    form(trajectories.step)(pair, RIGHT)
    pair.cursor[layout.EPISODE_OVER] = 0
    taken = pair.cursor[layout.ROWS_TAKEN]
    assert form(trajectories.step)(pair, LEFT).row == EMPTY
    assert pair.cursor[layout.CAUSE] == layout.EXOGENOUS_ENDED
    assert pair.cursor[layout.ROWS_TAKEN] == taken  # found before a row was taken


def test_where_no_endogenous_row_is_accepted_the_sequence_stays(start, form):
    pair = start("episodes", False)
    form(trajectories.begin)(pair)
    for _ in range(9):
        pair.cursor[layout.STATE], pair.cursor[layout.LATENT] = 0, 0
        if form(trajectories.step)(pair, RIGHT).row == EMPTY:
            break
    assert pair.cursor[layout.CAUSE] == layout.QUEUE_EMPTY
    assert pair.cursor[layout.LATENT] == 0


@pytest.mark.parametrize(("moves", "positions"), [(True, [0, 1, 2, 3]), (False, [0, 1, 1, 2])])
def test_a_sequence_that_goes_on_moves_at_resets_or_does_not(start, form, moves, positions):
    pair, seen = start("onward", False, moves), []
    form(trajectories.begin)(pair)
    seen.append(int(pair.cursor[layout.LATENT]))
    form(trajectories.step)(pair, LEFT)
    seen.append(int(pair.cursor[layout.LATENT]))
    form(trajectories.begin)(pair)  # a reset
    seen.append(int(pair.cursor[layout.LATENT]))
    outcome = form(trajectories.step)(pair, RIGHT)
    seen.append(int(pair.cursor[layout.LATENT]))
    assert seen == positions
    assert outcome.emission == int(pair.lender[positions[-1]])


def test_without_moves_at_resets_an_opening_that_repeats_the_last_value_is_skipped(start):
    still, moving = start("onward", False, False), start("onward", False, True)
    assert still.following.tolist() == [1, 2, 4, 4, 5, 6, -1]
    assert moving.following.tolist() == [1, 2, 3, 4, 5, 6, -1]
    assert still.lender.tolist() == [5, 0, 1, 7, 2, 3, 4]  # 5 + 0 and 5 + 2: rows' own observations
