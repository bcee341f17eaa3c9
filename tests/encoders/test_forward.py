"""Forward finds the states that replay needs, on logs where other encoders merge or split wrongly."""

import numpy as np
import pytest

import understudy as us
from understudy.encoders import Forward, Function, load
from understudy.envs import ContinuousGrid, CounterGrid, NoisyGrid
from understudy.envs.rollout import rollout

QUICK = {"steps": 900, "width": 96}
UNIFORM = np.full((25, 5), 0.2)


def grid_columns(steps=80_000, seed=0, **options):
    """Columns of a uniform log of the continuous grid, and the cell of each row."""
    env = ContinuousGrid(**options)
    columns = env.rollout_cells(UNIFORM, steps=steps, seed=seed)
    return columns, env.latent(columns["observation"])


def beside(columns, here, there):
    """The columns with more dimensions: `here` beside observations, `there` beside next observations."""
    return columns | {
        "observation": np.column_stack([columns["observation"], here]),
        "next_observation": np.column_stack([columns["next_observation"], there]),
    }


def purity(encoder, observations, truth):
    """States in use, true states that are some state's majority, and the share of rows in a state of theirs."""
    state = encoder.encode(observations)
    used, state = np.unique(state, return_inverse=True)
    counts = np.zeros((len(used), truth.max() + 1), dtype=np.int64)
    np.add.at(counts, (state, truth), 1)
    return len(used), len(np.unique(counts.argmax(axis=1))), counts.max(axis=1).sum() / len(truth)


@pytest.fixture(scope="module")
def grid():
    columns, cell = grid_columns()
    log = us.Log.from_columns(**columns)
    return log, cell, Forward(seed=1, **QUICK).fit(log)


def test_it_finds_every_cell_that_rows_leave_from_and_no_more(grid):
    log, cell, encoder = grid
    used, found, right = purity(encoder, log.observation, cell)
    assert (used, found) == (24, 24)
    assert right > 0.98
    assert encoder.n_states == 24


def test_descriptions_are_alike_within_a_cell_and_differ_between_cells(grid):
    log, cell, encoder = grid
    rows = np.concatenate([np.flatnonzero(cell == z)[:20] for z in (3, 16)])
    found = encoder.descriptions(log.observation[rows])
    assert np.square(found).sum(axis=2) == pytest.approx(1.0, abs=1e-4)  # roots of probabilities
    apart = np.max([1 - found[:, a] @ found[:, a].T for a in range(found.shape[1])], axis=0)
    assert np.median(apart[:20, :20]) < 0.05 < 0.3 < np.median(apart[:20, 20:])
    assert np.isnan(encoder.descriptions(np.full((1, 2), np.nan))).all()
    first, members = us.likeness.forward(encoder, tested=False).neighbors(log, cell, cell, 25, 0.02)
    assert len(first) == 26
    assert len(members) == 0  # cells of the grid are far apart
    with pytest.raises(us.EncoderError, match="not trained yet"):
        Forward().descriptions(log.observation[:1])


