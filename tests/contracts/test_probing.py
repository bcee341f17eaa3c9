"""A probe is a function of the learner."""

import pytest

from understudy.contracts import Probe
from understudy.contracts.offering import offers
from understudy.envs import Grid
from understudy.learners import MonteCarlo, QLearning, Uniform
from understudy.runs import probes


@pytest.mark.parametrize("probe", [probes.start_value([0]), probes.estimate, lambda learner: 0.0])
def test_functions_of_the_learner_are_probes(probe):
    assert offers(probe, Probe)


def test_a_history_is_not_a_function_of_the_learner():
    histories = [probes.episode_returns, *probes.validation(Grid(), max_episode_steps=5).values()]
    assert not any(offers(history, Probe) for history in histories)


@pytest.mark.parametrize(
    ("probe", "learner"),
    [(probes.start_value([0, 1]), QLearning(3, 2, initial=0.5)), (probes.estimate, MonteCarlo(Uniform(2)))],
)
def test_reading_ours_twice_gives_the_same_number(probe, learner):
    assert str(probe(learner)) == str(probe(learner))
