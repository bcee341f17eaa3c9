import re

import numpy as np
import pytest

from understudy.envs import Grid, record
from understudy.errors import ContractError, LogError
from understudy.evaluation.learned_policies import LearnedPolicy, off_policy_of_learner
from understudy.evaluation.off_policy import Estimate, OffPolicy
from understudy.learners import FixedPolicy, QLearning
from understudy.simulators import psrs, qbe


@pytest.fixture(scope="module")
def log():
    return record(Grid(3, slip=0.2), episodes=400, seed=0)


def test_a_fixed_policy_earns_in_rehearsal_what_the_classics_say(log):
    policy = np.full(5, 0.2)
    found = off_policy_of_learner(psrs(log), lambda seed: FixedPolicy(policy))
    assert not found.disagrees
    assert re.search(r"they differ by 0\.\d+, and chance alone explains differences up to 1\.\d$", found.sentence)
    assert [one.name for one in found.estimates.estimates] == ["IPS", "SNIPS", "DM", "DR"]
    assert found.estimates.n_episodes == 400
    earned = np.add.reduceat(log.reward, log.starts[:-1])
    assert found.estimates["IPS"].value == pytest.approx(earned.mean())  # the logging policy: every weight is 1
    assert found.rehearsed == pytest.approx(earned.mean(), abs=4 * found.error)


def test_the_policy_is_that_after_the_rehearsal(log):
    """It is better than the logging policy, and evaluated on episodes that it was not trained on."""
    made = []

    def make(seed):
        made.append(QLearning(9, 5, epsilon=0.3, alpha=0.5, gamma=0.9, seed=seed))
        return made[-1]

    found = off_policy_of_learner(qbe(log), make, runs=3, gamma=0.9)
    assert len(made) == 6
    assert all(learner.q.any() for learner in made)
    earned = np.add.reduceat(log.reward * 0.9**log.step, log.starts[:-1])
    assert found.estimates["DM"].value > earned.mean()


def test_the_same_seed_gives_the_same(log):
    def make(seed):
        return QLearning(9, 5, epsilon=0.5, seed=seed)

    one, again, other = (off_policy_of_learner(psrs(log), make, runs=2, seed=seed) for seed in (1, 1, 2))
    assert one.estimates["DR"] == again.estimates["DR"]
    assert one.estimates["DR"] != other.estimates["DR"]
    python = off_policy_of_learner(psrs(log), make, runs=2, seed=1, compiled=False)
    assert python.estimates["DR"] == one.estimates["DR"]


def _found(rehearsed, error=0.1):
    best = Estimate("DR", 1.0, 0.8, 1.2, 0.1, 50.0)
    return LearnedPolicy(OffPolicy((best,), 100, 0.95), rehearsed, error, 500.0)


def test_agreement_is_said_only_where_a_difference_would_have_been_seen():
    unsure = _found(1.2)
    assert unsure.sentence.endswith(": they differ by 0.2, and chance alone explains differences up to 0.36")
    best = Estimate("DR", 1.0, 0.98, 1.02, 0.01, 50.0)
    sure = LearnedPolicy(OffPolicy((best,), 100, 0.95), 1.01, 0.02, 500.0)
    assert "earned 1.01 (0.9708 to 1.049), and DR" in sure.sentence
    assert sure.sentence.endswith(": they agree (chance explains differences up to 0.058)")


def test_disagreement_is_said_with_what_may_be_the_reason():
    assert not _found(1.3).disagrees
    assert _found(1.5).disagrees
    assert "they disagree by 3.5 standard errors" in _found(1.5).sentence
    assert not _found(float("nan")).disagrees
    assert "no rehearsal had an end" in _found(float("nan")).sentence
    assert _found(float("nan")).to_json()["rehearsed"] is None


def test_weights_that_are_worth_few_episodes_tell_nothing():
    best = Estimate("DR", 1.0, 0.8, 1.2, 0.1, 12.0)
    found = LearnedPolicy(OffPolicy((best,), 100, 0.95), 9.0, 0.1, 500.0)
    assert not found.can_tell
    assert not found.disagrees
    assert "too little to tell" in found.sentence


def test_it_is_written_and_read_as_it_was():
    found = _found(1.5)
    assert LearnedPolicy.from_json(found.to_json()) == found
    without = LearnedPolicy.from_json(_found(float("nan"), float("nan")).to_json())
    assert np.isnan([without.rehearsed, without.error]).all()


def test_what_has_no_policy_or_too_few_episodes_is_refused(log):
    class Owner:
        def rehearse(self, env):
            pass

    with pytest.raises(ContractError, match=r"Owner has no policy\(observation\)"):
        off_policy_of_learner(psrs(log), lambda seed: Owner())
    with pytest.raises(LogError, match="3 episodes"):
        off_policy_of_learner(psrs(log.select([0, 1, 2])), lambda seed: FixedPolicy(np.full(5, 0.2)))
