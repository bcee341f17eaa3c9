import numpy as np
import pytest

from understudy.contracts import HasClock, Step
from understudy.contracts.offering import offers
from understudy.learners import UCB1, EpsilonGreedy, Exp3, LinearThompson, LinUCB, QLearning, Thompson

LEARNERS = [
    EpsilonGreedy(2, seed=0), UCB1(2, seed=0), Thompson(2, seed=0), Exp3(2), QLearning(1, 2, seed=0),
]  # fmt: skip


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_the_clock_counts_steps_and_can_be_set(learner):
    assert offers(learner, HasClock)
    before = learner.clock
    learner.learn(Step(0, 1, 1.0, 0, True, False))
    assert learner.clock == before + 1
    learner.clock = 40
    assert learner.clock == 40


def test_draws_follow_the_clock_alone():
    """100 draws of a fresh posterior: both actions are about as likely, and a clock that stands still draws one."""
    learner, chosen = Thompson(2, seed=3), []
    for clock in range(100):
        learner.clock = clock
        chosen.append(int(learner.policy(0).argmax()))
        assert learner.policy(0).argmax() == chosen[-1]
    assert 25 < sum(chosen) < 75
    for linear in (LinUCB(2, 2, seed=0), LinearThompson(2, 2, seed=0)):
        linear.clock = 7
        assert linear.clock == 7
        assert np.array_equal(linear.policy([0.1, 0.2]), linear.policy([0.1, 0.2]))
