"""Ladders as simulators: options, what runs keep of them, every form of the loop, halves of the log."""

import numpy as np
import pytest

import understudy as us
from understudy.envs import Grid
from understudy.errors import ContractError, SettingError
from understudy.simulators import qbe
from understudy.simulators.ladder import checked_rungs

ENV = Grid(5, slip=0.3)


class Cells:
    """Cells of the grid are alike within a number of moves."""

    settings = {"kind": "cells"}  # noqa: RUF012

    def neighbors(self, log, state, next_state, n_states, radius):
        place = np.stack(np.divmod(np.arange(n_states), 5), axis=1)
        distance = np.abs(place[:, None] - place).max(axis=-1)
        near = (distance <= radius) & (distance > 0)
        return np.append(0, np.cumsum(near.sum(axis=1))), np.nonzero(near)[1]


ALIKE = {"likeness": Cells(), "radius": 1}


@pytest.fixture(scope="module")
def log():
    return us.record(ENV, episodes=60, seed=0)


def make(seed, **options):
    return us.learners.QLearning(25, 5, **({"epsilon": 0.5, "gamma": 0.95} | options), seed=seed)


@pytest.mark.parametrize("then", [("cut",), ("like", "cut"), ("like", "reuse", "untried", "cut")])
def test_the_plain_and_the_compiled_loop_give_the_same_run(then, log):
    simulator = qbe(log, then=then, audit=False, **(ALIKE if "like" in then else {}))
    one = us.simulate(simulator, make(1), 3, max_steps=5000)
    other = us.simulate(simulator, make(1), 3, max_steps=5000, compiled=False)
    for name in ("rows", "openings", "rungs", "cuts", "ends", "returns"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.stopped == other.stopped
    assert one.partial == other.partial


def test_a_run_is_exact_until_the_first_lower_rung_or_cut(log):
    exact = us.simulate(qbe(log, stop="plain"), make(1), 3)
    ladder = us.simulate(qbe(log, then=("like", "cut"), **ALIKE), make(1), 3)
    assert ladder.exact_steps == len(exact) < len(ladder)
    np.testing.assert_array_equal(ladder.rows[: len(exact)], exact.rows)
    assert exact.exact_steps == len(exact)
    assert exact.rungs is exact.cuts is None
    assert not ladder.rungs[: len(exact)].any()
    assert ladder.rungs[len(exact)] == 1
    assert len(set(ladder.rows.tolist())) == len(ladder)  # unused rows only
    counts = ladder.stopped.counts
    assert counts["steps from states alike"] == np.count_nonzero(ladder.rungs == 1) > 0
    assert counts["episodes cut"] == len(ladder.cuts) > 0


def test_a_cut_episode_has_no_return_and_the_next_one_begins(log):
    run = us.simulate(qbe(log, then="cut", max_cut=0.2, cut_window=20), make(0), 0)
    under_way = run.partial is not None
    assert len(run.cuts) > 2
    assert len(run.openings) == len(run.ends) + len(run.cuts) + under_way
    assert run.exact_steps == run.cuts[0]
    assert run.stopped.cause == "too many cut"
    assert "than max_cut allows" in str(run.stopped)


def test_reuse_needs_a_number_of_steps_and_openings_return(log):
    simulator = qbe(log, then="reuse", audit=False)
    with pytest.raises(SettingError, match="max_steps"):
        us.simulate(simulator, make(0), 0)
    run = us.simulate(simulator, make(0), 0, max_steps=20_000)
    assert len(run.openings) > log.n_episodes
    assert run.stopped.counts["openings drawn with replacement"] == len(run.openings) - log.n_episodes
    assert run.stopped.counts["steps served again"] == np.count_nonzero(run.rungs == 2)


def test_what_it_lacked_is_said_where_a_rung_is_missing(log):
    few = log.select(np.arange(3))
    stopped = us.simulate(qbe(few, then="reuse", audit=False), make(0, epsilon=1.0), 0, max_steps=100_000).stopped
    assert stopped.cause == "queue empty for action"
    assert (few.observation[few.action == stopped.action] != stopped.state).all()  # never tried there


def test_results_keep_rungs_and_cuts(log, tmp_path):
    simulator = qbe(log, then=("like", "cut"), **ALIKE)
    made = us.experiment(simulator, make, runs=3, out=tmp_path / "r", progress=False, keep_rows=False)
    read = us.experiment(simulator, make, runs=3, out=tmp_path / "r", progress=False, keep_rows=False)
    for one, other in zip(made, read, strict=True):
        np.testing.assert_array_equal(one.rungs, other.rungs)
        np.testing.assert_array_equal(one.cuts, other.cuts)
        assert other.rungs.dtype == np.uint8


def test_halves_of_a_ladder(log):
    found = us.halves(qbe(log, then=("like", "cut"), **ALIKE), make, runs=4, halves=5, every=200, progress=False,
                      probes={"value": us.probes.start_value(ENV)})  # fmt: skip
    assert found.interval("value").mean.size > 0


def test_an_env_cuts_by_truncation_and_counts_no_step(log):
    run_of = {}
    for name, then in {"cut": ("cut",), "both": ("like", "cut")}.items():
        simulator = qbe(log, then=then, max_cut=0.3, **(ALIKE if "like" in then else {}))
        rng, cut = np.random.default_rng(0), 0
        with us.gym_env(simulator, seed=0) as env:
            env.reset()
            while True:
                *_, terminated, truncated, info = env.step(int(rng.integers(5)))
                cut += info["row"] < 0
                assert info["row"] >= 0 or truncated
                if terminated or truncated:
                    env.reset()
        run = run_of[name] = env.run()
        assert len(run.cuts) == cut > 0
        assert len(run.rungs) == len(run)
    assert run_of["both"].rungs.any()


def test_several_envs_share_a_ladder(log):
    envs = us.gym_envs(qbe(log, then=("like", "cut"), **ALIKE), 2, seed=0)
    rng, over = np.random.default_rng(0), [True, True]
    with envs[0]:
        for _ in range(10_000):
            for number, env in enumerate(envs):
                if over[number]:
                    env.reset()
                *_, terminated, truncated, _ = env.step(int(rng.integers(5)))
                over[number] = terminated or truncated
    run = envs[0].run()
    assert run.rungs.any()
    assert len(set(run.rows.tolist())) == len(run)


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ((), "names no rung"),
        (("like", "jump"), "'jump'"),
        (("cut", "like"), "put 'cut' last"),
        (("cut", "cut"), "twice"),
    ],
)
def test_rungs_that_cannot_be(then, said):
    with pytest.raises(SettingError, match=said):
        checked_rungs(then)


