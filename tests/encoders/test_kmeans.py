import json

import numpy as np
import pytest

from understudy.contracts import Encoder
from understudy.encoders import KMeans
from understudy.encoders.kmeans import first_centers
from understudy.errors import EncoderError, LogError, SettingError

BLOBS = np.random.default_rng(0).normal(np.repeat([[0, 0], [100, 0], [0, 1], [100, 1]], 50, axis=0), [4, 0.04])


def test_clusters_are_found_whatever_their_units(log_of):
    # Without standardizing, the first dimension would hide the second.
    states = KMeans(4).fit(log_of(BLOBS)).encode(BLOBS)
    assert all(len(set(part)) == 1 for part in states.reshape(4, 50).tolist())
    assert set(states.tolist()) == {0, 1, 2, 3}


def test_every_observation_is_nearest_to_its_own_center(log_of):
    x = np.random.default_rng(1).random((3000, 3))
    encoder = KMeans(20, most_rows=1000).fit(log_of(x))
    scaled, centers = encoder._features(x), encoder._centers
    nearest = np.square(scaled[:, None] - centers).sum(axis=2).argmin(axis=1)
    assert np.array_equal(encoder.encode(x), nearest)


def test_openers_are_far_apart():
    # 20 of 20 draws have one of each blob; drawn evenly, that has probability 3/32 each time
    scaled = BLOBS / BLOBS.std(axis=0)
    for seed in range(20):
        chosen = first_centers(scaled, 4, np.random.default_rng(seed))
        assert len(np.unique(np.round(chosen), axis=0)) == 4


def test_a_seed_is_a_clustering(log_of):
    x = np.random.default_rng(1).random((500, 2))
    one, again, other = (KMeans(9, seed=seed).fit(log_of(x)).settings["centers"] for seed in (3, 3, 4))
    assert one == again != other


def test_chunks_change_nothing(log_of, monkeypatch):
    encoder = KMeans(4).fit(log_of(BLOBS))
    whole = encoder.encode(BLOBS)
    monkeypatch.setattr("understudy.encoders.kmeans.CHUNK", 28)
    assert np.array_equal(encoder.encode(BLOBS), whole)


def test_arrays_and_integers_are_taken_as_numbers(log_of):
    images = np.random.default_rng(0).integers(0, 2, (30, 4, 4))
    assert KMeans(3).fit(log_of(images)).encode(images).max() == 2
    a, b, c = KMeans(2).fit(log_of([1, 2, 90, 91])).encode([0, 100, 3])
    assert a == c != b


def test_what_is_missing_has_no_state_and_cannot_be_fitted(log_of):
    encoder = KMeans(4).fit(log_of(BLOBS))
    assert encoder.encode([[np.nan, 0.0], [0.0, np.inf]]).tolist() == [-1, -1]
    with pytest.raises(LogError, match="NaN or infinite in row 1"):
        KMeans(1).fit(log_of([[0.0], [np.nan]]))


def test_more_states_than_observations_are_refused(log_of):
    with pytest.raises(EncoderError, match="3 rows with 2 distinct observations; ask for at most 2"):
        KMeans(5).fit(log_of([0.5, 0.5, 1.0]))
    with pytest.raises(EncoderError, match="9 rows with 1 distinct observations"):
        KMeans(2).fit(log_of(np.ones(9)))
    assert KMeans(1).fit(log_of(np.ones(9))).encode(np.ones(2)).tolist() == [0, 0]


def test_observations_of_another_form_are_refused(log_of):
    encoder = KMeans(4).fit(log_of(BLOBS))
    for observations in ([0.5], [[1, 2]], [[0.1, 0.2, 0.3]]):
        with pytest.raises(EncoderError, match="fitted on"):
            encoder.encode(observations)


def test_it_asks_for_fit():
    with pytest.raises(EncoderError, match=r"fit\(log\) first"):
        KMeans(3).encode([0.5])


@pytest.mark.parametrize("options", [{"n_states": 0}, {"n_states": 2.5}, {"n_states": 2, "iterations": 0}])
def test_settings_that_make_no_states_are_refused(options):
    with pytest.raises(SettingError, match="whole number"):
        KMeans(**options)


def test_it_tells_what_it_is(log_of):
    encoder = KMeans(4, seed=2).fit(log_of(BLOBS))
    assert isinstance(encoder, Encoder)
    assert json.loads(json.dumps(encoder.settings)) == encoder.settings
    assert repr(encoder) == "KMeans(4, seed=2)"
    centers = {encoder.describe_state(state) for state in range(4)}
    assert len(centers) == 4
    assert all(center.startswith("around (") for center in centers)
    with pytest.raises(SettingError, match="no state 4"):
        encoder.describe_state(4)


def test_an_observation_however_far_away_has_a_state_of_those_there_are(log_of, monkeypatch):
    # Squares beyond float32; so far out, centers are equally near, and the first is as good as any.
    encoder = KMeans(7).fit(log_of(np.random.default_rng(0).random((300, 2))))
    far = np.array([[-1e30, 0.5], [1e30, 0.5], [-1e19, 0.5], [0.5, 1e25], [0.1, 0.1]])
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float, **_: np.full(shape, 77, dtype))  # unwritten, it shows
    states = encoder.encode(far).tolist()
    assert set(states) <= set(range(7))
    assert states == [int(encoder.encode(far[[i]])[0]) for i in range(len(far))]
