"""The law of the whole curve: exact simulators against the truth, each run on a log of its own.

Q-learning on the slip grid, where outcomes are random, and the curve of its start-state value. "Equivalent" means that
the upper end of the 95% interval of the debiased error lies below the margin: wrong at most 2.5% of the time if the
simulator's error were as large as the margin. Every baseline must fail the same test, and be found different.
"""

import numpy as np
import pytest

import understudy as us

RUNS, EPISODES, STEPS, EVERY = 240, 80, 3000, 100
MARGIN = 0.03  # the curve falls to about -.3 and climbs to about +.2
ENV = us.envs.Grid(slip=0.2)
PROBES = {"start value": us.probes.start_value(ENV)}


def make(seed):
    return us.learners.QLearning(25, 5, epsilon=0.9, alpha=0.5, gamma=0.95, seed=seed)


def runs_on_own_logs(name, policy=None, **options):
    def simulator(seed):
        return getattr(us, name)(us.record(ENV, policy, episodes=EPISODES, seed=seed), **options)

    return us.experiment(simulator, make, runs=RUNS, seed=7, max_steps=STEPS, probes=PROBES, every=EVERY)


@pytest.fixture(scope="module")
def truth():
    return us.experiment(us.real(ENV), make, runs=2 * RUNS, seed=7, max_steps=STEPS, probes=PROBES, every=EVERY)


def lopsided(observation):
    """A logging policy that depends on where it is."""
    policy = np.full(5, 0.15)
    policy[1 + observation % 4] = 0.4
    return policy


@pytest.mark.parametrize(
    ("name", "policy", "options"),
    [
        ("psrs", None, {}),
        ("psrs", lopsided, {}),
        ("psrs", None, {"order": "log"}),
        ("psrs", None, {"reserve": True}),
        ("psrs", lopsided, {"reserve": True}),
        ("qbe", None, {}),
        ("qbe", lopsided, {}),
    ],
)
def test_exact_simulators_are_equivalent_to_the_truth(truth, name, policy, options):
    found = us.fidelity(runs_on_own_logs(name, policy, **options), truth, margin=MARGIN)
    assert found.verdict == "equivalent", str(found)
    assert found.horizon >= 1000


@pytest.mark.parametrize("name", ["states_only", "actions_only", "any_row"])
def test_baselines_are_found_different_by_the_same_test(truth, name):
    found = us.fidelity(runs_on_own_logs(name), truth, horizon=1000, margin=MARGIN)
    assert found.verdict == "different", str(found)


def test_real_runs_are_equivalent_to_other_real_runs(truth):
    assert us.fidelity(truth[:RUNS], truth[RUNS:], margin=MARGIN).faithful


def test_a_wrong_propensity_is_found_different(truth):
    """Wrong variant: the log was recorded lopsidedly and says that it was uniform."""

    def simulator(seed):
        log = us.record(ENV, lopsided, episodes=EPISODES, seed=seed)
        columns = {name: getattr(log, name) for name in ("observation", "action", "reward", "next_observation")}
        columns |= {name: getattr(log, name) for name in ("terminated", "truncated", "episode")}
        return us.psrs(us.Log.from_columns(**columns, propensity=np.full_like(log.propensity, 0.2)))

    runs = us.experiment(simulator, make, runs=RUNS, seed=7, max_steps=STEPS, probes=PROBES, every=EVERY)
    assert us.fidelity(runs, truth, margin=MARGIN).verdict == "different"


def test_an_exogenous_counter_is_simulated_by_its_own_queue_and_broken_without():
    """On the counter grid the exogenous simulator is equivalent; latent states alone are found different."""
    env = us.envs.CounterGrid(8, size=3, slip=0.2)
    latent = us.encoders.Function(env.latent)
    oracles = {"split": env.split, "merge": env.merge, "reward": env.reward}

    def make_learner(seed):
        return us.learners.QLearning(env.n_observations, 5, epsilon=0.9, alpha=0.5, gamma=0.95, seed=seed)

    def verdict(simulator):
        return us.fidelity(us.experiment(simulator, make_learner, **options), real, margin=0.02).verdict

    options = {"runs": RUNS, "seed": 7, "max_steps": STEPS, "every": EVERY}
    options["probes"] = {"start value": us.probes.start_value(env)}
    real = us.experiment(us.real(env), make_learner, **options)
    assert verdict(lambda seed: us.exo_psrs(us.record(env, episodes=400, seed=seed), **oracles)) == "equivalent"
    assert verdict(lambda seed: us.psrs(us.record(env, episodes=400, seed=seed), latent)) == "different"
