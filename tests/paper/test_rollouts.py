import numpy as np
import pytest

import understudy as us
from paper import continuous_grid
from paper.grids import soft_policy, states
from paper.rollouts import ENCODERS, Episode, different, episodes_in, moves_of, parted, wilson


def test_a_simulation_by_true_cells_never_parts_and_one_that_merges_them_does(quick):
    _, item = quick("rollouts")
    share = dict(zip(ENCODERS, item.tables[0].columns["ever, %"], strict=True))
    assert share[continuous_grid.ORACLE] == 0
    assert share[continuous_grid.FORWARD] < 20 < share[continuous_grid.HOMER]
    assert item.claims[0].holds


def test_an_episode_is_what_the_log_says():
    env = us.envs.ContinuousGrid(3)
    log = continuous_grid.record(env, 2_000, seed=1)
    policy = us.learners.FixedPolicy(soft_policy(env.grid, continuous_grid.GAMMA, 0.3), encoder=states(env))
    run = us.simulate(
        us.psrs(log, us.encoders.Function(lambda x: np.zeros(len(x), int))), policy, seed=2, max_steps=200
    )
    episodes = episodes_in(run, log, env)
    assert len(episodes) == len(run.ends)
    assert sum(len(episode.possible) for episode in episodes) == run.ends[-1]
    for episode in episodes:
        assert episode.cells[0] == episode.true_cells[0] == 0
        assert episode.cells[-1] == 8  # it ends where the log says
        agree = episode.parts is None
        assert agree == bool((episode.cells == episode.true_cells).all())
        assert not agree or episode.possible.all()
    assert 0 < parted(episodes) <= 1  # one state for all cells jumps about


def test_where_an_episode_parts():
    served, possible = np.zeros((4, 2)), np.ones(3, bool)
    apart = Episode(served, np.array([0, 1, 2, 3]), np.array([0, 1, 6, 6]), possible)
    together = Episode(served, np.arange(4), np.arange(4), possible)
    assert (apart.parts, together.parts) == (2, None)
    low, high = wilson([apart, together, together, together])
    assert low < 25 < high
    assert wilson([together] * 10)[0] == pytest.approx(0)


def test_moves_are_counted_as_possible_or_not_and_the_true_ones_end_at_the_goal():
    served = np.zeros((4, 2))
    jumps = Episode(served, np.array([0, 1, 8, 8]), np.array([0, 1, 1, 4]), np.array([True, False, True]))
    walks = Episode(served, np.array([0, 1, 5, 8]), np.array([0, 5, 8, 8]), np.ones(3, bool))
    moves = moves_of({continuous_grid.HOMER: [jumps, walks], continuous_grid.ORACLE: [walks]}, 9)
    true, homer, oracle = moves.values()
    assert (true[0].sum(), true[1].sum()) == (5, 0)  # the second is at the goal after two steps
    assert np.argwhere(homer[1]).tolist() == [[1, 8]]
    assert homer[0][0, 1] == 2
    assert oracle[1].sum() == 0
    assert list(moves)[1] == "PSRS, Homer: 16.7% of moves impossible"


@pytest.mark.parametrize(
    ("homer", "oracle", "merges", "holds"),
    [(0.7, 0.0, True, True), (0.0, 0.0, True, False), (0.7, 0.1, True, False), (0.7, 0.0, False, None)],
)
def test_nothing_is_told_of_combined_cells_where_none_are(homer, oracle, merges, holds):
    assert different({continuous_grid.HOMER: homer, continuous_grid.ORACLE: oracle}, merges) is holds


def test_the_policy_is_soft_about_the_best_actions():
    env = us.envs.ContinuousGrid()
    policy = soft_policy(env.grid, continuous_grid.GAMMA, 0.3)
    assert np.allclose(policy.sum(axis=1), 1)
    assert policy[0] == pytest.approx([0.06, 0.41, 0.41, 0.06, 0.06])
