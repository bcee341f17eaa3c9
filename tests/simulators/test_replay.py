"""Replaying a log: what the simulators promise beyond the law of a single draw."""

import gc
import pickle
import sys
import threading
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from understudy.contracts import Exhausted
from understudy.encoders import Function
from understudy.envs import NoisyGrid
from understudy.errors import LogError, SettingError
from understudy.learners import QLearning, Uniform
from understudy.logs import Log, read
from understudy.runs import simulate
from understudy.simulators import actions_only, any_row, psrs, qbe, states_only

STAY = np.array([1.0, 0.0])
EVENLY = np.array([0.5, 0.5])

GRID = NoisyGrid(1, size=3, slip=0.2)
LOGGER = np.random.default_rng(0).dirichlet(np.ones(5), size=GRID.n_observations)


@pytest.fixture(scope="module")
def grid_log():
    return Log.from_columns(**GRID.rollout(LOGGER, 40, seed=1))


# A consequence of episode order


@pytest.mark.parametrize(
    "encoder",
    [None, GRID.latent, lambda x: np.zeros(len(x), int), lambda x: (7 * x) % 4],
    ids=["identity", "latent", "one state", "nonsense"],
)
def test_under_the_logging_policy_psrs_serves_the_log_word_for_word_with_any_encoder(encoder, grid_log, play):
    simulator = psrs(grid_log, encoder and Function(encoder))
    orders = set()
    for seed in range(5):
        trace = play(simulator, lambda t, x: LOGGER[x], seed)
        spans = dict(zip(grid_log.starts[:-1].tolist(), grid_log.starts[1:].tolist(), strict=True))
        assert sorted(trace.openings) == sorted(spans)
        assert trace.rows == [row for first in trace.openings for row in range(first, spans[first])]
        assert trace.stop.cause == "no opening"
        orders.add(tuple(trace.openings))
    assert len(orders) == 5
    assert play(psrs(grid_log, order="rows"), lambda t, x: LOGGER[x], 0).rows != trace.rows


# Ends of a run


def test_a_state_that_was_never_acted_from_is_an_ordinary_stop(walk_log, play):
    log = walk_log([0, 1], [0, 2, 9], terminated=[False, False, True], episode=[0, 1, 1])
    stop = play(psrs(log, order="log"), lambda t, x: EVENLY, 0).stop
    assert (stop.cause, stop.state, stop.counts["steps"]) == ("never logged", 1, 1)
    assert str(stop) == "observation=1 was never logged as a state to act from after 1 steps"


@pytest.mark.parametrize("make", [psrs, qbe, states_only])
def test_an_observation_without_a_state_is_an_ordinary_stop(make, walk_log, play):
    log = walk_log([0, 1, 2], action=[0, 1])
    only_first = Function(lambda x: np.where(x == 0, 0, -1))
    trace = play(make(log, only_first), lambda t, x: STAY, 0)
    assert trace.rows == [0]
    assert trace.stop.cause == "no state"


def test_an_opening_without_a_state_is_an_ordinary_stop(walk_log, play):
    log = walk_log([0, 1, 2])
    trace = play(psrs(log, Function(lambda x: x - 1)), lambda t, x: STAY, 0)
    assert (trace.rows, trace.openings, trace.stop.cause) == ([], [0], "no state")


def test_an_empty_queue_is_an_ordinary_stop_that_names_the_state(walk_log, play):
    log = walk_log([0, 0, 9], [0, 9])
    stop = play(states_only(log, max_episode_steps=1, openings="replacement"), lambda t, x: STAY, 0).stop
    assert (stop.cause, stop.state, stop.counts["steps"]) == ("queue empty", 0, 3)


def test_qbe_names_the_action_that_ran_out(walk_log, play):
    log = walk_log([0, 9], [0, 9], action=[1, 1])
    stop = play(qbe(log), lambda t, x: EVENLY, 0).stop
    assert (stop.cause, stop.state, stop.action) == ("queue empty for action", 0, 0)


def test_a_stop_gives_the_encoders_own_number_of_a_state(walk_log, play):
    log = walk_log([0, 1, 9], terminated=[False, False])
    stop = play(psrs(log, Function(lambda x: x * 10**12)), lambda t, x: EVENLY, 0).stop
    assert (stop.cause, stop.state) == ("never logged", 9 * 10**12)


