"""The audit of an encoder on a log: how its states are counted and tested."""

import numpy as np

from understudy.contracts import Log
from understudy.contracts.encoding import Encodes, RemembersLog, check_encodes, states_of
from understudy.contracts.fitting import ensure_fitted, needs_fit
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.contracts.vocabulary import Vocabulary
from understudy.encoders.state_audit import AXES, MOST_DRAWN, MOST_STATES, StateAudit
from understudy.encoders.sufficiency import Sufficiency, holm, sufficiency
from understudy.logs.naming import feature_name, observation_words
from understudy.progress import progress_bar

LEVEL = 0.01
SAMPLE_SIZE = 20_000  # observations kept for the picture


def audit(encoder: Encodes, log: Log, *, level: float = LEVEL, seed: int = 0) -> StateAudit:
    """Return the states that an encoder makes of a log, each with its rows and a test whether it is sufficient.

    The result prints as a table; `verdict` and `ok` sum it up. An encoder that is not fitted yet is fitted on the log
    first.
    """
    check_encodes(encoder)
    fitted_here = needs_fit(encoder)
    ensure_fitted(encoder, log)
    states, following = states_of(encoder, log.observation), states_of(encoder, log.next_observation)
    known, counts = np.unique(states[states >= 0], return_counts=True)
    merges = np.isin(known, merging_states(log.observation, states))
    merging, sizes = known[merges], counts[merges]
    largest = merging[np.argsort(-sizes, kind="stable")[:MOST_STATES]]
    with progress_bar("testing states", len(largest)) as report:
        found = sufficiency(log, states, seed, only=largest.tolist(), report=report)
    dead_end = ~np.isin(following, known) & ~log.terminated
    sample_observation, sample_state = _sample(log.observation, states, seed)
    return StateAudit(
        encoder=_title(encoder),
        state=found.state,
        rows=found.rows,
        p_value=found.p_value,
        explained=found.explained,
        suspicious=np.nan_to_num(holm(found.p_value), nan=1.0) < level,
        merges=merges,
        level=level,
        n_rows=len(log),
        n_without_state=int((states < 0).sum()),
        n_dead_ends=int(dead_end.sum()),
        same_log=fitted_here or (offers(encoder, RemembersLog) and encoder.fitted_on == log.fingerprint),
        sample_observation=sample_observation,
        sample_state=sample_state,
        examples=_examples(log, found, merges),
        axes=_axes(log),
    )


def _examples(log: Log, found: Sufficiency, merges: np.ndarray) -> dict[int, str]:
    """Return the first observation of the states that tables and pictures may show; none where nothing is merged."""
    largest = np.argsort(-found.rows, kind="stable")
    places = np.union1d(largest[merges[largest]][:MOST_STATES], largest[:MOST_DRAWN]) if merges.any() else ()
    return {
        int(found.state[place]): observation_words(log.spec, log.observation[int(found.first[place])])
        for place in places
    }


def _axes(log: Log) -> tuple[str, str]:
    """Return the names of the columns that two-dimensional observations have."""
    named = log.spec.features is not None and log.spec.observation_shape == (2,)
    return (feature_name(log.spec, 0), feature_name(log.spec, 1)) if named else AXES


def _title(encoder: Encodes) -> str:
    """Return the encoder's name without its comment."""
    return name_of(encoder).split("  #")[0]


def merging_states(observations: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Return the states that have several distinct observations. Observations with a NaN are all distinct."""
    codes = Vocabulary(observations).codes(observations)
    order = np.argsort(states, kind="stable")
    same_state = states[order][1:] == states[order][:-1]
    other = (codes[order][1:] != codes[order][:-1]) | (codes[order][1:] < 0)
    return np.unique(states[order][1:][same_state & other])


def _sample(observations: np.ndarray, states: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some observations, where they are two-dimensional, and their states: equally many of each state."""
    if observations.shape[1:] != (2,):
        return np.empty((0, 2)), np.empty(0, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(states))
    order = order[np.argsort(states[order], kind="stable")]
    starts = np.flatnonzero(np.diff(states[order], prepend=-2))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    kept = order[place < max(20, SAMPLE_SIZE // max(1, len(starts)))][: 4 * SAMPLE_SIZE]
    return np.asarray(observations[kept], dtype=np.float64), states[kept]
