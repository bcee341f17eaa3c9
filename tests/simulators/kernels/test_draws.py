"""The compiled draws against the reference written with lists: same rows, openings and end."""

from itertools import product

import numpy as np
import pytest

from understudy.encoders import Function
from understudy.logs import Log
from understudy.simulators import actions_only, any_row, psrs, qbe, states_only
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.draws import count_step, draw_action, largest_ratio

VARIANTS = [
    *((make, {"order": order}) for make, order in product((psrs, states_only, qbe), ("episodes", "rows", "log"))),
    *((qbe, {"order": order, "stop": "plain"}) for order in ("episodes", "rows", "log")),
    *((psrs, {"order": order, "reserve": True}) for order in ("episodes", "rows", "log")),
    (actions_only, {}),
    (any_row, {}),
]


@pytest.mark.parametrize("openings", ["queue", "replacement"])
@pytest.mark.parametrize(("make", "options"), VARIANTS)
def test_rows_openings_and_end_are_those_of_the_reference(
    make, options, openings, play, random_log, table, merge, reference
):
    order = {"order": "rows"} if make in (actions_only, any_row) else {}
    lengths = []
    for log_seed, seed, limit in product(range(6), range(3), (None, 3)):
        log = random_log(log_seed)
        simulator = make(log, merge, openings=openings, max_episode_steps=limit, **options)
        plain = reference(
            make.__name__, log, merge.encode(log.observation), merge.encode(log.next_observation), seed,
            openings=openings, limit=limit, **(order | options),
        )  # fmt: skip
        policy_at = table(seed)
        trace, (rows, opened, cause) = play(simulator, policy_at, seed), plain.run(policy_at)
        assert trace.rows == rows
        assert trace.openings == opened
        assert trace.stop.cause == cause
        lengths.append(len(rows))
    assert max(lengths) > 15


@pytest.mark.parametrize("make", [psrs, qbe])
def test_without_an_encoder_too(make, play, random_log, table, reference):
    for seed in range(5):
        log = random_log(seed, zeros=False)
        plain = reference(make.__name__, log, log.observation, log.next_observation, seed)
        trace = play(make(log, max_episode_steps=None), table(seed), seed)
        assert (trace.rows, trace.openings, trace.stop.cause) == plain.run(table(seed))


def test_a_seed_of_its_own_gives_rows_of_its_own(play, random_log, table, merge):
    log = random_log(3)
    runs = {tuple(play(psrs(log, merge), table(0), seed).rows) for seed in range(20)}
    assert len(runs) > 10


@pytest.mark.parametrize("make", [psrs, qbe, states_only])
def test_every_row_is_served_once_and_from_the_current_state(make, play, random_log, table, merge):
    for seed in range(10):
        log = random_log(seed, episodes=60, zeros=False)
        trace = play(make(log, merge), table(seed, zeros=False), seed)
        assert len(set(trace.rows)) == len(trace.rows) > 0
        seen = np.array([step.observation for step in trace.steps])
        assert np.array_equal(merge.encode(seen), merge.encode(log.observation[trace.rows]))
        for step in trace.steps:
            assert (step.action, step.reward, step.next_observation, step.terminated) == (
                log.action[step.row], log.reward[step.row], log.next_observation[step.row], log.terminated[step.row]
            )  # fmt: skip


@pytest.mark.parametrize("make", [actions_only, any_row])
def test_baselines_without_states_serve_every_row_at_most_once(make, play, random_log, table):
    for seed in range(10):
        rows = play(make(random_log(seed, episodes=60), openings="replacement"), table(seed), seed).rows
        assert len(rows) > 5
        assert len(set(rows)) == len(rows)


def test_any_row_serves_the_whole_log(play, random_log, table):
    log = random_log(0)
    trace = play(any_row(log, openings="replacement"), table(0), 0)
    assert sorted(trace.rows) == list(range(len(log)))


def worst_z(served, policy, at):
    """How many standard errors the served actions at some observation are off the policy there, at worst.

    Given that a step is served its action has law pi whatever went before, so the deviations are a martingale and
    their variance is that of independent draws, even where the end of a run depends on its history.
    """
    worst = 0.0
    for x, a in product(range(len(policy)), range(policy.shape[1])):
        here, p = served[at == x], policy[x, a]
        if p > 0:
            worst = max(worst, abs(np.sum(here == a) - p * len(here)) / np.sqrt(p * (1 - p) * len(here)))
    return worst


