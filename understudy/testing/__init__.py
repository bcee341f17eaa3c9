"""Checks for parts that you write: one call each, which raises `ContractError` with the rule that is broken.

    from understudy.testing import check_learner

    def test_my_learner():
        check_learner(lambda seed: MyLearner(seed=seed), log)

Each returns what it checked, which prints as a list. Parts of our own go through the same calls.
"""

from understudy.testing.encoders import check_encoder
from understudy.testing.learners import check_learner
from understudy.testing.likenesses import check_likeness
from understudy.testing.probes import check_probe
from understudy.testing.rules import Checked
from understudy.testing.simulators import check_simulator

__all__ = ["Checked", "check_encoder", "check_learner", "check_likeness", "check_probe", "check_simulator"]
