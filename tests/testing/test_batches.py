"""What a learner computes for many observations at once is what it computes for each of them."""

import numpy as np
import pytest

import understudy as us
from understudy.errors import ContractError
from understudy.testing import check_learner

LOG = us.record(us.envs.Grid(slip=0.2), episodes=60, seed=0, max_episode_steps=200)


class Counting:
    """Counts steps, and has values and policies of batches; subclasses break one rule each."""

    def __init__(self, seed=0):
        self.counts = np.zeros(25)

    def policy(self, observation):
        return np.full(5, 0.2)

    def learn(self, step):
        self.counts[step.observation] += 1.0

    def policies(self, observations):
        return np.full((len(observations), 5), 0.2)

    def value(self, observation):
        return float(self.counts[observation])

    def values(self, observations):
        return self.counts[observations]


class OtherPolicies(Counting):
    def policies(self, observations):
        return np.full((len(observations), 5), 0.2 + 1e-3)


class AlmostThePolicies(Counting):
    def policies(self, observations):
        return np.full((len(observations), 5), 0.2 + 1e-6)  # within a relative tolerance of 1e-5, not within CLOSE


class OnePolicy(Counting):
    def policies(self, observations):
        return self.policy(observations)


class FailsForBatches(Counting):
    def policies(self, observations):
        return np.full((int(observations), 5), 0.2)


class OtherValues(Counting):
    def values(self, observations):
        return self.counts[observations] + 1.0


class OneValue(Counting):
    def values(self, observations):
        return float(self.counts.sum())


class ValueInWords(Counting):
    def value(self, observation):
        return "high"


WRONG = {
    OtherPolicies: "policies.observations. are those that policy gives one by one: .*largest difference 0.001",
    AlmostThePolicies: "those that policy gives one by one: .*largest difference 1e-06",
    OnePolicy: r"one by one: shapes \(5,\) and \(20, 5\)",
    FailsForBatches: "one by one: it raised TypeError: .*; it is given an array with one observation a row",
    OtherValues: "values.observations. are those that value gives one by one: the largest difference is 1",
    OneValue: r"values.observations. has a number for each observation: it is float64 of shape \(\) for 20",
    ValueInWords: "value.observation. is a number: it is 'high'; return a float",
}


def test_the_learner_that_the_wrong_ones_are_made_of_keeps_the_rules():
    assert sum("one by one" in rule for rule in check_learner(Counting, LOG).rules) == 2


@pytest.mark.parametrize(("kind", "rule"), WRONG.items(), ids=lambda part: getattr(part, "__name__", ""))
def test_a_broken_rule_is_named_with_what_to_do(kind, rule):
    with pytest.raises(ContractError, match=rule):
        check_learner(kind, LOG)
