"""Numbers are compared as they are, and codes by what follows."""

import numpy as np

from understudy.likeness import ObservationLikeness, TransitionLikeness, suited
from understudy.logs import Log, read


def test_numbers_are_compared_and_codes_learned():
    same = {"action": [0, 1], "reward": [0.0, 1.0], "ends": "every-row"}
    assert isinstance(suited(Log.from_columns(observation=[3, 4], **same)), TransitionLikeness)
    assert isinstance(suited(Log.from_columns(observation=np.eye(2), **same)), ObservationLikeness)
    labels = {"page": ["a", "b"], "age": [3.5, 4.5], "act": [0, 1], "r": [0.0, 1.0]}
    roles = {"action": "act", "reward": "r", "ends": "every-row"}
    assert isinstance(suited(read(labels, observation=["page"], **roles)), TransitionLikeness)
    assert isinstance(suited(read(labels, observation=["page", "age"], **roles)), ObservationLikeness)
