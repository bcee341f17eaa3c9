"""Estimated propensities against known ones.

Margins were fixed before any result was seen: an estimate of F free numbers from N rows is off by about sqrt(F / N) of
a standard deviation, so that errors of probabilities up to MARGIN are noise at these sizes, and a model that misses
the policy is off by .1 and more. The audit's tests have a rate of false alarms of 1e-4 each: of these logs none should
fire.
"""

from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from tests.logs.propensities.loggers import code_columns, drawn, softmax_columns, without_propensities
from understudy.errors import ContractError, LogError, SettingError
from understudy.logs import Log, check
from understudy.logs.propensities import estimation
from understudy.logs.propensities.estimation import estimate_propensities
from understudy.logs.propensities.logistic import Examples, fit, log_probabilities

MARGIN = 0.04  # the mean distance of an estimated propensity from the true one
RANGE_MARGIN = 0.1  # of curves, in ranges of the curve under the true propensities
LOGGERS = {
    "uniform": lambda seed: code_columns(seed, skewed=False),
    "skewed": code_columns,
    "softmax": softmax_columns,
}


@pytest.mark.parametrize("logger", LOGGERS)
def test_known_loggers_are_found_and_calibrated(logger):
    columns = LOGGERS[logger](seed=1)
    log = estimate_propensities(without_propensities(columns))
    assert np.abs(log.propensity - columns["propensity"]).mean() < MARGIN
    assert np.allclose(log.propensity.sum(axis=1), 1)
    assert log.propensity.min() > 0
    report = log.propensity_source.report
    assert report.p_value > 1e-4
    assert abs(report.mean_inverse - 1) < 0.05
    assert (report.loss < 0.98 * report.loss_of_frequencies) == (logger != "uniform")


@pytest.mark.parametrize("logger", LOGGERS)
def test_the_same_log_and_seed_give_the_same_propensities(logger):
    log = without_propensities(LOGGERS[logger](seed=2)).select(np.arange(2000))
    assert np.array_equal(estimate_propensities(log).propensity, estimate_propensities(log).propensity)


