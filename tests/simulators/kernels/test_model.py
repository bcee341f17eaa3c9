"""The model's kernels on a log of three rows, by hand."""

import numpy as np
import pytest

from understudy.contracts.streams import streams_of
from understudy.simulators.kernels import layout, model
from understudy.simulators.kernels.layout import EMPTY
from understudy.simulators.kernels.records import RECORD
from understudy.simulators.kernels.tape import OPENING

GO, STAY = np.array([1.0, 0.0]), np.array([0.0, 1.0])


@pytest.fixture
def walk():
    """Rows 0 and 1 take action 0 from state 0 to state 1, row 2 from state 1 to the end; action 1 was never logged."""
    records = np.zeros(3, RECORD)
    records["row"], records["reward"] = [0, 1, 2], [1.0, 2.0, 3.0]
    records["next_state"], records["next_code"], records["terminated"] = [1, 1, -1], [11, 12, 13], [0, 0, 1]
    opening = np.array([(0, 0, 10), (2, 1, 20)], OPENING)
    rules, cursor = np.zeros(layout.N_RULES, np.int64), np.zeros(layout.N_CURSOR, np.int64)
    cursor[layout.EPISODE_OVER] = 1
    return model.Model(
        records, opening,
        first=np.array([0, 2, 2, 3, 3]), members=np.array([0, 1, 2], np.int32),
        first_emission=np.array([0, 0, 2]), emissions=np.array([2, 4], np.int32),
        emission_code=np.array([32, 34], np.int32), rules=rules, streams=streams_of(0), cursor=cursor,
    )  # fmt: skip


def at(walk, state):
    walk.cursor[layout.STATE] = state
    return walk


def test_an_episode_opens_with_a_logged_opening(walk, form):
    opened = [form(model.begin)(walk) for _ in range(20)]
    assert set(opened) == {0, 2}
    assert walk.cursor[layout.EPISODES_OPENED] == walk.cursor[layout.OPENED_WITH_REPLACEMENT] == 20
    assert (walk.cursor[layout.STATE], walk.cursor[layout.CODE]) == ((0, 10) if opened[-1] == 0 else (1, 20))
    assert walk.cursor[layout.EPISODE_OVER] == 0


def test_a_step_serves_a_row_of_the_state_and_action_again_and_again(walk, form):
    served = [form(model.step)(at(walk, 0), GO) for _ in range(20)]
    assert {outcome.row for outcome in served} == {0, 1}
    assert all(outcome.reward == outcome.row + 1 for outcome in served)
    assert not any(outcome.terminated or outcome.truncated for outcome in served)
    assert {outcome.emission for outcome in served} == {EMPTY}
    assert (walk.cursor[layout.STATE], walk.cursor[layout.CODE]) == (1, 11 + served[-1].row)
    assert walk.cursor[layout.ROWS_TAKEN] == walk.cursor[layout.STEPS_SERVED] == 20


def test_the_observation_of_the_next_state_is_drawn_anew_where_the_rules_say_so(walk, form):
    walk.rules[layout.REDRAW_OBSERVATION] = 1
    served = []
    for _ in range(20):
        outcome = form(model.step)(at(walk, 0), GO)
        served.append((outcome.emission, walk.cursor[layout.CODE]))
    assert set(served) == {(2, 32), (4, 34)}


def test_a_terminal_row_ends_the_episode_and_no_observation_is_drawn_after_it(walk, form):
    walk.rules[layout.REDRAW_OBSERVATION] = 1
    outcome = form(model.step)(at(walk, 1), GO)
    assert (outcome.row, outcome.emission, outcome.reward, outcome.terminated) == (2, EMPTY, 3.0, True)
    assert walk.cursor[layout.EPISODE_OVER] == 1


@pytest.mark.parametrize(
    ("state", "policy", "cause", "action"),
    [(0, STAY, layout.ACTION_QUEUE_EMPTY, 1), (-1, GO, layout.NO_STATE, 0)],
)
def test_an_action_that_was_never_logged_and_a_missing_state_end_the_run(state, policy, cause, action, walk, form):
    outcome = form(model.step)(at(walk, state), policy)
    assert outcome.row == outcome.action == EMPTY
    assert walk.cursor[layout.CAUSE] == cause
    assert (walk.cursor[layout.STOP_STATE], walk.cursor[layout.STOP_ACTION]) == (state, action)
    assert walk.cursor[layout.STEPS_SERVED] == 0


def test_the_time_limit_truncates(walk, form):
    walk.rules[layout.TIME_LIMIT] = 2
    assert [form(model.step)(at(walk, 0), GO).truncated for _ in range(2)] == [False, True]
    assert walk.cursor[layout.EPISODE_OVER] == 1
