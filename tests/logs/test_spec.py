import numpy as np
import pytest

from understudy.errors import SettingError
from understudy.logs import Log, Spec
from understudy.logs.spec import spec_of

COLUMNS = {"action": [0, 1], "reward": [0.0, 1.0], "ends": "every-row"}


def test_new_rows_are_coded_and_decoded_by_the_spec():
    spec = Log.from_columns(**COLUMNS, observation={"page": ["home", "cart"], "x": [0.5, 1.5]}).spec
    assert spec.encode([("cart", 3)]).tolist() == [[0, 3]]
    assert spec.decode(np.array([[1, 0.5]])).to_pylist() == [{"page": "home", "x": 0.5}]
    assert spec.one_hot(np.array([[1, 0.5]])).tolist() == [[0, 1, 0.5]]
    assert spec == Log.from_columns(**COLUMNS, observation={"page": ["home", "cart"], "x": [0.5, 1.5]}).spec
    assert hash(spec)
    assert spec.encode([("cart", 3)]).dtype == spec.observation_dtype == np.float64


def test_numbers_stay_as_they_are():
    codes = Spec(2, None, (), np.dtype(np.int64), 3)
    assert codes.encode([2, 0]).tolist() == [2, 0]
    assert codes.one_hot(np.array([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    image = Spec(2, None, (2, 2), np.dtype(np.uint8), None)
    assert image.encode([[[1, 2], [3, 4]]]).shape == (1, 2, 2)
    assert image.one_hot(np.array([[[1, 2], [3, 4]]])).tolist() == [[1.0, 2.0, 3.0, 4.0]]
    with pytest.raises(SettingError, match="there is nothing to decode"):
        codes.decode([1])


def test_codes_that_would_make_a_huge_one_hot_matrix_are_refused():
    spec = Spec(2, None, (), np.dtype(int), 1_000_000)
    with pytest.raises(SettingError, match="observation alone has 1,000,000 values; group its rare values"):
        spec.one_hot(np.zeros(1000, int))


@pytest.mark.parametrize(
    ("observation", "following", "expected"),
    [([0, 1], [1, 4], 5), ([0, -1], [1, 0], None), ([0.5, 1.0], [1.0, 0.5], None), ([[0], [1]], [[1], [0]], None)],
)
def test_observations_are_counted_where_they_are_single_codes_from_zero_up(observation, following, expected):
    assert spec_of(np.array(observation), np.array(following), 2, None, None).n_observations == expected
