"""What could not be run is refused before anything runs, with what it needs."""

import numpy as np
import pytest

from understudy.encoders import Boxes
from understudy.envs import ContinuousGrid
from understudy.errors import ContractError, PolicyError, SettingError
from understudy.learners import Exp3, QLearning, Uniform
from understudy.logs import Log
from understudy.runs.prerequisites import check_attributes, check_limits, check_parts
from understudy.simulators import model, psrs


class Owner:
    """A learner with its own loop, which may know how many steps it takes."""

    def __init__(self, **known):
        vars(self).update(known)

    def rehearse(self, env):
        raise NotImplementedError


@pytest.mark.parametrize("learner", [object(), dict, 3, lambda observation: [1.0]])
def test_what_is_not_a_learner_is_refused(log, learner):
    with pytest.raises(
        ContractError, match=r"is not a learner: it needs policy\(observation\) and learn\(step\), or re"
    ):
        check_parts(psrs(log), learner, None, 10)


@pytest.mark.parametrize("learner", [QLearning, Owner])
def test_the_class_of_a_learner_is_refused_as_a_class(log, learner):
    name = learner.__name__
    with pytest.raises(ContractError, match=rf"the learner is the class {name}; give an object, {name}\(\.\.\.\)"):
        check_parts(psrs(log), learner, None, 10)


class Endless:
    """A simulator that never runs out, and has no repr of its own."""

    exhaustible = False

    def start(self, seed):
        raise NotImplementedError


def test_the_class_of_a_simulator_is_refused_as_a_class():
    with pytest.raises(ContractError, match=r"the simulator is the class Endless; give an object, Endless\(\.\.\.\)"):
        check_parts(Endless, Uniform(5), 5, 10)


@pytest.mark.parametrize("simulator", [None, "psrs", object()])
def test_what_is_not_a_simulator_is_refused(simulator):
    with pytest.raises(ContractError, match=r"is not a simulator: it needs start\(seed\)"):
        check_parts(simulator, Uniform(5), None, 10)


def test_an_endless_simulator_needs_max_steps_or_a_learner_that_knows(log):
    for learner in (Uniform(5), Owner(), Owner(total_timesteps=None)):
        with pytest.raises(SettingError, match="may never end; say for how long to go on with max_steps="):
            check_parts(model(log), learner, None, 10)
        check_parts(model(log), learner, 5, 10)
    check_parts(model(log), Owner(total_timesteps=7), None, 10)
    with pytest.raises(SettingError, match=r"^Endless uses up no rows"):
        check_parts(Endless(), Uniform(5), None, 10)


def test_rewards_outside_of_a_learners_range_are_refused_with_their_row(log):
    low, high = float(log.reward.min()), float(log.reward.max())
    check_parts(psrs(log), Exp3(5, reward_range=(low, high)), None, 10)
    row = int((log.reward < 0).argmax())
    with pytest.raises(SettingError, match=rf"reward is -0.1 in row {row}, and Exp3 takes rewards from 0 to 1; give"):
        check_parts(psrs(log), Exp3(5), None, 10)


def test_another_number_of_actions_is_refused_where_both_are_known(log):
    with pytest.raises(PolicyError, match=r"the learner has 4 actions and .* has 5; make them agree"):
        check_parts(psrs(log), Uniform(4), None, 10)
    check_parts(psrs(log), Owner(n_actions=None), None, 10)


def test_a_number_of_actions_that_is_not_a_number_is_shown_as_it_is(log):
    with pytest.raises(ContractError, match=r"n_actions of the learner is '5'; give it a whole number"):
        check_parts(psrs(log), Owner(n_actions="5"), None, 10)


@pytest.mark.parametrize(("max_steps", "every"), [(0, 10), (2.5, 10), ("7", 10), (5, 0), (5, None)])
def test_numbers_of_steps_are_whole_and_positive(log, max_steps, every):
    with pytest.raises(SettingError, match="whole number"):
        check_limits(psrs(log), max_steps, every)
    check_limits(psrs(log), None, 1)


@pytest.mark.parametrize("member", ["rehearse", "log", "n_states"])
def test_an_object_that_raises_odd_errors_for_optional_members_is_refused(member):
    class Odd:
        def __getattr__(self, name):
            raise (KeyError if name == member else AttributeError)(name)

    with pytest.raises(ContractError, match=f"the learner, a Odd, raises KeyError when it is asked for '{member}'"):
        check_attributes("learner", Odd())
    check_attributes("learner", object())


def test_an_encoder_of_the_learner_is_fitted_on_the_log_once():
    log = Log.from_columns(**ContinuousGrid(size=3).rollout_cells(np.full((9, 5), 0.2), episodes=20, seed=0))
    boxes = Boxes(bins=3)
    for _ in range(2):
        check_parts(psrs(log, Boxes(bins=2)), QLearning(9, 5, encoder=boxes), None, 10)
    assert (boxes.fitted, boxes.fits) == (True, 1)


def test_an_epoch_learner_by_its_old_names_runs_step_by_step_and_is_told_the_new_ones(log):
    class Old:
        frozen = 5

        def policy(self, observation):
            return np.full(log.spec.n_actions, 1 / log.spec.n_actions)

        def policies(self, observations):
            return np.stack([self.policy(observation) for observation in observations])

        def note(self, steps):
            raise AssertionError

        def update(self):
            raise AssertionError

        def learn(self, step):
            pass

    with pytest.warns(DeprecationWarning, match="frozen and note of Old .*steps_until_update and collect"):
        check_parts(psrs(log), Old(), None, 1)
