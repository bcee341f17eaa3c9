"""When the faster form of a learner may be used, and where its codes are."""

import numpy as np
import pytest

from understudy.contracts.learning import CompiledLearner, codes_of, defined_with_policy
from understudy.contracts.offering import offers
from understudy.learners import QLearning, Uniform


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