@pytest.mark.parametrize("encoder", [None, Function(lambda x: -x)], ids=["never acted from", "no state"])
def test_simulators_without_states_do_not_stop_because_of_one(encoder, walk_log, play):
    log = walk_log([0, 1], [0, 1], terminated=[False, False], propensity=[[1.0, 0.0]] * 2)
    none_left = play(any_row(log, encoder), lambda t, x: STAY, 0)
    assert len(none_left.rows) == 2
    assert none_left.stop.cause == "no row"
    unsupported = play(actions_only(log, encoder), lambda t, x: STAY if t == 0 else EVENLY, 0)
    assert len(unsupported.rows) == 1
    assert (unsupported.stop.cause, unsupported.stop.action) == ("unsupported", 1)
    assert "None" not in str(unsupported.stop)


def test_a_rehearsal_that_has_stopped_stays_so(walk_log):
    rehearsal = psrs(walk_log([0, 9])).start(0)
    rehearsal.begin()
    rehearsal.step(EVENLY)
    for attempt in (rehearsal.begin, rehearsal.begin, lambda: rehearsal.step(EVENLY)):
        with pytest.raises(Exhausted, match="opening") as end:
            attempt()
        assert end.value.stop == rehearsal.stop()


# Openings


def test_openings_are_used_once_each_and_end_the_run(random_log, play, table):
    log = random_log(1, episodes=20)
    everywhere = Function(lambda x: np.zeros(len(x), int))
    for order in ("episodes", "rows", "log"):
        trace = play(states_only(log, everywhere, order=order, max_episode_steps=1), table(0), 4)
        assert trace.stop.cause == "no opening"
        assert sorted(trace.openings) == log.starts[:-1].tolist()
        assert trace.stop.counts["openings drawn with replacement"] == 0


def test_openings_drawn_with_replacement_are_counted_and_uniform_over_episodes(walk_log):
    # chi-square with 3 degrees of freedom, 4,000 draws: false alarm 1e-6; uniform over rows is told apart at once
    rehearsal = psrs(walk_log([0, 9], [1, 9], [2, 9], [3, 9, 9, 9]), openings="replacement").start(0)
    counts = np.bincount([rehearsal.begin() for _ in range(4000)])
    assert rehearsal.stop().counts["openings drawn with replacement"] == 4000
    assert chisquare(counts, np.full(4, 1000)).pvalue > 1e-6
    assert chisquare(counts, 4000 * np.array([1, 1, 1, 3]) / 6).pvalue < 1e-12


# Time limits


def test_a_truncated_row_is_an_ordinary_step(walk_log, play):
    log = walk_log([0, 1], [1, 2], terminated=[False, True], truncated=[True, False])
    trace = play(psrs(log, order="log", max_episode_steps=None), lambda t, x: EVENLY, 0)
    assert trace.rows == [0, 1]
    assert trace.openings == [0, 1]  # one opening for both steps; the second one found no row left
    assert [(step.terminated, step.truncated) for step in trace.steps] == [(False, False), (True, False)]


def test_the_time_limit_is_of_the_simulators_own_steps(walk_log, play):
    path = [0] * 7 + [9]
    trace = play(psrs(walk_log(path, path), max_episode_steps=3), lambda t, x: EVENLY, 0)
    assert [step.truncated for step in trace.steps] == [False, False, True] * 2
    assert trace.stop.cause == "no opening"
    longer = play(psrs(walk_log(path, path), max_episode_steps=8), lambda t, x: EVENLY, 0)
    assert [step.terminated for step in longer.steps] == ([False] * 6 + [True]) * 2
    assert not any(step.truncated for step in longer.steps)


def test_a_terminal_step_at_the_limit_is_terminated_and_not_truncated(walk_log, play):
    (step,) = play(psrs(walk_log([0, 9]), max_episode_steps=1), lambda t, x: EVENLY, 0).steps
    assert (step.terminated, step.truncated) == (True, False)


