import numpy as np

import understudy as us
from paper import grids


def test_the_authors_cap_ends_an_episode_and_loses_the_reward():
    env = us.envs.Grid()
    capped, free = grids.record(env, 50, 0, cap=40), grids.record(env, 50, 0)
    last = capped.starts[1:] - 1
    cut = capped.starts[1:] - capped.starts[:-1] == 40
    lost = cut & (capped.reward[last] == 0.0)
    assert lost.any()
    assert capped.terminated[last].all()
    assert not capped.truncated.any()
    assert (capped.reward[last][~lost] == 1.0).all()
    assert us.psrs(capped).settings["max_episode_steps"] is None
    assert (np.diff(free.starts) > 40).any()
    assert not (free.reward == 0.0).any()


def test_two_factories_have_the_same_logs_for_the_same_seed():
    env = us.envs.Grid()
    psrs, qbe = (grids.on_own_logs(simulator, env, 20) for simulator in (us.psrs, us.qbe))
    assert psrs(3).log.fingerprint == qbe(3).log.fingerprint != psrs(4).log.fingerprint
