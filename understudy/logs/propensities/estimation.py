"""Propensities estimated from the actions of a log: cross-fitted by episode, calibrated and tested.

The episodes are split into parts. The propensities of a row come from a model of the other parts, so that no row's
own action, nor any of its episode, moves them: a model that memorizes would find each action certain, and rejection
sampling would serve what the log did instead of what the learner does. Within these other parts, the strength of the
penalty, and the factor by which the model's log-odds must be scaled to fit actions that it has not seen, are found in
the same way, by models that leave out two parts; each serves both parts in turn, so that five parts need ten of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from understudy.errors import ContractError, LogError, SettingError
from understudy.logs.log import Log
from understudy.logs.propensities.features import LoggerFeatures, features_of
from understudy.logs.propensities.given import called
from understudy.logs.propensities.logistic import (
    Examples,
    fit,
    fit_intercepts,
    fit_scale,
    log_softmax,
    scores_of,
)
from understudy.logs.propensities.source import PropensityReport, PropensitySource
from understudy.logs.recurring import recurring
from understudy.logs.statistics.calibration import known_policies, propensity_frequency
from understudy.settings import seed_of

PARTS = 5
PENALTIES = (1000.0, 100.0, 10.0, 1.0)
"""Strong to weak, each fitted from where the one before it ended."""

SEARCH_ROWS = 10_000
"""Rows, over all parts, that penalty and scale are found with; the models themselves see all rows of their parts."""


def estimate_propensities(
    log: Log, *, features: Callable[[np.ndarray], Any] | None = None, parts: int = PARTS, seed: int = 0
) -> Log:
    """Return the log with propensities of all actions that are estimated from it.

    Use it where nobody can tell what the logger's probabilities were; `log.with_propensities` is better where somebody
    can, and `qbe` needs none. The model is a logistic regression on the observation, or on what `features` returns for
    all observations: numbers, (N, k), or codes, (N,). `log.propensity_source.report` says how well it fits, and
    `check` tests it as it tests propensities that were logged; none of this sees a cause of actions that is not in the
    observation. Where the propensity of the chosen action was logged it is kept, and those of the others are scaled;
    where an observation recurs, and all its actions were taken with one logged propensity each that sum to 1, these are
    taken, and nothing is estimated.

    An action that no row took has propensity 0. Raise `LogError` where there are too few episodes.

    >>> rng = np.random.default_rng(0)
    >>> seen = np.arange(600) % 2
    >>> action = rng.random(600) < 0.2 + 0.6 * seen
    >>> log = Log.from_columns(observation=seen, action=action, reward=np.zeros(600), ends="every-row")
    >>> estimate_propensities(log).propensity[:2].round(1)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """
    log.require_no_errors()
    if log.propensity is not None and log.propensity.ndim == 2:
        raise SettingError("the log has the propensities of all actions already; there is nothing to estimate")
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 3:
        raise SettingError(f"parts={parts!r} must be a whole number from 3 on")
    seed = seed_of(seed)
    if log.n_episodes < 2 * parts:
        raise LogError(
            f"the log has {log.n_episodes} episode{'s' * (log.n_episodes != 1)}, and estimating propensities needs at "
            f"least {2 * parts}, so that those of each row come from other episodes; use qbe, which needs no "
            'propensities, or say ends="every-row" if each row is a decision by itself'
        )
    known_rows, known = np.empty(0, np.int64), np.empty((0, log.spec.n_actions))
    if log.propensity is not None:
        known_rows, known = known_policies(log, recurring(log.observation))
        if len(known_rows) == len(log):
            source = PropensitySource("table", detail="put together from those of the chosen actions")
            return replace(log, propensity=known, propensity_source=source)
    one_hot = log.spec.one_hot if log.spec.coding is not None else None
    seen = features_of(log.observation, one_hot) if features is None else _given_features(log, features)
    part = _parts(log, parts, seed)
    estimated, scales = _cross_fitted(log, seen, part, parts)
    report = _report(log, seen, estimated, scales, parts)
    if log.propensity is not None:
        estimated = _with_chosen(estimated, log.action, log.propensity)
        estimated[known_rows] = known
    source = PropensitySource("estimated", detail=_detail(log, seen, parts, len(known_rows)), report=report)
    found = replace(log, propensity=estimated, propensity_source=source)
    tested = propensity_frequency(found, recurring(log.observation)).tested
    return replace(found, propensity_source=replace(source, report=replace(report, p_value=tested.p_value)))


def _detail(log: Log, seen: LoggerFeatures, parts: int, n_known: int) -> str:
    chosen = ", that of the chosen action as logged" if log.propensity is not None else ""
    known = f", known from other rows in {n_known:,} of {len(log):,} rows" if n_known else ""
    return f"from {seen.words}, cross-fitted by episode in {parts} parts{chosen}{known}"


def _given_features(log: Log, function: Callable[[np.ndarray], Any]) -> LoggerFeatures:
    """Return what a function of the user's says of all observations."""
    returned = called(function, "features of all observations", np.array(log.observation))
    try:
        values = np.asarray(returned)
    except ValueError:  # ragged
        raise ContractError(
            "features returned rows of different lengths; return as many numbers for each observation"
        ) from None
    if values.ndim not in (1, 2) or len(values) != len(log) or values.dtype.kind not in "biuf":
        raise ContractError(
            f"features returned {values.dtype} of shape {values.shape} for {len(log):,} observations; return numbers, "
            "a row for each, or codes"
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ContractError("features returned a NaN or an infinity; return numbers")
    return features_of(values)


def _parts(log: Log, parts: int, seed: int) -> np.ndarray:
    """Return the part of each row, (N,): whole episodes, at random, in parts of equal numbers of episodes."""
    of_episode = np.random.default_rng(seed % 2**128).permutation(np.arange(log.n_episodes) % parts)
    return np.repeat(of_episode, np.diff(log.starts))


class _Part(NamedTuple):
    """One part of the episodes: its rows, what models are fitted to, and fewer of these to find penalty and scale."""

    rows: np.ndarray
    examples: Examples
    fewer: Examples


def _cross_fitted(log: Log, seen: LoggerFeatures, part: np.ndarray, n_parts: int) -> tuple[np.ndarray, list[float]]:
    """Return the propensities of all actions, (N, A), each row's from models of other parts, and the scale of each."""
    A = log.spec.n_actions
    parts = [_examples(seen, log.action, np.flatnonzero(part == number), A, n_parts) for number in range(n_parts)]
    models = _models_without_two(parts, pooled=seen.code is not None)
    estimated, scales = np.empty((len(log), A)), []
    for number, held_out in enumerate(parts):
        others = [other for other in range(n_parts) if other != number]
        penalty, scale = _penalty_and_scale([(models[number, other], parts[other].fewer) for other in others])
        training = _joined([parts[other].examples for other in others], seen.code is not None)
        weights = fit(training, PENALTIES[penalty], start=models[number, others[0]][penalty])
        intercepts = fit_intercepts(scale * scores_of(training.features, weights), training.counts)
        found = np.exp(log_softmax(scale * scores_of(held_out.examples.features, weights) + intercepts))
        found = _never_zero(found, float(training.counts.sum()))
        estimated[held_out.rows] = found if seen.code is None else found[seen.code[held_out.rows]]
        scales.append(scale)
    taken = np.bincount(log.action, minlength=A) > 0
    estimated[:, ~taken] = 0.0
    return estimated / estimated.sum(axis=1, keepdims=True), scales


def _examples(seen: LoggerFeatures, action: np.ndarray, rows: np.ndarray, n_actions: int, n_parts: int) -> _Part:
    """Return one part's examples. Rows of one code are counted together."""
    if seen.code is not None:
        from scipy.sparse import identity

        size = 1 + int(seen.code.max())
        counts = np.bincount(seen.code[rows] * n_actions + action[rows], minlength=size * n_actions)
        examples = Examples(identity(size, format="csr"), counts.reshape(size, n_actions).astype(np.float64))
        return _Part(rows, examples, examples)
    assert seen.matrix is not None
    examples = Examples(seen.matrix[rows], np.eye(n_actions)[action[rows]])
    every = -(-len(rows) * n_parts // SEARCH_ROWS)
    return _Part(rows, examples, Examples(examples.features[::every], examples.counts[::every]))


def _joined(examples: Sequence[Examples], pooled: bool) -> Examples:
    """Return the examples of several parts as one; those of codes are of the same codes, and their counts add up."""
    if pooled:
        return Examples(examples[0].features, np.sum([one.counts for one in examples], axis=0))
    return Examples(*(np.concatenate(pieces) for pieces in zip(*examples, strict=True)))


def _models_without_two(parts: Sequence[_Part], pooled: bool) -> dict[tuple[int, int], list[np.ndarray]]:
    """Return, for each pair of parts in both orders, the weights under each penalty of a model that saw neither."""
    models: dict[tuple[int, int], list[np.ndarray]] = {}
    for pair in combinations(range(len(parts)), 2):
        training = _joined([one.fewer for number, one in enumerate(parts) if number not in pair], pooled)
        path: list[np.ndarray] = []
        for penalty in PENALTIES:
            path.append(fit(training, penalty, start=path[-1] if path else None))
        models[pair] = models[pair[::-1]] = path
    return models


def _penalty_and_scale(held_out: Sequence[tuple[list[np.ndarray], Examples]]) -> tuple[int, float]:
    """Return which penalty fits parts best that its models have not seen, and the scale that fits them."""
    counts = np.concatenate([examples.counts for _, examples in held_out])
    scores = [
        np.concatenate([scores_of(examples.features, path[at]) for path, examples in held_out])
        for at in range(len(PENALTIES))
    ]
    best = int(np.argmin([-(counts * log_softmax(one)).sum() for one in scores]))
    return best, fit_scale(scores[best], counts)


def _never_zero(p: np.ndarray, n_rows: float) -> np.ndarray:
    """Return probabilities as if one row more had taken each action: at least 1 / (rows + actions)."""
    A = p.shape[1]
    return (n_rows * p + 1) / (n_rows + A)


def _with_chosen(estimated: np.ndarray, action: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return vectors with the logged propensity of the chosen action; those of the others keep their proportions.

    >>> _with_chosen(np.array([[0.5, 0.3, 0.2]]), np.array([0]), np.array([0.2]))
    array([[0.2 , 0.48, 0.32]])
    """
    rows = np.arange(len(action))
    others = estimated.copy()
    others[rows, action] = 0.0
    rest = others.sum(axis=1)
    alone = rest == 0  # no other action was ever taken: it is certain, whatever was logged
    factor = np.divide(1 - chosen, rest, out=np.zeros(len(rest)), where=~alone)
    found = others * np.maximum(factor, 0.0)[:, None]
    found[rows, action] = np.where(alone, 1.0, np.minimum(chosen, 1.0))
    return found


def _report(log: Log, seen: LoggerFeatures, estimated: np.ndarray, scales: list[float], parts: int) -> PropensityReport:
    chosen = estimated[np.arange(len(log)), log.action]
    share = np.bincount(log.action, minlength=log.spec.n_actions) / len(log)
    taken = share[share > 0]
    return PropensityReport(
        n_rows=len(log), n_episodes=log.n_episodes, n_parts=parts, features=seen.words,
        loss=float(-np.log(chosen).mean()),
        loss_of_frequencies=max(0.0, float(-(taken * np.log(taken)).sum())),
        scale=float(np.mean(scales)), smallest=float(chosen.min()),
        mean_inverse=float((1 / chosen).mean() / len(taken)),
        disagreement=None if log.propensity is None else float(np.abs(chosen - log.propensity).mean()),
    )  # fmt: skip
