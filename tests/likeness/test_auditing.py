"""The audit finds like states where they are, none where there are none, and offers reuse where outcomes are sure."""

import json

import numpy as np
import pytest

import understudy as us
from tests.likeness.problems import cliff_walking, frozen_lake, square, taxi, twins
from understudy.errors import ContractError, SettingError
from understudy.likeness import audit, auditing, differences, held_out, observations, transitions
from understudy.likeness.auditing import root, states_in
from understudy.likeness.differences import MeanSquare
from understudy.likeness.held_out import Half
from understudy.logs import Log


@pytest.mark.parametrize("episodes", [200, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_frozen_lake_has_no_like_states_and_its_rows_must_not_be_served_again(episodes, seed):
    found = audit(frozen_lake(episodes, seed))
    assert found.radius is None
    assert not found.reuse


@pytest.mark.parametrize("seed", range(3))
def test_slippery_cliff_walking_has_no_like_states(seed):
    found = audit(cliff_walking(100, seed))
    assert found.radius is None
    assert not found.reuse


def test_taxi_has_no_like_states_but_is_sure_of_its_outcomes():
    """Before a passenger is in, two destinations are worth the same: only where rows lead tells them apart."""
    found = audit(taxi(100, 0))
    assert found.radius is None
    assert min(line.value_upper for line in found.lines) < 0.05
    assert min(line.leads_upper for line in found.lines) > 0.3
    assert found.reuse


@pytest.fixture(scope="module")
def walk():
    return square(400, 0)


def test_positions_in_a_square_are_alike_within_a_few_cells(walk):
    found = audit(walk, likeness=observations(scale=1))
    assert found.radius is not None
    assert 1 / 16 <= found.radius <= 5 / 16
    assert next(line.like_share for line in found.lines if line.radius == found.radius) > 0.9


def test_without_testing_pairs_the_wall_between_neighbors_is_seen_and_nothing_offered(walk):
    assert audit(walk, likeness=observations(scale=1, tested=False)).radius is None


def test_an_audit_that_counts_noise_as_difference_would_find_none(monkeypatch):
    """Twins are alike; of 200 noisy episodes, the mean of twenty rows is off by a good part of the range."""
    log = twins(200, 0, noise=2.0)
    likeness = us.likeness.function(lambda some, others: np.where(some[:, None] % 6 == others % 6, 1.0, np.inf))
    right = audit(log, likeness=likeness, radii=[1.0], discount=0.5)
    original = differences.noise_of
    monkeypatch.setattr(differences, "noise_of", lambda cells: (original(cells)[0], np.zeros_like(cells.rows)))
    wrong = audit(log, likeness=likeness, radii=[1.0], discount=0.5)
    assert right.lines[0].value < 0.04 < 0.06 < wrong.lines[0].value


def test_an_audit_on_the_rows_that_were_fitted_flatters(monkeypatch):
    log = twins(60, 1, noise=4.0)
    options = {"likeness": transitions(discount=0.5), "radii": [1.5], "discount": 0.0}
    honest = audit(log, **options)
    halves = held_out.halves_of
    monkeypatch.setattr(
        held_out, "halves_of", lambda log, seed: [Half(h.judged, h.judged, h.place) for h in halves(log, seed)]
    )
    assert audit(log, **options).lines[0].value < honest.lines[0].value


def test_twins_are_found_by_what_follows():
    found = audit(twins(600, 0), discount=0.5)
    assert found.radius is not None
    assert found.lines[0].like_share > 0.9
    assert found.lines[0].like_states == pytest.approx(1.0, abs=0.2)
    assert found.likeness == "transitions()"
    assert json.dumps(found.to_json(), allow_nan=False)


def test_states_are_those_of_the_encoder(walk):
    found = audit(walk, us.encoders.Boxes(bins=6))
    assert found.repeated_share == pytest.approx(1.0, abs=0.01)
    states = states_in(walk, us.encoders.Boxes(bins=6))
    assert 10 < states.n_states <= 36
    seen = np.concatenate([walk.observation, walk.next_observation])
    assert states_in(walk, None).n_states == len(np.unique(seen, axis=0))
    gaps = Log.from_columns(
        observation=[5, 90], action=[0, 0], reward=[0, 0], next_observation=[90, 7], ends="every-row"
    )
    assert states_in(gaps, None).state.tolist() == [0, 2]
    half = states_in(gaps, us.encoders.Function(lambda x: np.where(x == 5, -1, x)))
    assert half.state.tolist() == [-1, 1]


def test_radii_of_ones_own_may_be_too_small_for_any_like_row(walk):
    found = audit(walk, likeness=observations(scale=1), radii=[0.09, 0.01])
    assert [line.radius for line in found.lines] == [0.01, 0.09]
    assert found.lines[0].like_share == 0
    assert found.radius == 0.09


def test_the_same_seed_gives_the_same_audit():
    log = twins(60, 0)
    assert str(audit(log, seed=1)) == str(audit(log, seed=1))
    assert str(audit(log, seed=1)) != str(audit(log, seed=2))


def test_the_upper_end_is_that_of_no_difference_at_least():
    assert root(MeanSquare(-1.0, 0.01), MeanSquare(-1.0, 0.01))[0] == 0.0
    low, high = root(MeanSquare(0.04, 0.01), MeanSquare(0.04, 0.01))
    assert low == pytest.approx(0.2)
    assert high == pytest.approx((0.04 + 1.645 * 0.01 / 2**0.5) ** 0.5, rel=1e-3)
    assert np.isnan(root(MeanSquare(np.nan, np.nan), MeanSquare(0.1, 0.1))).all()
    assert root(MeanSquare(0.04, np.nan), MeanSquare(0.04, 0.1))[1] == np.inf


RNG = np.random.default_rng(0)
NOISE = {
    "vectors": (RNG.random((300, 3)), "every-row"),
    "codes that go on": (RNG.integers(5, size=500), "unfinished"),
    "images": (RNG.random((60, 8, 8)), "every-row"),
    "missing numbers": (np.where(RNG.random((200, 2)) < 0.1, np.nan, 0.5), "every-row"),
    "one observation": (np.ones((50, 2)), "every-row"),
    "pairs of integers": (RNG.integers(4, size=(300, 2)), "every-row"),
}


@pytest.mark.parametrize("kind", NOISE)
def test_nothing_is_offered_where_outcomes_are_noise_whatever_observations_are(kind):
    observation, ends = NOISE[kind]
    n, rng = len(observation), np.random.default_rng(1)
    log = Log.from_columns(observation=observation, action=rng.integers(2, size=n), reward=rng.random(n), ends=ends)
    found = audit(log)
    assert found.radius is None
    assert not found.reuse
    assert found.to_frame().num_rows == len(found.lines)


def test_mistakes_are_named():
    with pytest.raises(us.LogError, match="the log has 3 rows, too few"):
        audit(Log.from_columns(observation=[0, 1, 2], action=[0, 0, 0], reward=[0, 0, 0], ends="every-row"))
    log = twins(50, 0)
    with pytest.raises(ContractError, match="is not a Log"):
        audit("log")
    with pytest.raises(ContractError, match="is not a likeness"):
        audit(log, likeness=3)
    with pytest.raises(SettingError, match="radius is -1"):
        audit(log, radii=[-1])
    with pytest.raises(SettingError, match="discount is 2"):
        audit(log, discount=2)

    class Silent:
        def neighbors(self, log, state, next_state, n_states, radius):
            return np.zeros(n_states + 1, dtype=np.int64), np.empty(0, dtype=np.int32)

    with pytest.raises(SettingError, match="Silent suggests no radii; give radii="):
        audit(log, likeness=Silent())
    assert audit(log, likeness=Silent(), radii=[1.0]).radius is None
    assert auditing.states_in(log, None).n_states == 12