LOGGER = np.array([[0.8, 0.2], [0.2, 0.8]])
LEARNER = np.array([[0.5, 0.5], [0.3, 0.7]])
ONE_STATE = Function(lambda x: np.zeros(len(x), int))


def test_psrs_serves_actions_by_the_policy_under_propensities_that_differ_within_a_state(bandit, play, reference):
    # 5 standard errors, two observations of two actions: false alarm 1e-6; the wrong variant is off by dozens
    rng = np.random.default_rng(0)
    x = rng.integers(2, size=20_000)
    action = (rng.random(len(x)) > LOGGER[x, 0]).astype(int)
    log = bandit(action, LOGGER[x], x)
    trace = play(psrs(log, ONE_STATE), lambda t, x: LEARNER[x], seed=1)
    assert len(trace.rows) > 5_000
    assert worst_z(action[trace.rows], LEARNER, x[trace.openings[: len(trace.rows)]]) < 5

    nowhere = np.zeros(len(x), int)
    at_current_x = reference("psrs", log, nowhere, nowhere, seed=1, propensity_of=lambda row, x: LOGGER[x])
    rows, openings, _ = at_current_x.run(lambda t, x: LEARNER[x])
    assert worst_z(action[rows], LEARNER, x[openings[: len(rows)]]) > 10


def test_psrs_serves_actions_by_the_policy_where_some_loggers_could_not_act_so(bandit, play, reference):
    # 5 standard errors, four actions: false alarm 2e-6
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(4), size=20_000)
    p[rng.random(len(p)) < 0.3, 2] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    action = (p.cumsum(axis=1) <= rng.random((len(p), 1)) * p.sum(axis=1, keepdims=True)).sum(axis=1)
    log, policy = bandit(action, p), np.array([[0.4, 0.3, 0.2, 0.1]])
    trace = play(psrs(log), lambda t, x: policy[0], seed=2)
    assert len(trace.rows) > 1_000
    assert worst_z(action[trace.rows], policy, np.zeros(len(trace.rows))) < 5
    taken = log.propensity[:, 2] == 0
    assert trace.stop.counts["rows passed over"] == taken.sum()
    assert not taken[trace.rows].any()

    nowhere = np.zeros(len(p), int)
    floored = reference("psrs", log, nowhere, nowhere, seed=2, propensity_of=lambda row, x: np.maximum(p[row], 0.1))
    served = action[floored.run(lambda t, x: policy[0])[0]]
    assert worst_z(served, policy, np.zeros(len(served))) > 10


@pytest.mark.parametrize(("stop", "exact"), [("predictable", True), ("plain", False)])
def test_qbe_serves_actions_by_the_policy_on_short_queues_only_with_the_predictable_stop(stop, exact, bandit, play):
    # 5 standard errors, three actions: false alarm 2e-6; the plain stop favors the actions logged most
    action = np.repeat([0, 1, 2], [8, 4, 2])
    log, policy = bandit(action, np.full((14, 3), 1 / 3)), np.array([[0.2, 0.3, 0.5]])
    simulator = qbe(log, stop=stop)
    rows = np.concatenate([play(simulator, lambda t, x: policy[0], seed).rows for seed in range(4000)])
    deviation = worst_z(action[rows], policy, np.zeros(len(rows)))
    assert (deviation < 5) if exact else (deviation > 10)


def test_for_a_one_hot_policy_the_two_stops_of_qbe_are_the_same(random_log, play, merge):
    for seed in range(20):
        log = random_log(seed)
        acts = lambda t, x: np.eye(3)[(t + x) % 3]  # noqa: E731
        one, other = (play(qbe(log, merge, stop=stop), acts, seed) for stop in ("plain", "predictable"))
        assert one.rows == other.rows
        assert one.stop == other.stop


