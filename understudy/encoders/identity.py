"""The observation itself as the state."""

from typing import Any

import numpy as np

from understudy.contracts import Log
from understudy.contracts.vocabulary import Vocabulary
from understudy.encoders import files
from understudy.encoders.audit import audit
from understudy.encoders.form import Form, batch, form_of
from understudy.errors import LogError
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
        self._form: Form | None = None
        self._vocabulary: Vocabulary | None = None

    def fit(self, log: Log) -> "Identity":
        observations = batch(log.observation)
        self._form, self._vocabulary, self.fitted = form_of(observations), None, True
        self.fits += 1
        following = batch(log.next_observation, self._form)
        if _are_states(observations, following):
            self.n_states = int(max(observations.max(), following.max())) + 1
        else:
            self._vocabulary = Vocabulary(observations, following)
            self.n_states = len(self._vocabulary)
        return self

    def encode(self, observations: np.ndarray) -> np.ndarray:
        observations = batch(observations, self._form)
        if self._vocabulary is not None:
            return self._vocabulary.codes(observations)
        if self.n_states is not None:
            known = (observations >= 0) & (observations < self.n_states)
            return np.where(known, observations, -1).astype(np.int64)
        return _unfitted(observations)

    @property
    def settings(self) -> dict[str, Any]:
        """What it is, as plain values."""
        return {"encoder": "Identity"}

    def contents(self) -> files.Contents:
        """What it is, to be saved."""
        known = {} if self._vocabulary is None else {"observations": self._vocabulary.rows}
        return files.Contents({"n_states": self.n_states}, self._form, known)

    @classmethod
    def from_contents(cls, contents: files.Contents) -> "Identity":
        """The Identity that these are the contents of."""
        files.only("its settings", contents.settings, ("n_states",))
        files.only("its arrays", contents.arrays, ("observations",) if contents.arrays else ())
        identity, rows, n_states = cls(), contents.arrays.get("observations"), contents.settings["n_states"]
        if n_states is None:
            if rows is not None or contents.form is not None:
                raise LogError("it was not fitted, and has a form or observations")
            return identity
        identity.n_states, identity._form, identity.fitted = whole("n_states", n_states), contents.form, True
        if rows is not None and contents.form is not None:
            identity._vocabulary = Vocabulary(batch(rows, contents.form))
            if len(identity._vocabulary) != len(rows) or len(rows) != n_states:
                raise LogError(f"{n_states} states for {len(identity._vocabulary):,} distinct observations")
        elif rows is not None or contents.form != Form("integer", ()) or n_states > LARGEST_UNFITTED + 1:
            raise LogError(f"{n_states} states that are their own observations, of {contents.form}")
        return identity

    def describe(self, state: int) -> str:
        """The observation that a state is."""
        return f"observation {state if self._vocabulary is None else self._vocabulary.rows[state].tolist()}"

    def __repr__(self) -> str:
        return "Identity()" if self.n_states is None else f"Identity()  # {self.n_states:,} states"


def _are_states(*columns: np.ndarray) -> bool:
    """Whether these observations can serve as states: scalar integers, from 0 up, and no sparse few of a vast range."""
    if any(form_of(column) != Form("integer", ()) for column in columns):
        return False
    bound = 4 * len(columns[0]) + 1024
    return all(((column >= 0) & (column <= bound)).all() for column in columns)


def _unfitted(observations: np.ndarray) -> np.ndarray:
    form = form_of(observations)
    if form != Form("integer", ()):
        raise LogError(f"Identity has to number {form}: call fit(log) first")
    wrong = observations[(observations < 0) | (observations > LARGEST_UNFITTED)]
    if len(wrong):
        raise LogError(f"Identity has to number observations such as {wrong[0]}: call fit(log) first")
    return observations.astype(np.int64)
