import numpy as np
import pytest
from scipy.sparse import identity

from understudy.logs.propensities.logistic import (
    Examples,
    fit,
    fit_intercepts,
    fit_scale,
    log_probabilities,
    log_softmax,
)


def drawn_counts(scores, rng):
    p = np.exp(log_softmax(scores))
    return np.eye(scores.shape[1])[(p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)]


def test_without_a_penalty_codes_have_their_frequencies():
    counts = np.array([[6.0, 3.0, 1.0], [1.0, 1.0, 8.0]])
    weights = fit(Examples(identity(2, format="csr"), counts), penalty=1e-9)
    assert np.allclose(np.exp(log_probabilities(np.eye(2), weights)), counts / 10, atol=1e-3)


def test_a_large_penalty_leaves_the_frequencies_of_all_rows():
    counts = np.array([[6.0, 3.0, 1.0], [1.0, 1.0, 8.0]])
    weights = fit(Examples(np.eye(2), counts), penalty=1e9)
    assert np.allclose(np.exp(log_probabilities(np.eye(2), weights)), counts.sum(axis=0) / 20, atol=1e-4)


def test_weights_are_found_and_the_gradient_is_right():
    rng = np.random.default_rng(0)
    x, true = rng.normal(size=(50_000, 3)), rng.normal(size=(4, 3))
    scores = x @ true[1:] + true[0]
    examples = Examples(x, drawn_counts(scores, rng))
    weights = fit(examples, penalty=1e-3)
    centered, expected = (w - w.mean(axis=1, keepdims=True) for w in (weights, true))
    assert np.abs(centered - expected).max() < 0.06  # some four standard errors of a weight

    def loss(w):
        return -(examples.counts * log_probabilities(x, w)).sum() + 1e-3 / 2 * (w[1:] ** 2).sum()

    for _ in range(20):  # a minimum: no step from it goes down
        assert loss(weights + rng.normal(size=weights.shape) * 0.01) > loss(weights)


def test_expected_counts_are_the_actual_ones():
    rng = np.random.default_rng(1)
    scores, counts = rng.normal(size=(1000, 3)), drawn_counts(rng.normal(size=(1000, 3)), rng)
    p = np.exp(log_softmax(scores + fit_intercepts(scores, counts)))
    assert np.allclose(p.sum(axis=0), counts.sum(axis=0), atol=0.1)


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_scale_of_overconfident_scores_is_found(factor):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(50_000, 3))
    assert fit_scale(factor * scores, drawn_counts(scores, rng)) == pytest.approx(1 / factor, rel=0.03)


def test_scores_that_know_nothing_have_scale_zero():
    rng = np.random.default_rng(3)
    scores, counts = rng.normal(size=(50_000, 3)), drawn_counts(np.zeros((50_000, 3)), rng)
    assert fit_scale(scores, counts) < 0.02
    assert fit_scale(scores, drawn_counts(-scores, rng)) == 0  # worse than nothing is not turned around
