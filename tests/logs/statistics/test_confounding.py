"""Rates: a false alarm in at most one log in 10,000, so that 100 clean logs raise none."""

import numpy as np
import pytest

from understudy.logs import Log
from understudy.logs.recurring import recurring
from understudy.logs.statistics.calibration import propensity_frequency
from understudy.logs.statistics.confounding import _leanings, action_predicted


def logged(seed=0, episodes=200, length=40, kind_matters=0.0, sticky=0.0, propensity="all"):
    """A walk on a ring of 6 places whose logger may know the kind of the episode, or repeat itself, unlogged."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet([3.0, 3.0], size=6)
    kind = rng.integers(2, size=episodes)
    place = np.empty((episodes, length + 1), int)
    place[:, 0] = rng.integers(6, size=episodes)
    action, p = np.empty((episodes, length), int), np.empty((episodes, length, 2))
    for t in range(length):
        p[:, t] = table[place[:, t]]
        chance = np.clip(p[:, t, 1] + kind_matters * (kind - 0.5), 0, 1)
        action[:, t] = rng.random(episodes) < chance
        if t and sticky:
            action[:, t] = np.where(rng.random(episodes) < sticky, action[:, t - 1], action[:, t])
        place[:, t + 1] = (place[:, t] + action[:, t] + rng.integers(2, size=episodes)) % 6
    kept = {"all": p.reshape(-1, 2), "chosen": np.take_along_axis(p, action[..., None], 2).ravel(), "none": None}
    log = Log.from_columns(
        observation=place[:, :-1].ravel(), next_observation=place[:, 1:].ravel(), action=action.ravel(),
        reward=rng.normal(size=episodes * length), episode=np.repeat(np.arange(episodes), length),
        propensity=kept[propensity], ends="truncated",
    )  # fmt: skip
    return log, recurring(log.observation)


def test_clean_logs_raise_no_alarm():
    for seed in range(100):
        assert not action_predicted(*logged(seed, episodes=40)).findings


def test_a_hidden_kind_that_lasts_is_found_though_propensities_fit_on_average():
    log, states = logged(kind_matters=0.2)
    assert not propensity_frequency(log, states).findings
    (finding,) = action_predicted(log, states).findings
    assert finding.severity == "doubt"
    assert "in episodes that had taken it often" in finding.sentence


def test_a_logger_that_repeats_itself_is_found():
    (finding,) = action_predicted(*logged(sticky=0.15)).findings
    assert "right after action=" in finding.sentence or "had taken it often" in finding.sentence


@pytest.mark.parametrize("propensity", ["chosen", "none"])
def test_without_all_propensities_nothing_is_asked(propensity):
    answer = action_predicted(*logged(episodes=5, propensity=propensity))
    assert answer.tested.p_value is None
    assert "propensities of all actions" in answer.tested.reason


def test_how_an_action_follows_its_own_excess_is_the_sum_written_out():
    log, _ = logged(episodes=10, length=7, sticky=0.3)
    for action, found in enumerate(_leanings(log)):
        total = variance = excess = spread = 0.0
        for row in range(len(log)):
            if row in log.starts:
                excess = spread = 0.0
            p = log.propensity[row, action]
            leaning = np.clip(excess / np.sqrt(spread), -3, 3) if spread > 1e-6 else 0.0
            residual = (log.action[row] == action) - p
            total, variance = total + leaning * residual, variance + leaning**2 * p * (1 - p)
            excess, spread = excess + residual, spread + p * (1 - p)
        assert np.isclose(found.taken, total)
        assert np.isclose(found.variance, variance)