def test_the_time_limit_is_the_logs_own_where_its_truncated_episodes_agree(walk_log):
    ends = {"terminated": np.zeros(5, bool), "truncated": np.array([False, True, False, True, False])}
    agreed = walk_log([0, 0, 0], [0, 0, 0], [0, 0], **ends)
    assert psrs(agreed).settings["max_episode_steps"] == 2
    assert psrs(agreed, max_episode_steps=None).settings["max_episode_steps"] is None
    assert psrs(agreed, max_episode_steps=7).settings["max_episode_steps"] == 7
    odds = {"terminated": np.zeros(5, bool), "truncated": np.array([False, True, False, False, True])}
    assert psrs(walk_log([0, 0, 0], [0, 0, 0, 0], **odds)).settings["max_episode_steps"] is None


def test_a_row_that_is_both_terminated_and_truncated_is_terminated(walk_log, play):
    (step,) = play(psrs(walk_log([0, 9], truncated=[True])), lambda t, x: EVENLY, 0).steps
    assert (step.terminated, step.truncated) == (True, False)


# A run depends on its seed alone


reserving = partial(psrs, reserve=True)

VARIANTS = [
    *product((psrs, reserving, qbe), ("episodes", "rows", "log"), ("queue", "replacement")),
    *product((actions_only, any_row), ("rows",), ("queue", "replacement")),
]


@pytest.mark.parametrize(("make", "order", "openings"), VARIANTS)
def test_a_run_depends_on_its_seed_alone(make, order, openings, random_log, play, table):
    log = random_log(8, episodes=40, zeros=False)
    learner = table(0, zeros=False)

    def simulator():
        return make(log, order=order, openings=openings, max_episode_steps=5)

    alone = [play(simulator(), learner, seed, max_steps=60) for seed in range(6)]
    shared = simulator()
    for seed in (0, 0, 1, 2, 3):  # one after the other, in the same workspace
        assert play(shared, learner, seed, max_steps=60).rows == alone[seed].rows
    for steps in (1, 3, 20):  # after others that were left half-read
        play(shared, learner, 9, max_steps=steps)
        assert play(shared, learner, 4, max_steps=60).rows == alone[4].rows
    assert len(shared._spare_workspaces) == 1
    kept = shared.start(5)  # while another is under way
    first = kept.begin()
    for seed in (0, 1):
        assert play(shared, learner, seed, max_steps=60).rows == alone[seed].rows
    assert kept.opening == alone[5].openings[0]
    if alone[5].steps:
        assert kept.step(learner(0, first)).row == alone[5].rows[0]


def test_interleaved_rehearsals_do_not_disturb_each_other(random_log, play, table):
    log = random_log(8, episodes=60, zeros=False)
    simulator, learner = psrs(log, Function(lambda x: x % 2)), table(0, zeros=False)
    alone = [play(simulator, learner, seed, max_steps=40).rows for seed in range(4)]
    rehearsals = [simulator.start(seed) for seed in range(4)]
    seen, rows, over = [None] * 4, [[] for _ in range(4)], [True] * 4
    for _ in range(40):
        for n, rehearsal in enumerate(rehearsals):
            if len(rows[n]) < len(alone[n]):
                if over[n]:
                    seen[n] = rehearsal.begin()
                step = rehearsal.step(learner(len(rows[n]), seen[n]))
                rows[n].append(step.row)
                seen[n], over[n] = step.next_observation, step.terminated or step.truncated
    assert rows == alone
    assert min(map(len, alone)) > 10


def test_no_global_generator_is_touched(random_log, play, table):
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (the very thing that must not change)
    play(psrs(random_log(0)), table(0), 0)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_a_seed_may_be_an_integer_of_numpy(random_log, play, table):
    simulator = psrs(random_log(0))
    assert play(simulator, table(0), np.int64(3)).rows == play(simulator, table(0), 3).rows


def test_threads_may_start_rehearsals_of_one_simulator(random_log):
    simulator = psrs(random_log(0))
    errors, interval = [], sys.getswitchinterval()

    def work():
        try:
            for seed in range(400):
                simulator.start(seed)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []


def test_a_workspace_is_used_again_only_when_its_rehearsal_is_gone(random_log):
    simulator = psrs(random_log(0))
    one, other = simulator.start(0), simulator.start(0)
    assert one.source.cursor is not other.source.cursor
    cursor = one.source.cursor
    del one
    gc.collect()
    assert simulator.start(0).source.cursor is cursor


