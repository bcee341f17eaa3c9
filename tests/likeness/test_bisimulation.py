"""States are alike where the same follows: twins are found, others are not, and few rows find nothing."""

import numpy as np
import pytest

from tests.likeness.problems import twins
from understudy.contracts import HasSettings, Likeness, SuggestsRadii
from understudy.contracts.offering import offers
from understudy.errors import SettingError
from understudy.likeness import bisimulation, transitions
from understudy.likeness.bisimulation import rows_by_action, upper_distances

N_LOGS = 200


def distances(log, discount=0.9):
    states, upper = upper_distances(log, log.observation, log.next_observation, discount)
    assert states.tolist() == list(range(log.spec.n_observations))
    return upper


def test_it_keeps_its_contract():
    for protocol in (Likeness, SuggestsRadii, HasSettings):
        assert offers(transitions(), protocol)
    assert repr(transitions(discount=0.5)) == "transitions(discount=0.5)"
    with pytest.raises(SettingError, match="discount is 1"):
        transitions(discount=1)


def test_twins_are_nearer_than_any_other_states_though_their_next_states_are_never_compared_by_code():
    upper = distances(twins(400, 0))
    twin = (np.arange(12) + 6) % 12
    others = upper.copy()
    others[np.arange(12), twin] = np.inf
    np.fill_diagonal(others, np.inf)
    assert (upper[np.arange(12), twin] < 0.5 * others.min(axis=1)).all()
    assert upper == pytest.approx(upper.T)
    assert (np.diagonal(upper) == 0).all()


def test_neighbors_within_a_suggested_radius_are_the_twins():
    log = twins(400, 1)
    key = log.observation, log.next_observation, 12
    likeness = transitions()
    first, members = likeness.neighbors(log, *key, likeness.radii(log, *key)[0])
    for state in range(12):
        assert set(members[first[state] : first[state + 1]]) <= {(state + 6) % 12}
    assert len(members) >= 6


def test_the_upper_end_falls_with_the_rows_and_is_infinite_for_almost_none():
    twin = [distances(twins(episodes, 2, noise=2.0))[0, 6] for episodes in (20, 100, 2000)]
    assert twin[0] > 1.3 * twin[1] > 1.3 * 1.3 * twin[2]
    few = twins(2, 0)
    seen = np.unique(few.observation, return_counts=True)[1]
    _, upper = upper_distances(few, few.observation, few.next_observation, 0.9)
    alone = ~np.eye(len(upper), dtype=bool) & (np.minimum.outer(seen, seen) < 2)
    assert np.isinf(upper[alone]).all()


def one_sweep(log, squared):
    """The squared distance of states 0 and 1 after the first action, without its noise."""
    states = np.arange(log.spec.n_observations)
    action = rows_by_action(log, log.observation, log.next_observation, states)[0]
    return action.compared(squared, 0.9)[0]


def test_squared_distances_are_unbiased_and_leaving_the_noise_in_is_caught(monkeypatch):
    """Twins are at distance 0, and of 200 logs the mean is 0 within four standard errors (an error rate below 1e-4).

    Next states are taken to be all at distance 1, so that a difference in their shares is seen.
    """
    right, wrong = [], []
    for seed in range(N_LOGS):
        log = twins(30, seed, noise=1.0)
        right.append(one_sweep(log, 1.0 - np.eye(12))[0, 6])
        action = rows_by_action(log, log.observation, log.next_observation, np.arange(12))[0]
        action.variance[:] = 0.0
        wrong.append(action.compared(1.0 - np.eye(12), 0.9)[0][0, 6])
    for found, caught in ((right, False), (wrong, True)):
        z = abs(np.mean(found)) / (np.std(found) / N_LOGS**0.5)
        assert (z > 4) == caught


def test_by_the_middle_of_its_interval_states_would_be_alike_only_because_little_is_known(monkeypatch):
    """Twelve states whose rewards differ by 1 to 5, with a noise of 20 and about 20 rows of each action."""
    log = twins(50, 0, noise=20.0)
    different = (np.arange(12)[:, None] % 6) != (np.arange(12) % 6)
    upper = distances(log)
    monkeypatch.setattr(bisimulation, "LEVEL", 0.5)
    assert upper[different].min() > 0.2
    assert (distances(log)[different] < 0.05).sum() >= 5


def test_too_many_states_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(bisimulation, "MOST_STATES", 5)
    with pytest.raises(SettingError, match="12 states, and transitions"):
        distances(twins(50, 0))


def test_a_log_without_states_has_no_distances():
    log = twins(5, 0)
    none = np.full(len(log), -1)
    first, members = transitions().neighbors(log, none, none, 4, 1.0)
    assert first.tolist() == [0] * 5
    assert not len(members)
    assert not len(transitions().radii(log, none, none, 4))
