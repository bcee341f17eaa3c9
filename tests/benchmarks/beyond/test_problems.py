import numpy as np
import pytest

import understudy as us
from benchmarks.beyond.problems import PANEL, PROBE, WINDOWS, sized_cases

TABULAR = [name for name, problem in PANEL.items() if not problem.ppo]


@pytest.mark.parametrize("name", PANEL)
def test_logs_are_recorded_and_are_other_logs_by_number(name):
    problem = PANEL[name]
    log, again, other = (problem.log(0, number) for number in (0, 0, 1))
    assert len(log.starts) - 1 == problem.sizes[0]
    assert log.fingerprint == again.fingerprint != other.fingerprint
    assert log.max_episode_steps == problem.world.limit
    assert us.check(log).ok


@pytest.mark.parametrize("name", TABULAR)
def test_learners_improve(name):
    """The last window earns more than the first by five standard errors; where the truth is flat it does not."""
    curves = PANEL[name].true_curves(2, runs=60)
    assert curves.shape == (60, WINDOWS)
    gained = curves[:, -1] - curves[:, 0]
    z = gained.mean() / (gained.std() / np.sqrt(len(gained)))
    assert abs(z) < 5 if PANEL[name].unit else z > 5


@pytest.mark.parametrize("name", TABULAR)
def test_its_learner_runs_on_its_log(name):
    problem = PANEL[name]
    log = problem.log(0, 0)
    run = us.simulate(us.psrs(log, problem.world.encoder), problem.make(0), seed=0, max_steps=problem.window(2))
    assert len(run) == 0 or run.rows.max() < len(log)
    assert problem.make(0).q.shape == (problem.world.n_codes, problem.world.n_actions)


@pytest.mark.parametrize("name", ["inventory", "continuous grid", "CartPole"])
def test_codes_of_what_the_log_shows_are_rows_of_the_table(name):
    problem = PANEL[name]
    log = problem.log(0, 0)
    codes = problem.world.codes.encode(log.observation)
    assert codes.min() >= 0
    assert codes.max() < problem.world.n_codes
    assert len(np.unique(codes)) > 10


def test_numbers_that_are_shown_give_the_state_back():
    world = PANEL["navigation"].world
    assert (world.codes.encode(world.numbers) == np.arange(world.n_codes)).all()


def test_boxes_of_the_continuous_grid_lie_in_one_cell():
    world = PANEL["continuous grid"].world
    points = PANEL["continuous grid"].log(0, 0).observation
    box, cell = world.encoder.encode(points), world.codes.encode(points)
    assert all(len(np.unique(cell[box == one])) == 1 for one in np.unique(box))
    assert world.encoder.n_states == 9 * world.n_codes


def test_every_problem_has_a_case_for_each_size():
    assert len(sized_cases()) == 3 * len(PANEL)
    assert len(PANEL) >= 10
    assert sum(bool(problem.gain) for problem in PANEL.values()) >= len(PANEL) / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PANEL if name not in TABULAR])
def test_networks_improve(name):
    curves = PANEL[name].true_curves(2, runs=10)
    assert (curves[:, -1] > curves[:, 0]).all()


def test_exact_runs_of_a_problem_have_the_curve_of_its_truth():
    """Slip grid, a log each, the first 500 steps; |z| < 3.9 is an error rate of 1e-4, and `states_only` fails."""
    problem = PANEL["slip grid"]
    real = problem.true_curves(2, runs=400)[:, 0]
    options = {**problem.reading(2), "max_steps": problem.window(2), "runs": 100}

    def z(simulator):
        simulated = us.experiment(simulator, problem.make, seed=3, **options).curve(PROBE)[1][:, 0]
        assert np.isfinite(simulated).mean() > 0.98
        simulated = simulated[np.isfinite(simulated)]
        error = np.sqrt(simulated.var() / len(simulated) + real.var() / len(real))
        return (simulated.mean() - real.mean()) / error

    assert abs(z(lambda seed: us.qbe(problem.log(2, seed)))) < 3.9
    assert abs(z(lambda seed: us.states_only(problem.log(2, seed)))) > 3.9
