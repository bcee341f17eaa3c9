"""Probes: what is measured of a run, when, and what happens when measuring fails."""

import gymnasium
import numpy as np
import pytest

from understudy.encoders import Function
from understudy.envs import BernoulliBandit
from understudy.errors import ContractError, SettingError
from understudy.learners import FixedPolicy, MonteCarlo, QLearning, Uniform
from understudy.runs import probes, simulate
from understudy.runs.probes import History, openings_of
from understudy.simulators import any_row, psrs, real

BOTH = pytest.mark.parametrize("compiled", [True, False])


@BOTH
def test_probes_are_read_every_so_many_steps_and_at_the_end(log, make, compiled):
    counts = {"steps": History(lambda progress: progress.steps)}
    run = simulate(psrs(log), make(0), 0, 95, probes=counts, every=30, compiled=compiled)
    assert run.steps.tolist() == [30, 60, 90]
    assert run.curves["steps"].tolist() == [30.0, 60.0, 90.0]
    assert run.final["steps"] == 95


@BOTH
def test_a_run_that_ends_on_a_reading_is_read_there_and_at_the_end(log, make, compiled):
    counts = {"steps": History(lambda progress: progress.steps)}
    run = simulate(psrs(log), make(0), 0, 60, probes=counts, every=30, compiled=compiled)
    assert run.curves["steps"].tolist() == [30.0, 60.0]
    assert run.final["steps"] == 60


@BOTH
def test_a_probe_that_returns_the_learners_own_array_is_read_as_it_was_then(log, make, compiled):
    measured = {"own": lambda learner: learner.q, "copy": lambda learner: learner.q.copy()}
    run = simulate(psrs(log), make(0), 0, 200, probes=measured, every=20, compiled=compiled)
    np.testing.assert_array_equal(run.curves["own"], run.curves["copy"])
    assert (run.curves["own"][0] != run.curves["own"][-1]).any()


@BOTH
def test_a_history_that_returns_what_it_was_given_is_read_as_it_was_then(log, make, compiled):
    measured = {"own": History(lambda p: p.visits, counts_visits=True), "share": probes.visitation}
    run = simulate(psrs(log), make(0), 0, 200, probes=measured, every=20, compiled=compiled)
    np.testing.assert_allclose(run.curves["own"] / run.steps[:, None], run.curves["share"])


@BOTH
def test_what_the_learner_learns_later_does_not_change_the_last_reading(log, make, compiled):
    learner = make(0)
    run = simulate(psrs(log), learner, 0, 50, probes={"q": lambda learner: learner.q}, compiled=compiled)
    learner.q[:] = 7.0
    assert (run.final["q"] != 7.0).all()


@BOTH
def test_visitation_is_the_share_of_steps_from_each_state(log, grid, make, compiled):
    simulator = psrs(log, Function(grid.latent))
    run = simulate(simulator, make(0), 0, probes={"v": probes.visitation}, every=25, compiled=compiled)
    np.testing.assert_allclose(run.curves["v"].sum(axis=1), 1.0)
    from_states = np.bincount(grid.latent(log.observation)[run.rows], minlength=9)
    np.testing.assert_allclose(run.final["v"], from_states / len(run))
    assert run.final["v"][8] == 0.0  # the goal is never acted from


def test_visitation_of_a_simulator_that_knows_no_states_asks_for_an_encoder(make):
    from understudy.envs import ContinuousGrid

    env = ContinuousGrid(size=3)
    learner = QLearning(9, 5, encoder=Function(env.latent))
    with pytest.raises(SettingError, match="encoder"):
        simulate(real(env), learner, max_steps=5, probes={"v": probes.visitation})
    cells = Function(env.latent)
    cells.n_states = 9
    run = simulate(real(env, cells), learner, max_steps=50, probes={"v": probes.visitation})
    assert run.final["v"].sum() == pytest.approx(1.0)


@BOTH
def test_episode_returns_are_means_since_the_last_reading(log, make, compiled):
    run = simulate(psrs(log), make(1), 1, probes={"r": probes.episode_returns}, every=40, compiled=compiled)
    edges = np.append(run.steps, len(run))
    for reading, (after, until) in enumerate(zip(np.append(0, run.steps), edges, strict=True)):
        recent = run.returns[(run.ends > after) & (run.ends <= until)]
        expected = recent.mean() if len(recent) else np.nan
        read = run.final["r"] if reading == len(run.steps) else run.curves["r"][reading]
        assert read == pytest.approx(expected, nan_ok=True)


@BOTH
def test_the_estimate_is_the_mean_discounted_return_so_far(log, compiled):
    run = simulate(any_row(log), MonteCarlo(Uniform(5), gamma=1.0), probes={"e": probes.estimate}, compiled=compiled)
    assert run.final["e"] == pytest.approx(run.returns.mean())


def test_start_value_averages_over_an_environments_openings(grid, log, make):
    learner = make(0)
    learner.q[0], learner.q[9] = 1.0, 3.0
    assert probes.start_value(grid)(learner) == pytest.approx(2.0)
    assert probes.start_value([0, 0, 0, 9])(learner) == pytest.approx(1.5)
    share = (log.observation[log.starts[:-1]] == 9).mean()
    assert probes.start_value(log)(learner) == pytest.approx(1.0 + 2.0 * share)


