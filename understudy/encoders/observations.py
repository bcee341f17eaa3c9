"""Observations as a batch: an array of numbers, with one type and one shape."""

from typing import Any

import numpy as np

from understudy.contracts.encoding import ObservationSpec
from understudy.errors import EncoderError

KINDS = {"b": "integer", "i": "integer", "u": "integer", "f": "float"}
"""The kind of observation of each kind of NumPy dtype that encoders take."""

SINGLE_INTEGERS = ObservationSpec("integer", ())


def spec_of(observations: np.ndarray) -> ObservationSpec:
    """Return the type and shape of the observations of a batch. Raise `EncoderError` where it is not one of numbers."""
    if observations.dtype.kind not in KINDS:
        raise EncoderError(f"observations are of dtype {observations.dtype}; encoders take integers and floats")
    if observations.ndim == 0:
        raise EncoderError(f"encoders take a batch of observations, not the single value {observations}; give a list")
    return ObservationSpec(KINDS[observations.dtype.kind], observations.shape[1:])


def batch_of(observations: Any, expected: ObservationSpec | None = None) -> np.ndarray:
    """Return observations as an array. Raise `EncoderError` where they differ from what an encoder was fitted on."""
    try:
        array = np.asarray(observations)
    except ValueError as error:  # lists of several lengths
        raise EncoderError("these observations are not of one shape; give a batch of them, (n, ...)") from error
    found = spec_of(array)
    if expected is not None and found != expected:
        raise EncoderError(
            f"the encoder was fitted on {expected}, and got {found}; give it observations like those of its log, or "
            "fit another encoder on a log with observations like these"
        )
    return array
