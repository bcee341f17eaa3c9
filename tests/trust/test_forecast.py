"""Forecasts are right about the runs that follow, and say what their interval is."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.contracts import Exhausted, Stop
from understudy.trust.forecast import enough, median_length, prediction_interval

ENV = us.envs.Grid(slip=0.1)
LOG = us.record(ENV, episodes=100, seed=0)


def make(seed):
    return us.learners.QLearning(25, 5, epsilon=0.9, alpha=0.5, gamma=0.95, seed=seed)


class Even:
    """A learner in plain Python, whose policy is uniform."""

    def policy(self, observation):
        return np.full(5, 0.2)

    def learn(self, step):
        pass


@pytest.mark.parametrize("simulator", [us.psrs(LOG), us.qbe(LOG), us.qbe(LOG, stop="plain"), us.any_row(LOG)])
def test_the_runs_that_follow_are_as_long_as_forecast(simulator):
    found = us.forecast(simulator, make, seed=1)
    runs = us.experiment(simulator, make, runs=100, seed=1)
    assert abs(found.steps / np.median(runs.lengths) - 1) < 0.1
    low, high = found.interval
    assert 0.75 < np.mean((low <= runs.lengths) & (runs.lengths <= high)) <= 1  # 90% in the mean over forecasts
    assert abs(found.episodes - np.median([len(run.ends) for run in runs])) < 10
    what = next(iter(found.runs_out))
    assert us.efficiency(runs).stops[what] > 10
    assert sum(found.runs_out.values()) == pytest.approx(1)


def test_the_interval_holds_the_next_length_as_often_as_it_says():
    """Of 4,000 next lengths 90% lie in it, give or take 1.5 (three standard errors); sample quantiles hold less."""
    rng = np.random.default_rng(0)
    held, naive, levels = [], [], set()
    for _ in range(4000):
        lengths = np.sort(rng.geometric(0.001, size=19))
        low, high, level = prediction_interval(lengths)
        following = rng.geometric(0.001)
        held.append(low <= following <= high)
        naive.append(np.quantile(lengths, 0.05) <= following <= np.quantile(lengths, 0.95))
        levels.add(level)
    assert levels == {0.9}
    assert abs(np.mean(held) - 0.9) < 0.015
    assert np.mean(naive) < 0.885


@pytest.mark.parametrize(("n", "level"), [(2, 1 / 3), (5, 2 / 3), (19, 0.9), (30, 29 / 31), (39, 0.9), (79, 0.9)])
def test_the_interval_says_how_sure_it_is(n, level):
    low, high, found = prediction_interval(np.arange(1, n + 1))
    assert found == pytest.approx(level)
    assert low == n + 1 - high


def test_the_median_is_steadier_than_the_middle_length():
    """Over 2,000 samples its error is smaller than that of the middle one, and it is not off by more than 3%."""
    rng = np.random.default_rng(1)
    samples = np.sort(np.exp(rng.normal(6, 0.3, size=(2000, 19))), axis=1)
    ours, middle = np.array([median_length(sample) for sample in samples]), np.median(samples, axis=1)
    assert abs(ours.mean() / np.exp(6) - 1) < 0.03
    assert ours.std() < 0.95 * middle.std()


def test_more_pre_runs_are_made_where_lengths_differ_more():
    rng = np.random.default_rng(2)
    made = [enough(np.sort(1000 * np.exp(rng.normal(0, spread, 19)))) for spread in (0.1, 0.6, 2.0)]
    assert made[0] == 19 < made[1] <= made[2] == 79
    rare = us.record(ENV, lambda x: np.array([0.1, 0.4, 0.3, 0.1, 0.1]), episodes=50, seed=0)
    assert us.forecast(us.qbe(rare), make).pre_runs > 19
    assert us.forecast(us.qbe(rare), make, pre_runs=5).pre_runs == 5


def test_pre_runs_have_seeds_that_no_experiment_uses():
    seeds = []

    def noting(seed):
        seeds.append(seed)
        return make(seed)

    us.forecast(us.psrs(LOG), noting, seed=1)
    runs = us.experiment(us.psrs(LOG), make, runs=100, seed=1, max_steps=1)
    assert len(set(seeds)) == 19
    assert not {run.seed for run in runs} & set(seeds)


def test_a_forecast_depends_on_its_seed_alone():
    assert us.forecast(us.psrs(LOG), make, seed=3) == us.forecast(us.psrs(LOG), make, seed=3, workers=1)
    assert us.forecast(us.psrs(LOG), make, seed=3) != us.forecast(us.psrs(LOG), make, seed=4)


def test_learners_in_plain_python_and_neural_ones_are_forecast():
    found = us.forecast(us.states_only(LOG), lambda seed: Even(), pre_runs=3, workers=1)
    assert (found.steps, found.interval, found.episodes) == (len(LOG), (len(LOG), len(LOG)), 100)
    assert found.runs_out == {"every logged opening observation has been used": 1.0}
    found = us.forecast(
        us.qbe(LOG), lambda seed: us.learners.PPO(LOG.spec, hidden=(4,), seed=seed), pre_runs=2, max_steps=50
    )
    assert found.steps == 50


def test_a_learner_with_its_own_loop_is_forecast_up_to_where_it_ends():
    def walk(env, seed):
        env.reset()
        for _ in range(30):
            if any(env.step(1)[2:4]):
                env.reset()

    found = us.forecast(us.qbe(LOG), us.learners.script(walk), pre_runs=3, workers=1)
    assert (found.steps, found.interval, found.n_limited, found.runs_out) == (30, (30, 30), 3, {})
    assert "at least 30 steps" in str(found)
    assert "3 pre-runs were stopped by max_steps or the learner" in str(found)
    assert "1 pre-run was stopped by max_steps or the learner" in str(replace(found, n_limited=1))


def test_pre_runs_that_max_steps_stops_are_told_apart():
    found = us.forecast(us.psrs(LOG), make, max_steps=100)
    assert (found.steps, found.interval, found.n_limited, found.runs_out) == (100, (100, 100), 19, {})
    assert "at least 100 steps" in str(found)


def test_a_log_that_answers_nothing_is_said_to():
    log = us.Log.from_columns(
        observation=[0, 0], action=[0, 0], reward=[0.0, 0.0], terminated=[True, True], n_actions=2,
        next_observation=[0, 0], episode=[0, 1],
    )  # fmt: skip
    found = us.forecast(us.qbe(log), lambda seed: us.learners.Uniform(2), steps=10)
    assert (found.steps, found.interval, found.episodes) == (0, (0, 0), 0)
    assert found.runs_out == {"observation=0 has no row left with action=1": 1.0}
    assert found.episodes_needed is None
    assert "cannot be told" in str(found)


def test_a_log_of_one_endless_episode_is_forecast():
    action = np.random.default_rng(0).integers(2, size=400)
    place = np.cumsum(np.append(0, 2 * action - 1)) % 5  # around a circle
    log = us.Log.from_columns(
        observation=place[:-1], action=action, reward=np.zeros(400), next_observation=place[1:],
        terminated=np.zeros(400, bool), propensity=np.full((400, 2), 0.5),
    )  # fmt: skip
    found = us.forecast(us.psrs(log), lambda seed: us.learners.FixedPolicy([0.4, 0.6]), steps=1000)
    assert 0 < found.steps < 400
    assert found.episodes == 0
    assert found.episodes_needed in (3, 4)  # logs as long as this one


def test_what_never_runs_out_is_not_forecast():
    for simulator in (us.model(LOG), us.real(ENV)):
        with pytest.raises(us.SettingError, match="uses up no rows, so there is no length to forecast"):
            us.forecast(simulator, make)


@pytest.mark.parametrize(
    ("error", "match", "arguments"),
    [
        (us.ContractError, "not a simulator", {"simulator": lambda seed: us.psrs(LOG)}),
        (us.ContractError, "not a simulator", {"simulator": LOG}),
        (us.ContractError, "seed -> learner", {"make": make(0)}),
        (us.ContractError, "not a learner", {"make": lambda seed: 3}),
        (us.SettingError, "pre_runs is 1", {"pre_runs": 1}),
        (us.SettingError, "steps is 0", {"steps": 0}),
        (us.SettingError, "seed is 0.5", {"seed": 0.5}),
        (us.SettingError, "workers is 0", {"workers": 0}),
        (us.SettingError, "max_steps is -1", {"max_steps": -1}),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(error, match, arguments):
    with pytest.raises(error, match=match):
        us.forecast(**({"simulator": us.psrs(LOG), "make": make} | arguments))


class Short:
    """A simulator of somebody else's: three steps, and no log."""

    n_actions = 5

    def start(self, seed):
        self.left = 3
        return self

    def begin(self):
        return 0

    def step(self, policy):
        if not self.left:
            raise Exhausted(Stop("no row"))
        self.left -= 1
        return us.Step(0, 0, 0.0, 0, False, False, -1, -1)


