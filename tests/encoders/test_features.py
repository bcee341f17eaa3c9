import numpy as np
import pytest

from understudy.contracts.encoding import ObservationSpec
from understudy.encoders.features import MOST_CODES, Features, check_finite
from understudy.errors import EncoderError, LogError


def test_floats_are_standardized_by_dimension():
    x = np.random.default_rng(0).normal([1, -20], [0.1, 30], size=(500, 2))
    features = Features.of(x)(x)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(features.std(axis=0), 1, rtol=1e-5)


def test_a_small_spread_far_from_zero_is_not_lost():
    x = 1.7e9 + np.arange(100.0)[:, None]
    assert np.unique(Features.of(x)(x)).size == 100


def test_a_dimension_that_never_varies_is_zero():
    x = np.array([[0.1, 1.0], [0.1, 2.0]])
    assert Features.of(x)(x)[:, 0].tolist() == [0, 0]


def test_arrays_are_flattened():
    images = np.random.default_rng(0).integers(0, 256, (10, 4, 4), dtype=np.uint8)
    features = Features.of(images)
    assert (features(images).shape, features.discrete) == ((10, 16), False)


def test_few_integers_are_codes_and_many_are_numbers():
    few = Features.of([7, 3, 7], next_observations=[9, 9, 9])
    assert few.discrete
    assert few([3, 7, 9, 4, -1]).tolist() == [0, 1, 2, -1, -1]
    assert few.known(few([3, 4])).tolist() == [True, False]
    assert not Features.of(np.arange(MOST_CODES + 1)).discrete
    assert not Features.of([7, 3, 7], discrete=False).discrete


def test_what_is_not_finite_is_refused_by_its_row():
    with pytest.raises(LogError, match="observation is NaN or infinite in row 2; fill it in"):
        Features.of([[0.0], [1.0], [np.nan]])
    with pytest.raises(LogError, match="next_observation is NaN or infinite in row 1"):
        check_finite(np.array([0.0, np.inf]), "next_observation")


def test_rows_that_are_not_finite_are_told():
    features = Features.of([[0.0, 1.0], [1.0, 3.0]])
    assert features.known(features([[0.5, 2.0], [np.nan, 0.0], [0.0, np.inf], [1e300, 0.0]])).tolist() == [
        True, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("observation", "arrays"),
    [
        (ObservationSpec("float", (2,)), {"center": np.zeros(3), "scale": np.ones(3)}),
        (ObservationSpec("float", (2,)), {"center": np.zeros(2), "scale": np.array([1, np.nan])}),
        (ObservationSpec("integer", ()), {"codes": np.array([3, 1])}),
        (ObservationSpec("float", (2,)), {"codes": np.array([1, 3])}),
    ],
)
def test_arrays_that_do_not_fit_are_refused(observation, arrays):
    with pytest.raises(EncoderError):
        Features(observation, arrays)
