import numpy as np
import pytest
from scipy.stats import kstest, norm

from understudy.encoders.sufficiency import (
    dependence,
    explained,
    holm,
    independence,
    observation_blocks,
    outcome_blocks,
    sampled,
    sufficiency,
)
from understudy.envs import ContinuousGrid, CounterGrid
from understudy.logs import Log


def p_values(draw, n=300, strata=None, **options):
    """P-values of draws of (left, right, strata), one for each seed."""
    values = []
    for seed in range(n):
        rng = np.random.default_rng(seed)
        left, right, own = draw(rng)
        values.append(independence([left], [right], own if strata is None else strata, rng, **options))
    return np.array(values)


def null(rng):
    """Independent given the stratum; both depend on it, and the right side is skewed and sometimes constant."""
    strata = np.repeat([0, 1, 2], [25, 40, 60])
    left = rng.normal(size=(125, 3)) + strata[:, None]
    right = np.stack([rng.exponential(size=125) * (1 + strata), strata * (rng.random(125) < 0.3)], axis=1)
    return left, right, strata


def test_p_values_are_uniform_where_the_sides_are_independent():
    # 400 p-values: Kolmogorov-Smirnov rejects once in a thousand; the wrong variant forgets the strata
    values = p_values(null, 400)
    assert kstest(values, "uniform").pvalue > 1e-3
    wrong = p_values(null, 100, strata=np.zeros(125, dtype=int))
    assert kstest(wrong, "uniform").pvalue < 1e-6


def test_the_tail_beyond_the_permutations_is_right(monkeypatch):
    # Below .01 the gamma law speaks: of 1,500 null p-values 15 are expected, more than 32 or fewer than 3 once in
    # 10,000 times. The wrong variant is a normal law.
    values = p_values(null, 1500, permutations=99)
    assert 3 <= (values < 0.01).sum() <= 32
    monkeypatch.setattr("scipy.stats.gamma.sf", lambda x, shape, scale: norm.sf(x, shape * scale, shape**0.5 * scale))
    assert (p_values(null, 1500, permutations=99) < 0.01).sum() > 32


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("mean", lambda x, noise: x[:, :1] + noise),
        ("spread", lambda x, noise: (1 + np.abs(x[:, :1])) * noise),
        ("one in ten", lambda x, noise: (x[:, :1] > 1.28) * 3 + noise),
    ],
)
def test_dependence_is_found(name, right):
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, strata = rng.normal(size=(600, 2)), rng.integers(0, 3, 600)
        y = right(x, rng.normal(size=(600, 1)))
        found.append(independence(observation_blocks(x, rng), observation_blocks(y, rng), strata, rng) < 0.01)
    assert np.mean(found) >= 0.9, name


def test_nothing_varies_nothing_is_found():
    rng = np.random.default_rng(0)
    x, flat, strata = rng.normal(size=(50, 2)), np.ones((50, 1)), np.zeros(50, dtype=int)
    assert independence([x], [flat], strata, rng) == independence([flat], [x], strata, rng) == 1
    assert explained([x], [flat], strata) == explained([flat], [x], strata) == 0


def test_groups_count_alike_whatever_their_width():
    # A group of a hundred columns of noise does not drown the one that tells.
    rng = np.random.default_rng(0)
    x, strata = rng.normal(size=(200, 1)), np.zeros(200, dtype=int)
    noise = 100 * rng.normal(size=(200, 100))
    assert independence([x], [noise, x + rng.normal(size=(200, 1))], strata, rng) < 1e-4


def test_what_is_explained_is_a_share_of_rows_not_fitted():
    rng = np.random.default_rng(0)
    x, strata = rng.normal(size=(4000, 3)), rng.integers(0, 2, 4000)
    y = x[:, :1] + rng.normal(size=(4000, 1))
    assert explained([x], [y, rng.normal(size=(4000, 1))], strata) == pytest.approx(0.5, abs=0.04)
    assert explained([x], [rng.normal(size=(4000, 2))], strata) < 0.01


GRID = ContinuousGrid(size=3)


@pytest.fixture(scope="module")
def log():
    return Log.from_columns(**GRID.rollout_cells(np.full((9, 5), 0.2), steps=20_000, seed=3))


def test_true_states_pass():
    # 8 states of 12 logs: 96 p-values; Kolmogorov-Smirnov rejects once in a thousand
    values = []
    for seed in range(12):
        log = Log.from_columns(**GRID.rollout_cells(np.full((9, 5), 0.2), steps=4000, seed=seed))
        values.append(sufficiency(log, GRID.latent(log.observation), seed).p_value)
    values = np.concatenate(values)
    assert len(values) == 96
    assert kstest(values, "uniform").pvalue > 1e-3


def test_merged_cells_are_found_and_only_they(log):
    states = np.where(GRID.latent(log.observation) == 5, 2, GRID.latent(log.observation))
    found = sufficiency(log, states)
    assert found.p_value[found.state == 2] < 1e-9
    assert found.p_value[found.state != 2].min() > 1e-4  # false alarm: once in 1,700 logs
    assert found.explained[found.state == 2] > 0.2
    assert found.explained[found.state != 2].max() < 0.02


def test_a_border_in_the_wrong_place_is_found(log):
    x = log.observation
    shifted = np.clip(x - [0.02, 0], 0, 1)  # 6% of a cell's width
    found = sufficiency(log, GRID.latent(shifted))
    assert (holm(found.p_value) < 0.01).sum() >= 4


