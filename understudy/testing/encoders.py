"""One call that checks an encoder."""

import tempfile
from collections.abc import Mapping
from inspect import getattr_static
from pathlib import Path
from typing import Any

import numpy as np

from understudy.contracts import Encoder, HasSettings, Log
from understudy.contracts.encoding import (
    CountsFits,
    CountsStates,
    EncoderContents,
    Encodes,
    RemembersLog,
    Savable,
    SaysFitted,
)
from understudy.contracts.fitting import ensure_fitted
from understudy.contracts.offering import offers
from understudy.encoders import load, save
from understudy.learners import Uniform
from understudy.runs import simulate
from understudy.simulators import qbe
from understudy.testing.rules import (
    Checked,
    Rules,
    check_described,
    check_travels,
    copy_of,
    global_randomness,
    is_whole,
    log_or_default,
)

OTHER_LOG = "give check_encoder a log that it is made for"
FITS = "fit(log) keeps what it learns in the encoder and returns it, or None"
SAME_FIT = "fitting twice on the same log gives the same states"
BATCH = "encode(observations) works on a batch"
SAVED = "an encoder that has contents() can be saved and loaded, with the same states"


def check_encoder(encoder: Encoder, log: Log | None = None) -> Checked:
    """Check that an encoder keeps its promises. Returns the rules it keeps; raises `ContractError` at the first broken.

    `log` is one that the encoder is made for; by default one with 25 numbered observations. The encoder may be fitted
    or not; it is copied, and stays as it is.
    """
    log = log_or_default(log)
    rules = Rules(type(encoder).__name__)
    rules.check(
        "an encoder has encode(observations)",
        not isinstance(encoder, type) and offers(encoder, Encodes),
        f"this is {encoder!r}",
        "write the method, and give an object, not the class",
    )
    fitted = _check_fit(rules, encoder, log)
    states = _check_states(rules, fitted, log)
    _check_offers(rules, fitted, log, states)
    if offers(fitted, Savable):
        _check_file(rules, fitted, log, states)
    with rules.trying("a simulator can use the states"):
        simulate(qbe(log, fitted, stop="plain"), Uniform(log.spec.n_actions), 0, 50)
    check_described(rules, "the encoder", fitted)
    check_travels(rules, "the encoder", fitted)
    return rules.checked()


def _check_fit(rules: Rules, encoder: Any, log: Log) -> Any:
    """Return a fitted copy of the encoder, and check how it was fitted."""
    copies = [copy_of(encoder, "give a fresh one that can be copied") for _ in range(2)]
    if not offers(encoder, Encoder):
        return copies[0]
    fits = copies[0].fits if offers(copies[0], CountsFits) else None
    was_fitted = offers(encoder, SaysFitted) and encoder.fitted
    with rules.trying(FITS, f"return self; or {OTHER_LOG}", ours=OTHER_LOG):
        for number, copy in enumerate(copies):
            with global_randomness(number):
                ensure_fitted(copy, log)
    one = copies[0]
    if offers(one, SaysFitted):
        rules.check("fitted is True after fit", one.fitted is True, f"it is {one.fitted!r}", "set it in fit")
    if fits is not None and not was_fitted:
        rules.check("fits grows with each fit", one.fits > fits, f"it stayed {one.fits}", "add 1 to it in fit")
    rules.check(
        SAME_FIT,
        np.array_equal(_encoded(rules, one, log.observation), _encoded(rules, copies[1], log.observation)),
        "two copies that were fitted on it disagree",
        "draw from a generator that is seeded by an option of the encoder",
    )
    if offers(one, RemembersLog) and not was_fitted:
        rules.check(
            "fitted_on is the fingerprint of the log that fit was called with",
            one.fitted_on == log.fingerprint,
            f"it is {one.fitted_on!r}",
            "keep log.fingerprint in fit",
        )
    return one


