"""The compiled loop is the Python loop: everything a run leaves behind is equal, whatever meets whatever."""

from itertools import product

import numpy as np
import pytest

from understudy.encoders import Boxes, Function
from understudy.envs import ContinuousGrid, CounterGrid, NoisyGrid
from understudy.errors import ContractError, SettingError
from understudy.learners import (
    ExpectedSarsa,
    Exponential,
    FixedPolicy,
    Harmonic,
    Linear,
    MonteCarlo,
    QLearning,
    Uniform,
)
from understudy.logs import Log
from understudy.runs import probes, simulate
from understudy.simulators import actions_only, any_row, exo_psrs, model, psrs, qbe, real, states_only

GRID = NoisyGrid(1, size=3, slip=0.2)
COUNTER = CounterGrid(2, size=3, slip=0.2)
PLANE = ContinuousGrid(size=3, slip=0.2)
LATENT = Function(GRID.latent)


def skewed(n, seed=0):
    """A policy for each of n observations, none of them even."""
    return 0.1 + 0.5 * np.random.default_rng(seed).dirichlet(np.ones(5), size=n)


def logged(env, episodes, seed=0, **options):
    return Log.from_columns(**env.rollout(skewed(env.n_observations, seed), episodes, seed=seed, **options))


def irregular_log(seed=0, episodes=60, n_observations=18, n_actions=5):
    """A log in which nothing is regular: propensities of their own, any observation after any, all kinds of ends."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 25, size=episodes)
    n = int(lengths.sum())
    episode, last = np.repeat(np.arange(episodes), lengths), np.zeros(n, bool)
    last[np.cumsum(lengths) - 1] = True
    ending = rng.choice(3, size=episodes, p=[0.7, 0.2, 0.1])[episode]  # terminated, truncated, cut off
    propensity = 0.1 + 0.5 * rng.dirichlet(np.ones(n_actions), size=n)
    propensity[rng.random(n) < 0.05, 0] = 0.0
    propensity /= propensity.sum(axis=1, keepdims=True)
    observation, ended = rng.choice(n_observations, size=(2, n), p=np.append(np.full(17, 0.998 / 17), 0.002))
    following = np.where(last, ended, np.append(observation[1:], 0))
    action = (propensity.cumsum(axis=1) <= rng.random((n, 1))).sum(axis=1).clip(max=n_actions - 1)
    return Log.from_columns(
        observation=observation, action=action, reward=rng.normal(size=n), next_observation=following,
        terminated=last & (ending == 0), truncated=last & (ending == 1), episode=episode, propensity=propensity,
    )  # fmt: skip


LOG, CAPPED, TICKING = logged(GRID, 40), logged(GRID, 60, max_episode_steps=6), logged(COUNTER, 40)
IRREGULAR = irregular_log()
ORACLES = {"split": COUNTER.split, "merge": COUNTER.merge, "reward": COUNTER.reward}

SIMULATORS = {
    "psrs": psrs(LOG),
    "psrs latent": psrs(LOG, LATENT),
    "psrs by rows": psrs(LOG, LATENT, order="rows"),
    "psrs in log order": psrs(LOG, LATENT, order="log"),
    "psrs with replacement": psrs(LOG, LATENT, openings="replacement", max_episode_steps=2),
    "psrs by rows with replacement": psrs(LOG, LATENT, order="rows", openings="replacement", max_episode_steps=1),
    "psrs with a limit": psrs(LOG, LATENT, max_episode_steps=3),
    "psrs with the log's limit": psrs(CAPPED, LATENT),
    "psrs on an irregular log": psrs(IRREGULAR, Function(lambda x: np.where(x == 17, -1, x % 4))),
    "psrs with a reserve": psrs(LOG, LATENT, reserve=True),
    "psrs with a reserve by rows": psrs(LOG, reserve=True, order="rows", openings="replacement", max_episode_steps=9),
    "psrs with a reserve on an irregular log": psrs(IRREGULAR, Function(lambda x: x % 4), reserve=True),
    "qbe": qbe(LOG, LATENT),
    "qbe plain": qbe(LOG, LATENT, stop="plain", order="rows"),
    "qbe on an irregular log": qbe(IRREGULAR, Function(lambda x: x % 3), stop="plain"),
    "states_only": states_only(LOG, LATENT),
    "actions_only": actions_only(LOG),
    "any_row": any_row(LOG, openings="replacement"),
    "model": model(LOG),
    "model uniform": model(LOG, LATENT, emission="uniform"),
    "model empirical": model(LOG, LATENT, emission="empirical", max_episode_steps=5),
    "model row": model(LOG, LATENT, emission="row"),
    "model on an irregular log": model(IRREGULAR, Function(lambda x: x % 4)),
    "exo_psrs": exo_psrs(TICKING, **ORACLES),
    "exo_psrs by rows": exo_psrs(TICKING, Function(COUNTER.latent), order="rows", max_episode_steps=4, **ORACLES),
    "real": real(GRID),
    "real latent": real(GRID, LATENT, max_episode_steps=5),
    "real counter": real(COUNTER),
}

LEARNERS = {
    "Uniform": lambda seed: Uniform(5),
    "FixedPolicy": lambda seed: FixedPolicy(skewed(18, seed=3)),
    "FixedPolicy vector": lambda seed: FixedPolicy([0.1, 0.2, 0.3, 0.4, 0.0]),
    "MonteCarlo": lambda seed: MonteCarlo(Uniform(5), gamma=0.9),
    "MonteCarlo of FixedPolicy": lambda seed: MonteCarlo(FixedPolicy(skewed(18, seed=4)), gamma=1.0),
    "QLearning": lambda seed: QLearning(18, 5, epsilon=0.9, alpha=0.5, gamma=0.95, seed=seed),
    "QLearning greedy": lambda seed: QLearning(18, 5, epsilon=0.0, initial=1.0, seed=seed),
    "QLearning schedules": lambda seed: QLearning(
        18, 5, epsilon=Linear(1.0, 0.1, steps=200), alpha=Harmonic(0.9, pace=50), seed=seed
    ),
    "ExpectedSarsa": lambda seed: ExpectedSarsa(18, 5, epsilon=0.3, alpha=0.2, seed=seed),
    "ExpectedSarsa schedules": lambda seed: ExpectedSarsa(
        18, 5, epsilon=Exponential(1.0, rate=0.99, end=0.05), alpha=Linear(1.0, 0.0, steps=500), seed=seed
    ),
    "QLearning on cells": lambda seed: QLearning(9, 5, epsilon=0.5, encoder=Function(GRID.latent), seed=seed),
}

VALUED = {"QLearning", "QLearning greedy", "QLearning schedules", "ExpectedSarsa", "ExpectedSarsa schedules"}


def history(learner_name):
    """All the probes that a learner can answer."""
    measured = {"returns": probes.episode_returns, "visitation": probes.visitation}
    if learner_name.startswith("MonteCarlo"):
        measured["estimate"] = probes.estimate
    if learner_name in VALUED:
        measured["start value"] = probes.start_value(LOG)
        measured["q"] = lambda learner: learner.q.copy()
    return measured


def both(simulator, make, seed, max_steps=None, **options):
    return [simulate(simulator, make(seed), seed, max_steps, compiled=form, **options) for form in (True, False)]


def steps_for(simulator):
    return None if simulator.exhaustible else 300


@pytest.mark.parametrize(("simulator", "learner"), list(product(SIMULATORS, LEARNERS)))
def test_every_learner_in_every_simulator_runs_alike_compiled_and_in_python(simulator, learner, assert_same):
    source = SIMULATORS[simulator]
    runs = both(source, LEARNERS[learner], 5, steps_for(source), probes=history(learner), every=37)
    assert_same(*runs)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_runs_are_long_enough_to_mean_something(simulator):
    source = SIMULATORS[simulator]
    run = simulate(source, LEARNERS["QLearning"](5), 5, steps_for(source))
    assert len(run) >= 40
    assert len(run.ends) >= 2


@pytest.mark.parametrize("simulator", ["psrs latent", "psrs by rows with replacement", "model uniform", "real"])
@pytest.mark.parametrize("max_steps", [1, 2, 9, 10, 11, 20, 60])
def test_runs_cut_anywhere_are_alike(simulator, max_steps, assert_same):
    for measured, every in (({}, 1000), ({"returns": probes.episode_returns}, 10)):
        runs = both(SIMULATORS[simulator], LEARNERS["QLearning"], 2, max_steps, probes=measured, every=every)
        assert_same(*runs)
        assert len(runs[0]) == max_steps
        assert runs[0].stopped.cause == "max steps"


@pytest.mark.parametrize("simulator", ["psrs latent", "qbe", "exo_psrs", "model uniform", "real"])
def test_runs_cut_around_the_end_of_an_episode_or_of_the_log_are_alike(simulator, assert_same):
    source = SIMULATORS[simulator]
    whole = simulate(source, LEARNERS["QLearning"](3), 3, steps_for(source))
    places = [*whole.ends[:2], *([len(whole)] if source.exhaustible else [])]
    for place in places:
        for cut in (place - 1, place, place + 1):
            runs = both(source, LEARNERS["QLearning"], 3, int(cut), probes=history("QLearning"), every=int(place))
            assert_same(*runs)
            np.testing.assert_array_equal(runs[0].rows, whole.rows[:cut])
            np.testing.assert_array_equal(runs[0].openings, whole.openings[: len(runs[0].openings)])


@pytest.mark.parametrize("every", [1, 2, 7, 10**9])
def test_readings_at_any_distance_are_alike_and_change_no_row(every, assert_same):
    measured = history("QLearning") | {"policy": lambda learner: learner.policy(3)}
    runs = both(SIMULATORS["psrs latent"], LEARNERS["QLearning"], 0, probes=measured, every=every)
    assert_same(*runs)
    unread = simulate(SIMULATORS["psrs latent"], LEARNERS["QLearning"](0), 0)
    np.testing.assert_array_equal(runs[0].rows, unread.rows)
    assert runs[0].steps.tolist() == list(range(every, len(unread) + 1, every))


def test_without_probes_both_loops_read_at_the_same_steps():
    compiled, plain = both(SIMULATORS["psrs latent"], LEARNERS["QLearning"], 0, every=10)
    assert compiled.steps.tolist() == plain.steps.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_many_seeds_on_irregular_logs_are_alike(seed, assert_same):
    log = irregular_log(seed)
    few = Function(lambda x: np.where(x == 5, -1, x % 3))
    for simulator in (psrs(log, few), qbe(log, few), states_only(log, few), actions_only(log, few), any_row(log, few)):
        assert_same(*both(simulator, LEARNERS["QLearning schedules"], seed, probes=history("QLearning"), every=11))


@pytest.mark.parametrize("emission", ["uniform", "empirical", "row"])
@pytest.mark.parametrize("seed", range(2))
def test_a_learner_with_an_encoder_is_alike_in_a_model_that_emits_what_was_seen_at_an_end(seed, emission, assert_same):
    log = irregular_log(seed)
    simulator = model(log, Function(lambda x: x % 2), emission=emission)
    encoder = Function(lambda x: 17 - x)
    assert_same(*both(simulator, lambda s: QLearning(18, 5, epsilon=0.8, encoder=encoder, seed=s), seed, 300))


@pytest.mark.parametrize("boxes", [Boxes(edges=[[1 / 3, 2 / 3]] * 2), Boxes(bins=3), Boxes(bins=4, spacing="uniform")])
def test_learners_with_boxes_on_floats_are_alike(boxes, assert_same):
    log = Log.from_columns(**PLANE.rollout_cells(np.full((9, 5), 0.2), episodes=40, seed=0))
    boxes.fit(log)

    def make(seed):
        return QLearning(boxes.n_states, 5, epsilon=0.4, encoder=boxes, seed=seed)

    start = probes.start_value(log)
    for simulator in (psrs(log, boxes), qbe(log, boxes), model(log, boxes), any_row(log)):
        measured = {"visitation": probes.visitation, "start value": start}
        runs = both(simulator, make, 1, steps_for(simulator), probes=measured, every=50)
        assert_same(*runs)
        assert len(runs[0]) > 50


def test_a_run_of_more_than_one_call_is_one_run(assert_same, monkeypatch):
    whole = both(SIMULATORS["real"], LEARNERS["QLearning"], 4, 300, probes=history("QLearning"), every=50)
    monkeypatch.setattr("understudy.runs.loop.LONGEST_CALL", 7)
    for measured, other in ((history("QLearning"), whole[0]), (history("QLearning"), whole[1])):
        assert_same(simulate(SIMULATORS["real"], LEARNERS["QLearning"](4), 4, 300, probes=measured, every=50), other)


def test_more_episodes_than_there_was_room_for_at_first_are_all_kept(assert_same):
    simulator = real(GRID, max_episode_steps=1)  # 1,024 episodes at first
    runs = both(simulator, LEARNERS["Uniform"], 0, 2_500, every=10_000)
    assert_same(*runs)
    assert runs[0].ends.tolist() == list(range(1, 2_501))
    assert len(runs[0].openings) == 2_500


def test_returns_are_sums_of_the_rewards_served():
    run = simulate(SIMULATORS["psrs latent"], LEARNERS["QLearning"](1), 1)
    parts = np.split(LOG.reward[run.rows], run.ends)[: len(run.ends)]
    np.testing.assert_allclose(run.returns, [part.sum() for part in parts], atol=1e-12)


def test_a_smaller_table_behind_the_same_encoder_is_refused_in_both_loops():
    simulator, encoder = psrs(LOG), Function(GRID.latent)
    for compiled in (True, False):
        assert len(simulate(simulator, FixedPolicy(np.full((9, 5), 0.2), encoder=encoder), compiled=compiled)) > 40
        with pytest.raises(SettingError, match="larger n_observations"):
            simulate(simulator, FixedPolicy(np.full((4, 5), 0.2), encoder=encoder), compiled=compiled)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_table_that_is_too_small_is_refused_in_both_loops(compiled):
    with pytest.raises(SettingError, match="larger n_observations"):
        simulate(SIMULATORS["psrs"], QLearning(9, 5), compiled=compiled)


def test_an_epsilon_that_leaves_the_unit_interval_is_refused_at_the_step_where_it_does():
    learner = QLearning(18, 5, epsilon=lambda step: 1.5 if step == 7 else 0.5)
    with pytest.raises(SettingError, match=r"epsilon is 1\.5 after 7 steps"):
        simulate(SIMULATORS["psrs"], learner)
    assert learner.arrays() is None  # a schedule that the compiled loop knows is refused when the learner is made


@pytest.mark.parametrize("method", ["policy", "learn"])
def test_what_a_subclass_changes_is_heeded(method, assert_same):
    class Curious(QLearning):
        def policy(self, observation):
            return np.eye(5)[1] if method == "policy" else super().policy(observation)

        def learn(self, step):
            super().learn(step._replace(reward=-step.reward) if method == "learn" else step)

    as_asked, plain = (simulate(SIMULATORS["psrs"], Curious(18, 5), compiled=form) for form in (None, False))
    assert_same(as_asked, plain)


def test_a_run_that_ends_where_the_record_is_full_is_not_stepped_again():
    # one row, two openings: the log has no second answer just when there is no room for a third opening
    log = Log.from_columns(
        observation=[0], action=[0], reward=[0.0], next_observation=[0], terminated=[True], n_actions=2
    )
    for seed in range(20):
        simulator = qbe(log, stop="plain", openings="replacement")
        one, other = (
            simulate(simulator, FixedPolicy(np.full(2, 0.5)), seed, compiled=compiled) for compiled in (True, False)
        )
        assert one.stopped == other.stopped


def test_a_source_that_no_kernel_serves_is_refused_in_a_sentence(log):
    class Claims:
        """A simulator that says it is compiled, with a source of its own."""

        compilable, exhaustible, serves_rows = True, True, True
        foreseeable = serves_emissions = False

        def __init__(self):
            self.log, self.n_actions, self.n_states = log, log.spec.n_actions, 1

        def start(self, seed, codes=None):
            rehearsal = psrs(log).start(seed, codes)
            rehearsal.source = (1, 2)
            return rehearsal

    with pytest.raises(ContractError, match=r"tuple is not a source that kernels work on, .*; set compilable = False"):
        simulate(Claims(), Uniform(log.spec.n_actions), 0, 10)