def test_simulators_of_others_are_forecast_but_cannot_repeat_a_log_they_do_not_have():
    found = us.forecast(Short(), lambda seed: Even(), pre_runs=3, workers=1)
    assert (found.steps, found.runs_out) == (3, {"every logged row has been used": 1.0})
    with pytest.raises(us.SettingError, match="cannot repeat its log"):
        us.forecast(Short(), lambda seed: Even(), steps=10, pre_runs=3, workers=1)


def test_a_forecast_is_a_sentence_a_table_json_and_a_frame():
    found = us.forecast(us.qbe(LOG), make, steps=20_000)
    assert f"{found.steps:,} steps" in repr(found)
    assert "steps with a chance of 90%" in str(found)
    assert json.loads(json.dumps(found.to_json()))["episodes_needed"] == found.episodes_needed
    frame = pl.from_arrow(found.to_frame())
    assert frame["runs_out"].to_list() == list(found.runs_out)
    assert frame["steps"].unique().to_list() == [found.steps]
    assert frame["episodes_needed"][0] == found.episodes_needed
    table = found.table(most=1)
    assert len(table.rows) == 1
    assert ("other things" in " ".join(table.notes)) == (len(found.runs_out) > 1)
    assert "what runs out first" in found._repr_html_()
    limited = us.forecast(us.qbe(LOG), make, max_steps=10)
    assert limited.to_frame().to_pydict()["runs_out"] == [None]
    assert limited.needed is limited.episodes_needed is None