def test_a_simulator_can_be_pickled_in_mid_rehearsal(random_log, play, table):
    simulator = psrs(random_log(0))
    rehearsal = simulator.start(0)
    rehearsal.begin()
    copy = pickle.loads(pickle.dumps(simulator))
    assert play(copy, table(0), 3).rows == play(simulator, table(0), 3).rows


# Options and logs that will not do


@pytest.mark.parametrize("make", [psrs, qbe, states_only])
@pytest.mark.parametrize(
    ("option", "value", "choices"),
    [
        ("order", "episode", ["'episodes'", "'rows'", "'log'"]),
        ("openings", "fresh", ["'queue'", "'replacement'"]),
        ("order", None, ["'episodes'"]),
    ],
)
def test_an_unknown_choice_is_refused_with_a_list_of_choices(make, option, value, choices, random_log):
    with pytest.raises(SettingError, match=f"{option}={value!r}") as error:
        make(random_log(0), **{option: value})
    assert all(choice in str(error.value) for choice in choices)


def test_an_unknown_stop_is_refused_with_a_list_of_choices(random_log):
    with pytest.raises(SettingError, match="stop='predictible' is not one of 'plain', 'predictable'"):
        qbe(random_log(0), stop="predictible")


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, "ten", np.nan])
def test_a_time_limit_that_is_not_a_number_of_steps_is_refused(limit, random_log):
    with pytest.raises(SettingError, match="max_episode_steps"):
        psrs(random_log(0), max_episode_steps=limit)


@pytest.mark.parametrize("make", [actions_only, any_row])
def test_baselines_without_states_know_row_order_only(make, random_log):
    assert make(random_log(0), order="rows").settings["order"] == "rows"
    for order in ("episodes", "log"):
        with pytest.raises(SettingError, match="rows"):
            make(random_log(0), order=order)


@pytest.mark.parametrize("make", [psrs, actions_only])
@pytest.mark.parametrize("kind", ["none", "chosen"])
def test_rejection_sampling_needs_all_propensities_and_says_to_use_qbe(make, kind, random_columns, play, table):
    columns = random_columns(0, zeros=False)
    chosen = columns["propensity"][np.arange(len(columns["action"])), columns["action"]]
    log = Log.from_columns(**(columns | {"propensity": chosen if kind == "chosen" else None}), n_actions=3)
    with pytest.raises(LogError, match="qbe"):
        make(log)
    assert play(qbe(log), table(0, zeros=False), 0).openings
    assert play(states_only(log), table(0), 0).rows


def test_a_log_with_an_error_is_refused(random_columns):
    columns = random_columns(0)
    columns["propensity"] = columns["propensity"] * 0.9
    for make in (psrs, qbe, states_only):
        with pytest.raises(LogError, match="sums to"):
            make(Log.from_columns(**columns))


@pytest.mark.parametrize("make", [psrs, qbe, states_only, actions_only, any_row])
def test_a_log_of_one_row(make, walk_log, play):
    trace = play(make(walk_log([3, 4])), lambda t, x: STAY, 0)
    assert (trace.rows, trace.openings, trace.stop.cause) == ([0], [0], "no opening")


def test_ten_thousand_states_of_one_row_each(play):
    n = 10_000
    log = Log.from_columns(
        observation=np.arange(n), next_observation=np.arange(1, n + 1), action=np.zeros(n, int), reward=np.ones(n),
        terminated=np.arange(n) == n - 1, propensity=np.tile([0.5, 0.5], (n, 1)),
    )  # fmt: skip
    trace = play(psrs(log), lambda t, x: EVENLY, 0)
    assert trace.rows == list(range(n))
    assert play(psrs(log), lambda t, x: [0.0, 1.0], 0).stop.cause == "queue empty"
    assert play(qbe(log), lambda t, x: EVENLY, 0).stop.cause == "queue empty for action"


