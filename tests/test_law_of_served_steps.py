"""What "exact" means: served steps agree with a real run until the log has no answer, and that is not given that they
are served.

An episode goes on between two states at random and ends with probability .2 at every step; the logger acts at random,
the policy is (.8, .2). In a real run every step ends its episode with probability .2. A simulated run agrees with a
real one up to its stop, so at every step

    P(served, and an end)  <=  .2  <=  P(served, and an end) + P(stopped before),

which is tested at each of the first steps, over many logs: error rate 1e-3 in all. The same test finds a row shuffle
wrong. *Given* that a step is served, ends are too rare where episodes are few; that vanishes with their number.
"""

from statistics import NormalDist

import numpy as np
import pytest

import understudy as us

END, STEPS, LOGS, RATE = 0.2, 8, 2000, 1e-3
POLICY = us.learners.FixedPolicy(np.array([[0.8, 0.2]] * 2))


def logged(rng, episodes):
    lengths = rng.geometric(END, episodes)
    n, last = lengths.sum(), np.cumsum(lengths) - 1
    state = rng.integers(0, 2, n + 1)
    opening = rng.integers(0, 2, episodes)
    observation = state[:-1].copy()
    observation[np.concatenate([[0], last[:-1] + 1])] = opening
    following = state[1:].copy()
    inside = np.setdiff1d(np.arange(n), last)
    following[inside] = observation[inside + 1]
    return us.Log.from_columns(
        observation=observation, action=rng.integers(0, 2, n), reward=np.zeros(n), next_observation=following,
        terminated=np.isin(np.arange(n), last), propensity=np.full((n, 2), 0.5),
    )  # fmt: skip


def served(simulator, episodes, logs=LOGS, seed=0, **options):
    """For each of the first steps: in which share of logs it was served, and served with an end; ends of all steps."""
    rng = np.random.default_rng(seed)
    steps, ends, total, total_ends = np.zeros(STEPS), np.zeros(STEPS), 0, 0
    for number in range(logs):
        log = logged(rng, episodes)
        rows = us.simulate(getattr(us, simulator)(log, **options), POLICY, seed=number).rows
        over = log.terminated[rows]
        steps[: len(rows)] += 1
        ends[: len(rows)] += over[:STEPS]
        total, total_ends = total + len(rows), total_ends + over.sum()
    return steps / logs, ends / logs, total_ends / total


def outside(steps, ends, logs=LOGS):
    """How many standard errors the truth lies outside of its bounds, at the worst step."""
    low, high = ends, ends + (1 - steps)
    return max((low - END).max(), (END - high).max()) / np.sqrt(END * (1 - END) / logs)


Z = NormalDist().inv_cdf(1 - RATE / (2 * STEPS))


@pytest.mark.parametrize(("simulator", "options"), [("psrs", {}), ("psrs", {"reserve": True}), ("qbe", {})])
@pytest.mark.parametrize("episodes", [1, 2, 5])
def test_the_truth_lies_within_what_was_served_and_the_share_that_had_stopped(simulator, options, episodes):
    steps, ends, _ = served(simulator, episodes, **options)
    assert outside(steps, ends) < Z


def test_a_row_shuffle_leaves_the_bounds():
    steps, ends, _ = served("psrs", 1, order="rows")
    assert outside(steps, ends) > Z


@pytest.mark.parametrize("simulator", ["psrs", "qbe"])
def test_given_that_a_step_is_served_ends_are_too_rare_in_short_logs_and_right_in_long_ones(simulator):
    shares = {episodes: served(simulator, episodes, logs)[2] for episodes, logs in ((2, 2000), (20, 400), (200, 40))}
    assert shares[2] < 0.19
    assert shares[2] < shares[20] < shares[200] + 0.005
    assert shares[20] > 0.185
    assert abs(shares[200] - END) < 0.01
