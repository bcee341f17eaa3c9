import numpy as np
import pytest
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv

from benchmarks.beyond import tables
from understudy.envs import FiniteEnv
from understudy.envs.solve import probabilities

ALL = {
    make.__name__: make
    for make in (
        tables.frozen_lake,
        tables.cliff_walking,
        tables.taxi,
        tables.inventory,
        tables.two_servers,
        tables.navigation,
        tables.treatment,
        tables.maintenance,
        tables.hill_car,
    )
}
GAMMA, STEPS = 0.9, 150  # what comes later than these steps is worth less than 2e-7 of what comes now
Z = 3.9  # |z| above it has a probability of 1e-4


@pytest.mark.parametrize("name", ALL)
def test_tables_are_stochastic(name):
    found = ALL[name]()
    n_states = len(found.start)
    assert (found.outcome[..., -1] == 1.0).all()
    assert found.start[-1] == 1.0
    assert (probabilities(found.outcome) >= 0).all()
    assert (probabilities(found.start) >= 0).all()
    assert ((found.next_state >= 0) & (found.next_state < n_states)).all()


def z_of(env, policy, values, episodes):
    """How far the mean discounted return of so many real episodes is from values, in standard errors."""
    rows = env.rollout(policy, episodes=episodes, seed=3, max_episode_steps=STEPS)
    returns = np.bincount(rows["episode"], rows["reward"] * GAMMA ** rows["step"])
    codes, weights = env.start_observations()
    return (returns.mean() - weights @ values[codes]) / (returns.std() / np.sqrt(len(returns)))


@pytest.mark.parametrize("name", ALL)
def test_values_by_solving_are_the_mean_of_real_episodes(name):
    env = FiniteEnv(ALL[name]())
    episodes = 20_000 if name == "treatment" else 2_000  # policies hardly differ there, and episodes are short
    uniform = np.full((env.n_observations, env.n_actions), 1 / env.n_actions)
    best = np.eye(env.n_actions)[env.optimal(GAMMA).argmax(axis=1)]
    soft = 0.5 * uniform + 0.5 * best
    assert abs(z_of(env, soft, env.values(soft, GAMMA), episodes)) < Z
    assert abs(z_of(env, soft, env.values(best, GAMMA), episodes)) > Z  # values of another policy are caught


@pytest.mark.parametrize(
    ("name", "env"),
    [
        ("frozen_lake", FrozenLakeEnv(map_name="4x4", is_slippery=True)),
        ("cliff_walking", CliffWalkingEnv(is_slippery=True)),
        ("taxi", TaxiEnv()),
    ],
)
def test_toy_problems_are_gymnasiums(name, env):
    found = ALL[name]()
    chance = probabilities(found.outcome)
    for state, actions in env.P.items():
        for action, listed in actions.items():
            theirs, ours = {}, {}
            for p, *rest in listed:
                theirs[tuple(map(float, rest))] = theirs.get(tuple(map(float, rest)), 0) + p
            for k in np.flatnonzero(chance[state, action] > 1e-12):
                key = tuple(float(column[state, action, k]) for column in found[2:5])
                ours[key] = ours.get(key, 0) + chance[state, action, k]
            assert ours == pytest.approx(theirs)


def test_rounding_keeps_the_mean_of_place_and_speed():
    found, shown = tables.hill_car(), tables.place_and_speed()
    middle = 15 + 31 * 8  # at rest, left of the valley's lowest place
    after = [
        (probabilities(found.outcome)[middle, a][:, None] * shown[found.next_state[middle, a]]).sum(axis=0)
        for a in range(3)
    ]
    place, speed = -1.2 + 1.8 * after[1][0], -0.07 + 0.14 * after[1][1]
    x, v = -0.3, 0.0
    for _ in range(4):
        v += -0.0025 * np.cos(3 * x)
        x += v
    assert (place, speed) == pytest.approx((x, v))
    assert after[0][1] < after[1][1] < after[2][1]


def test_nobody_walks_through_the_wall():
    found = tables.navigation()
    column, row = np.arange(400) % 20, np.arange(400) // 20
    crosses = (column[:, None, None] < 10) != (column[found.next_state] < 10)
    possible = probabilities(found.outcome) > 0
    assert set(row[(crosses & possible).any(axis=(1, 2))]) == set(tables.GAP)


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (tables.inventory, tables.stock), (tables.two_servers, tables.lines), (tables.navigation, tables.position),
        (tables.maintenance, tables.wear_and_load), (tables.hill_car, tables.place_and_speed),
    ],
)  # fmt: skip
def test_what_is_shown_tells_states_apart(make, shown):
    assert len(np.unique(shown(), axis=0)) == len(make().start)