def test_its_states_pass_the_test_of_sufficiency_and_a_wrong_merge_does_not(grid):
    _, _, encoder = grid
    columns, _ = grid_columns(seed=7)
    fresh = us.Log.from_columns(**columns)
    assert encoder.audit(fresh).suspicious.sum() <= 2  # borders are a little blurred
    merges = Function(lambda observations: encoder.encode(observations) // 2)
    assert merges.audit(fresh).suspicious.sum() >= 10


@pytest.mark.slow
def test_cells_that_differ_in_reward_only_are_kept_apart_and_without_rewards_they_are_one():
    rng = np.random.default_rng(3)
    n = 40_000
    x, action = rng.random((n + 1, 2)), rng.integers(2, size=n)
    strip = (4 * x[:-1, 0]).astype(int)  # wherever one is, the next point is anywhere
    reward = np.where(action == 1, np.array([0.0, 1.0, 0.0, 1.0])[strip], 0.0)
    columns = {"observation": x[:-1], "action": action, "next_observation": x[1:], "terminated": np.zeros(n, bool)}
    used, found, right = purity(
        Forward(**QUICK).fit(us.Log.from_columns(**columns, reward=reward)), x[:-1], reward_kind := strip % 2
    )
    assert (used, found) == (2, 2)
    assert right > 0.98
    blind = Forward(**QUICK).fit(us.Log.from_columns(**columns, reward=np.zeros(n)))
    assert purity(blind, x[:-1], reward_kind)[0] == 1


@pytest.mark.slow
def test_a_reward_that_differs_only_in_how_often_it_comes_keeps_states_apart():
    rng = np.random.default_rng(4)
    n = 100_000
    x, action = rng.random((n + 1, 2)), rng.integers(2, size=n)
    strip = (3 * x[:-1, 0]).astype(int)
    reward = (rng.random(n) < np.array([0.3, 0.6, 0.3])[strip]) * (action == 1)
    log = us.Log.from_columns(
        observation=x[:-1], action=action, next_observation=x[1:], terminated=np.zeros(n, bool), reward=reward
    )
    used, found, right = purity(Forward(**QUICK).fit(log), x[:-1], (strip == 1).astype(int))
    assert (used, found) == (2, 2)
    assert right > 0.95


@pytest.mark.slow
def test_ten_dimensions_of_noise_are_ignored():
    columns, cell = grid_columns(120_000)
    noise = np.random.default_rng(5).normal(size=(len(cell) + 1, 10))
    log = us.Log.from_columns(**beside(columns, noise[:-1], noise[1:]))
    used, found, right = purity(Forward(**QUICK).fit(log), log.observation, cell)
    assert found == 24
    assert used <= 26
    assert right > 0.96


@pytest.mark.slow
def test_a_counter_that_the_learner_sees_is_kept_apart():
    columns, cell = grid_columns(150_000)
    first = np.flatnonzero(np.diff(columns["episode"], prepend=-1))
    age = np.arange(len(cell)) - first[columns["episode"]]
    clock = (np.random.default_rng(6).integers(3, size=len(first))[columns["episode"]] + age) % 3
    log = us.Log.from_columns(**beside(columns, clock, (clock + 1) % 3))
    _, found, right = purity(Forward(**QUICK).fit(log), log.observation, 3 * cell + clock)
    assert found == 72
    assert right > 0.96


@pytest.mark.slow
def test_a_slipping_grid_has_the_same_states():
    columns, cell = grid_columns(120_000, slip=0.2)
    log = us.Log.from_columns(**columns)
    used, found, right = purity(Forward(**QUICK).fit(log), log.observation, cell)
    assert found == 24
    assert used <= 26
    assert right > 0.97


def rendered(points, size=16):
    """Points as images: a spot of light."""
    across = np.arange(size)
    spot = [np.exp(-((across - (size - 1) * place[:, None]) ** 2) / 2) for place in points.T]
    return (255 * spot[1][:, :, None] * spot[0][:, None, :]).astype(np.uint8)


@pytest.mark.slow
def test_pixels_show_the_same_states():
    columns, cell = grid_columns(60_000)
    seen = columns | {name: rendered(columns[name]) for name in ("observation", "next_observation")}
    log = us.Log.from_columns(**seen)
    used, found, right = purity(Forward(steps=400).fit(log), log.observation, cell)
    assert found == 24
    assert used <= 26
    assert right > 0.97


def discrete(env):
    tables = env.tables()
    n = int(tables.observation.max()) + 1
    return us.Log.from_columns(**rollout(tables, np.full((n, 5), 0.2), episodes=400, seed=0))


def test_integers_that_differ_by_noise_bits_are_one_state():
    log = discrete(NoisyGrid(2))
    assert purity(Forward(**QUICK).fit(log), log.observation, log.observation % 25) == (24, 24, 1.0)


@pytest.mark.slow
def test_integers_that_count_are_kept_apart():
    log = discrete(CounterGrid(4))
    _, found, right = purity(Forward(**QUICK).fit(log), log.observation, log.observation)
    assert found == len(np.unique(log.observation)) == 96
    assert right == 1.0


def test_a_saved_one_encodes_alike(grid, tmp_path):
    log, _, encoder = grid
    encoder.save(tmp_path / "forward.npz")
    again = load(tmp_path / "forward.npz")
    assert again.settings == encoder.settings
    assert again.n_states == encoder.n_states
    np.testing.assert_array_equal(again.encode(log.observation), encoder.encode(log.observation))


def test_an_observation_has_the_same_state_alone_and_among_others(grid):
    log, _, encoder = grid
    together = encoder.encode(log.observation[:300])
    assert [int(encoder.encode(log.observation[i : i + 1])[0]) for i in range(300)] == together.tolist()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_states():
    columns, _ = grid_columns(20_000)
    log = us.Log.from_columns(**columns)
    one, other = (Forward(3, steps=300).fit(log).encode(log.observation) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_what_is_no_number_has_no_state(grid):
    _, _, encoder = grid
    assert encoder.encode(np.array([[0.1, np.nan], [np.inf, 0.1], [0.1, 0.1]])).tolist()[:2] == [-1, -1]


@pytest.mark.parametrize(
    ("observations", "message"),
    [
        (np.zeros((3, 3)), "fitted on float observations of shape .2,., and got float observations of shape"),
        (np.zeros((3, 2), dtype=np.int64), "and got integer observations"),
    ],
)
def test_other_observations_than_it_was_fitted_on_are_refused(grid, observations, message):
    with pytest.raises(us.EncoderError, match=message):
        grid[2].encode(observations)


def test_it_says_that_it_is_not_trained():
    with pytest.raises(us.EncoderError, match="call fit"):
        Forward().encode(np.zeros((1, 2)))
    with pytest.raises(us.EncoderError, match="call fit"):
        Forward().save("nowhere.npz")


def short_log(n=1000, **columns):
    rng = np.random.default_rng(0)
    x = rng.random((n + 1, 2))
    own = {
        "observation": x[:-1], "next_observation": x[1:], "action": rng.integers(2, size=n), "reward": np.zeros(n),
        "terminated": np.zeros(n, bool),
    }  # fmt: skip
    return us.Log.from_columns(**(own | columns))


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (short_log(50), "among 50 rows, and needs at least 200"),
        (short_log(observation=np.ones((1000, 2)), next_observation=np.ones((1000, 2))), "there is one state"),
        (short_log(observation=np.full((1000, 2), np.nan)), "observation is NaN or infinite in row 0"),
    ],
)
def test_a_log_with_nothing_to_learn_is_refused(log, message):
    with pytest.raises(us.LogError, match=message):
        Forward().fit(log)


@pytest.mark.slow
def test_observations_that_are_like_no_others_are_refused():
    n = 4000
    code = np.arange(n) % 1500  # a clock of 1,500 values, each seen two or three times
    log = short_log(n, observation=code, next_observation=(code + 1) % 1500)
    with pytest.raises(us.EncoderError, match="finds no states"):
        Forward(**QUICK).fit(log)


@pytest.mark.parametrize("option", [{"radius": 0.0}, {"steps": 0}, {"learning_rate": 0.0}, {"held_out": 1.0}])
def test_options_that_make_no_sense_are_refused(option):
    with pytest.raises(us.SettingError, match=next(iter(option))):
        Forward(**option).fit(short_log(300))


@pytest.mark.slow
def test_on_a_million_rows_nine_seeds_of_ten_find_all_states_and_place_all_but_one_row_in_two_hundred():
    good = 0
    for seed in range(10):
        columns, cell = grid_columns(1_000_000, seed)
        log = us.Log.from_columns(**columns)
        _, found, right = purity(Forward(seed).fit(log), log.observation, cell)
        good += found == 24 and right >= 0.995
    assert good >= 9
