import numpy as np
import pytest

from understudy.envs import Grid, record
from understudy.errors import LogError, PolicyError, SettingError
from understudy.evaluation.off_policy import off_policy
from understudy.learners import FixedPolicy
from understudy.logs import Log

MEANS = np.array([[0.2, 0.5, 0.9], [0.8, 0.1, 0.3], [0.4, 0.6, 0.5]])
LOGGER = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]])
TARGET = np.array([[0.1, 0.2, 0.7], [0.8, 0.1, 0.1], [0.2, 0.6, 0.2]])
TRUTH = float((MEANS * TARGET).sum(axis=1).mean())


LOGS = range(300)


def bandit_log(seed, n=400, propensity="all"):
    rng = np.random.default_rng(seed)
    context = rng.integers(0, 3, n)
    action = (rng.random((n, 1)) > LOGGER[context].cumsum(axis=1)).sum(axis=1)
    logged = {"all": LOGGER[context], "chosen": LOGGER[context, action], "none": None}[propensity]
    reward = (rng.random(n) < MEANS[context, action]).astype(float)
    return Log.from_columns(
        observation=context, action=action, reward=reward, propensity=logged, n_actions=3, ends="every-row"
    )


def covered(logs, level=0.95):
    found = [off_policy(log, TARGET, level=level) for log in logs]
    return {
        name: sum(one[name].low <= TRUTH <= one[name].high for one in found) for name in ("IPS", "SNIPS", "DM", "DR")
    }


def test_intervals_hold_the_truth_as_often_as_they_say():
    """300 logs, 95%: fewer than 270 or more than 298 have a probability of 1e-3 together, for a right interval."""
    for name, count in covered([bandit_log(seed) for seed in LOGS]).items():
        assert 270 <= count <= 298, name


def test_wrong_propensities_are_caught_by_the_same_test():
    logs = [bandit_log(seed) for seed in LOGS]
    uniform = [
        Log.from_columns(
            observation=log.observation, action=log.action, reward=log.reward,
            propensity=np.full((len(log), 3), 1 / 3), n_actions=3, ends="every-row",
        )
        for log in logs
    ]  # fmt: skip
    assert covered(uniform)["IPS"] < 270


def test_estimates_of_several_steps_are_right_on_average():
    """Each of 40 logs of 100 episodes gives an estimate: their mean is within 4 standard errors of the exact value."""
    env = Grid(3, slip=0.2)
    rng = np.random.default_rng(0)
    target = rng.dirichlet(4 * np.ones(5), 9)
    gamma = 0.8
    observations, weights = env.start_observations()
    truth = float(np.dot(weights, env.values(target, gamma)[observations]))
    found = [off_policy(record(env, episodes=100, seed=seed), target, gamma=gamma) for seed in range(40)]
    for name in ("IPS", "SNIPS", "DM", "DR"):
        values = np.array([one[name].value for one in found])
        bias = 0.01 if name in ("SNIPS", "DM") else 0.0  # both are biased in small logs
        assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(40) + bias, name
    spread = {name: np.std([one[name].value for one in found]) for name in ("IPS", "DR")}
    assert spread["DR"] < spread["IPS"]


def test_a_model_of_vectors_makes_estimates_steadier():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4, 3))

    def log_of(seed):
        rng = np.random.default_rng(seed)
        x, action = rng.normal(size=(500, 4)), rng.integers(0, 3, 500)
        reward = (x @ weights)[np.arange(500), action] + 0.1 * rng.normal(size=500)
        propensity = np.full((500, 3), 1 / 3)
        return Log.from_columns(
            observation=x, action=action, reward=reward, propensity=propensity, n_actions=3, ends="every-row"
        )

    def best(x):
        return np.eye(3)[(x @ weights).argmax()]

    truth = float((rng.normal(size=(200_000, 4)) @ weights).max(axis=1).mean())
    found = [off_policy(log_of(seed), best) for seed in range(30)]
    for name in ("IPS", "SNIPS", "DM", "DR"):
        values = np.array([one[name].value for one in found])
        assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(30) + 0.01
    assert np.std([one["DR"].value for one in found]) < 0.5 * np.std([one["IPS"].value for one in found])
    assert found[0]["IPS"].effective_episodes == pytest.approx(500 / 3, rel=0.2)
    assert found[0]["DM"].effective_episodes is None


