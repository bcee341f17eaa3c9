import numpy as np
import pytest
from scipy.stats import chisquare

from understudy.contracts.streams import ACCEPTANCE, streams_of, uniform
from understudy.envs import CounterGrid, Grid, HistoryGrid, NoisyGrid, record
from understudy.envs.grid_tables import cumulated
from understudy.envs.rollout import DTYPES, NEVER, Rows, walk
from understudy.errors import PolicyError, SettingError

UNIFORM = np.full((25, 5), 0.2)


def same(one, other):
    return all(np.array_equal(one[name], other[name]) for name in one)


def test_a_thousand_uniform_episodes_are_as_long_as_the_exact_answer():
    # 5 standard errors: wrong once in two million seeds
    _, length = np.unique(Grid().rollout(UNIFORM, 1000, seed=1)["episode"], return_counts=True)
    exact = (1 - Grid().values(UNIFORM, 1.0)[0]) / 0.1 + 1
    assert abs(length.mean() - exact) < 5 * length.std() / np.sqrt(1000)


def test_the_discounted_return_has_the_exact_mean():
    env = NoisyGrid(2, slip=0.1)
    policy = np.random.default_rng(0).dirichlet(np.ones(5), size=env.n_observations)
    columns = env.rollout(policy, 4000, seed=2)
    returns = np.bincount(columns["episode"], columns["reward"] * 0.95 ** columns["step"])
    codes, chance = env.start_observations()
    exact = chance @ env.values(policy, 0.95)[codes]
    assert abs(returns.mean() - exact) < 5 * returns.std() / np.sqrt(4000)


