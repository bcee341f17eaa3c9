"""Actions that the logger could not, or hardly, take where a learner may want them."""

from collections.abc import Iterator

import numpy as np

from understudy.logs.blocks import found_rows, slices, width_of
from understudy.logs.findings import Finding
from understudy.logs.log import Log
from understudy.logs.naming import action_words, observation_words
from understudy.logs.recurring import FEWEST_ROWS, Recurring, keys_of
from understudy.logs.statistics.samples import Sample

TINY = 0.01  # a propensity below this, and below a tenth of 1/n_actions, leaves hardly a row to serve
MUCH = 0.05  # with this share of rows or more, it is a warning
NAMED = 3  # places named in a sentence


def action_support(log: Log, states: Recurring, sample: Sample | None = None) -> Iterator[Finding]:
    """Find rows in which an action has a propensity of 0 or a tiny one, and observations where one was never taken.

    Where `states` are those of a sample of the log, rows and actions are counted in all of it.
    """
    sample = Sample(log) if sample is None else sample
    if log.propensity is not None and log.propensity.ndim == 2:
        yield from _small_propensities(log, log.propensity, states, sample)
    if states.size:
        yield from _never_taken(log, states, sample)


def _small_propensities(log: Log, p: np.ndarray, states: Recurring, sample: Sample) -> Iterator[Finding]:
    tiny = min(TINY, 0.1 / log.spec.n_actions)
    n_small, n_zero, counts = 0, 0, np.zeros(p.shape[1], np.int64)
    for part in slices(len(p), p.shape[1]):
        block = p[part]
        smallest = block.min(axis=1)
        n_small += int((smallest < tiny).sum())
        n_zero += int((smallest == 0).sum())
        counts += (block < tiny).sum(axis=0)
    if not n_small:
        return
    zero, share = n_zero / len(p), n_small / len(p)
    worst = int(np.argmax(counts))
    rows = found_rows(lambda part: p[part, worst] < tiny, len(p))
    assert sample.log.propensity is not None
    places = _places(sample.log, states, np.flatnonzero(sample.log.propensity[:, worst] < tiny))
    yield Finding(
        "warning" if share >= MUCH else "note",
        "action-support",
        log.rows_in_source(rows.first),
        n_small,
        f"some action has a propensity below {tiny:.2g} in {share:.1%} of rows, and of 0 in {zero:.1%}; most often "
        f"{action_words(log.spec, worst)}{places}: a learner that chooses it there is hardly ever served",
    )


def _never_taken(log: Log, states: Recurring, sample: Sample) -> Iterator[Finding]:
    A = log.spec.n_actions
    counts = np.zeros(states.size * A, np.int64)
    for part, code in _codes(log, states, sample):
        kept = code < states.size
        counts += np.bincount(code[kept] * A + log.action[part][kept], minlength=states.size * A)
    taken = counts.reshape(-1, A)
    n_rows = taken.sum(axis=1)
    never = (taken == 0) & (taken.sum(axis=0) > 0)  # an action that was never taken at all is found by another rule
    where = np.flatnonzero(never.any(axis=1))
    if not len(where):
        return
    rows, first = int(n_rows[where].sum()), sample.row_numbers(states.first_row[where])
    named = [
        f"{action_words(log.spec, int(np.argmax(never[state])))} where "
        f"{observation_words(log.spec, log.observation[row])} ({n_rows[state]:,} rows)"
        for state, row in zip(where[:NAMED], first[:NAMED], strict=True)
    ]
    more = "; ..." if len(where) > NAMED else ""
    of_sample = "" if sample.rows is None else f" in a sample of {len(sample.rows):,} rows"
    yield Finding(
        "warning" if rows >= MUCH * len(log) else "note",
        "action-support",
        log.rows_in_source(first[:5]),
        int(never.sum()),
        f"of observations with {FEWEST_ROWS} rows or more{of_sample}, {len(where):,} of {states.size:,} lack some "
        f"action, with {rows / len(log):.1%} of rows: {'; '.join(named)}{more}: a learner that chooses it there ends "
        + ("a run of psrs or qbe; replay passes it over" if log.n_episodes == len(log) else "the run"),
    )


def _codes(log: Log, states: Recurring, sample: Sample) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield all rows of a log in blocks, with the codes of their observations among those that recur."""
    keys = keys_of(sample.log.observation[states.first_row])
    order = np.argsort(keys)
    for part in slices(len(log), width_of(log.observation)):
        if sample.rows is None:
            yield part, states.code[part]
            continue
        seen = keys_of(log.observation[part])
        place = order[np.minimum(np.searchsorted(keys, seen, sorter=order), len(keys) - 1)]
        yield part, np.where(keys[place] == seen, place, states.size)


def _places(log: Log, states: Recurring, rows: np.ndarray) -> str:
    """Return the observations that have most of these rows, in words; "" where observations do not recur."""
    counts = np.bincount(states.code[rows], minlength=states.size + 1)[: states.size]
    most = np.argsort(-counts, kind="stable")[:NAMED]
    words = [observation_words(log.spec, log.observation[states.first_row[at]]) for at in most if counts[at]]
    return f", where {' or '.join(words)}" if words else ""
