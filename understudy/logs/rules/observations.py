"""Rules about observations: whether each leads to the next one, and whether they recur."""

from collections import Counter
from collections.abc import Iterator
from math import exp, log1p
from math import log as ln
from typing import TYPE_CHECKING

import numpy as np

from understudy.logs.blocks import FoundRows, any_entry, found_rows, one_later, slices, width_of
from understudy.logs.episodes import goes_on, inner_rows
from understudy.logs.findings import Finding, finding_in_rows
from understudy.logs.naming import observation_words
from understudy.logs.recurring import keys_of, scrambled

if TYPE_CHECKING:
    from understudy.logs.log import Log

RESET_RATE = 1e-6  # false alarms of next-observation-is-reset
SAMPLE = 20_000  # rows that tell how common an observation is
FEW_ROWS = 100  # fewer cannot tell how common observations are


def next_observation_is_reset(log: "Log") -> Iterator[Finding]:
    """Find next observations that belong to the next episode, unless we made them, which shows the row's own again.

    Their number is compared with how often a first observation follows within an episode, by Chernoff's bound on a
    binomial tail: in a small world in which first observations are common, nothing is found.
    """
    if "next_observation" in log.derived:
        return
    opening = log.starts[1:-1]
    over, same = np.empty((2, len(opening)), bool)
    for part in slices(len(opening), width_of(log.observation)):
        last = opening[part] - 1
        over[part] = log.terminated[last]
        same[part] = ~any_entry(log.next_observation[last] != log.observation[opening[part]])
    for severity, ended in (("error", False), ("warning", True)):
        group = over == ended
        rows, n = found_rows((same & group).__getitem__, len(opening)), int(np.count_nonzero(group))
        if 2 * rows.count < max(n, 1):  # a logger that stores resets stores (nearly) all of them
            continue
        if _binomial_tail(rows.count, n, _chance(log, group)) < RESET_RATE:
            yield finding_in_rows(
                log,
                severity,
                "next-observation-is-reset",
                FoundRows(tuple(int(opening[place]) - 1 for place in rows.first), rows.count),
                "next_observation is the next episode's opening observation {where}: "
                + (
                    "learners would bootstrap from it; record what was observed before the reset, or leave "
                    "next_observation out, or, if nothing was reset there, make it one episode"
                    if severity == "error"
                    else "harmless to learners, since these rows are terminated, but encoders that are fitted see it"
                ),
            )


def next_observation_continuity(log: "Log") -> Iterator[Finding]:
    """Find next observations that differ from the next row's observation, unless they were taken from there."""
    if "next_observation" in log.derived:
        return

    def differs(part: slice) -> np.ndarray:
        different = log.next_observation[part] != log.observation[one_later(part)]
        return any_entry(different) & goes_on(log.episode, part) if different.any() else different

    rows = found_rows(differs, len(log) - 1, width_of(log.observation))
    if rows.count:
        yield finding_in_rows(
            log,
            "warning",
            "next-observation-continuity",
            rows,
            "next_observation is not the next row's observation {where}, within one episode: "
            "rows are missing or out of order, or the two columns are made differently",
        )


def distinct_observations(log: "Log") -> Iterator[Finding]:
    """Find that most observations occur once, so that no row can stand in for another."""
    keys = _keys_of_some(log) if len(log) >= FEW_ROWS else ()
    if len(keys) < FEW_ROWS:
        return
    where = "in a sample of rows, " if len(log) > SAMPLE else ""
    times = np.unique(keys, return_counts=True)[1]
    once = int((times == 1).sum())
    if 2 * once > len(keys):
        replayed = log.n_episodes == len(log) and log.propensity is not None
        yield Finding(
            "warning" if once > 0.9 * len(keys) and not replayed else "note",
            "distinct-observations",
            (),
            once,
            f"{where}{len(times):,} of {len(keys):,} observations are distinct, and {once:,} occur only once: without "
            "an encoder a run stops almost at once; merge them with one, and let encoder.audit(log) test its states"
            + ", or use us.replay(log), which needs no states"
            * replayed,
        )