def test_the_chosen_actions_propensity_is_enough():
    full, chosen = off_policy(bandit_log(0), TARGET), off_policy(bandit_log(0, propensity="chosen"), TARGET)
    for name in ("IPS", "SNIPS", "DM", "DR"):
        assert chosen[name] == full[name]


def test_without_propensities_the_model_is_left_and_says_so():
    found = off_policy(bandit_log(0, propensity="none"), TARGET)
    assert [one.name for one in found.estimates] == ["DM"]
    assert found.best.name == "DM"
    assert "no propensities were logged" in found.notes[0]
    with pytest.raises(SettingError, match="there is no estimate 'DR'; there is DM"):
        found["DR"]


def test_without_propensities_and_model_it_is_refused():
    rng = np.random.default_rng(0)
    log = Log.from_columns(
        observation=rng.normal(size=(40, 2)), action=np.zeros(40, int), reward=np.zeros(40),
        terminated=np.arange(40) % 2 == 1,
    )  # fmt: skip
    with pytest.raises(LogError, match="no estimator is left; give propensities"):
        off_policy(log, [1.0])


def test_policies_are_given_in_several_forms():
    log = bandit_log(0)
    assert off_policy(log, TARGET)["DR"] == off_policy(log, FixedPolicy(TARGET))["DR"]
    assert off_policy(log, lambda x: TARGET[x])["DR"] == off_policy(log, TARGET)["DR"]


@pytest.mark.parametrize(
    ("policy", "error", "words"),
    [
        ([0.5, 0.5], PolicyError, "there are 3 actions"),
        ([[0.5, 0.25, 0.25]], SettingError, "has 1 rows, and there are observations up to 2"),
        (np.zeros((2, 2, 2)), SettingError, "give the policy as a learner"),
        (lambda x: [1.0, 1.0, 0.0], PolicyError, "sums to 2"),
    ],
)
def test_what_is_not_a_policy_is_refused(policy, error, words):
    with pytest.raises(error, match=words):
        off_policy(bandit_log(0), policy)


def test_bad_settings_are_refused():
    with pytest.raises(SettingError, match="give a Log first"):
        off_policy(TARGET, bandit_log(0))
    with pytest.raises(LogError, match="the log has 6 episodes, and 5 folds need 10"):
        off_policy(bandit_log(0, n=6), TARGET)
    with pytest.raises(SettingError, match="gamma"):
        off_policy(bandit_log(0), TARGET, gamma=1.5)


def test_few_effective_episodes_and_unsupported_actions_are_said():
    log = bandit_log(0, n=60)
    rare = off_policy(log, [0.0, 0.0, 1.0])
    assert "the weights are worth" in rare.notes[-1]
    columns = dict(log.columns)
    columns["propensity"] = np.where(np.arange(3) == 2, 0, LOGGER[log.observation])
    columns["propensity"] /= columns["propensity"].sum(axis=1, keepdims=True)
    columns["action"] = np.minimum(log.action, 1)
    never = off_policy(Log.from_columns(**columns, n_actions=3), TARGET)
    assert "is on actions that could not be taken" in never.notes[0]


def test_results_are_shown_and_converted():
    found = off_policy(bandit_log(0), TARGET)
    assert str(found).startswith("off-policy estimates of what an episode earns, from 400 episodes\n  IPS   ")
    assert found.to_frame().column_names[0] == "estimator"
    assert found.to_frame()["estimator"].to_pylist() == ["IPS", "SNIPS", "DM", "DR"]
    assert found.to_json()["estimates"][3]["name"] == "DR"
    assert "<td" in found._repr_html_()
