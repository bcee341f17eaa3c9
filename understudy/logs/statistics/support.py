"""Actions that the logger could not, or hardly, take where a learner may want them."""

from collections.abc import Iterator

import numpy as np

from understudy.logs.findings import Finding
from understudy.logs.log import Log
from understudy.logs.naming import observation_words
from understudy.logs.recurring import FEWEST_ROWS, Recurring
from understudy.logs.statistics.column_order import action_name

TINY = 0.01  # a propensity below this, and below a tenth of 1/n_actions, leaves hardly a row to serve
MUCH = 0.05  # with this share of rows or more, it is a warning
NAMED = 3  # places named in a sentence
BLOCK = 1 << 22  # entries compared together


def action_support(log: Log, states: Recurring) -> Iterator[Finding]:
    """Find rows in which an action has a propensity of 0 or a tiny one, and observations where one was never taken."""
    if log.propensity is not None and log.propensity.ndim == 2:
        yield from _small_propensities(log, log.propensity, states)
    if states.size:
        yield from _never_taken(log, states)


def _small_propensities(log: Log, p: np.ndarray, states: Recurring) -> Iterator[Finding]:
    tiny = min(TINY, 0.1 / log.spec.n_actions)
    smallest = p.min(axis=1)
    small = smallest < tiny
    if not small.any():
        return
    zero, share = float((smallest == 0).mean()), float(small.mean())
    height = max(1, BLOCK // p.shape[1])
    counts = sum((p[at : at + height] < tiny).sum(axis=0) for at in range(0, len(p), height))
    worst = int(np.argmax(counts))
    rows = np.flatnonzero(p[:, worst] < tiny)
    places = _places(log, states, rows)
    yield Finding(
        "warning" if share >= MUCH else "note",
        "action-support",
        tuple(rows[:5].tolist()),
        int(small.sum()),
        f"some action has a propensity below {tiny:.2g} in {share:.1%} of rows, and of 0 in {zero:.1%}; most often "
        f"action {action_name(log, worst)}{places}: a learner that chooses it there is hardly ever served",
    )


def _never_taken(log: Log, states: Recurring) -> Iterator[Finding]:
    A = log.spec.n_actions
    kept = states.code < states.size
    taken = np.bincount(states.code[kept] * A + log.action[kept], minlength=states.size * A).reshape(-1, A)
    never = (taken == 0) & (taken.sum(axis=0) > 0)  # an action that was never taken at all is found by another rule
    where = np.flatnonzero(never.any(axis=1))
    if not len(where):
        return
    rows = int(states.rows[where].sum())
    named = [
        f"action {action_name(log, int(np.argmax(never[state])))} where "
        f"{observation_words(log.spec, log.observation[states.first_row[state]])} ({states.rows[state]:,} rows)"
        for state in where[:NAMED]
    ]
    more = "; ..." if len(where) > NAMED else ""
    yield Finding(
        "warning" if rows >= MUCH * len(log) else "note",
        "action-support",
        tuple(states.first_row[where[:5]].tolist()),
        int(never.sum()),
        f"of observations with {FEWEST_ROWS} rows or more, {len(where):,} of {states.size:,} lack some action, with "
        f"{rows / len(log):.1%} of rows: {'; '.join(named)}{more}: a learner that chooses it there ends the run",
    )


def _places(log: Log, states: Recurring, rows: np.ndarray) -> str:
    """Return the observations that have most of these rows, in words; "" where observations do not recur."""
    counts = np.bincount(states.code[rows], minlength=states.size + 1)[: states.size]
    most = np.argsort(-counts, kind="stable")[:NAMED]
    words = [observation_words(log.spec, log.observation[states.first_row[at]]) for at in most if counts[at]]
    return f", where {' or '.join(words)}" if words else ""
