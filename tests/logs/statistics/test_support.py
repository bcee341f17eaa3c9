import numpy as np

from understudy.logs import Log
from understudy.logs.recurring import recurring
from understudy.logs.statistics.support import action_support


def found(columns, **changes):
    log = Log.from_columns(**columns | changes)
    return list(action_support(log, recurring(log.observation)))


def test_a_logger_that_tries_everything_is_not_mentioned(walk):
    assert found(walk(policy=np.full((12, 3), 1 / 3), episodes=200)) == []


def test_actions_that_an_observation_lacks_are_named(walk):
    policy = np.full((12, 3), 1 / 3)
    policy[5] = [0.5, 0.0, 0.5]
    zero, never = found(walk(policy=policy, episodes=200), actions=["left", "stay", "right"])
    assert zero.severity == never.severity == "warning"  # a twelfth of the rows
    assert "most often action=stay, where observation=5" in zero.sentence
    assert "action=stay where observation=5" in never.sentence
    assert never.count == 1


def test_without_propensities_only_what_was_taken_counts(walk):
    policy = np.full((12, 3), 1 / 3)
    policy[5] = [0.5, 0.0, 0.5]
    columns = walk(policy=policy, episodes=200)
    (never,) = found({**columns, "propensity": None})
    assert "1 of 12 lack some action" in never.sentence


def test_tiny_propensities_are_counted(walk):
    columns = walk(policy=np.full((12, 3), 1 / 3), episodes=200)
    few = columns["propensity"].copy()
    few[:7] = [0.499, 0.499, 0.002]
    (tiny,) = found(columns, propensity=few)
    assert tiny.severity == "note"
    assert tiny.count == 7
    assert "a propensity below 0.01" in tiny.sentence


def test_of_single_decisions_it_is_said_what_becomes_of_a_replay():
    rng = np.random.default_rng(0)
    page = rng.integers(2, size=400)
    action = np.where(page == 0, 0, rng.integers(2, size=400))
    (never,) = found({"observation": page, "action": action, "reward": np.zeros(400)}, ends="every-row")
    assert never.sentence.endswith("a learner that chooses it there ends a run of psrs or qbe; replay passes it over")