def test_qbe_needs_no_propensity(random_columns, play, table):
    columns = random_columns(0)
    with_, without = (
        play(qbe(Log.from_columns(**(columns | {"propensity": p}), n_actions=3)), table(0), 0)
        for p in (columns["propensity"], None)
    )
    assert with_.rows == without.rows


def test_the_candidate_of_the_largest_ratio_is_always_accepted(bandit, play):
    # a one-hot policy makes every row of its action such a candidate; awkward divisors, so that products are rounded
    rng = np.random.default_rng(3)
    weight = rng.integers(1, 50, size=(3_000, 3))
    p = weight / weight.sum(axis=1, keepdims=True)
    action = (p.cumsum(axis=1) <= rng.random((len(p), 1))).sum(axis=1)
    for chosen in range(3):
        trace = play(psrs(bandit(action, p), order="log"), lambda t, x, a=chosen: np.eye(3)[a], seed=chosen)
        assert trace.rows == np.flatnonzero(action == chosen).tolist()
        assert trace.stop.cause == "queue empty"


def test_an_action_that_neither_takes_does_not_count(bandit, play):
    log = bandit(np.array([0, 1, 0, 1]), np.tile([0.5, 0.5, 0.0], (4, 1)))
    trace = play(psrs(log), lambda t, x: [0.5, 0.5, 0.0], seed=0)
    assert len(trace.rows) == 4
    assert trace.stop.counts["rows passed over"] == 0


def test_an_action_of_probability_zero_is_never_served(random_log, play):
    for make, seed in product((psrs, qbe, actions_only), range(5)):
        trace = play(make(random_log(seed, zeros=False)), lambda t, x: [0.5, 0.0, 0.5], seed)
        assert all(step.action != 1 for step in trace.steps)


def test_an_unsupported_action_is_passed_over_counted_and_named(bandit, play):
    log = bandit(np.zeros(6, int), np.tile([1.0, 0.0, 0.0], (6, 1)))
    stop = play(psrs(log), lambda t, x: [0.5, 0.2, 0.3], seed=0).stop
    assert (stop.cause, stop.state, stop.action) == ("unsupported", 0, 2)
    assert stop.mass == pytest.approx(0.5)
    assert stop.counts["rows passed over"] == stop.counts["rows taken"] == 6
    assert "action=2" in str(stop)
    assert "0.5" in str(stop)


@pytest.mark.parametrize(
    ("policy", "u", "action"),
    [
        ([0.25, 0.0, 0.75], 0.0, 0), ([0.25, 0.0, 0.75], 0.2, 0), ([0.25, 0.0, 0.75], 0.25, 2),
        ([0.25, 0.0, 0.75], 0.99, 2), ([1.0, 1.0, 2.0], 0.3, 1), ([0.5, 0.5, 0.0], np.nextafter(1, 0), 1),
    ],
)  # fmt: skip
def test_an_action_is_drawn_by_where_a_number_falls(policy, u, action, form):
    assert form(draw_action)(np.array(policy), u) == action


@pytest.mark.parametrize(
    ("policy", "propensity", "bound"),
    [
        ([0.5, 0.5], [0.5, 0.5], 1.0), ([0.5, 0.5], [0.25, 0.75], 2.0), ([1.0, 0.0], [0.25, 0.75], 4.0),
        ([1.0, 0.0], [1.0, 0.0], 1.0), ([0.9, 0.1], [1.0, 0.0], np.inf),
    ],
)  # fmt: skip
def test_the_bound_is_the_largest_ratio_of_the_policy_to_the_propensity(policy, propensity, bound, form):
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 times infinity
        assert form(largest_ratio)(np.array(policy), 1 / np.array(propensity)) == bound


def test_a_step_at_the_time_limit_is_truncated_unless_it_is_terminal(form):
    rules = np.zeros(layout.N_RULES, np.int64)
    rules[layout.TIME_LIMIT] = 2
    for last_is_terminal in (False, True):
        cursor = np.zeros(layout.N_CURSOR, np.int64)
        assert not form(count_step)(rules, cursor, False)
        assert form(count_step)(rules, cursor, last_is_terminal) == (not last_is_terminal)
        assert (cursor[layout.EPISODE_OVER], cursor[layout.STEPS_SERVED]) == (1, 2)
