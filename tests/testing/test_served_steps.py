"""Steps that a simulator must not serve are found, each with a sentence."""

import numpy as np
import pytest

import understudy as us
from understudy.contracts import Step
from understudy.errors import ContractError
from understudy.testing.rules import Rules
from understudy.testing.served_steps import (
    Served,
    check_actions_vary,
    check_fields,
    check_order,
    check_rows,
    check_states,
    copied,
    overwrite,
    same_steps,
)

LOG = us.record(us.envs.Grid(slip=0.2), episodes=60, seed=0, max_episode_steps=200)


def step(row=0, **fields):
    ends = bool(LOG.terminated[row]), bool(LOG.truncated[row])
    numbers = int(LOG.observation[row]), int(LOG.action[row]), float(LOG.reward[row]), int(LOG.next_observation[row])
    return Step(*numbers, *ends, row)._replace(**fields)


STEPS = [step(row) for row in range(30)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"action": "up"}, "an action is a whole number from 0 to 4: step 0 has 'up'"),
        ({"action": 5}, "an action is a whole number from 0 to 4: step 0 has 5"),
        ({"reward": None}, "a reward is a finite number: step 0 has None"),
        ({"reward": "1"}, "a reward is a finite number: step 0 has '1'"),
        ({"reward": np.nan}, "a reward is a finite number: step 0 has nan"),
        ({"reward": np.ones(1)}, "a reward is a finite number: step 0 has array"),
        ({"terminated": True, "truncated": True}, "never both True: step 0 has True and True"),
        ({"terminated": 0}, "are truth values"),
        ({"row": None}, "row is a whole number: step 0 has None"),
    ],
)
def test_fields_of_a_step(fields, said):
    with pytest.raises(ContractError, match=said):
        check_fields(Rules("Mine"), [STEPS[0]._replace(**fields)], 5)


def test_fields_of_logged_steps_keep_the_rules():
    rules = Rules("Mine")
    check_fields(rules, [*STEPS, step(reward=np.float32(1), action=np.int32(1), terminated=np.True_)], 5)
    assert len(rules.checked().rules) == 5
    with pytest.raises(ContractError, match="a simulator serves steps"):
        check_fields(Rules("Mine"), [], 5)


def test_a_step_begins_where_the_one_before_it_ended_or_where_its_episode_began():
    first = STEPS[0].observation
    check_order(Rules("Mine"), Served(STEPS, {0: first, len(STEPS): None}, []))
    with pytest.raises(ContractError, match="observation that the step before it led to: step 0 led to"):
        check_order(Rules("Mine"), Served([STEPS[0], STEPS[1]._replace(observation=99)], {}, []))
    for opening in (None, first + 1, (first, {}), (np.zeros(3), {})):
        with pytest.raises(ContractError, match=r"begin\(\) returned .* begins with .*; let begin\(\) return the obs"):
            check_order(Rules("Mine"), Served(STEPS, {0: opening}, []))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([STEPS[0]._replace(row=10**6)], "row is the number of a logged row"),
        ([STEPS[0]._replace(action=(int(LOG.action[0]) + 1) % 5)], "a step's action is that of its row: row 0"),
        ([step(), step()], "a row is served once: 1 of 2 steps"),
    ],
)
def test_rows_are_those_of_the_log(steps, said):
    check_rows(Rules("Mine"), us.psrs(LOG), STEPS, True)
    with pytest.raises(ContractError, match=said):
        check_rows(Rules("Mine"), us.psrs(LOG), steps, True)


def test_an_episode_that_was_passed_over_is_taken_back():
    served = Served([*STEPS[:4]], {0: "first", 2: "second"}, [1, 2, 3, 4])
    served.take_back(2)
    assert served == Served(STEPS[:2], {0: "first"}, [1, 2])


def test_a_real_environment_has_no_rows():
    with pytest.raises(ContractError, match=r"have row -1: rows are \[0\]"):
        check_rows(Rules("Mine"), us.real(us.envs.Grid()), [step()], True)


def test_states_are_codes_below_their_number():
    simulator = us.psrs(LOG)
    check_states(Rules("Mine"), simulator, [0, np.int64(24), -1])
    for states, said in (([0, "x"], "before step 1 it is 'x'"), ([-2], "is -2"), ([25], "25, and n_states is 25")):
        with pytest.raises(ContractError, match=said):
            check_states(Rules("Mine"), simulator, states)


def test_a_uniform_policy_has_more_than_one_action_where_there_are_enough_steps_to_tell():
    same = [one for one in map(step, range(len(LOG))) if one.action == 1][:20]
    check_actions_vary(Rules("Mine"), us.psrs(LOG), STEPS, 5)
    check_actions_vary(Rules("Mine"), us.psrs(LOG), same[:19], 5)
    with pytest.raises(ContractError, match=r"more than one action: all of 20 steps had action 1; draw the action"):
        check_actions_vary(Rules("Mine"), us.psrs(LOG), same, 5)


def test_copies_are_not_overwritten_and_nan_equals_nan():
    one = step(observation=np.array([1.0, np.nan]))
    kept = copied(one)
    assert same_steps([one], [kept])
    overwrite(one.observation)
    assert not same_steps([one], [kept])
    overwrite(kept.observation, write=False)
    assert kept.observation[0] == 1.0
    assert not same_steps([kept], [])