def limit_observed(log: "Log") -> Iterator[Finding]:
    """Find that what was seen in the last step that a limit lets be was seen in no earlier one, and that no row is left
    of it: an observation that counts the steps. Each simulated episode that gets there ends its run."""
    if "next_observation" not in log.derived or log.dropped_reward is None or log.max_episode_steps is None:
        return
    rows = np.concatenate([part.start + np.flatnonzero(log.truncated[part]) for part in slices(len(log))])[:SAMPLE]
    keys = keys_of(log.next_observation[rows])
    unseen = np.unique(keys)
    if 2 * len(unseen) > len(rows):  # observations that hardly recur are another matter
        return
    for part in slices(len(log), width_of(log.observation)):
        unseen = unseen[~np.isin(unseen, keys_of(log.observation[part]))]
        if not len(unseen):
            return
    only_there = np.isin(keys, unseen)
    if 2 * np.count_nonzero(only_there) > len(rows):
        seen = observation_words(log.spec, log.next_observation[rows[np.argmax(only_there)]])
        yield Finding(
            "warning",
            "limit-observed",
            (),
            int(np.count_nonzero(only_there)),
            f"what was seen in step {log.max_episode_steps:,}, where a limit cuts episodes off, such as {seen}, was "
            "seen in no earlier step, and rows of that step were dropped: a run ends with the first simulated episode "
            "that gets there, however long the log is. Where an observation tells the step, a limit is an end like any "
            "other: name it with terminated=, not with truncated=; or log next_observation, or leave out what counts "
            "the steps",
        )


def _keys_of_some(log: "Log") -> np.ndarray:
    """Return a number for each row of a log; of a long one, for all rows with certain observations, about SAMPLE.

    So an observation that occurs once there does so in the whole log. In a sample of rows that are chosen without
    regard to what they hold, those that occur a hundred times in a long log would seem to occur once.
    """
    limit = np.uint64(int(SAMPLE / len(log) * 2**64)) if len(log) > SAMPLE else None
    found = []
    for part in slices(len(log), width_of(log.observation)):
        keys = scrambled(keys_of(log.observation[part]).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
        found.append(keys if limit is None else keys[keys < limit])
    return np.concatenate(found)


def _chance(log: "Log", opens: np.ndarray) -> float:
    """Return an estimate, rather too high, of how often a row within an episode leads to one of these openings.

    `opens` is a mask of the episodes after the first: those whose openings are meant.
    """
    rng = np.random.default_rng(0)  # a sample is enough, and always the same one
    n_inner, n_openings = len(log) - log.n_episodes, int(np.count_nonzero(opens))
    places = np.arange(n_inner) if n_inner <= SAMPLE else rng.integers(n_inner, size=SAMPLE)
    inner = inner_rows(log.starts, places)
    places = np.arange(n_openings) if n_openings <= SAMPLE else rng.integers(n_openings, size=SAMPLE)
    openings = log.starts[1:-1][_true_places(opens, places)]
    seen = Counter(row.tobytes() for row in log.next_observation[inner])
    return sum(seen[row.tobytes()] + 1 for row in log.observation[openings]) / (len(openings) * (len(inner) + 1))


def _true_places(mask: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return some of the places in which a mask is True, by their places among all of these, from 0 up.

    >>> _true_places(np.array([False, True, False, True, True]), np.array([2, 0]))
    array([4, 1])
    """
    found, before = np.zeros(len(which), np.int64), 0
    for part in slices(len(mask)):
        places = np.flatnonzero(mask[part])
        inside = (which >= before) & (which < before + len(places))
        found[inside] = part.start + places[which[inside] - before]
        before += len(places)
    return found


def _binomial_tail(hits: int, n: int, chance: float) -> float:
    """Return Chernoff's upper bound on P(at least this many hits in n).

    >>> _binomial_tail(20, 20, 0.5) == 0.5**20
    True
    """
    share = hits / n if n else 0.0
    if share <= chance:
        return 1.0
    divergence = share * ln(share / chance)
    if share < 1:
        divergence += (1 - share) * (log1p(-share) - log1p(-chance))
    return exp(-n * divergence)
