"""The law of `psrs(propensity="state mean", order="rows")`: exact up to an error of one over the rows of a state.

Two loggers that always take the same action, one of them in each episode, and a logger that drifts over the log. All
rows are in one state. Numbers of runs and error rates (1e-4 for each test) were set before the results were looked at.
The wrong variant reads the log by episodes, where rows of one logger follow each other.
"""

from statistics import NormalDist

import numpy as np
import pytest

import understudy as us
from understudy.simulators.index import index
from understudy.simulators.kernels import layout
from understudy.simulators.replay import STATE_MEAN, Replay

Z = NormalDist().inv_cdf(1 - 1e-4 / 2)
RUNS = 4000
EVENLY, MOSTLY_ONE = np.array([0.5, 0.5]), np.array([0.3, 0.7])


def logged(action, propensity, length):
    """Episodes of so many rows in one state."""
    n = len(action)
    last = np.arange(n) % length == length - 1
    return us.Log.from_columns(
        observation=np.zeros(n, int), next_observation=np.zeros(n, int), action=action, reward=np.zeros(n),
        terminated=last, propensity=propensity,
    )  # fmt: skip


def two_loggers(episodes, length=2):
    """Half of the episodes by a logger that always takes action 0, half by one that always takes action 1."""
    action = np.repeat(np.arange(episodes) % 2, length)
    return logged(action, np.eye(2)[action], length)


def drifting(rng, n=100):
    """A logger that comes to prefer action 1: its probability rises from .1 to .9 over the log."""
    one = np.linspace(0.1, 0.9, n)
    return logged((rng.random(n) < one).astype(int), np.column_stack([1 - one, one]), length=5)


def simulator(log, order="rows", **options):
    if order == "rows":
        return us.psrs(log, propensity=STATE_MEAN, order=order, **options)
    indexed = index(log, None, propensities=True)  # the wrong variant, which psrs refuses
    return Replay("psrs", indexed, accept=layout.REJECTION, order=order, propensity=STATE_MEAN)


def first_actions(log, made, policy, seed, n):
    return log.action[us.simulate(made, us.learners.FixedPolicy(policy), seed, n).rows]


@pytest.mark.parametrize(("episodes", "reserve"), [(4, False), (40, False), (40, True)])
def test_two_actions_in_a_row_are_as_if_drawn_from_the_policy_up_to_one_over_the_rows(episodes, reserve):
    log = two_loggers(episodes)
    made, n = simulator(log, reserve=reserve), len(log)
    same = np.mean([np.ptp(first_actions(log, made, EVENLY, seed, 2)) == 0 for seed in range(RUNS)])
    expected = (n / 2 - 1) / (n - 1)  # of the other rows, so many have the action of the first
    assert abs(same - expected) < Z * np.sqrt(expected * (1 - expected) / RUNS)
    assert abs(expected - 0.5) < 1 / n


def test_by_episodes_the_second_action_is_always_the_first():
    log = two_loggers(40)
    made = simulator(log, "episodes")
    assert all(np.ptp(first_actions(log, made, EVENLY, seed, 2)) == 0 for seed in range(200))


def test_with_their_own_propensities_no_row_of_two_deterministic_loggers_is_accepted():
    run = us.simulate(us.psrs(two_loggers(40), order="rows"), us.learners.FixedPolicy(EVENLY), 0)
    assert (len(run), run.stopped.cause) == (0, "unsupported")
    assert len(us.simulate(simulator(two_loggers(40)), us.learners.FixedPolicy(EVENLY), 0)) == 80


def off_by(order):
    """By how much the first three actions on logs of a drifting logger are off the policy, and the error of that."""
    rng, steps = np.random.default_rng(0), 3
    found = np.zeros(steps)
    for seed in range(RUNS):
        log = drifting(rng)
        found += first_actions(log, simulator(log, order), MOSTLY_ONE, seed, steps)
    return np.abs(found / RUNS - MOSTLY_ONE[1]).max(), np.sqrt(np.prod(MOSTLY_ONE) / RUNS)


def test_actions_of_a_drifting_logger_are_served_by_the_policy_up_to_one_over_the_rows():
    error, noise = off_by("rows")
    assert error < Z * noise + 1 / 100


def test_the_same_test_finds_the_order_of_the_log_wrong():
    error, noise = off_by("log")
    assert error > 0.3 > Z * noise + 1 / 100


def test_more_rows_of_a_drifting_logger_are_accepted_than_by_their_own_propensities():
    rng = np.random.default_rng(1)
    lengths = []
    for seed in range(40):
        log = drifting(rng, 1000)
        pair = us.psrs(log, order="rows", openings="replacement"), simulator(log, openings="replacement")
        lengths.append([len(us.simulate(made, us.learners.FixedPolicy(EVENLY), seed)) for made in pair])
    own, mean = np.mean(lengths, axis=0)
    assert mean > 1.5 * own  # of own propensities .6 of the rows are accepted, of the mean almost all
    assert mean > 900


@pytest.mark.parametrize("order", ["episodes", "log"])
def test_other_orders_are_refused_with_the_reason(order):
    with pytest.raises(us.SettingError, match=f'needs order="rows": in order="{order}" rows of one logger'):
        us.psrs(two_loggers(4), propensity=STATE_MEAN, order=order)
    with pytest.raises(us.SettingError, match="propensity='mean' is not one of 'own', 'state mean'"):
        us.psrs(two_loggers(4), propensity="mean", order="rows")


def test_halves_and_copies_keep_the_choice():
    made = simulator(two_loggers(8), reserve=True)
    half = made.select(np.array([0, 2, 3]))
    assert half.settings == made.settings
    assert 1 / half.index.inverse_propensity[0] == pytest.approx([2 / 3, 1 / 3])
    twice = made.repeated(2)
    assert len(us.simulate(twice, us.learners.FixedPolicy(EVENLY), 0, 30)) == 30
