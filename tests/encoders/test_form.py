import numpy as np
import pytest

from understudy.encoders.form import Form, batch, form_of
from understudy.errors import LogError


@pytest.mark.parametrize(
    ("observations", "form"),
    [
        (np.zeros(3, dtype=np.uint8), Form("integer", ())),
        (np.zeros(3, dtype=bool), Form("integer", ())),
        (np.zeros((3, 4, 2), dtype=np.float32), Form("float", (4, 2))),
    ],
)
def test_a_form_is_kind_and_shape(observations, form):
    assert form_of(observations) == form


def test_another_form_is_refused_in_one_sentence():
    with pytest.raises(LogError, match=r"fitted on integer observations, and is asked for float observations of shape"):
        batch([[0.5, 0.5]], fitted_on=Form("integer", ()))


@pytest.mark.parametrize(
    ("observations", "words"),
    [(3, "batch"), (["a"], "dtype"), ([None], "dtype"), ([1j], "dtype"), ([[1], [1, 2]], "shape")],
)
def test_what_is_no_batch_of_numbers_is_refused(observations, words):
    with pytest.raises(LogError, match=words):
        batch(observations)