def test_actions_that_were_never_logged(walk_log, play):
    log = walk_log([0, 0, 0, 9], n_actions=4)
    policy = np.full(4, 0.25)
    assert set(play(psrs(log), lambda t, x: policy, 0).rows) <= {0, 1, 2}
    stop = play(qbe(log), lambda t, x: policy, 0).stop
    assert (stop.cause, stop.action, stop.counts["steps"]) == ("queue empty for action", 1, 0)
    assert play(qbe(log), lambda t, x: [1, 0, 0, 0], 0).rows == [0, 1, 2]


@pytest.mark.parametrize("encoder", [None, Function(lambda x: (x[:, 0] > 0.5).astype(int))])
def test_observations_of_any_shape_are_served_as_they_were_logged(encoder, play):
    observation = np.array([[0.1, 2.0], [0.9, 3.0], [0.1, 2.0]])
    log = Log.from_columns(
        observation=observation, next_observation=observation[[1, 0, 2]], action=[0, 1, 0], reward=[1, 2, 3],
        terminated=[False, False, True], propensity=np.tile([0.5, 0.5], (3, 1)),
    )  # fmt: skip
    trace = play(psrs(log, encoder), lambda t, x: EVENLY, 0)
    assert trace.rows == [0, 1, 2]
    for step in trace.steps:
        assert np.array_equal(step.next_observation, log.next_observation[step.row])


# What a stop is called


def named(features, **columns):
    """A log of three observations and two labeled actions, read from columns with names of their own."""
    n = len(columns["action"])
    frame = {"reward": np.zeros(n), "terminated": np.ones(n, bool)} | columns
    return read(pd.DataFrame(frame), observation=features, next_observation=features, actions=["wait", "buy"])


PAGES = {"page": [3, 3, 7], "action": ["wait", "buy", "wait"]}
POINTS = {"x": [0.123456, 0.2, 5.0], "v": [-0.4, 0.7, 1.0], "action": ["wait", "buy", "wait"]}
HALVES = Function(lambda points: (points[:, 0] > 1).astype(int))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("log", "encoder", "places"),
    [
        (named("page", **PAGES), None, ["page=3", "page=7"]),
        (named(["x", "v"], **POINTS), None, ["x=0.1235, v=-0.4", "x=0.2, v=0.7", "x=5, v=1"]),
        (named(["x", "v"], **POINTS), HALVES, ["x=0.1235, v=-0.4 (and 1 like it)", "x=5, v=1"]),
    ],
)
def test_a_stop_names_the_observation_by_columns_and_values_and_the_action_by_its_label(log, encoder, places, compiled):
    simulator = qbe(log, encoder)
    reasons = {simulate(simulator, Uniform(2), seed, compiled=compiled).stopped.reason for seed in range(30)}
    expected = {f"{place} has no row left with action={label}" for place in places for label in ("wait", "buy")}
    assert reasons <= expected
    assert all(any(reason.startswith(place) for reason in reasons) for place in places)


def test_an_unsupported_action_is_named_by_its_label(play):
    n = 4
    log = named("page", page=[3] * n, action=["wait"] * n, propensity_0=np.ones(n), propensity_1=np.zeros(n))
    stop = play(psrs(log), lambda t, x: EVENLY, 0).stop
    assert stop.reason.startswith("page=3 has no row left whose logger could take action=buy (policy mass 0.5 ")
    assert stop.what == "page=3, action=buy"
    everywhere = play(actions_only(log), lambda t, x: EVENLY, 0).stop
    assert everywhere.what == "rows, action=buy"
    assert everywhere.reason.startswith("the log has no row left whose logger could take action=buy")


def test_a_state_that_was_only_reached_is_named_by_what_was_seen_there(walk_log, play):
    log = walk_log([0, 1], [0, 2, 9], terminated=[False, False, True], episode=[0, 1, 1])
    tenfold = Function(lambda x: 10 * x)
    stop = play(psrs(log, tenfold, order="log"), lambda t, x: EVENLY, 0).stop
    assert (stop.cause, stop.state, stop.place) == ("never logged", 10, "observation=1")


def test_the_description_of_a_stop_is_found_once_for_each_state(grid_log, monkeypatch):
    asked = []
    whole = type(psrs(grid_log).index)._found_stop_fields
    monkeypatch.setattr(
        "understudy.simulators.index.Index._found_stop_fields", lambda self, z: asked.append(z) or whole(self, z)
    )
    simulator = psrs(grid_log)
    stops = [simulate(simulator, Uniform(5), seed).stopped for seed in range(20)]
    assert len(asked) == len(set(asked)) == len({stop.state for stop in stops} - {None})


