import numpy as np
import pytest

from understudy.encoders import Boxes, Function
from understudy.errors import SettingError
from understudy.learners.codes import Codes


def test_an_integer_is_its_own_code():
    assert [Codes(9)(x) for x in (0, 8, np.int8(3), np.uint64(5), np.array(4), True)] == [0, 8, 3, 5, 4, 1]


@pytest.mark.parametrize("encoder", [None, Function(lambda x: (np.asarray(x) * 3) % 7)])
def test_a_batch_has_the_codes_of_its_members(encoder):
    codes, observations = Codes(9, encoder), np.arange(9)
    assert codes.batch(observations).tolist() == [codes(x) for x in observations]
    assert codes.batch(observations).dtype == np.int32


def test_what_is_not_needed_is_not_looked_at():
    assert Codes(3).batch(np.array([2, 99, -5]), np.array([True, False, False])).tolist() == [2, 0, 0]


@pytest.mark.parametrize("wrong", [-1, 3, 10**12])
def test_a_code_outside_the_table_is_named(wrong):
    for ask in (Codes(3), lambda x: Codes(3).batch(np.array([0, x]))):
        with pytest.raises(SettingError, match=f"{wrong} is outside the learner's table of 3"):
            ask(wrong)


def test_floats_and_vectors_need_an_encoder():
    for wrong in (0.5, np.array([1, 2])):
        with pytest.raises(SettingError, match="encoder="):
            Codes(3)(wrong)
    for wrong in (np.array([0.0, 1.0]), np.zeros((2, 2), int)):
        with pytest.raises(SettingError, match="encoder="):
            Codes(3).batch(wrong)
    assert Codes(4, Boxes(edges=[[0.5], [0.5]]))(np.array([0.7, 0.7])) == 3


def test_a_table_of_nothing_is_refused():
    with pytest.raises(SettingError, match="at least one"):
        Codes(0)
