import numpy as np
import pytest

from understudy.encoders import Boxes, Function, Identity, KMeans, audit, load
from understudy.encoders.state_audit import MOST_DRAWN, MOST_STATES
from understudy.envs import CounterGrid
from understudy.errors import ContractError, EncoderError
from understudy.logs import Log, read


def test_true_states_are_not_suspicious(grid, grid_log):
    audit = Function(grid.latent).audit(grid_log)
    assert audit.ok  # false alarm: once in a hundred logs, the level
    assert audit.n_states == 8
    assert audit.rows.sum() == audit.n_rows == len(grid_log)
    assert "none of 8 states tested is suspicious" in str(audit)


@pytest.mark.parametrize("encoder", [Boxes(bins=2), KMeans(4), Identity(), Function(lambda x: x[:, 0] > 0.5)])
def test_every_encoder_is_audited(encoder, log_of, grid_log):
    audit = encoder.audit(grid_log.select(np.arange(100)))
    assert type(encoder).__name__ in audit.encoder
    assert audit.n_states > 0


@pytest.mark.slow
def test_homer_is_audited(homer, grid_log):
    audit = homer.audit(grid_log)
    assert audit.n_states == len(np.unique(homer.encode(grid_log.observation))) <= homer.n_states


def test_fitting_and_auditing_on_one_log_is_said(grid_log, tmp_path):
    half = np.arange(grid_log.n_episodes) % 2 == 0
    encoder = KMeans(4).fit(grid_log.select(half))
    encoder.save(tmp_path / "encoder.npz")
    for fitted in (encoder, load(tmp_path / "encoder.npz")):
        assert fitted.audit(grid_log.select(half)).same_log
        assert not fitted.audit(grid_log.select(~half)).same_log
    assert "fitted on this log" in str(encoder.audit(grid_log.select(half)))


def test_integers_are_audited_and_observations_that_merge_nothing_pass():
    env = CounterGrid(4, size=3)
    log = Log.from_columns(**env.rollout(np.full((env.n_observations, 5), 0.2), 100, seed=0))
    assert Identity().audit(log).ok
    dropped = Function(lambda x: x % 9).audit(log)
    assert dropped.suspicious.all()
    assert dropped.explained.min() > 0.5


def test_what_is_lost_is_counted():
    log = Log.from_columns(
        observation=[0, 1, 0, 1], action=[0, 0, 0, 0], reward=[0, 0, 0, 0], next_observation=[1, 5, 1, 3],
        terminated=[False, False, False, True],
    )  # fmt: skip
    audit = Function(lambda x: np.where(x == 0, -1, x)).audit(log)
    assert (audit.n_without_state, audit.n_dead_ends) == (2, 1)
    assert np.isnan(audit.p_value).all()
    notes = " ".join(audit.notes)
    for words in ("2 rows have an observation without a state", "1 rows lead to a state"):
        assert words in notes


def test_an_encoder_of_ones_own_is_fitted_before_it_is_audited(grid, grid_log):
    class Own:
        """Halves of the square at the median of a log; it does not say whether it is fitted."""

        def fit(self, log):
            self.median = np.median(log.observation[:, 0])
            return self

        def encode(self, observations):
            return (observations[:, 0] > self.median).astype(int)

    found = audit(Own(), grid_log)
    assert found.same_log
    assert sorted(found.state.tolist()) == [0, 1]
    assert not found.ok


def test_an_observation_with_a_nan_is_like_no_other(log_of):
    x = np.array([[0.0, np.nan], [0.0, np.nan], [1.0, 1.0], [1.0, 1.0]])
    assert Function(lambda x: x[:, 0].astype(int)).audit(log_of(x)).merges.tolist() == [True, False]


def test_of_rare_states_as_many_observations_are_kept_for_pictures_as_of_common_ones(merged):
    counts = np.bincount(merged.sample_state)
    assert counts[counts > 0].min() > 200
    assert len(merged.sample_observation) == len(merged.sample_state) <= 20_000
    assert set(merged.sample_state) == set(merged.state)


def test_observations_that_are_not_of_two_dimensions_are_not_kept():
    env = CounterGrid(2, size=3)
    found = Identity().audit(Log.from_columns(**env.rollout(np.full((env.n_observations, 5), 0.2), 50, seed=0)))
    assert len(found.sample_observation) == len(found.sample_state) == 0


def test_states_of_one_observation_are_named_like_those_that_are_tested():
    visits = {"page": ["home", "cart", "home", "search"] * 30, "action": [0, 1] * 60, "reward": [0.0] * 120}
    log = read(visits, observation="page", ends="every-row")
    home = log.observation[0]
    found = Function(lambda x: np.where(np.asarray(x) == home, 0, 1)).audit(log)
    assert found.merges.tolist() == [False, True]
    assert found.examples == {0: "page=home", 1: "page=cart"}  # of several observations, the first of the log
    assert "such as page=home" in str(found)
    assert not Identity().audit(log).examples  # where nothing is merged, an observation is its own state


def test_of_very_many_states_those_are_named_that_are_shown():
    n = 1000
    x = np.repeat(np.arange(n), 2) + np.tile([0.0, 0.1], n)
    x[: n // 2] = np.floor(x[: n // 2])  # of one observation each
    log = Log.from_columns(
        observation=x, next_observation=x, action=np.zeros(2 * n, int), reward=x, terminated=np.ones(2 * n, bool)
    )
    found = Function(lambda x: np.floor(x).astype(int)).audit(log)
    shown = found.state[[*found.worst_first[:12], *found.largest]].tolist()
    assert set(shown) <= set(found.examples)
    assert len(found.examples) <= MOST_STATES + MOST_DRAWN


class Raw:
    """An encoder that makes of observations what a function makes of them, unchecked."""

    def __init__(self, encode):
        self.encode = encode


@pytest.mark.parametrize(
    "encode", [lambda x: np.full(len(x), "a"), lambda x: np.zeros((len(x), 1), int), lambda x: np.full(len(x), -2)]
)
def test_states_that_a_simulator_would_refuse_are_refused(encode, grid_log):
    with pytest.raises(EncoderError, match="the encoder made"):
        audit(Raw(encode), grid_log)


@pytest.mark.parametrize("encoder", [object(), KMeans, None])
def test_what_is_not_an_encoder_is_refused(encoder, grid_log):
    with pytest.raises(ContractError, match=r"is not an encoder: it needs encode\(observations\)"):
        audit(encoder, grid_log)


def test_an_encoder_that_writes_on_its_observations_leaves_the_log_as_it_is(grid_log):
    log = grid_log.select(np.arange(50))
    before = log.observation.copy(), log.next_observation.copy()

    def encode(observations):
        observations[:] = 0
        return np.zeros(len(observations), int)

    audit(Raw(encode), log)
    assert np.array_equal(log.observation, before[0])
    assert np.array_equal(log.next_observation, before[1])


@pytest.mark.parametrize(
    ("columns", "axes"),
    [
        (["x", "speed"], ("x", "speed")),
        (["x"], ("first dimension of the observation", "second dimension")),
        (["x", "speed", "load"], ("first dimension of the observation", "second dimension")),
    ],
)
def test_the_picture_of_states_has_the_names_of_two_columns(columns, axes):
    rng = np.random.default_rng(0)
    table = {name: rng.random(60) for name in columns} | {"action": [0, 1] * 30, "reward": [0.0] * 60}
    log = read(table, observation=columns, ends="every-row")
    encoder = Function(lambda x: (np.asarray(x).reshape(len(x), -1)[:, 0] > 0.5).astype(int))
    assert audit(encoder, log).axes == axes
