"""The observation itself as the state."""

from typing import Any

import numpy as np

from understudy.contracts import Log
from understudy.contracts.encoding import EncoderContents, ObservationSpec
from understudy.contracts.vocabulary import Vocabulary
from understudy.encoders import files
from understudy.encoders.auditing import audit
from understudy.encoders.contents import check_names
from understudy.encoders.observations import SINGLE_INTEGERS, batch_of, spec_of
from understudy.errors import EncoderError
from understudy.settings import whole

LARGEST_UNFITTED = 2**31 - 1


class Identity:
    """Every distinct observation is a state. Merges nothing, so it is sufficient (A1) whenever observations are Markov.

    Its price is length: rows stand in for each other only where observations repeat exactly, which continuous ones
    never do.

    Integers from 0 up are their own states, and need no `fit`. Anything else - floats, arrays, negative numbers, or
    numbers far larger than the log has rows - is numbered by `fit`, in order of first appearance among the log's
    observations and then its next observations. An observation that was not there, or has a NaN, has no state (-1).

    >>> Identity().encode(np.array([3, 1, 3])).tolist()
    [3, 1, 3]
    """

    save, audit = files.save, audit

    def __init__(self) -> None:
        self.fitted, self.fits = False, 0
        self.n_states: int | None = None
        self._observation: ObservationSpec | None = None
        self._vocabulary: Vocabulary | None = None

    def fit(self, log: Log) -> "Identity":
        observations = batch_of(log.observation)
        self._observation, self._vocabulary, self.fitted = spec_of(observations), None, True
        self.fits += 1
        next_observations = batch_of(log.next_observation, self._observation)
        if _are_states(observations, next_observations):
            self.n_states = int(max(observations.max(), next_observations.max())) + 1
        else:
            self._vocabulary = Vocabulary(observations, next_observations)
            self.n_states = len(self._vocabulary)
        return self

    def encode(self, observations: np.ndarray) -> np.ndarray:
        observations = batch_of(observations, self._observation)
        if self._vocabulary is not None:
            return self._vocabulary.codes(observations)
        if self.n_states is not None:
            known = (observations >= 0) & (observations < self.n_states)
            return np.where(known, observations, -1).astype(np.int64)
        return _unfitted(observations)

    @property
    def settings(self) -> dict[str, Any]:
        """The name alone: there are no options."""
        return {"encoder": "Identity"}

    def contents(self) -> EncoderContents:
        known = {} if self._vocabulary is None else {"observations": self._vocabulary.rows}
        return EncoderContents({"n_states": self.n_states}, known, self._observation)

    @classmethod
    def from_contents(cls, contents: EncoderContents) -> "Identity":
        check_names("its settings", contents.settings, ("n_states",))
        check_names("its arrays", contents.arrays, ("observations",) if contents.arrays else ())
        identity, rows, n_states = cls(), contents.arrays.get("observations"), contents.settings["n_states"]
        if n_states is None:
            if rows is not None or contents.observation is not None:
                raise EncoderError("it was not fitted, and has observations or their shape")
            return identity
        identity.n_states, identity.fitted = whole("n_states", n_states), True
        identity._observation = contents.observation
        if rows is not None and contents.observation is not None:
            identity._vocabulary = Vocabulary(batch_of(rows, contents.observation))
            if len(identity._vocabulary) != len(rows) or len(rows) != n_states:
                raise EncoderError(f"{n_states} states for {len(identity._vocabulary):,} distinct observations")
        elif rows is not None or contents.observation != SINGLE_INTEGERS or n_states > LARGEST_UNFITTED + 1:
            raise EncoderError(f"{n_states} states that are their own observations, of {contents.observation}")
        return identity

    def describe_state(self, state: int) -> str:
        """Return the observation of a state in words."""
        return f"observation {state if self._vocabulary is None else self._vocabulary.rows[state].tolist()}"

    def __repr__(self) -> str:
        return "Identity()" if self.n_states is None else f"Identity()  # {self.n_states:,} states"


def _are_states(*columns: np.ndarray) -> bool:
    """Return True if observations can be states as they are: single integers from 0 to a few times the rows."""
    if any(spec_of(column) != SINGLE_INTEGERS for column in columns):
        return False
    bound = 4 * len(columns[0]) + 1024
    return all(column.min() >= 0 and column.max() <= bound for column in columns)


def _unfitted(observations: np.ndarray) -> np.ndarray:
    """Return observations as their own states. Raise `EncoderError` where only `fit` can number them."""
    spec = spec_of(observations)
    if spec != SINGLE_INTEGERS:
        raise EncoderError(f"Identity has to number {spec}: call fit(log) first")
    wrong = observations[(observations < 0) | (observations > LARGEST_UNFITTED)]
    if len(wrong):
        raise EncoderError(f"Identity has to number observations such as {wrong[0]}: call fit(log) first")
    return observations.astype(np.int64)