def _check_states(rules: Rules, encoder: Any, log: Log) -> np.ndarray:
    """Return the states of the log's observations, and check that they are codes."""
    observations = log.observation
    states = _encoded(rules, encoder, observations)
    rules.check(
        "encode(observations) returns one integer from 0 up for each observation, -1 for no state",
        states.shape == (len(observations),) and states.dtype.kind in "iu" and states.min() >= -1,
        f"it returned {states.dtype} of shape {states.shape} for {len(observations):,} observations"
        + (f", the least {states.min()}" if states.size and states.dtype.kind in "iuf" else ""),
        "return an integer array",
    )
    rules.check(
        "an encoder has a state for the observations of its log",
        states.max() >= 0,
        "all are -1",
        "fit it on logs like this one",
    )
    rules.check(
        "the state of an observation is the same each time",
        np.array_equal(states, _encoded(rules, encoder, observations)),
        "two calls with the same batch returned different states",
        "let encode change nothing and draw no random numbers",
    )
    some = np.linspace(0, len(observations) - 1, min(40, len(observations))).astype(int)
    rules.check(
        "the state of an observation does not depend on the others of its batch",
        all(np.array_equal(_encoded(rules, encoder, observations[[row]]), states[[row]]) for row in some)
        and np.array_equal(_encoded(rules, encoder, observations[::-1]), states[::-1]),
        "alone, or in another order, an observation got another state",
        "compute each row by itself, from what fit has learned",
    )
    with rules.trying("encode of an empty batch returns no states", "return an integer array of length 0"):
        empty = np.array(encoder.encode(observations[:0].copy()))
    rules.check(
        "encode of an empty batch returns no states",
        empty.shape == (0,),
        f"it returned shape {empty.shape}",
        "return an integer array of length 0",
    )
    return states


def _encoded(rules: Rules, encoder: Any, observations: np.ndarray) -> np.ndarray:
    """Return the states of a copy of some observations. Raise `ContractError` where encode fails."""
    with rules.trying(BATCH, f"it is given an array with one observation a row; or {OTHER_LOG}", ours=OTHER_LOG):
        return np.array(encoder.encode(observations.copy()))


def _check_offers(rules: Rules, encoder: Any, log: Log, states: np.ndarray) -> None:
    """Check what an encoder says of itself."""
    n_states = encoder.n_states if offers(encoder, CountsStates) else None
    if n_states is not None:
        rules.check(
            "n_states is a whole number, or None",
            is_whole(n_states),
            f"it is {'a method' if callable(n_states) else repr(n_states)}",
            "make it an attribute or a property",
        )
        following = _encoded(rules, encoder, log.next_observation)
        largest = max(states.max(), following.max())
        rules.check(
            "states are below n_states",
            largest < n_states,
            f"there is a state {largest}, and n_states is {n_states}",
            "let n_states be the number of states after fit",
        )
    if offers(encoder, HasSettings):
        rules.check(
            "settings is a mapping of names to values",
            isinstance(encoder.settings, Mapping),
            f"it is {encoder.settings!r}",
            "return a dict",
        )


def _check_file(rules: Rules, encoder: Any, log: Log, states: np.ndarray) -> None:
    """Check that an encoder that can be saved comes back with the same states."""
    rules.check(
        "from_contents(contents) is a class method",
        isinstance(getattr_static(encoder, "from_contents"), classmethod | staticmethod),
        "it is a method of objects",
        "write @classmethod above it",
    )
    advice = "let contents() hold all that encode uses, and from_contents put it back"
    with rules.trying(SAVED, advice):
        contents = encoder.contents()
    rules.check(
        "contents() returns EncoderContents",
        isinstance(contents, EncoderContents),
        f"it returned a {type(contents).__name__}",
        "return understudy.contracts.encoding.EncoderContents(settings, arrays)",
    )
    with tempfile.TemporaryDirectory() as folder, rules.trying(SAVED, advice):
        path = Path(folder) / "encoder.npz"
        save(encoder, path)
        loaded = load(path)
        again = np.array(loaded.encode(log.observation.copy()))
    rules.check(
        SAVED,
        type(loaded) is type(encoder) and np.array_equal(again, states),
        "after loading, observations have other states",
        advice,
    )
