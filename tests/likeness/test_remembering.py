"""One answer for one log and its states, made once, and none that outlives them."""

import copy
import gc
import pickle

import numpy as np

from understudy.likeness.remembering import MOST, Remembered
from understudy.logs import Log


def log_of(n):
    return Log.from_columns(observation=np.arange(n), action=[0] * n, reward=[0.0] * n, ends="every-row")


def test_an_answer_is_made_once_for_the_same_log_and_states():
    made, remembered, log = [], Remembered(), log_of(3)
    state, other = np.arange(3), np.arange(3)
    for _ in range(3):
        assert remembered(log, state, state, lambda: made.append(1) or len(made)) == 1
    assert remembered(log, other, state, lambda: made.append(1) or len(made)) == 2  # equal is not the same
    assert remembered(log_of(3), state, state, lambda: made.append(1) or len(made)) == 3


def test_few_answers_are_kept_and_none_is_taken_along():
    remembered, log = Remembered(), log_of(2)
    states = [np.arange(2) for _ in range(MOST + 1)]
    for number, state in enumerate(states):
        remembered(log, state, state, lambda number=number: number)
    assert remembered(log, states[0], states[0], lambda: "again") == "again"
    for empty in (pickle.loads(pickle.dumps(remembered)), copy.deepcopy(remembered)):
        assert empty(log, states[0], states[0], lambda: "new") == "new"


def test_a_log_that_is_gone_is_not_mistaken_for_a_new_one():
    remembered, state = Remembered(), np.arange(2)
    remembered(log_of(2), state, state, lambda: "old")
    gc.collect()
    assert remembered(log_of(2), state, state, lambda: "new") == "new"