# Rows that were not accepted are kept


def test_a_reserve_is_a_setting_that_halves_and_copies_keep(grid_log):
    assert "reserve" not in psrs(grid_log, reserve=False).settings
    simulator = psrs(grid_log, Function(GRID.latent), reserve=True)
    assert simulator.settings["reserve"] is True
    assert "reserve=True" in repr(simulator)
    half = simulator.select(np.arange(0, 40, 2))
    assert half.settings == simulator.settings
    assert simulator.repeated(2).settings == simulator.settings | {"copies": 2}
    with pytest.raises(SettingError, match="reserve='yes' is not one of False, True"):
        psrs(grid_log, reserve="yes")


def test_runs_with_a_reserve_are_longer_for_a_policy_that_changes(grid_log, play):
    policies = 0.02 + 0.9 * np.eye(5)
    swings = lambda t, x: policies[t // 10 % 5]  # noqa: E731
    lengths = [
        [len(play(psrs(grid_log, Function(GRID.latent), reserve=on), swings, seed).rows) for seed in range(30)]
        for on in (False, True)
    ]
    assert np.mean(lengths[1]) > 1.2 * np.mean(lengths[0])


# A log repeated


@pytest.mark.parametrize("make", [psrs, reserving, qbe, states_only])
@pytest.mark.parametrize("order", ["episodes", "log"])
def test_copies_of_a_log_begin_where_the_log_itself_has_no_answer(make, order, random_log, play, table):
    log = random_log(8, episodes=40, zeros=False)
    encoder = Function(lambda x: x % 2)  # two states, in which every action was logged
    simulator, learner = make(log, encoder, order=order, max_episode_steps=5), table(0, zeros=False)
    repeated = simulator.repeated(3)
    for seed in range(6):
        once, more = play(simulator, learner, seed), play(repeated, learner, seed)
        assert len(more.rows) > len(once.rows) > 0
        assert more.rows[: len(once.rows)] == once.rows
        assert np.bincount(more.rows).max() in (2, 3)


def test_rows_of_all_copies_are_shuffled_together(random_log, play):
    log = random_log(3, episodes=20, zeros=False)
    trace = play(any_row(log).repeated(3), lambda step, observation: np.full(3, 1 / 3), 1)
    assert len(trace.rows) > 2 * len(log)
    assert np.bincount(trace.rows).max() == 3
    assert np.bincount(trace.openings).max() <= 3
    assert len(np.unique(trace.rows[: len(log)])) < 0.8 * len(log)  # 1 - exp(-1) of them are distinct, not all


def test_episodes_that_a_recording_cut_off_keep_their_position_in_each_copy(random_log):
    simulator = psrs(random_log(8, episodes=40, zeros=False)).repeated(2)
    first, second = np.split(simulator._episodes, 2)
    assert (first[:, :2] == second[:, :2]).all()
    assert (second[:, 2] == first[:, 2] + 40).all()


def test_learners_with_codes_of_their_own_rehearse_on_copies(random_log):
    log = random_log(8, episodes=40, zeros=False)
    merge = Function(lambda x: x % 3)
    simulator = psrs(log, merge).repeated(9)
    runs = [
        simulate(simulator, QLearning(3, 3, encoder=merge, seed=1), 1, 10**6, compiled=compiled)
        for compiled in (True, False)
    ]
    assert runs[0].rows.tolist() == runs[1].rows.tolist()
    assert len(runs[0]) > len(log) > 0  # more steps than the log has rows


def test_more_copies_than_can_be_counted_are_refused(random_log):
    with pytest.raises(SettingError, match="copies"):
        qbe(random_log(8)).repeated(2**31)


def test_copies_travel_to_other_processes(random_log, play, table):
    simulator, learner = qbe(random_log(8, episodes=40)).repeated(2), table(0)
    sent = pickle.loads(pickle.dumps(simulator))
    assert play(sent, learner, 3).rows == play(simulator, learner, 3).rows
