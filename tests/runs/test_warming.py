"""Code is loaded before workers are forked by learners and simulators of ours, and what others write is left alone."""

import numpy as np
import pytest

from understudy.envs import Grid, record
from understudy.learners import PPO, Delayed, MonteCarlo, QLearning, Uniform, script
from understudy.runs.sending import LARGE
from understudy.runs.warming import is_safe_learner, learner_to_send, load_kernels
from understudy.simulators import psrs, real

LOG = record(Grid(3), episodes=60, seed=0)


class Mine:
    """A learner of a user's own."""

    taken = 0

    def policy(self, observation):
        Mine.taken += 1
        return np.full(5, 0.2)

    def learn(self, step):
        pass


def ppo(device):
    learner = PPO(LOG.spec, hidden=(4,), epoch_steps=16, device="cpu")
    learner.device = device
    return learner


@pytest.mark.parametrize(
    ("learner", "safe"),
    [(QLearning(9, 5), True), (ppo("cpu"), True), (ppo("cuda"), False), (Mine(), False),
     (MonteCarlo(Uniform(5)), True), (Delayed(Mine(), decisions=2), False), (script(lambda env, seed: None)(0), False)],
)  # fmt: skip
def test_learners_that_may_take_a_step_before_workers_are_forked(learner, safe):
    assert is_safe_learner(learner) == safe
    assert (learner_to_send(learner) is not None) == safe


def test_what_cannot_be_sent_is_not():
    large, odd = QLearning(LARGE // 40, 5), QLearning(9, 5)
    odd.extra = (line for line in ())
    assert learner_to_send(large) is None
    assert learner_to_send(odd) is None
    assert learner_to_send(None) is None


def test_a_step_is_taken_of_a_log_and_of_nothing_else():
    class Counted:
        """A simulator that counts its rehearsals."""

        def __init__(self, simulator):
            self.simulator, self.started = simulator, 0

        def __getattr__(self, name):
            return getattr(self.simulator, name)

        def start(self, seed, codes=None):
            self.started += 1
            return self.simulator.start(seed, codes)

    on_log, true = Counted(psrs(LOG)), Counted(real(Grid(3)))
    for learner in (None, learner_to_send(QLearning(9, 5))):
        load_kernels(on_log, learner, compiled=False)
        load_kernels(true, learner, compiled=False)
    assert on_log.started == 2
    assert true.started == 0


def test_what_goes_wrong_is_left_to_the_runs():
    class Broken:
        compilable, n_actions, log = True, 5, LOG

        def __getattr__(self, name):
            return getattr(psrs(LOG), name)

        def start(self, seed, codes=None):
            raise OSError("not now")

    broken = Broken()
    load_kernels(broken, None, compiled=None)
    with pytest.raises(OSError, match="not now"):
        broken.start(0)
