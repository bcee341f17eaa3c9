"""A function of your own as an encoder."""

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.contracts import Log
from understudy.contracts.encoding import encoding_blocks
from understudy.encoders.auditing import audit
from understudy.encoders.observations import batch_of
from understudy.errors import ContractError, EncoderError


class Function:
    """States by a function you give: an oracle, a lookup, a model trained elsewhere.

    It takes a batch, (n, ...), and returns n integers: the states, -1 for none. A function of a single scalar
    observation becomes one of a batch by `np.vectorize(f, otypes=[np.int64])`; of an array, by
    `np.vectorize(f, otypes=[np.int64], signature="(k)->()")`.

    Replay is exact where observations of one state have the same law of reward, next observation and termination
    under every action (A1). A function that drops a part the next observation depends on - a counter, a clock, the
    weather - merges wrongly, however irrelevant that part is to the reward: the learner sees it.

    >>> Function(lambda observations: observations % 25).encode(np.array([3, 28, 24]))
    array([ 3,  3, 24])
    """

    fitted = True
    fits = 0  # the function is assumed never to change, so codes made with it are kept
    audit = audit

    def __init__(self, f: Callable[[np.ndarray], Any]) -> None:
        if not callable(f):
            raise ContractError(f"Function takes a function of a batch of observations, not {f!r}")
        self.f = f
        self.n_states: int | None = None

    def fit(self, log: Log) -> "Function":
        """Count the states. The function stays as it is."""
        columns, blocks = (log.observation, log.next_observation), encoding_blocks(log.observation)
        self.n_states = 1 + max(int(self.encode(column[rows]).max()) for column in columns for rows in blocks)
        return self

    def encode(self, observations: np.ndarray) -> np.ndarray:
        observations = batch_of(observations)
        return _checked(np.asarray(self.f(observations.copy())), len(observations), self._name)

    def save(self, path: Any) -> None:
        """Raise `EncoderError`: a function cannot be saved."""
        raise EncoderError(
            f"Function({self._name}) cannot be saved, since files hold no code; keep the function in a module of yours "
            "and wrap it again"
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The name of the function."""
        return {"encoder": "Function", "function": self._name}

    def describe_state(self, state: int) -> str:
        """Return the function's name and value in words: more is not known of a state."""
        return f"{self._name} = {state}"

    def __repr__(self) -> str:
        return f"Function({self._name})"

    @property
    def _name(self) -> str:
        named = self.f if hasattr(self.f, "__qualname__") else type(self.f)
        return f"{named.__module__}.{named.__qualname__}"


def _checked(states: np.ndarray, n: int, name: str) -> np.ndarray:
    """Return the states as int64. Raise `ContractError` where they are not n integers from -1 up."""
    if states.shape != (n,):
        raise ContractError(
            f"{name} returned shape {states.shape} for {n} observations; it has to return one state for each"
        )
    if states.dtype.kind not in "biuf":
        raise ContractError(f"{name} returned dtype {states.dtype}; states are integers")
    states = states.astype(np.int64) if states.dtype == bool else states
    wrong = np.flatnonzero(~((states >= -1) & (states < 2**63) & (states == np.floor(states))))
    if len(wrong):
        raise ContractError(
            f"{name} returned {states[wrong[0]]} for observation {wrong[0]}; states are integers, -1 for none"
        )
    return states.astype(np.int64)
