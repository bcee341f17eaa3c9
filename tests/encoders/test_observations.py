import numpy as np
import pytest

from understudy.contracts.encoding import ObservationSpec
from understudy.encoders.observations import batch_of, spec_of
from understudy.errors import EncoderError


@pytest.mark.parametrize(
    ("observations", "spec"),
    [
        (np.zeros(3, dtype=np.uint8), ObservationSpec("integer", ())),
        (np.zeros(3, dtype=bool), ObservationSpec("integer", ())),
        (np.zeros((3, 4, 2), dtype=np.float32), ObservationSpec("float", (4, 2))),
    ],
)
def test_a_spec_is_kind_and_shape(observations, spec):
    assert spec_of(observations) == spec


def test_another_type_or_shape_is_refused_in_one_sentence():
    with pytest.raises(EncoderError, match=r"fitted on integer observations, and got float observations of shape"):
        batch_of([[0.5, 0.5]], expected=ObservationSpec("integer", ()))


@pytest.mark.parametrize(
    ("observations", "words"),
    [(3, "batch"), (["a"], "dtype"), ([None], "dtype"), ([1j], "dtype"), ([[1], [1, 2]], "shape")],
)
def test_anything_but_a_batch_of_numbers_is_refused(observations, words):
    with pytest.raises(EncoderError, match=words):
        batch_of(observations)
