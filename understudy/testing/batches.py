"""Checks of what a learner computes for many observations at once, against what it computes for each of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.contracts import BatchLearner, HasValue, HasValues, Log, Simulator, owned
from understudy.contracts.offering import offers
from understudy.runs import simulate
from understudy.testing.rules import CLOSE, Rules


def some_observations(log: Log, n: int = 50) -> np.ndarray:
    """Return some observations of a log, spread over it."""
    return log.observation[np.linspace(0, len(log) - 1, min(n, len(log))).astype(int)]


def check_batches(rules: Rules, make: Callable[[int], Any], log: Log, simulator: Simulator, max_steps: int) -> None:
    """Check policies and values of batches against those of single observations."""
    learner: Any = make(0)
    observations = some_observations(log, 20)
    simulate(simulator, learner, 0, max_steps, compiled=False)
    single = np.stack([np.asarray(learner.policy(owned(observation))) for observation in observations])
    if offers(learner, BatchLearner):
        rule = "policies(observations) are those that policy gives one by one"
        with rules.trying(rule, "it is given an array with one observation a row"):
            batch = np.asarray(learner.policies(observations.copy()))
        rules.check(
            rule,
            batch.shape == single.shape and np.allclose(batch, single, rtol=0, atol=CLOSE),
            f"shapes {batch.shape} and {single.shape}, largest difference {_difference(batch, single)}",
            "compute both by the same function, in float64",
        )
    if offers(learner, HasValue):
        with rules.trying("value(observation) is a number", "return a float"):
            value = learner.value(owned(observations[0]))
        rules.check(
            "value(observation) is a number",
            np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iuf",
            f"it is {value!r}",
            "return a float",
        )
    if offers(learner, HasValues):
        rule = "values(observations) has a number for each observation"
        with rules.trying(rule, "it is given an array with one observation a row"):
            values = np.asarray(learner.values(observations.copy()))
        rules.check(
            rule,
            values.shape == (len(observations),) and values.dtype.kind in "iuf",
            f"it is {values.dtype} of shape {values.shape} for {len(observations)} observations",
            "return an array of floats",
        )
        if offers(learner, HasValue):
            single = np.array([learner.value(owned(observation)) for observation in observations])
            rules.check(
                "values(observations) are those that value gives one by one",
                np.allclose(values, single, atol=1e-6),
                f"the largest difference is {_difference(values, single)}",
                "compute both by the same function",
            )


def _difference(one: np.ndarray, other: np.ndarray) -> str:
    return f"{np.abs(one - other).max():.3g}" if one.shape == other.shape else "unknown"