def test_options_that_cannot_be(log):
    with pytest.raises(SettingError, match="which states are alike"):
        qbe(log, then="like", audit=False)
    with pytest.raises(SettingError, match="no rung is named"):
        qbe(log, radius=1.0)
    with pytest.raises(SettingError, match="max_cut"):
        qbe(log, then="cut", max_cut=1.5)
    with pytest.raises(SettingError, match="cut_window"):
        qbe(log, then="cut", cut_window=0)


def test_it_says_what_it_is(log):
    simulator = qbe(log, then=("like", "cut"), **ALIKE)
    assert "then=('like', 'cut')" in repr(simulator)
    assert simulator.settings["likeness"] == {"kind": "cells"}
    assert simulator.settings["radius"] == 1.0
    assert "stop" not in simulator.settings


@pytest.mark.parametrize("then", [("cut",), ("like", "reuse", "cut")])
def test_epochs_are_the_same_step_by_step_ahead_and_stacked(then, log):
    """A network is told of cuts in the same way in every form of the loop, in mid-epoch and right after one."""
    pytest.importorskip("torch")
    few = log.select(np.arange(8))
    simulator = qbe(few, then=then, max_cut=0.5, audit=False, **(ALIKE if "like" in then else {}))
    ppo = {"hidden": (4,), "epoch_steps": 50, "policy_iterations": 2, "value_iterations": 2}
    options = {"max_steps": 600, "probes": {"value": us.probes.start_value(ENV)}, "every": 30}
    runs = [
        us.simulate(simulator, us.learners.PPO(few.spec, **ppo, seed=5), 7, **options, compiled=compiled)
        for compiled in (None, False)
    ]
    runs += us.experiment(
        simulator, lambda seed: us.learners.PPO(few.spec, **ppo, seed=seed), runs=2, seed=7, progress=False, **options
    )
    alone = us.simulate(
        simulator, us.learners.PPO(few.spec, **ppo, seed=runs[2].seed), runs[2].seed, **options, compiled=False
    )
    assert len(runs[0].cuts) > 3 or "reuse" in then
    for one, other in ((runs[0], runs[1]), (runs[2], alone)):
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(one.cuts, other.cuts)
        np.testing.assert_array_equal(one.rungs, other.rungs)
        np.testing.assert_allclose(one.curves["value"], other.curves["value"], rtol=1e-5)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        (np.arange(26), np.full(25, 10**6)),
        (np.zeros(2, int), np.zeros(0, int)),
        (np.append(0, np.full(25, 5)), np.full(5, -1)),
        (np.arange(26)[::-1].copy(), np.zeros(25, int)),
        (np.arange(26).astype(float), np.zeros(25, int)),
    ],
)
def test_an_answer_that_kernels_would_read_past_is_refused(answer, log):
    class Wrong:
        def neighbors(self, log, state, next_state, n_states, radius):
            return answer

    with pytest.raises(ContractError, match="neighbors of Wrong has to return first"):
        qbe(log, then=("like", "cut"), likeness=Wrong(), radius=1.0, audit=False)


