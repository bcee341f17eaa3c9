"""Multinomial logistic regression with a ridge penalty, on features and counts of actions."""

from typing import Any, NamedTuple

import numpy as np

MOST_ITERATIONS = 300
PRECISION = 1e-6
"""How small the gradient of the mean loss is at the end."""


class Examples(NamedTuple):
    """Features, and how often each action was taken at them: once in a row, or in all rows with the same features."""

    features: Any  # (R, F), dense or sparse
    counts: np.ndarray  # (R, A) float64


def fit(examples: Examples, penalty: float, start: np.ndarray | None = None) -> np.ndarray:
    """Return the weights, (1 + F, A), that minimize the loss plus penalty / 2 times the sum of squared weights.

    The first row holds the intercepts, which are not penalized: the fitted probabilities of an action sum to how often
    it was taken. `start` is where to begin, such as the weights under a similar penalty.
    """
    from scipy.optimize import minimize

    features, counts = examples
    n, rows = counts.sum(), counts.sum(axis=1, keepdims=True)
    shape = (1 + features.shape[1], counts.shape[1])
    scale = np.ones((shape[0], 1))
    scale[1:] = 1 / np.sqrt(1 + penalty / n)  # so that the loss is about as curved in weights as in intercepts
    if start is None:
        start = np.zeros(shape)
        start[0] = np.log((counts.sum(axis=0) + 1) / (n + shape[1]))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape) * scale
        log_p = log_probabilities(features, weights)
        excess = rows * np.exp(log_p) - counts
        gradient = np.concatenate([excess.sum(axis=0)[None], np.asarray(features.T @ excess) + penalty * weights[1:]])
        value = -(counts * log_p).sum() + penalty / 2 * (weights[1:] ** 2).sum()
        return value / n, (gradient * scale).ravel() / n

    options = {"maxiter": MOST_ITERATIONS, "gtol": PRECISION}
    found = minimize(loss, (start / scale).ravel(), jac=True, method="L-BFGS-B", options=options)
    return found.x.reshape(shape) * scale


def scores_of(features: Any, weights: np.ndarray) -> np.ndarray:
    """Return the log-odds of each action, (R, A), up to a constant in each row."""
    return np.asarray(features @ weights[1:]) + weights[0]


def log_probabilities(features: Any, weights: np.ndarray) -> np.ndarray:
    """Return the logarithms of the probabilities of each action, (R, A)."""
    return log_softmax(scores_of(features, weights))


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Return the logarithms of probabilities that are proportional to exp(scores).

    >>> np.exp(log_softmax(np.array([[0.0, 1e3], [5.0, 5.0]])))
    array([[0. , 1. ],
           [0.5, 0.5]])
    """
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def fit_scale(scores: np.ndarray, counts: np.ndarray) -> float:
    """Return the factor, 0 or more, by which to multiply log-odds so that they fit actions they were not fitted to.

    Overconfident scores have a factor below 1. Intercepts are fitted beside it, and left out of what is returned.
    """
    from scipy.optimize import minimize

    n, rows = counts.sum(), counts.sum(axis=1, keepdims=True)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        log_p = log_softmax(flat[0] * scores + flat[1:])
        excess = rows * np.exp(log_p) - counts
        return -(counts * log_p).sum() / n, np.concatenate([[(excess * scores).sum()], excess.sum(axis=0)]) / n

    start = np.concatenate([[1.0], np.zeros(counts.shape[1])])
    bounds = [(0.0, None), *[(None, None)] * counts.shape[1]]
    return float(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x[0])


def fit_intercepts(scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return what to add to log-odds, (A,), so that expected and actual counts of each action agree over all rows."""
    from scipy.optimize import minimize

    n, rows = counts.sum(), counts.sum(axis=1, keepdims=True)

    def loss(intercepts: np.ndarray) -> tuple[float, np.ndarray]:
        log_p = log_softmax(scores + intercepts)
        return -(counts * log_p).sum() / n, (rows * np.exp(log_p) - counts).sum(axis=0) / n

    start = np.zeros(counts.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"gtol": PRECISION}).x
