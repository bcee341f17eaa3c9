"""Kernels of linear models: products, and that rounding does not add up over a million updates."""

import numpy as np
import pytest

from understudy.contracts.compiling import routine
from understudy.learners import LinUCB
from understudy.learners.linear_models import dot, multiply, update_linear


@routine
def teach(arms, contexts, rewards, n):
    """Update the model of action 0 by n rows, over and over again."""
    for step in range(n):
        row = step % len(contexts)
        for i in range(contexts.shape[1]):
            arms.x[i] = contexts[row, i]
        update_linear(arms, 0, rewards[row])


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_products_are_those_of_numpy(n):
    square, x, product = *np.random.default_rng(0).normal(size=(2, n, n)), np.empty(n)
    matrix, x = square + square.T, x[0]
    multiply(matrix, x, product)
    assert np.allclose(product, matrix @ x)
    assert dot(product, x) == pytest.approx(x @ matrix @ x)


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (30.0, 100.0)], ids=["plain", "badly scaled"])
def test_a_million_updates_are_those_of_a_plain_solve(scale, offset):
    """Weights and widths agree with the solution to nine digits."""
    rng, n = np.random.default_rng(2), 1_000_000
    contexts = offset + scale * rng.normal(size=(5000, 5))
    rewards = contexts @ rng.normal(size=5) / scale + rng.normal(size=5000)
    learner = LinUCB(5, 2)
    teach(learner._arms, contexts, rewards, n)
    times = np.bincount(np.arange(n) % 5000)
    design = np.column_stack([contexts, np.ones(5000)])
    gram = np.eye(6) + (design * times[:, None]).T @ design
    theta = np.linalg.solve(gram, design.T @ (times * rewards))
    assert learner.theta[0] == pytest.approx(theta, rel=1e-9, abs=1e-9)
    widths = np.einsum("ni,ij,nj->n", design, learner._arms.inverse[0], design)
    exact = (design * np.linalg.solve(gram, design.T).T).sum(axis=1)
    assert widths == pytest.approx(exact, rel=1e-9)
    assert np.array_equal(learner._arms.inverse[0], learner._arms.inverse[0].T)
