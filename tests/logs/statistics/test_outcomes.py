"""Rates: a false alarm in at most one log in 10,000, so that 100 clean logs raise none."""

import numpy as np

from understudy.logs import Log
from understudy.logs.recurring import recurring
from understudy.logs.statistics.outcomes import outcome_drift


def asked(columns):
    log = Log.from_columns(**columns)
    return outcome_drift(log, recurring(log.observation))


def test_clean_logs_raise_no_alarm(walk):
    for seed in range(100):
        assert not asked(walk(seed=seed, episodes=100)).findings


def test_rewards_that_depend_within_an_episode_raise_no_alarm(walk):
    for seed in range(50):
        columns = walk(seed=seed, episodes=100)
        kind = np.random.default_rng(seed).normal(size=100)
        assert not asked(columns | {"reward": columns["reward"] + 5 * kind[columns["episode"]]}).findings


def test_a_logger_that_changes_raises_no_alarm(walk):
    early, late = walk(seed=1, episodes=100), walk(seed=2, episodes=100)
    late["episode"] = late["episode"] + 100
    assert not asked({name: np.concatenate([early[name], late[name]]) for name in early}).findings


def test_rewards_that_change_for_one_observation_and_action_are_found(walk):
    columns = walk(episodes=600)
    here = (columns["observation"] == 3) & (columns["action"] == 1) & (columns["episode"] > 300)
    (finding,) = asked(columns | {"reward": columns["reward"] + 0.5 * here}).findings
    assert finding.severity == "doubt"
    assert "the reward rises where observation=3 and action=1 over 600 episodes" in finding.sentence


def test_next_observations_that_change_are_found_though_rewards_and_visits_are_alike(walk):
    columns = walk(episodes=600)
    rng = np.random.default_rng(0)
    moved = (columns["episode"] > 300) & (rng.random(len(columns["action"])) < 0.3)
    columns["next_observation"] = np.where(moved, columns["observation"], columns["next_observation"])
    (finding,) = asked(columns).findings
    assert "next observation" in finding.sentence


def test_outcomes_that_never_vary_and_observations_that_never_recur_are_not_asked(walk):
    columns = walk(episodes=60) | {"reward": np.zeros(len(walk(episodes=60)["action"]))}
    same = columns | {"next_observation": columns["observation"], "terminated": np.zeros(len(columns["action"]), bool)}
    assert asked(same).tested.reason == "outcomes do not vary"
    numbers = np.random.default_rng(0).normal(size=len(columns["action"]))
    assert (
        asked(columns | {"observation": numbers, "next_observation": None}).tested.reason == "observations do not recur"
    )
