"""Loggers whose propensities are known, and logs of them without these."""

import numpy as np

from understudy.logs import Log


def drawn(p, rng):
    """An action for each row of a table of probabilities."""
    return (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)


def softmax_columns(seed, n=10_000, n_features=5, n_actions=4):
    """The columns of one-step decisions by a softmax policy on features that never repeat."""
    rng = np.random.default_rng(seed)
    x, weights = rng.normal(size=(n, n_features)), rng.normal(size=(n_features, n_actions)) / 2
    scores = np.exp(x @ weights)
    p = scores / scores.sum(axis=1, keepdims=True)
    return {"observation": x, "action": drawn(p, rng), "reward": np.zeros(n), "propensity": p, "ends": "every-row"}


def code_columns(seed, n=10_000, n_codes=20, n_actions=4, skewed=True):
    """The columns of one-step decisions by a policy that depends on one of a few codes, or is uniform."""
    rng = np.random.default_rng(seed)
    code = rng.integers(n_codes, size=n)
    table = rng.dirichlet(np.full(n_actions, 2.0), size=n_codes)
    p = table[code] if skewed else np.full((n, n_actions), 1 / n_actions)
    return {"observation": code, "action": drawn(p, rng), "reward": np.zeros(n), "propensity": p, "ends": "every-row"}


def without_propensities(columns, **changes):
    return Log.from_columns(**{**columns, "propensity": None, **changes})
