"""Runs that are stacked are what they would be alone, whatever they are stacked with and wherever they run."""

import numpy as np
import pytest

from understudy.encoders import Function
from understudy.envs import ContinuousGrid, Grid
from understudy.learners import PPO
from understudy.logs import Log
from understudy.runs import experiment, load, probes, simulate
from understudy.runs.backends import BACKENDS, in_turn
from understudy.simulators import model, psrs, qbe, real, replay, states_only

PLANE = ContinuousGrid(size=3, slip=0.2)
CELLS = Function(PLANE.latent)


def logged(steps, seed=0):
    return Log.from_columns(**PLANE.rollout_cells(np.full((9, 5), 0.2), steps=steps, seed=seed))


LOG = logged(3_000)
RNG = np.random.default_rng(0)
DECISIONS = Log.from_columns(
    observation=RNG.normal(size=(3_000, 2)), action=RNG.integers(0, 5, 3_000), reward=RNG.random(3_000),
    propensity=np.full(3_000, 0.2), ends="every-row",
)  # fmt: skip
SIMULATORS = {
    "replay": (replay(DECISIONS), None),
    "psrs": (psrs(LOG, CELLS), None),
    "qbe": (qbe(LOG, CELLS), None),
    "states_only": (states_only(LOG, CELLS), 500),
    "real": (real(PLANE), 420),
    "real by tables": (real(Grid(3)), 420),
    "model": (model(LOG, CELLS), 420),
}
OPTIONS = {
    "probes": {"returns": probes.episode_returns, "weights": lambda learner: learner._policy.weight[0, :50].numpy()},
    "every": 130,
}


def make(seed, spec=LOG.spec, **settings):
    settings = {"epoch_steps": 200, "policy_iterations": 6, "value_iterations": 6, "policy_rate": 0.005} | settings
    return PPO(spec, seed=seed, **settings)


def make_for(name):
    specs = {"real by tables": Grid(3), "replay": DECISIONS.spec}
    return (lambda seed: make(seed, specs[name])) if name in specs else make


@pytest.mark.parametrize("name", SIMULATORS)
def test_every_run_is_what_it_is_alone(name, assert_same):
    simulator, max_steps = SIMULATORS[name]
    factory = make_for(name)
    runs = experiment(simulator, factory, runs=4, max_steps=max_steps, workers=1, **OPTIONS)
    for run in runs:
        alone = simulate(simulator, factory(run.seed), run.seed, max_steps, compiled=False, **OPTIONS)
        assert_same(run, alone)
    assert len({tuple(run.curves["weights"][-1]) for run in runs}) == 4
    if max_steps is None:
        assert len(set(runs.lengths.tolist())) > 1  # some left the stack before others


def test_abandoned_episodes_are_abandoned_in_a_stack_too(assert_same):
    for simulator in (SIMULATORS["psrs"][0], real(PLANE)):
        runs = experiment(simulator, lambda seed: make(seed, abandons=True), runs=3, max_steps=500, workers=1)
        for run in runs:
            assert_same(run, simulate(simulator, make(run.seed, abandons=True), run.seed, 500, compiled=False))


@pytest.mark.parametrize("backend", ["serial", "threads", "processes"])
def test_runs_do_not_depend_on_backend_or_blocks(backend, assert_same_runs):
    simulator = SIMULATORS["psrs"][0]
    whole = experiment(simulator, make, runs=12, workers=1, **OPTIONS)
    again = experiment(simulator, make, runs=12, workers=2, backend=backend, **OPTIONS)
    assert_same_runs(whole, again)


def test_blocks_are_of_one_size_and_of_ten_at_most(monkeypatch):
    seen = []

    def listening(plan, blocks, workers):
        seen.extend(blocks)
        return in_turn(plan, blocks, workers)

    monkeypatch.setitem(BACKENDS, "serial", listening)
    on_cpu = lambda seed: make(seed, device="cpu")  # noqa: E731 - an accelerator takes more of them together
    experiment(SIMULATORS["psrs"][0], on_cpu, runs=12, max_steps=10, backend="serial", workers=1)
    experiment(SIMULATORS["psrs"][0], on_cpu, runs=2, max_steps=10, backend="serial", compiled=False)
    assert seen == [tuple(range(6)), tuple(range(6, 12)), (0,), (1,)]


def test_an_experiment_that_goes_on_stacks_what_is_missing(tmp_path, assert_same_runs):
    simulator, out = SIMULATORS["psrs"][0], tmp_path / "out"
    whole = experiment(simulator, make, runs=5, workers=1, **OPTIONS)
    experiment(simulator, make, runs=2, out=out, workers=1, **OPTIONS)
    (out / "runs" / "000000.json").unlink()
    assert_same_runs(experiment(simulator, make, runs=5, out=out, workers=1, **OPTIONS), whole)
    assert_same_runs(load(out), whole)


def test_a_run_is_saved_when_it_finishes_and_not_with_its_block(tmp_path, assert_same):
    class Impatient(PPO):
        def update(self):
            raise AssertionError

        @staticmethod
        def update_all(learners):
            saved.append(len(list((tmp_path / "out" / "runs").glob("*.json"))))
            PPO.update_all(learners)

    saved = []
    settings = {"epoch_steps": 20, "policy_iterations": 2, "value_iterations": 2, "policy_rate": 0.05}
    experiment(SIMULATORS["psrs"][0], lambda seed: Impatient(LOG.spec, seed=seed, **settings), runs=6, workers=1,
               out=tmp_path / "out")  # fmt: skip
    assert saved[0] == 0
    assert saved[-1] > 0


def test_each_run_may_have_a_log_of_its_own(assert_same):
    runs = experiment(lambda seed: psrs(logged(1_000, seed), CELLS), make, runs=3, workers=1, **OPTIONS)
    assert runs.about.own_logs
    for run in runs:
        alone = simulate(psrs(logged(1_000, run.seed), CELLS), make(run.seed), run.seed, compiled=False, **OPTIONS)
        assert_same(run, alone)


def test_learners_of_different_forms_are_not_stacked(assert_same):
    def mixed(seed):
        return make(seed, clip=0.1 + 0.1 * (seed % 2))

    for run in experiment(SIMULATORS["psrs"][0], mixed, runs=4, workers=1):
        assert_same(run, simulate(SIMULATORS["psrs"][0], mixed(run.seed), run.seed, compiled=False))


def test_an_error_says_which_run_it_comes_from():
    def broken(learner):
        if learner.seed == worst:
            raise ValueError("no value")
        return 0.0

    seeds = [run.seed for run in experiment(SIMULATORS["psrs"][0], make, runs=3, max_steps=1, workers=1)]
    worst = seeds[1]
    with pytest.raises(ValueError, match="no value") as caught:
        experiment(SIMULATORS["psrs"][0], make, runs=3, probes={"broken": broken}, every=10, workers=1)
    assert any(str(worst) in note for note in caught.value.__notes__)
