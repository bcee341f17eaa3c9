import numpy as np

from understudy.envs import Grid


def test_the_observation_is_the_cell():
    env = Grid()
    assert (env.n_observations, env.observation_space.n, env.action_space.n) == (25, 25, 5)
    assert env.latent(np.arange(25)).tolist() == list(range(25))


def test_the_shortest_way_earns_three_tenths():
    env = Grid()
    env.reset(seed=0)
    steps = [env.step(action) for action in (1, 2) * 4]
    assert [step[0] for step in steps] == [5, 6, 11, 12, 17, 18, 23, 24]
    assert [step[2] for step in steps] == [False] * 7 + [True]
    assert round(sum(step[1] for step in steps), 9) == 0.3


def test_tables_are_made_once():
    env = Grid()
    assert env.tables() is env.tables()


def test_other_sizes_end_in_their_own_corner():
    assert Grid(size=3).optimal(1.0)[0].max().round(9) == 0.7
