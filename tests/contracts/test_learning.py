"""When the faster form of a learner may be used, and where its codes are."""

import numpy as np
import pytest

from understudy.contracts.learning import (
    CompiledLearner,
    ReadsObservations,
    codes_of,
    defined_with_policy,
    reward_refusal,
)
from understudy.contracts.offering import offers
from understudy.learners import Exp3, LinUCB, QLearning, Uniform


class Overriding(QLearning):
    def policy(self, observation):
        return np.full(self.n_actions, 1 / self.n_actions)


class OverridingBoth(Overriding):
    def arrays(self):
        return super().arrays()


class Renamed(QLearning):
    def settings(self):
        return {}


class Borrowing:
    """Has `policy` and `learn`, and the faster form only by way of `__getattr__`."""

    def policy(self, observation):
        return np.full(2, 0.5)

    def learn(self, step):
        pass

    def __getattr__(self, name):
        if name in ("arrays", "codes"):
            return getattr(QLearning(3, 2), name)
        raise AttributeError(name)


@pytest.mark.parametrize(
    ("learner", "holds"),
    [
        (QLearning(3, 2), True), (Uniform(2), True), (Renamed(3, 2), True), (Overriding(3, 2), False),
        (OverridingBoth(3, 2), True), (Borrowing(), False),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_faster_form_holds_where_no_subclass_overrides_only_the_plain_one(learner, holds):
    assert offers(learner, CompiledLearner)
    assert defined_with_policy(learner, "arrays") is holds


class OtherPolicy(LinUCB):
    def policy(self, observation):
        return np.full(self.n_actions, 1 / self.n_actions)


def test_a_subclass_with_another_policy_does_not_read_observations_by_the_kernels_it_inherits():
    assert offers(LinUCB(2, 2), ReadsObservations)
    assert defined_with_policy(LinUCB(2, 2), "arrays_on")
    assert not defined_with_policy(OtherPolicy(2, 2), "arrays_on")
    assert not offers(QLearning(3, 2), ReadsObservations)


def test_a_refused_reward_names_the_range():
    told = str(reward_refusal(Exp3(2, reward_range=(-1, 4)), "reward is 7 in row 3"))
    assert told.startswith("reward is 7 in row 3, and Exp3 takes rewards from -1 to 4; give it reward_range=")


def test_codes_are_those_of_a_learner_with_a_table():
    assert codes_of(QLearning(3, 2)).n == 3
    assert codes_of(Uniform(2)) is None
    assert codes_of(object()) is None


def test_asking_for_a_policy_changes_nothing():
    learner = QLearning(3, 2, epsilon=0.5, seed=1)
    assert learner.policy(0).tolist() == learner.policy(0).tolist()


def test_methods_that_are_set_on_the_object_are_no_ground_to_trust_a_faster_form():
    class Odd:
        def __init__(self):
            self.policy = self.learn = print

        def arrays(self):
            return None

    assert not defined_with_policy(Odd(), "arrays")
