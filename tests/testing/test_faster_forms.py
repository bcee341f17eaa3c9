"""A faster form that does something else than `policy` and `learn` is found, and so is one that is not used."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import understudy as us
from understudy.errors import ContractError
from understudy.testing import check_learner

LOG = us.record(us.envs.Grid(slip=0.2), episodes=60, seed=0, max_episode_steps=200)


class Arrays(NamedTuple):
    values: np.ndarray
    rate: np.ndarray


def act(arrays, code, policy):
    total = 0.0
    for action in range(len(policy)):
        policy[action] = math.exp(arrays.values[code, action])
        total += policy[action]
    for action in range(len(policy)):
        policy[action] /= total


def learn(arrays, code, action, reward, next_code, terminated, truncated):
    arrays.values[code, action] += arrays.rate[0] * reward


us.learners.register_kernels(Arrays, act=act, learn=learn)


class Compiled:
    """A compiled learner of somebody else's; `rate` is what plain Python learns at."""

    codes, n_actions = us.learners.Codes(25), 5

    def __init__(self, rate=0.1):
        self._arrays, self.rate = Arrays(np.zeros((25, 5)), np.array([0.1])), rate

    def arrays(self):
        return self._arrays

    def policy(self, observation):
        policy = np.empty(5)
        act(self._arrays, observation, policy)
        return policy

    def learn(self, step):
        self._arrays.values[step.observation, step.action] += self.rate * step.reward


def test_a_compiled_learner_of_others_keeps_the_rules():
    checked = check_learner(lambda seed: Compiled(), LOG)
    assert any("compiled form" in rule for rule in checked.rules)
    assert checked.not_used == ()


def test_a_compiled_form_that_learns_otherwise_is_found():
    with pytest.raises(ContractError, match=r"compiled form .* does what policy and learn do: .*; let both forms read"):
        check_learner(lambda seed: Compiled(rate=0.5), LOG)


class Epochs:
    """Learns every ten steps, also in stacks; subclasses break one rule each."""

    n_actions = 5

    def __init__(self, seed=0):
        self.scores, self.waiting = np.random.default_rng(seed).normal(size=(25, 5)), []

    @property
    def steps_until_update(self):
        return 10 - len(self.waiting)

    def policy(self, observation):
        return self.policies(np.array([observation]))[0]

    def policies(self, observations):
        scores = np.exp(self.scores[observations])
        return scores / scores.sum(axis=1, keepdims=True)

    def learn(self, step):
        self.collect(us.contracts.Steps.of(step))
        if self.steps_until_update == 0:
            self.update()

    def collect(self, steps):
        self.waiting += zip(steps.observation, steps.action, steps.reward, strict=True)

    def update(self):
        for observation, action, reward in self.waiting:
            self.scores[observation, action] += reward + 0.1
        self.waiting = []

    stack_key = "epochs"

    @staticmethod
    def stacked_policies(learners):
        return lambda observations: np.stack(
            [learner.policy(observation) for learner, observation in zip(learners, observations, strict=True)]
        )

    @staticmethod
    def update_all(learners):
        for learner in learners:
            learner.update()


class CountedByAMethod(Epochs):
    def steps_until_update(self):
        return 10 - len(self.waiting)


class CountedByAFloat(Epochs):
    @property
    def steps_until_update(self):
        return 10.0 - len(self.waiting)


class ForgetsSteps(Epochs):
    def collect(self, steps):
        super().collect(steps)
        if len(steps.action) > 1:
            self.waiting[0] = self.waiting[-1]


class Reversed(Epochs):
    @staticmethod
    def stacked_policies(learners):
        return Epochs.stacked_policies(learners[::-1])


class AnArray(Epochs):
    @staticmethod
    def stacked_policies(learners):
        return np.full((len(learners), 5), 0.2)


class PlainMethod(Epochs):
    def stacked_policies(self, learners):
        return Epochs.stacked_policies(learners)


class UpdatesByTheStack(Epochs):
    @staticmethod
    def update_all(learners):
        for learner in learners:
            learner.scores += 0.1 * len(learners) * np.eye(25, 5)
            learner.update()


WRONG = {
    CountedByAMethod: "steps_until_update is a whole number from 1 .*: it is a method .*; make it a property that",
    CountedByAFloat: r"steps_until_update is a whole number .*: it is 10\.0 before the first step; make it a property",
    ForgetsSteps: "the look-ahead form .* does what policy and learn do: ",
    Reversed: "stacked learners end up as they would alone: a run of three .* is not the run it is by itself",
    AnArray: "stacked learners end up as they would alone: it raised TypeError: .*; .* returns a function of a list",
    PlainMethod: "stacked learners end up as they would alone: it raised TypeError: .* are static methods",
    UpdatesByTheStack: "stacked learners end up as they would alone: .*depend on which learners are together",
}


def test_a_learner_of_epochs_keeps_the_rules_and_all_its_forms_are_used():
    checked = check_learner(Epochs, LOG)
    assert any("look-ahead form" in rule for rule in checked.rules)
    assert any("stacked" in rule for rule in checked.rules)
    assert checked.not_used == ()


@pytest.mark.parametrize(("kind", "rule"), WRONG.items(), ids=lambda part: getattr(part, "__name__", ""))
def test_a_broken_rule_is_named_with_what_to_do(kind, rule):
    with pytest.raises(ContractError, match=rule):
        check_learner(kind, LOG)


class OtherPolicy(Epochs):
    def policy(self, observation):
        return super().policy(observation)


class CountsOnTheObject:
    """An epoch learner of one step, which keeps the count where the class does not show it."""

    policy, policies = Epochs.policy, Epochs.policies

    def __init__(self, seed=0):
        self.scores, self.steps_until_update = np.zeros((25, 5)), 1

    def learn(self, step):
        pass

    def collect(self, steps):
        pass

    def update(self):
        pass


def test_forms_that_are_offered_and_not_used_are_listed_with_the_reason():
    forms = check_learner(OtherPolicy, LOG).not_used
    assert [form.split(", ")[0] for form in forms] == ["the look-ahead form", "the stacked form"]
    assert "steps_until_update is defined in Epochs, a base class of OtherPolicy, which defines policy" in forms[0]


def test_a_count_that_the_class_does_not_define_is_listed():
    (form,) = check_learner(CountsOnTheObject, LOG).not_used
    assert form.startswith("the look-ahead form, since steps_until_update is set on the object; define it in the class")


def test_arrays_that_are_none_are_listed():
    make = lambda seed: us.learners.QLearning(25, 5, epsilon=lambda step: 0.3, seed=seed)  # noqa: E731
    assert check_learner(make, LOG).not_used == ("the compiled form, since arrays() returned None",)
