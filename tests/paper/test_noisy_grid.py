import numpy as np
import pytest

import understudy as us
from paper.noisy_grid import PSRS_X, PSRS_Z, QBE_X, QBE_Z, Case, environment, exact_values, simulators, soft_policy


def test_the_policy_of_setting_2_shares_ties():
    policy = soft_policy(environment(Case(1)))
    assert np.allclose(policy[0], [0.04, 0.44, 0.44, 0.04, 0.04])
    assert np.allclose(policy.sum(axis=1), 1.0)


def test_states_are_cells_and_observations_have_noise_bits():
    env = environment(Case(2))
    log = us.record(env, episodes=20, seed=0)
    made = {name: make(log) for name, make in simulators(env, "rows").items()}
    assert made[PSRS_Z].n_states == made[QBE_Z].n_states == 25
    assert made[PSRS_X].n_states == made[QBE_X].n_states > 25
    assert all(simulator.settings["order"] == "rows" for simulator in made.values())


def test_exact_values_do_not_depend_on_noise_bits_and_the_better_policy_earns_more():
    one, four = exact_values(Case(1)), exact_values(Case(4))
    assert one == pytest.approx(four)
    assert one["setting 2"] > one["setting 1"]


def test_a_case_says_what_it_is():
    assert [str(Case(4)), str(Case(4, 0.2))] == ["k = 4", "k = 4, slip 0.2"]