def test_actions_obey_the_policy_and_noise_is_uniform():
    env = NoisyGrid(3)
    policy = np.tile([0.1, 0.3, 0.35, 0.05, 0.2], (env.n_observations, 1))
    columns = env.rollout(policy, seed=4, steps=100_000)
    count = np.bincount(columns["action"])
    assert chisquare(count, 100_000 * policy[0]).pvalue > 1e-3
    assert chisquare(count, 100_000 * np.array([0.1, 0.3, 0.34, 0.06, 0.2])).pvalue < 1e-6
    ends = columns["next_observation"][columns["terminated"]]
    for shown in (columns["observation"], columns["observation"][columns["step"] == 0], ends):
        assert chisquare(np.bincount(shown // 25, minlength=8)).pvalue > 1e-3


def test_propensity_is_the_policy_at_each_row():
    policy = np.random.default_rng(0).dirichlet(np.ones(5), size=25)
    columns = Grid().rollout(policy, 10, seed=0)
    assert np.allclose(columns["propensity"], policy[columns["observation"]], rtol=1e-15)


@pytest.mark.parametrize("env", [NoisyGrid(3), CounterGrid(4), HistoryGrid(1)])
def test_an_episode_goes_on_where_it_was(env):
    columns = env.rollout(np.full((env.n_observations, 5), 0.2), 50, seed=5)
    inside = np.flatnonzero(np.diff(columns["episode"]) == 0)
    assert np.array_equal(columns["next_observation"][inside], columns["observation"][inside + 1])
    assert np.array_equal(columns["step"][inside] + 1, columns["step"][inside + 1])
    last = np.delete(np.arange(len(columns["step"])), inside)
    assert columns["terminated"][last].all()
    assert columns["terminated"].sum() == len(last) == 50


def test_a_cap_truncates_with_the_ordinary_reward():
    columns = Grid(max_episode_steps=30).rollout(UNIFORM, 200, seed=6)
    cut = columns["truncated"]
    assert cut.any()
    assert columns["terminated"].any()
    assert (columns["step"][cut] == 29).all()
    assert (columns["reward"][cut] == -0.1).all()
    assert not (cut & columns["terminated"]).any()
    assert (cut | columns["terminated"]).sum() == 200
    assert same(columns, Grid().rollout(UNIFORM, 200, seed=6, max_episode_steps=30))
    assert same(columns, Grid(max_episode_steps=30).rollout(UNIFORM, 200, seed=6, max_episode_steps=40))


def test_an_episode_that_ends_at_the_cap_is_terminated_only():
    policy = UNIFORM.copy()
    policy[[0, 1, 2, 3]], policy[[4, 9, 14, 19]] = np.eye(5)[2], np.eye(5)[1]
    columns = Grid().rollout(policy, 1, max_episode_steps=8)
    assert columns["terminated"].tolist() == [False] * 7 + [True]
    assert not columns["truncated"].any()


def test_a_seed_is_a_rollout():
    assert same(Grid().rollout(UNIFORM, 20, seed=7), Grid().rollout(UNIFORM, 20, seed=7))
    assert not np.array_equal(
        Grid().rollout(UNIFORM, 20, seed=7)["action"], Grid().rollout(UNIFORM, 20, seed=8)["action"]
    )


def test_a_log_shares_no_random_number_with_a_run_of_its_seed():
    run = streams_of(7)
    numbers = np.array([uniform(run, ACCEPTANCE) for _ in range(200)])
    assert not np.array_equal(Grid().rollout(UNIFORM, seed=7, steps=200)["action"], (5 * numbers).astype(int))


def test_steps_cut_the_last_episode_off_and_pieces_leave_no_seam():
    columns, longer = Grid().rollout(UNIFORM, seed=8, steps=100_000), Grid().rollout(UNIFORM, 1000, seed=8)
    assert len(columns["action"]) == 100_000
    assert not columns["terminated"][-1]
    assert not columns["truncated"][-1]
    assert same(columns, {name: column[:100_000] for name, column in longer.items()})


def test_the_compiled_walk_is_the_interpreted_one():
    env = NoisyGrid(2, slip=0.3)
    policy = cumulated(np.random.default_rng(0).dirichlet(np.ones(5), size=env.n_observations))
    walks = []
    for kernel in (walk, walk.py_func):
        rows = Rows(*(np.zeros(500, dtype) for dtype in DTYPES))
        assert kernel(env.tables(), policy, streams_of(9), np.zeros(4, dtype=np.int64), NEVER, 40, rows) == 500
        walks.append(rows._asdict())
    assert same(*walks)


def test_an_endless_rollout_is_refused():
    stay = np.eye(5)[np.zeros(25, dtype=int)]
    with pytest.raises(SettingError, match="give max_episode_steps"):
        Grid().rollout(stay, 1)
    assert len(Grid().rollout(stay, 2, max_episode_steps=3)["action"]) == 6
    assert len(Grid().rollout(stay, steps=5)["action"]) == 5


@pytest.mark.parametrize("limits", [{}, {"episodes": 0}, {"steps": 0}, {"episodes": 1, "max_episode_steps": 0}])
def test_a_rollout_of_nothing_is_refused(limits):
    with pytest.raises(SettingError, match=r"rollout needs|a whole number from 1"):
        Grid().rollout(UNIFORM, **limits)


def test_what_is_no_policy_is_refused():
    with pytest.raises(PolicyError):
        Grid().rollout(np.ones((25, 5)), 1)


@pytest.mark.parametrize("limit", ["episodes", "steps", "max_episode_steps"])
@pytest.mark.parametrize("number", [0, 2**63, 10**400])
def test_limits_that_cannot_be_counted_to_are_refused_in_a_sentence(limit, number):
    options = {"episodes": 1} if limit == "max_episode_steps" else {}
    with pytest.raises(SettingError, match=f"{limit} is .*; give {limit}=, a whole number from 1"):
        Grid().rollout(UNIFORM, **options, **{limit: number})
    with pytest.raises(SettingError, match=f"{limit} is .*; give {limit}=, a whole number from 1"):
        record(Grid(), **options, **{limit: number})
