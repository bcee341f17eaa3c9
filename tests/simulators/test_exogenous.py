"""The exogenous process goes its own way: one step of the counter for each step of the learner."""

from dataclasses import replace

import numpy as np
import pytest

from understudy.encoders import Function
from understudy.envs import CounterGrid, record
from understudy.errors import ContractError, LogError, SettingError
from understudy.logs import Log, concatenate, read, write
from understudy.simulators import exo_psrs, psrs
from understudy.simulators.kernels import layout

ENV = CounterGrid(6, size=3)
ORACLES = {"split": ENV.split, "merge": ENV.merge, "reward": ENV.reward}
LOGGER = np.random.default_rng(0).dirichlet(np.full(5, 3.0), size=ENV.n_observations)
EVENLY = np.full(5, 0.2)


@pytest.fixture(scope="module")
def log():
    return Log.from_columns(**ENV.rollout(LOGGER, 200, seed=2))


def counted_on(steps):
    """Whether the counter advanced by one at each step."""
    before, after = (np.array([step[place] for step in steps]) // ENV.n_cells for place in (0, 3))
    return np.all(after == (before + 1) % ENV.period)


def test_the_counter_advances_by_one_at_every_step_and_latent_psrs_breaks_it(log, play):
    for seed in range(5):
        steps = play(exo_psrs(log, **ORACLES), lambda t, x: EVENLY, seed).steps
        assert len(steps) > 300
        assert counted_on(steps)
        assert not counted_on(play(psrs(log, Function(ENV.latent)), lambda t, x: EVENLY, seed).steps)


def test_the_next_observation_merges_the_two_rows_parts_and_the_oracle_pays(log, play):
    paid = {**ORACLES, "reward": lambda z, c: 10.0 * z + c}
    steps = play(exo_psrs(log, **paid), lambda t, x: EVENLY, 1).steps
    assert len(steps) > 300
    for step in steps:
        cell, counter = log.next_observation[step.row] % 9, log.next_observation[step.emission] // 9
        assert step.next_observation == cell + 9 * counter
        assert step.reward == 10.0 * cell + counter
        assert step.observation % 9 == log.observation[step.row] % 9
        assert step.observation // 9 == log.observation[step.emission] // 9
        assert (step.action, step.terminated) == (log.action[step.row], log.terminated[step.row])


def test_the_exogenous_part_is_popped_once_for_each_step_after_acceptance(log, play):
    # popped for every candidate, rejected ones too, the exogenous rows served would have gaps
    trace = play(exo_psrs(log, **ORACLES, order="log"), lambda t, x: np.eye(5)[t % 5], 1)
    assert trace.stop.counts["rows taken"] > 2 * len(trace.rows) > 0
    for counter in range(ENV.period):
        served = [step.emission for step in trace.steps if step.observation // 9 == counter]
        logged = np.flatnonzero(log.observation // 9 == counter)
        assert served == logged[: len(served)].tolist()


def test_no_row_of_either_part_is_served_twice(log, play):
    for order in ("episodes", "rows", "log"):
        trace = play(exo_psrs(log, **ORACLES, order=order), lambda t, x: EVENLY, 3)
        for served in (trace.rows, [step.emission for step in trace.steps]):
            assert len(set(served)) == len(served) > 100


def test_both_parts_are_read_in_the_same_order(log):
    rehearsal = exo_psrs(log, **ORACLES).start(4)
    for _ in range(20):
        rehearsal.begin()
        while not rehearsal.step(EVENLY).terminated:
            pass
    endogenous, exogenous = rehearsal.source.endogenous, rehearsal.source.exogenous
    n = min(endogenous.cursor[layout.TAPE_READ], exogenous.cursor[layout.TAPE_READ])
    assert n > 10
    assert np.array_equal(endogenous.order[:n], exogenous.order[:n])


@pytest.mark.parametrize("order", ["episodes", "rows", "log"])
def test_an_opening_is_a_whole_logged_observation_where_episodes_were_cut_off_too(order, play):
    log = concatenate([Log.from_columns(**ENV.rollout(LOGGER, steps=99, seed=seed)) for seed in range(60)])
    assert log.unfinished.sum() > 40
    trace = play(exo_psrs(log, **ORACLES, order=order, max_episode_steps=7), lambda t, x: EVENLY, 0)
    assert set(trace.openings) <= set(log.starts[:-1])
    assert len(trace.openings) > 40
    assert counted_on(trace.steps)
    at = 0
    for opening in trace.openings[:-1]:
        assert trace.steps[at].observation == log.observation[opening]
        while not (trace.steps[at].terminated or trace.steps[at].truncated):
            at += 1
        at += 1


def test_served_actions_have_the_law_of_the_policy(log, play):
    # 5 standard errors, false alarm 3e-6 over five actions; the log's own frequencies are told apart
    policy = np.array([0.1, 0.3, 0.3, 0.2, 0.1])
    simulator = exo_psrs(log, **ORACLES)
    runs = [play(simulator, lambda t, x: policy, seed).steps for seed in range(9)]
    actions = np.array([step.action for steps in runs for step in steps])
    z = (np.bincount(actions) - policy * len(actions)) / np.sqrt(policy * (1 - policy) * len(actions))
    assert np.abs(z).max() < 5
    logged = np.bincount(log.action)[:5] * len(actions) / len(log)
    assert np.abs((logged - policy * len(actions)) / np.sqrt(policy * (1 - policy) * len(actions))).max() > 10


def test_with_an_encoder_rows_are_queued_by_its_states(log, play):
    halves = Function(lambda x: (x % 9 > 4).astype(int))
    steps = play(exo_psrs(log, halves, **ORACLES), lambda t, x: EVENLY, 0).steps
    assert counted_on(steps)
    seen, logged = np.array([step.observation for step in steps]), log.observation[[step.row for step in steps]]
    assert np.array_equal(halves.encode(seen), halves.encode(logged))
    assert not np.array_equal(ENV.latent(seen), ENV.latent(logged))
    by_cell, by_part = exo_psrs(log, Function(ENV.latent), **ORACLES), exo_psrs(log, **ORACLES)
    assert play(by_cell, lambda t, x: EVENLY, 5).rows == play(by_part, lambda t, x: EVENLY, 5).rows


def test_the_stop_gives_the_oracles_own_number_of_an_exogenous_part(play):
    log = Log.from_columns(
        observation=[0, 0, 0], next_observation=[1, 1, 1], action=[0, 0, 0], reward=[0, 0, 0],
        terminated=[False, False, False], episode=[0, 1, 2], propensity=np.ones((3, 1)),
    )  # fmt: skip
    far = 10**12
    simulator = exo_psrs(
        log, split=lambda x: (x * 0, x * far), merge=lambda z, c: c // far, reward=lambda z, c: z * 0.0
    )
    stop = play(simulator, lambda t, x: [1.0], 0).stop
    assert (stop.cause, stop.state) == ("exogenous queue empty", far)


BAD_ORACLES = {
    "split into one": {"split": lambda x: x},
    "split into three": {"split": lambda x: (x, x, x)},
    "split into floats": {"split": lambda x: (x % 9, x / 9)},
    "split into negative parts": {"split": lambda x: (x % 9, -1 - x // 9)},
    "split into too few": {"split": lambda x: (x[:-1] % 9, x[:-1] // 9)},
    "merge into too few": {"merge": lambda z, c: (z + 9 * c)[:-1]},
    "merge into one": {"merge": lambda z, c: 3},
    "merge into text": {"merge": lambda z, c: np.full(len(z), "x")},
    "merge into pairs": {"merge": lambda z, c: np.column_stack([z, c])},
    "merge into floats, of integers": {"merge": lambda z, c: z + 9.0 * c},
    "merge that does not undo split": {"merge": lambda z, c: c + 6 * z},
    "reward of too few": {"reward": lambda z, c: np.zeros(len(z) - 1)},
    "one reward": {"reward": lambda z, c: 1.0},
    "rewards of NaN": {"reward": lambda z, c: np.full(len(z), np.nan)},
    "rewards of text": {"reward": lambda z, c: np.full(len(z), "x")},
}


@pytest.mark.parametrize("oracle", BAD_ORACLES)
def test_an_oracle_that_answers_wrongly_is_a_log_error(oracle, log):
    with pytest.raises(ContractError):
        exo_psrs(log, **(ORACLES | BAD_ORACLES[oracle]))


def test_it_needs_all_propensities(log):
    bare = Log.from_columns(observation=log.observation, next_observation=log.next_observation, action=log.action,
                            reward=log.reward, terminated=log.terminated, episode=log.episode)  # fmt: skip
    with pytest.raises(LogError, match="qbe"):
        exo_psrs(bare, **ORACLES)


def test_too_many_pairs_are_refused_before_they_are_made():
    n = 8000
    log = Log.from_columns(observation=np.arange(n), next_observation=np.arange(n), action=np.zeros(n, int),
                           reward=np.zeros(n), terminated=np.ones(n, bool), propensity=np.ones((n, 1)))  # fmt: skip
    with pytest.raises(SettingError, match="too many"):
        exo_psrs(log, split=lambda x: (x, x), merge=lambda z, c: z, reward=lambda z, c: z)


def test_interleaved_and_repeated_runs_do_not_disturb_each_other(log, play):
    shared = exo_psrs(log, **ORACLES)
    alone = [play(exo_psrs(log, **ORACLES), lambda t, x: EVENLY, seed).rows for seed in range(3)]
    kept = shared.start(0)
    kept.begin()
    for seed in (1, 2, 1):
        assert play(shared, lambda t, x: EVENLY, seed).rows == alone[seed]
    assert kept.step(EVENLY).row == alone[0][0]


def test_a_log_that_does_not_say_where_it_arrived_is_refused(tmp_path):
    env = CounterGrid(4, size=3)
    log = record(env, episodes=20, seed=0)
    names = ("observation", "action", "reward", "terminated", "truncated", "episode", "propensity")
    derived = Log.from_columns(**{name: getattr(log, name) for name in names})
    oracles = {"split": env.split, "merge": env.merge, "reward": env.reward}
    with pytest.raises(LogError, match="next_observation="):
        exo_psrs(derived, **oracles)
    exo_psrs(log, **oracles)
    write(derived, tmp_path / "log.parquet")
    with pytest.raises(LogError, match="next_observation="):
        exo_psrs(read(tmp_path / "log.parquet"), **oracles)
    exo_psrs(replace(log, notes=("no-next-observation: a note decides nothing",)), **oracles)


def test_what_ran_out_is_named_with_an_example(log, play):
    stops = [play(exo_psrs(log, **ORACLES), lambda t, x: EVENLY, seed).stop for seed in range(6)]
    stops += [play(exo_psrs(log, Function(lambda x: x % 4), **ORACLES), lambda t, x: EVENLY, 0).stop]
    for stop in stops:
        if stop.state is not None:
            assert " like it)" in stop.reason
            assert stop.reason.startswith(
                "the exogenous part of " * stop.cause.startswith("exogenous") + "observation="
            )
    assert any(stop.state is not None for stop in stops)


def test_on_some_episodes_it_is_that_of_the_log_of_these(log, play):
    episodes = np.arange(0, log.n_episodes, 2)
    selected, alone = exo_psrs(log, **ORACLES).select(episodes), exo_psrs(log.select(episodes), **ORACLES)
    one, other = (play(each, lambda t, x: EVENLY, 3).steps for each in (selected, alone))
    assert len(one) > 100
    assert one == other


def test_copies_of_a_log_go_on_with_both_parts(log, play):
    simulator = exo_psrs(log, **ORACLES)
    for seed in range(3):
        once = play(simulator, lambda t, x: EVENLY, seed)
        more = play(simulator.repeated(3), lambda t, x: EVENLY, seed)
        assert len(more.rows) > 1.5 * len(once.rows) > 0
        assert more.rows[: len(once.rows)] == once.rows
        assert counted_on(more.steps)
