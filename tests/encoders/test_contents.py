import json

import numpy as np
import pytest

from understudy.contracts.encoding import EncoderContents, ObservationSpec
from understudy.encoders import Forward, Homer, KMeans, load
from understudy.encoders.contents import check_names, check_options, losses_of, observation_of, with_prefix
from understudy.errors import EncoderError, UnderstudyError


def test_names_must_be_the_expected_ones():
    check_names("its settings", {"a": 1, "b": 2}, ["b", "a"])
    for given in ({"a": 1}, {"a": 1, "b": 2, "c": 3}):
        with pytest.raises(EncoderError, match=r"^its settings are \['a'.*\], not \['a', 'b'\]$"):
            check_names("its settings", given, ["a", "b"])


@pytest.mark.parametrize("given", [{"width": "8"}, {"width": True}, {"width": 8.0}, {"depth": 8}])
def test_options_that_an_encoder_would_use_otherwise_are_refused(given):
    check_options({"width": 8, "seed": 1}, {"width": 8})
    with pytest.raises(EncoderError, match=f"^'{next(iter(given))}' is "):
        check_options({"width": 8, "seed": 1} if "width" in given else {"width": 8}, given)


def test_the_spec_of_observations_is_needed():
    spec = ObservationSpec("float", (2,))
    assert observation_of(EncoderContents({}, {}, spec)) == spec
    with pytest.raises(EncoderError, match="the type and shape of its observations are missing"):
        observation_of(EncoderContents({}, {}))


def test_losses_are_numbers():
    assert losses_of({"loss": 0.5, "losses": [0.7, 0.5]}) == (0.5, [0.7, 0.5])
    for wrong in ({"loss": "a", "losses": []}, {"loss": 1.0, "losses": None}, {"loss": 1.0, "losses": [1]}):
        with pytest.raises(EncoderError, match="its losses are not numbers"):
            losses_of(wrong)


def test_arrays_are_chosen_by_the_beginning_of_their_names():
    assert with_prefix({"net a": 1, "net net b": 2, "c": 3}, "net ") == {"a": 1, "net b": 2}


def test_a_seed_is_any_whole_number():
    assert KMeans(2, -7).seed == -7
    for make in (Homer, Forward, lambda seed: KMeans(2, seed)):
        with pytest.raises(UnderstudyError, match=r"seed is None; give seed=, a whole number$"):
            make(seed=None)


@pytest.mark.parametrize("make", [
    lambda one: Homer(8 * one, seed=one, max_epochs=one, learning_rate=np.float32(1e-3)),
    lambda one: Forward(one, steps=10 * one, width=8 * one),
    lambda one: KMeans(3 * one, -one),
])  # fmt: skip
def test_encoders_of_numpys_numbers_can_be_saved(make, grid_log, tmp_path):
    encoder = make(np.int64(1))
    assert json.loads(json.dumps(encoder.settings)) == json.loads(json.dumps(make(1).settings))
    if not isinstance(encoder, Forward):  # whose states take longer to find
        encoder.fit(grid_log).save(tmp_path / "encoder.npz")
        states = load(tmp_path / "encoder.npz").encode(grid_log.observation)
        np.testing.assert_array_equal(states, encoder.encode(grid_log.observation))