def test_start_value_reads_an_environment_through_its_wrappers(grid):
    import gymnasium

    wrapped = gymnasium.wrappers.TimeLimit(grid, 10)
    for ours, theirs in zip(openings_of(wrapped), openings_of(grid), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_start_value_asks_a_learner_for_one_value_at_a_time_where_it_has_no_batch():
    class Single:
        def value(self, observation):
            return 10.0 * float(observation)

    assert probes.start_value([1, 1, 2, 4])(Single()) == pytest.approx(20.0)


def test_start_value_of_float_observations():
    class Far:
        def values(self, observations):
            return np.linalg.norm(observations, axis=1)

    assert probes.start_value([[3.0, 4.0], [0.0, 1.0], [3.0, 4.0]])(Far()) == pytest.approx(11 / 3)


@BOTH
def test_probes_change_no_row(log, make, compiled):
    def meddle(learner):
        return [learner.policy(observation).max() for observation in range(18)]

    read = simulate(psrs(log), make(4), 4, probes={"p": meddle}, every=3, compiled=compiled)
    unread = simulate(psrs(log), make(4), 4, compiled=compiled)
    np.testing.assert_array_equal(read.rows, unread.rows)


@BOTH
def test_a_probe_that_raises_keeps_its_exception_and_is_named_with_the_step(log, make, compiled):
    class OwnError(Exception):
        pass

    asked = []

    def broken(learner):
        asked.append(learner)
        if len(asked) == 2:
            raise OwnError("no such thing")
        return 0.0

    with pytest.raises(OwnError, match="no such thing") as caught:
        simulate(psrs(log), make(0), probes={"fine": lambda learner: 1, "broken": broken}, every=20, compiled=compiled)
    assert caught.value.__notes__ == ["raised by probe 'broken' after 40 steps"]


@pytest.mark.parametrize("answer", ["high", {"a": 1}, object(), None], ids=["text", "mapping", "object", "nothing"])
def test_a_probe_that_returns_no_number_is_named(log, make, answer):
    with pytest.raises((TypeError, ValueError)) as caught:
        simulate(psrs(log), make(0), probes={"strange": lambda learner: answer}, every=20)
    assert "'strange'" in " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_a_probe_whose_answers_differ_in_shape_is_named(log, make):
    grown = []

    def grows(learner):
        grown.append(0.0)
        return np.array(grown)

    with pytest.raises((TypeError, ValueError)) as caught:
        simulate(psrs(log), make(0), probes={"grows": grows}, every=20)
    assert "'grows'" in " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_a_probe_that_is_not_a_function_is_named(log, make):
    with pytest.raises(ContractError) as caught:
        simulate(psrs(log), make(0), probes={"number": 3}, every=20)
    assert "'number'" in " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_a_probe_a_learner_cannot_answer_is_named(log):
    with pytest.raises(ContractError) as caught:
        simulate(psrs(log), FixedPolicy([0.2] * 5), probes={"start": probes.start_value([0])}, every=20)
    assert "raised by probe 'start' after 20 steps" in caught.value.__notes__


@pytest.mark.parametrize("compiled", [None, False])
def test_the_reward_of_a_step_counts_the_episode_under_way(log, make, compiled):
    measured = {"per step": probes.reward_per_step}
    run = simulate(psrs(log), make(1), 1, 97, probes=measured, every=10, compiled=compiled)
    earned = np.cumsum(log.reward[run.rows])
    np.testing.assert_allclose(run.curves["per step"], earned[run.steps - 1] / run.steps)
    assert run.final["per step"] == pytest.approx(earned[-1] / 97)
    under_way = run.ends[-1] if len(run.ends) else 0
    assert run.partial == pytest.approx(log.reward[run.rows[under_way:]].sum())


@BOTH
def test_regret_is_what_the_best_arm_would_have_earned_beyond_the_run(compiled):
    env = BernoulliBandit([0.2, 0.7])
    measured = {"regret": probes.regret(env), "window": probes.episode_returns, "total": probes.reward_so_far}
    run = simulate(real(env), FixedPolicy([1.0, 0.0]), 0, 400, probes=measured, every=100, compiled=compiled)
    earned = run.returns.cumsum()[[99, 199, 299, 399]]
    assert run.curves["total"] == pytest.approx(earned)
    assert run.curves["regret"] == pytest.approx(0.7 * run.steps - earned)
    assert run.curves["regret"][-1] == pytest.approx(0.5 * 400, abs=5 * np.sqrt(400 * 0.16))
    assert run.curves["window"] == pytest.approx(run.returns.reshape(4, 100).mean(axis=1))


def test_regret_asks_for_an_environment_that_knows_what_is_best(grid):
    wrapped = gymnasium.wrappers.TimeLimit(BernoulliBandit([0.2, 0.7]), 5)
    assert isinstance(probes.regret(wrapped), History)
    with pytest.raises(ContractError, match=r"has no best_value\(steps\), which regret reads"):
        probes.regret(grid)


def test_the_estimate_of_a_learner_that_has_none_is_refused_in_a_sentence():
    with pytest.raises(ContractError, match="Uniform has no estimate, which this probe reads; give it one"):
        probes.estimate(Uniform(5))
