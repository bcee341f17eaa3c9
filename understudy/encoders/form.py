"""The form of observations: their shape and whether they are integers or floats."""

from typing import Any, NamedTuple

import numpy as np

from understudy.errors import LogError

KINDS = {"b": "integer", "i": "integer", "u": "integer", "f": "float"}


class Form(NamedTuple):
    """What one observation of a batch looks like.

    >>> print(form_of(np.zeros((10, 2))))
    float observations of shape (2,)
    """

    kind: str  # "integer" or "float"
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.kind} observations" + (f" of shape {self.shape}" if self.shape else "")


def form_of(observations: np.ndarray) -> Form:
    """The form of a batch of observations. Raises `LogError` where it is no batch of numbers."""
    if observations.dtype.kind not in KINDS:
        raise LogError(f"observations are of dtype {observations.dtype}; encoders take integers and floats")
    if observations.ndim == 0:
        raise LogError(f"a batch of observations is wanted, not the single value {observations}; put it into a list")
    return Form(KINDS[observations.dtype.kind], observations.shape[1:])


def batch(observations: Any, fitted_on: Form | None = None) -> np.ndarray:
    """Observations as an array. Raises `LogError` where they are not of the form an encoder was fitted on."""
    try:
        array = np.asarray(observations)
    except ValueError as error:  # lists of several lengths
        raise LogError("these observations are not of one shape; give a batch of them, (n, ...)") from error
    form = form_of(array)
    if fitted_on is not None and form != fitted_on:
        raise LogError(
            f"the encoder was fitted on {fitted_on}, and is asked for {form}; give it what it was fitted on, or fit "
            "another on a log like this"
        )
    return array
