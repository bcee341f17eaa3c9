"""The bound of rejection sampling over whole episodes, M in the paper: one number for every episode of a log.

Each episode must be accepted with the same probability, 1 / M, whatever its observations and the learner's policies:
else some of them would be met more often than in the real world. So the bound is at least the largest product of
policy / propensity that any episode may have, and depends on neither episode nor policy.
"""

from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Log
from understudy.errors import LogError, SettingError
from understudy.logs.episodes import longest_episode
from understudy.logs.propensities.sampling import chosen_propensities
from understudy.mapped import blocks, new_array
from understudy.settings import real

RUNNING, QUANTILE = "running", "quantile"
UNIFORM = 1e-6
"""Propensities that differ from 1 / n_actions by less than this share of it are those of a uniform logger."""


class Bound(NamedTuple):
    """The bound of an episode's ratio, and how it is known."""

    value: float  # of a running bound, where it starts
    source: str  # in a few words, for settings and pages
    is_running: bool = False


def is_uniform(log: Log) -> bool:
    """True if every propensity that was logged is one over the number of actions."""
    assert log.propensity is not None
    p, n_actions = log.propensity, log.spec.n_actions
    return all((np.abs(p[rows] * n_actions - 1) <= UNIFORM).all() for rows in blocks(len(p)))


def inverse_of_chosen(log: Log) -> np.ndarray:
    """Return one over the propensity of each row's action, (N,): of a uniform logger, the number of actions exactly."""
    if is_uniform(log):
        return np.broadcast_to(float(log.spec.n_actions), len(log))
    inverse = new_array(len(log), np.float64)
    for rows in blocks(len(log)):
        chosen = chosen_propensities(log, rows)
        assert chosen is not None
        inverse[rows] = 1.0 / chosen
    return inverse


def ceilings(inverse: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the product of `inverse` over the later rows of each row's episode, (N,), and over all of them, (E,).

    >>> ceilings(np.array([2.0, 3.0, 5.0]), np.array([0, 2, 3]))
    (array([3., 1., 1.]), array([6., 5.]))
    """
    if len(starts) - 1 == len(inverse):  # episodes of one row
        return np.broadcast_to(1.0, len(inverse)), inverse
    later, whole = new_array(len(inverse), np.float64), np.ones(len(starts) - 1)
    lengths = np.diff(starts)
    with np.errstate(over="ignore"):
        for back in range(int(lengths.max())):  # the last row of each episode first
            reach = lengths > back
            rows = starts[1:][reach] - 1 - back
            later[rows] = whole[reach]
            whole[reach] *= inverse[rows]
    return later, whole


def bound_for(log: Log, given: Any, quantile: float | None) -> Bound:
    """Return the bound that `bound=` and `quantile=` stand for.

    Raises `SettingError` where they stand for none, and `LogError` where none can be found.
    """
    if quantile is not None and given != QUANTILE:
        raise SettingError(f"quantile={quantile!r} is for bound='quantile', and bound is {given!r}; leave it out")
    at = longest_episode(log.starts)
    longest = int(log.starts[at + 1] - log.starts[at])
    if given is None:
        return found_bound(log, longest)
    if isinstance(given, str) and given == RUNNING:
        # No logger has a smallest propensity above 1 / n_actions, so no bound can be less than this.
        return Bound(_power(log.spec.n_actions, longest), "the largest before", is_running=True)
    if isinstance(given, str) and given == QUANTILE:
        share = real("quantile", 0.99 if quantile is None else quantile, 0, 1)
        largest = ceilings(inverse_of_chosen(log), log.starts)[1]
        return Bound(float(np.quantile(largest, share, method="higher")), f"the {share:g} quantile of the log")
    if isinstance(given, str):
        raise SettingError(f"bound={given!r} is not one of 'running', 'quantile'; or give a number")
    return Bound(real("bound", given, 1), "the number given")  # no two policies have a largest ratio below 1


def found_bound(log: Log, longest: int) -> Bound:
    """Return the bound that the log's propensities give, for episodes of at most so many steps."""
    assert log.propensity is not None
    n_actions = log.spec.n_actions
    if is_uniform(log):
        bound = Bound(_power(n_actions, longest), "uniform propensities")
    else:
        # Shares of draws are 0 for actions that no draw took, and estimates have tails that no row was drawn from.
        source = log.propensity_source
        all_known = log.propensity.ndim == 2 and not (source is not None and source.is_uncertain)
        smallest = smallest_above_zero(log.propensity) if all_known else 1.0 / float(inverse_of_chosen(log).max())
        which = "any action" if all_known else "chosen actions, for which the log alone vouches"
        bound = Bound(_power(1.0 / smallest, longest), f"the smallest propensity of {which}")
    if not np.isfinite(bound.value):
        raise LogError(
            f"the bound of an episode of {longest:,} steps is larger than any number, so that none would be accepted; "
            "use psrs or qbe, which go step by step, or give a bound="
        )
    return bound


def smallest_above_zero(matrix: np.ndarray) -> float:
    """Return the smallest number above 0."""
    return min(float(np.where(matrix[rows] > 0, matrix[rows], np.inf).min()) for rows in blocks(len(matrix)))


def _power(base: float, exponent: int) -> float:
    with np.errstate(over="ignore"):
        return float(np.float64(base) ** exponent)
