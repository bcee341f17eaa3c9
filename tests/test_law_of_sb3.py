"""The law of Stable-Baselines3's learning curves: PPO on a log against PPO in the true grid.

Twenty seeds, each on a log of its own, against twenty in the grid, where nothing of PPO is hooked. The curve is the
exact value of the policy that PPO has come to, solved on the grid's tables. "Equivalent" means that the upper end of
the 95% interval of the debiased error lies below the margin: wrong at most 2.5% of the time if the error were as
large as the margin. `states_only`, run in the same way, must be found different.
"""

import numpy as np
import pytest

import understudy as us

RUNS, EPISODES, STEPS, EVERY = 20, 800, 5120, 256
MARGIN = 0.075  # a tenth of the curve's climb, from about -.96 to about -.22
GAMMA = 0.9
ENV = us.envs.Grid(slip=0.2)
OBSERVATIONS = np.arange(25)

pytestmark = pytest.mark.slow


def start_value(learner):
    """What an episode is worth to the policy of this moment, exactly."""
    return float(ENV.values(learner.policies(OBSERVATIONS), GAMMA)[0])


def runs_of(simulator):
    from stable_baselines3 import PPO

    make = us.learners.sb3(
        PPO, "MlpPolicy", total_timesteps=STEPS, n_steps=256, batch_size=64, n_epochs=5, learning_rate=3e-3,
        gamma=0.95, policy_kwargs={"net_arch": [16]},
    )  # fmt: skip
    return us.experiment(
        simulator, make, runs=RUNS, seed=7, max_steps=STEPS, probes={"start value": start_value}, every=EVERY
    )


def on_own_logs(name):
    return runs_of(lambda seed: getattr(us, name)(us.record(ENV, episodes=EPISODES, seed=seed)))


@pytest.fixture(scope="module")
def truth():
    return runs_of(us.real(ENV))


def test_ppo_on_a_log_is_equivalent_to_ppo_in_the_true_grid(truth):
    found = us.fidelity(on_own_logs("psrs"), truth, margin=MARGIN)
    assert found.verdict == "equivalent", str(found)
    assert found.horizon == STEPS


def test_states_only_is_found_different_by_the_same_test(truth):
    found = us.fidelity(on_own_logs("states_only"), truth, margin=MARGIN)
    assert found.verdict == "different", str(found)