@pytest.mark.parametrize("options", [{"then": ("reuse", "cut")}, {"then": ("cut",), "openings": "replacement"}])
@pytest.mark.parametrize("compiled", [None, False])
def test_a_run_ends_where_every_episode_is_cut_at_once(options, compiled):
    """Action 0 was never logged and the policy insists on it: whatever max_cut is, there is an end."""
    rows = {"observation": [0, 1] * 10, "next_observation": [1, 0] * 10, "action": [1] * 20, "reward": [-1.0] * 20}
    rows |= {"terminated": [False, True] * 10, "episode": np.repeat(np.arange(10), 2), "n_actions": 2}
    simulator = qbe(us.Log.from_columns(**rows), max_cut=1.0, audit=False, **options)
    run = us.simulate(simulator, us.learners.FixedPolicy([1.0, 0.0]), 0, 100, compiled=compiled)
    assert (run.stopped.cause, len(run)) == ("too many cut", 0)
    assert len(run.cuts) == 100


def test_networks_look_ahead_past_the_last_opening(log):
    pytest.importorskip("torch")
    simulator = qbe(log.select(np.arange(10)), then=("reuse", "cut"), max_cut=0.5, audit=False)
    ppo = {"hidden": (4,), "epoch_steps": 200, "policy_iterations": 1, "value_iterations": 1, "seed": 0}
    run, plain = (
        us.simulate(simulator, us.learners.PPO(log.spec, **ppo), 0, 8_000, compiled=compiled)
        for compiled in (None, False)
    )
    assert len(run.openings) > 10
    np.testing.assert_array_equal(run.rows, plain.rows)


@pytest.mark.parametrize("compiled", [None, False])
def test_a_cut_episode_is_not_part_of_an_evaluation(log, compiled):
    learner = us.learners.MonteCarlo(us.learners.Uniform(5), gamma=1.0)
    run = us.simulate(qbe(log, then="cut", max_cut=1.0), learner, 0, compiled=compiled)
    assert len(run.cuts) > 5
    assert learner.estimate == pytest.approx(run.returns.mean())


def test_a_late_learner_hears_of_cuts_with_its_outcomes(log):
    class Listener:
        def __init__(self):
            self.ends, self.heard = 0, 0

        def policy(self, observation):
            return np.full(5, 0.2)

        def learn(self, step):
            self.ends += step.truncated

        def hear_cut(self):
            self.heard += 1

    for decisions in (0, 3):
        inside = Listener()
        run = us.simulate(qbe(log, then="cut", max_cut=1.0), us.learners.Delayed(inside, decisions=decisions), 0)
        assert inside.ends + inside.heard >= len(run.cuts) - 1 > 5
        assert (inside.heard > inside.ends) == (decisions == 0)


def test_a_ladder_without_rungs_is_the_simulator_itself(log):
    exact, bare = qbe(log), qbe(log, then="like")
    assert bare.ladder == ()
    assert bare.settings["stop"] == "predictable"
    np.testing.assert_array_equal(us.simulate(bare, make(0), 0).rows, us.simulate(exact, make(0), 0).rows)


def test_ladders_keep_the_rules_of_simulators(log):
    us.testing.check_simulator(qbe(log, then="cut"))
    us.testing.check_simulator(qbe(log, then=("like", "cut"), **ALIKE))


def test_an_env_tells_the_action_that_was_drawn(log):
    cut, rng = set(), np.random.default_rng(0)
    rehearsal, over = qbe(log, then="cut", max_cut=1.0).start(0), True
    for _ in range(20_000):
        try:
            if over:
                rehearsal.begin()
            step = rehearsal.step(rng.dirichlet(np.ones(5)))
        except us.Exhausted:
            break
        over = not isinstance(step, us.Step) or step.terminated or step.truncated
        cut |= set() if isinstance(step, us.Step) else {step.action}
    assert len(cut) > 2


def test_each_row_is_counted_once(log):
    run = us.simulate(us.psrs(log, then=("like", "cut"), max_cut=0.5, **ALIKE), make(0), 0)
    assert run.rungs.any()
    assert len(run) <= run.stopped.counts["rows taken"] <= len(log)
