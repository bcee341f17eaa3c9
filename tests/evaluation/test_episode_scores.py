from dataclasses import replace

import numpy as np
import pytest

from understudy.envs import Grid, record
from understudy.evaluation.episode_scores import Policies, policies_at, product_so_far, scores
from understudy.learners import LinUCB, QLearning
from understudy.logs import Log
from understudy.logs.propensities.sampling import chosen_propensities


def test_self_normalized_weights_of_several_steps_follow_the_formula():
    log = record(Grid(3, slip=0.2), episodes=30, seed=0)
    target = np.full(5, 0.2) + 0.1 * np.array([1, -1, 0, 0, 0])
    ratio = target[log.action] / chosen_propensities(log)
    weight = product_so_far(ratio, log.starts)
    longest = np.diff(log.starts).max()
    value = 0.0
    for step in range(longest):
        above = below = 0.0
        for first, end in zip(log.starts[:-1], log.starts[1:], strict=True):
            row = min(first + step, end - 1)
            below += weight[row]
            above += weight[row] * log.reward[row] * (first + step < end)
        value += 0.9**step * above / below
    found = scores(log, Policies.of(log, target), np.arange(30) % 5, 0.9).by_estimator
    assert found["SNIPS"].mean() == pytest.approx(value)
    assert found["IPS"].mean() == pytest.approx((weight * log.reward * 0.9**log.step).sum() / 30)


def test_weights_are_products_within_each_episode():
    log = record(Grid(3), episodes=20, seed=0)
    ratio = np.random.default_rng(0).uniform(0, 2, len(log))
    found = product_so_far(ratio, log.starts)
    for first, end in zip(log.starts[:-1], log.starts[1:], strict=True):
        assert found[first:end] == pytest.approx(np.cumprod(ratio[first:end]))


def test_policies_of_learners_and_vectors():
    learner = QLearning(3, 3, seed=0)
    assert policies_at(learner, np.array([0, 1, 1]), 3).shape == (3, 3)
    assert policies_at([0.5, 0.5], np.zeros((4, 2)), 2).tolist() == [[0.5, 0.5]] * 4


def test_nothing_follows_the_end_of_an_episode_also_where_a_limit_cut_it_off():
    """Every episode earns 4 and is cut off then: weighted estimators say 4, and all say 1 of one step."""
    rng = np.random.default_rng(0)
    seen, action = rng.integers(0, 3, (500, 5)), rng.integers(0, 2, (500, 4))
    truncated = np.zeros((500, 4), bool)
    truncated[:, -1] = True
    log = Log.from_columns(
        observation=seen[:, :-1].ravel(), next_observation=seen[:, 1:].ravel(), action=action.ravel(),
        reward=np.ones(2000), propensity=np.full((2000, 2), 0.5), truncated=truncated.ravel(),
    )  # fmt: skip
    found = scores(log, Policies.of(log, [0.5, 0.5]), np.arange(500) % 5, 1.0).by_estimator
    assert {name: one.mean() for name, one in found.items()} == pytest.approx({"IPS": 4.0, "SNIPS": 4.0}, abs=0.05)
    one_step = Log.from_columns(
        observation=seen[:, 0], next_observation=seen[:, 1], action=action[:, 0], reward=np.ones(500),
        propensity=np.full((500, 2), 0.5), truncated=np.ones(500, bool),
    )  # fmt: skip
    found = scores(one_step, Policies.of(one_step, [0.5, 0.5]), np.arange(500) % 5, 1.0).by_estimator
    assert found["DR"].mean() == pytest.approx(1)


def test_a_model_of_states_knows_of_no_time_limit_and_is_left_out():
    """Action 0 ends an episode in half of the steps, action 1 in one of fifty; episodes are cut off after 5 steps.

    Always taking action 1 earns 5 at most. Weighted estimators say so; a model, which takes being cut off for something
    that happens in any step, says more.
    """
    rng = np.random.default_rng(0)
    rows = {"action": [], "terminated": [], "truncated": [], "episode": []}
    for episode in range(2000):
        for step in range(5):
            action = int(rng.integers(2))
            over = rng.random() < (0.02 if action else 0.5)
            for name, value in zip(rows, (action, over, step == 4 and not over, episode), strict=True):
                rows[name].append(value)
            if over:
                break
    n = len(rows["action"])
    same = {"observation": np.zeros(n, int), "next_observation": np.zeros(n, int), "reward": np.ones(n)}
    log = Log.from_columns(**same, **rows, propensity=np.full((n, 2), 0.5))
    assert log.max_episode_steps == 5
    truth = sum(0.98**step for step in range(5))
    always = Policies.of(log, [0.0, 1.0])
    found = scores(log, always, np.arange(2000) % 5, 1.0)
    assert set(found.by_estimator) == {"IPS", "SNIPS"}
    assert found.by_estimator["SNIPS"].mean() == pytest.approx(truth, abs=0.3)
    assert "cut off after 5 steps" in found.notes[0]
    wrong = scores(replace(log, max_episode_steps=None), always, np.arange(2000) % 5, 1.0).by_estimator
    assert wrong["DM"].mean() > truth + 1


def test_episodes_that_never_end_have_no_value_and_a_note():
    n = 40
    log = Log.from_columns(
        observation=np.zeros(n, int), next_observation=np.zeros(n, int), action=np.arange(n) % 2, reward=np.ones(n),
        terminated=np.arange(n) % 2 == 1, propensity=np.full((n, 2), 0.5),
    )  # fmt: skip
    never = scores(log, Policies.of(log, [1.0, 0.0]), np.arange(20) % 5, 1.0)
    assert set(never.by_estimator) == {"IPS", "SNIPS"}
    assert "hardly ever end under this policy" in never.notes[0]
    assert "DM" in scores(log, Policies.of(log, [1.0, 0.0]), np.arange(20) % 5, 0.9).by_estimator


def test_a_policy_that_was_overridden_alone_is_the_one_that_is_asked():
    class Always(LinUCB):
        def policy(self, observation):
            return np.array([1.0, 0.0])

    assert policies_at(Always(1, 2), np.zeros((3, 1)), 2).tolist() == [[1.0, 0.0]] * 3
    assert policies_at(LinUCB(1, 2, seed=0), np.zeros((3, 1)), 2).sum() == 3
