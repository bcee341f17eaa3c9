import json

import numpy as np
import pytest

from understudy.encoders import Forward, Homer, KMeans
from understudy.errors import SettingError
from understudy.settings import positive, whole


def test_numbers_of_numpy_become_pythons():
    assert json.dumps([whole("n", np.int64(3)), whole("n", np.float32(3)), positive("x", np.float32(0.5))]) == (
        "[3, 3, 0.5]"
    )


@pytest.mark.parametrize("number", [0, -1, 1.5, "3", None, float("nan"), float("inf")])
def test_what_is_no_whole_number_is_refused(number):
    with pytest.raises(SettingError, match=r"^n is .*; give n=, a whole number from 1 up$"):
        whole("n", number)


@pytest.mark.parametrize("number", [0, -1.0, "a", None, float("nan"), float("inf")])
def test_what_is_not_above_0_is_refused(number):
    with pytest.raises(SettingError, match=r"^x is .*; give x=, a number above 0$"):
        positive("x", number)


def test_a_seed_is_any_whole_number():
    assert whole("seed", -7, least=None) == -7
    for make in (Homer, Forward, lambda seed: KMeans(2, seed)):
        with pytest.raises(SettingError, match=r"seed is None; give seed=, a whole number$"):
            make(seed=None)


@pytest.mark.parametrize("make", [
    lambda one: Homer(8 * one, seed=one, max_epochs=one, learning_rate=np.float32(1e-3)),
    lambda one: Forward(one, steps=10 * one, width=8 * one),
    lambda one: KMeans(3 * one, -one),
])  # fmt: skip
def test_encoders_of_numpys_numbers_can_be_saved(make, grid_log, tmp_path):
    encoder = make(np.int64(1))
    json.dumps(encoder.settings)
    if not isinstance(encoder, Forward):  # whose states take longer to find
        encoder.fit(grid_log).save(tmp_path / "encoder.npz")