@pytest.mark.parametrize("n_logs", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_the_audit_raises_no_false_alarm_on_estimates(walk, n_logs):
    """Logs of each of two clean loggers: all tests of propensities together fire in 1 of 5,000."""
    for seed in range(n_logs):
        for log in (
            without_propensities(walk(seed=seed, episodes=60)),
            without_propensities(code_columns(seed, n=1000, n_codes=50)),
        ):
            audit = check(estimate_propensities(log))
            assert [finding.rule for finding in audit.findings if finding.severity == "doubt"] == []


def inverse_score(log, propensity):
    """How far the mean of 1/p of the actions taken is from the number of actions, in standard errors.

    Under true propensities the mean of 1/p is the number of actions; a row's own action in its estimate lowers it.
    """
    inverse = 1 / propensity[np.arange(len(log)), log.action]
    return (inverse.mean() - log.spec.n_actions) / (inverse.std() / np.sqrt(len(log)) + 1e-3 * log.spec.n_actions)


def test_a_model_that_has_seen_the_row_is_caught():
    """300 codes with 5 rows each, a uniform logger: alpha = 1e-4 two-sided, |z| < 3.9."""
    log = without_propensities(code_columns(seed=3, n=1500, n_codes=300, skewed=False))
    cross_fitted = estimate_propensities(log)
    assert abs(inverse_score(log, cross_fitted.propensity)) < 3.9

    counts = np.zeros((300, 4))
    np.add.at(counts, (log.observation, log.action), 1)
    weights = fit(Examples(np.eye(300), counts), penalty=1e-2)
    in_sample = np.exp(log_probabilities(np.eye(300), weights))[log.observation]
    assert inverse_score(log, in_sample) < -3.9


def episodes_with_a_taste(seed, episodes=200, length=20, n_actions=3):
    """Each episode has an observation of its own and mostly takes one action: only its own rows could tell which."""
    rng = np.random.default_rng(seed)
    taste = rng.integers(n_actions, size=episodes)
    p = np.where(np.arange(n_actions) == np.repeat(taste, length)[:, None], 0.9, 0.1 / (n_actions - 1))
    ends = np.tile(np.arange(length) == length - 1, episodes)
    observation = np.repeat(np.arange(episodes), length)
    return Log.from_columns(observation=observation, action=drawn(p, rng), reward=np.zeros(len(p)), terminated=ends)


def test_parts_are_whole_episodes(monkeypatch):
    log = episodes_with_a_taste(seed=4)
    by_episode = estimate_propensities(log)
    assert np.abs(by_episode.propensity - 1 / 3).max() < 0.1  # nothing about an episode is known from the others

    monkeypatch.setattr(estimation, "_parts", lambda log, parts, seed: np.arange(len(log)) % parts)
    by_row = estimate_propensities(log)
    assert by_row.propensity.max() > 0.8  # the wrong variant memorizes episodes, and looks far better than it is
    assert by_row.propensity_source.report.loss < 0.7 * by_episode.propensity_source.report.loss


def test_each_part_is_fitted_without_its_own_actions():
    """Other actions in one part's episodes change the estimates of other parts, and not its own."""
    columns = code_columns(seed=5, n=1000, n_codes=10)
    log = without_propensities(columns)
    part = estimation._parts(log, estimation.PARTS, 0)
    changed = np.where(part == 0, (log.action + 1) % 4, log.action)
    one, other = estimate_propensities(log), estimate_propensities(replace(log, action=changed.astype(np.int32)))
    assert np.array_equal(one.propensity[part == 0], other.propensity[part == 0])
    assert not np.allclose(one.propensity[part == 1], other.propensity[part == 1])


def test_a_cause_that_lasts_over_an_episode_is_doubted():
    rng = np.random.default_rng(6)
    episodes, length = 300, 20
    kind = np.repeat(rng.integers(2, size=episodes), length)
    p = np.where(kind[:, None] == 0, [0.8, 0.2], [0.2, 0.8])
    ends = np.tile(np.arange(length) == length - 1, episodes)
    seen = rng.integers(5, size=len(p))
    log = Log.from_columns(observation=seen, action=drawn(p, rng), reward=np.zeros(len(p)), terminated=ends)
    assert not check(estimate_propensities(log)).believable


def test_a_logger_that_changes_is_doubted():
    rng = np.random.default_rng(7)
    late = np.linspace(0.2, 0.8, 5000)
    action = drawn(np.stack([1 - late, late], axis=1), rng)
    log = Log.from_columns(observation=np.arange(5000) % 3, action=action, reward=np.zeros(5000), ends="every-row")
    doubts = [finding for finding in check(estimate_propensities(log)).findings if finding.severity == "doubt"]
    assert [finding.rule for finding in doubts] == ["propensity-frequency"]
    assert "changed over the log" in doubts[0].sentence
    (trend,) = [found for found in check(estimate_propensities(log)).findings if found.rule == "propensity-trend"]
    assert trend.sentence.startswith("how often action=0 ")  # estimates themselves move with observations only


def test_the_chosen_propensity_is_kept_where_it_was_logged():
    columns = softmax_columns(seed=8)
    chosen = columns["propensity"][np.arange(10_000), columns["action"]]
    log = estimate_propensities(Log.from_columns(**{**columns, "propensity": chosen}))
    assert np.array_equal(log.propensity[np.arange(10_000), log.action], chosen)
    assert np.allclose(log.propensity.sum(axis=1), 1)
    assert np.abs(log.propensity - columns["propensity"]).mean() < MARGIN
    assert 0 < log.propensity_source.report.disagreement < MARGIN
    assert "that of the chosen action as logged" in str(log.propensity_source)


def test_what_other_rows_tell_exactly_is_not_estimated():
    columns = code_columns(seed=8)
    chosen = columns["propensity"][np.arange(10_000), columns["action"]]
    log = estimate_propensities(Log.from_columns(**{**columns, "propensity": chosen}))
    assert np.allclose(log.propensity, columns["propensity"])
    assert str(log.propensity_source) == "from a table, put together from those of the chosen actions"
    changing = np.where((columns["observation"] == 3) & (np.arange(10_000) > 5000), chosen * 0.9, chosen)
    part = estimate_propensities(Log.from_columns(**{**columns, "propensity": changing}))
    others = columns["observation"] != 3
    assert np.allclose(part.propensity[others], columns["propensity"][others])
    assert f"known from other rows in {others.sum():,} of 10,000 rows" in str(part.propensity_source)
    assert np.allclose(part.propensity.sum(axis=1), 1)


def test_an_action_that_no_row_took_has_propensity_zero():
    log = estimate_propensities(without_propensities(code_columns(seed=9, n=500), n_actions=6))
    assert (log.propensity[:, 4:] == 0).all()
    assert (log.propensity[:, :4] > 0).all()


def test_features_say_what_the_logger_saw():
    columns = softmax_columns(seed=10, n=2000)
    sign = columns["observation"][:, 0] > 0
    p = np.where(sign[:, None], [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1])
    columns |= {"action": drawn(p, np.random.default_rng(0)), "propensity": p}
    log = estimate_propensities(without_propensities(columns), features=lambda seen: (seen[:, 0] > 0).astype(int))
    assert "which of 2 observations" in str(log.propensity_source)
    assert np.abs(log.propensity - p).mean() < MARGIN
    with pytest.raises(ContractError, match="shape"):
        estimate_propensities(log := without_propensities(columns), features=lambda seen: seen[:5])
    with pytest.raises(ContractError, match="NaN"):
        estimate_propensities(log, features=lambda seen: seen * np.nan)


def test_what_cannot_be_estimated_is_refused(clean):
    with pytest.raises(SettingError, match="nothing to estimate"):
        estimate_propensities(Log.from_columns(**clean))
    one = Log.from_columns(observation=[0, 1, 0], action=[0, 1, 0], reward=[0, 0, 0], ends="unfinished")
    with pytest.raises(LogError, match="at least 10"):
        estimate_propensities(one)
    with pytest.raises(SettingError, match="parts"):
        estimate_propensities(without_propensities(clean), parts=2)


def test_estimates_are_warned_of_everywhere(tmp_path):
    log = estimate_propensities(without_propensities(code_columns(seed=11, n=1000)))
    warned = [finding for finding in check(log).findings if finding.rule == "propensity-source"]
    assert [finding.severity for finding in warned] == ["warning"]
    assert "estimated from the log" in warned[0].sentence
    assert "estimated from the log" in repr(log)
    us.write(log, tmp_path / "log.parquet")
    back = us.read(tmp_path / "log.parquet")
    assert back.propensity_source == log.propensity_source == log.select(np.arange(500)).propensity_source
    assert us.read(tmp_path / "log.parquet", propensity="propensity").propensity_source == log.propensity_source
    assert back.fingerprint == log.fingerprint


def served_shares(log, policy, runs=20):
    """How often each action was served under one policy that does not look, by PSRS with one state for all."""
    one_state = us.encoders.Function(lambda seen: np.zeros(len(seen), int))
    simulator = us.psrs(log, one_state)
    served = np.concatenate(
        [log.action[us.simulate(simulator, us.learners.FixedPolicy(policy), seed=seed).rows] for seed in range(runs)]
    )
    return np.bincount(served, minlength=log.spec.n_actions) / len(served)


def test_psrs_serves_the_policy_with_estimates_and_not_with_a_wrong_guess():
    """Shares of served actions within MARGIN of the policy; a log wrongly taken as uniform is off by more."""
    policy = np.array([0.1, 0.2, 0.3, 0.4])
    columns = code_columns(seed=12)
    estimated = estimate_propensities(without_propensities(columns))
    assert np.abs(served_shares(estimated, policy) - policy).max() < MARGIN
    rng = np.random.default_rng(13)
    skewed = {**columns, "action": drawn(np.tile([0.55, 0.25, 0.1, 0.1], (10_000, 1)), rng)}
    right = estimate_propensities(without_propensities(skewed))
    wrong = without_propensities(skewed).with_propensities(np.full((20, 4), 0.25))
    assert np.abs(served_shares(right, policy) - policy).max() < MARGIN
    assert np.abs(served_shares(wrong, policy) - policy).max() > 2 * MARGIN


def test_curves_on_estimates_are_those_on_true_propensities():
    """Q-learning on the grid: its curve within a tenth of its range; taken as uniform, the same log is further off."""
    env = us.envs.Grid()
    policy = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    log = us.record(env, lambda seen: policy, episodes=1000, seed=14)  # with 400, runs end before the tenth reading
    estimated = estimate_propensities(replace(log, propensity=None))
    probes = {"start value": us.probes.start_value(env)}

    def curve(one):
        def make(seed):
            return us.learners.QLearning(25, 5, epsilon=0.9, alpha=0.5, gamma=0.95, seed=seed)

        runs = us.experiment(us.psrs(one), make, runs=40, probes=probes, every=200, max_steps=4000, backend="serial")
        return us.mean_curve(runs, "start value").mean

    true, found, wrong = (curve(one) for one in (log, estimated, replace(log, propensity=np.full((len(log), 5), 0.2))))
    n = min(int(np.isfinite(one).sum()) for one in (true, found, wrong))  # as far as half of the runs go
    assert n >= 10
    assert np.abs(true[:n] - found[:n]).max() < RANGE_MARGIN * np.ptp(true[:n])
    assert np.abs(true[:n] - wrong[:n]).max() > RANGE_MARGIN * np.ptp(true[:n])


def test_seeds_and_features_that_cannot_be_used_are_refused_in_a_sentence():
    log = without_propensities(code_columns(seed=0, n=200))
    assert estimate_propensities(log, seed=-1).propensity.shape == (200, 4)  # as everywhere
    with pytest.raises(SettingError, match=r"seed is 0\.5; give seed=, a whole number"):
        estimate_propensities(log, seed=0.5)
    with pytest.raises(ContractError, match="features returned rows of different lengths"):
        estimate_propensities(log, features=lambda seen: [[1.0] * (1 + row % 2) for row in range(len(seen))])
    with pytest.raises(ContractError, match="raised IndexError for features of all observations") as raised:
        estimate_propensities(log, features=lambda seen: seen[:, 3])
    assert isinstance(raised.value.__cause__, IndexError)