def test_a_counter_that_was_dropped_is_found():
    env = CounterGrid(4, size=3)
    log = Log.from_columns(**env.rollout(np.full((env.n_observations, 5), 0.2), 200, seed=0))
    cell, _ = env.split(log.observation)
    assert (holm(sufficiency(log, cell).p_value) < 0.01).all()
    assert (sufficiency(log, log.observation).p_value == 1).all()


def test_a_difference_in_reward_only_is_found_in_two_dimensions_and_in_two_hundred():
    rng = np.random.default_rng(0)
    n = 3000
    for width in (2, 200):
        bit = rng.integers(0, 2, n)
        x = rng.normal(size=(n, width)) + 2 * bit[:, None]
        log = Log.from_columns(
            observation=x,
            action=rng.integers(0, 2, n),
            reward=bit + rng.normal(size=n),
            next_observation=rng.normal(size=(n, width)),
            terminated=np.ones(n, bool),
        )
        assert sufficiency(log, np.zeros(n, dtype=int)).p_value[0] < 1e-6


def test_images_are_tested():
    # A bright patch whose place decides what follows; noise everywhere.
    rng = np.random.default_rng(0)
    n, place = 800, rng.integers(0, 2, 800)

    def image(place):
        picture = rng.integers(0, 60, (len(place), 8, 8), dtype=np.uint8)
        picture[np.arange(len(place)), 3 * place + 1] += 150
        return picture

    x, following = image(place), image(1 - place)
    log = Log.from_columns(
        observation=x, action=np.zeros(n, int), reward=np.zeros(n), next_observation=following,
        truncated=np.ones(n, bool),
    )  # fmt: skip
    assert sufficiency(log, np.zeros(n, dtype=int)).p_value[0] < 1e-6
    assert sufficiency(log, place).p_value.min() > 0.001


def test_what_follows_termination_does_not_count():
    # Terminated rows without a next observation show their own, which x predicts perfectly.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    columns = {"observation": x, "action": np.zeros(400, int), "reward": np.zeros(400), "next_observation": x}
    log = Log.from_columns(**columns, terminated=np.ones(400, bool))
    assert sufficiency(log, np.zeros(400, dtype=int)).p_value[0] == 1
    cut = Log.from_columns(**columns, truncated=np.ones(400, bool))
    assert sufficiency(cut, np.zeros(400, dtype=int)).p_value[0] < 1e-6
    over = outcome_blocks(log, np.arange(400), rng)
    assert not any(block.any() for block in over[2:])


def test_small_strata_say_nothing(log):
    rng = np.random.default_rng(0)
    strata = np.repeat([0, 1, 2], [5, 30, 2000])
    kept = sampled(np.arange(2035), strata, rng, most=100, fewest=20)
    assert np.bincount(strata[kept]).tolist() == [0, 30, 100]
    few = sufficiency(log, np.where(np.arange(len(log)) < 15, 1, 0))
    assert np.isnan(few.p_value[1])
    assert few.rows.tolist() == [len(log) - 15, 15]


def test_rows_without_a_state_are_left_out_and_only_asked_for_states_are_tested(log):
    cells = GRID.latent(log.observation)
    found = sufficiency(log, np.where(cells == 4, -1, cells), only=[0, 1])
    assert found.state.tolist() == [0, 1, 2, 3, 5, 6, 7]
    assert np.isfinite(found.p_value).tolist() == [True, True, False, False, False, False, False]


def test_a_seed_is_a_result(log):
    cells = GRID.latent(log.observation)
    one, again = (sufficiency(log, cells, seed=4).p_value for _ in range(2))
    assert np.array_equal(one, again)


def test_holm_keeps_the_level_over_many():
    # 2,000 times 20 null p-values: one in a hundred times is any below .01; more than 37 once in 10,000.
    p = np.random.default_rng(0).random((2000, 20))
    assert sum((holm(row) < 0.01).any() for row in p) <= 37
    assert (p.min(axis=1) < 0.01).sum() > 37  # without adjusting


def test_several_right_sides_share_the_permutations_of_the_left():
    """The statistic is the sum over strata of squared covariances of leveled blocks, however many sides there are."""
    rng, strata = np.random.default_rng(0), np.repeat([0, 1], [40, 60])
    left, narrow, wide = (
        [rng.normal(size=(100, 3))],
        [rng.normal(size=(100, 1))],
        [rng.normal(size=(100, w)) for w in (2, 4)],
    )
    found = dependence(left, [narrow, wide], strata, np.random.default_rng(1), 9)
    assert found.shape == (2, 10)

    def leveled(block):
        centered = block - block.mean(axis=0)
        return centered / np.sqrt(np.square(centered).sum() / len(block))

    for statistic, right in zip(found, (narrow, wide), strict=True):
        expected = sum(
            np.square(leveled(left[0][rows]).T @ leveled(block[rows])).sum() / len(rows)
            for rows in (np.arange(40), np.arange(40, 100))
            for block in right
        )
        assert statistic[0] == pytest.approx(expected, rel=1e-5)
        assert len(np.unique(statistic)) == 10
    turned = dependence(wide, [left], strata, np.random.default_rng(1), 9)  # the narrower side is permuted
    assert turned[0, 0] == pytest.approx(found[1, 0], rel=1e-5)
