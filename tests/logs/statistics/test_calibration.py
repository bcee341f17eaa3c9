"""Rates: each rule raises a false alarm in at most one log in 10,000, so that 200 clean logs raise none."""

from math import erfc, sqrt

import numpy as np
import pytest

from understudy.logs import Log
from understudy.logs.recurring import recurring
from understudy.logs.statistics import calibration
from understudy.logs.statistics.calibration import propensity_frequency
from understudy.logs.statistics.groups import all_rows, by_observation, tenths_of_time
from understudy.logs.statistics.policy_drift import propensity_trend


def logged(columns, **changes):
    return Log.from_columns(**{**columns, **changes})


def chosen(columns):
    return columns["propensity"][np.arange(len(columns["action"])), columns["action"]]


def flagged(rule, log):
    return [finding.sentence for finding in rule(log, recurring(log.observation)).findings]


@pytest.mark.parametrize("episodes", [3, 60])
def test_clean_logs_are_not_flagged(walk, episodes):
    for seed in range(100):
        columns = walk(seed=seed, episodes=episodes)
        for log in (logged(columns), logged(columns, propensity=chosen(columns))):
            assert flagged(propensity_frequency, log) == []
            assert flagged(propensity_trend, log) == []


def test_rare_actions_are_not_flagged():
    for seed in range(200):  # a z-score would be 6 where an action of probability 1e-3 comes up twice in 100 rows
        rng = np.random.default_rng(seed)
        p = np.tile([0.998, 0.001, 0.001], (100, 1))
        action = rng.choice(3, size=100, p=p[0])
        log = Log.from_columns(observation=np.zeros(100), action=action, reward=np.zeros(100), propensity=p)
        assert flagged(propensity_frequency, log) == []


def test_a_state_that_lingers_is_no_trend():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        noise, state = rng.normal(size=3000), np.zeros(3000)
        for t in range(1, 3000):  # forgets in some 30 rows; a block has 100
            state[t] = 0.97 * state[t - 1] + noise[t]
        p = 1 / (1 + np.exp(-state / 4))
        assert flagged(propensity_trend, one_long_episode(np.stack([p, 1 - p], axis=1), rng)) == []


def one_long_episode(p, rng):
    action = (p.cumsum(1) > rng.random((len(p), 1))).argmax(1)
    zeros = np.zeros(len(p))
    return Log.from_columns(observation=zeros, next_observation=zeros, action=action, reward=zeros, propensity=p)


def test_propensities_of_another_policy_are_flagged(walk):
    columns = walk(episodes=200)
    uniform = np.full_like(columns["propensity"], 1 / 3)
    assert (
        "not drawn from the logged propensities"
        in flagged(propensity_frequency, logged(columns, propensity=uniform))[0]
    )


def test_actions_in_another_order_are_flagged(walk):
    columns = walk(episodes=200)
    assert flagged(propensity_frequency, logged(columns, propensity=columns["propensity"][:, [1, 0, 2]]))


@pytest.mark.parametrize("n_actions", [2, 3, 8])
def test_the_order_in_which_columns_fit_is_named(walk, n_actions):
    columns = walk(episodes=400, n_actions=n_actions)
    labels = [f"arm{code}" for code in range(n_actions)]
    stand_for = np.roll(np.arange(n_actions), 1)
    log = logged(columns, actions=labels, propensity=columns["propensity"][:, stand_for])
    order, taken = ", ".join(labels[code] for code in stand_for), ", ".join(labels)
    assert (
        f"they would fit if the propensity columns were in the order {order}, and these are read as {taken}: check"
        in (flagged(propensity_frequency, log)[0])
    )


def test_columns_that_are_alike_stay_where_they_are(walk):
    columns = walk(episodes=400, policy=np.tile([0.1, 0.1, 0.8], (12, 1)))
    log = logged(columns, propensity=columns["propensity"][:, [2, 1, 0]])
    assert "in the order 2, 1, 0, and these are read as 0, 1, 2" in flagged(propensity_frequency, log)[0]


def test_an_order_that_is_only_better_is_not_said_to_fit(walk):
    columns = walk(episodes=400, policy=np.tile([0.2, 0.8], (12, 1)), n_actions=2)
    stale = np.tile([0.9, 0.1], (len(columns["action"]), 1))
    assert "would fit far better if" in flagged(propensity_frequency, logged(columns, propensity=stale))[0]


def test_no_order_is_named_where_none_fits(walk):
    columns = walk(episodes=400)
    wrong = np.roll(columns["propensity"], 1, axis=0)
    assert "not drawn from the logged" in flagged(propensity_frequency, logged(columns, propensity=wrong))[0]


def test_propensities_of_the_wrong_rows_are_flagged_though_the_totals_agree(walk):
    policy = np.tile([[0.7, 0.15, 0.15], [0.15, 0.15, 0.7]], (6, 1))
    columns = walk(episodes=400, policy=policy)
    assert flagged(propensity_frequency, logged(columns)) == []
    assert flagged(propensity_frequency, logged(columns, propensity=np.roll(columns["propensity"], 1, axis=0)))


def test_chosen_propensities_that_are_too_small_are_flagged(walk):
    columns = walk(episodes=400)
    assert flagged(propensity_frequency, logged(columns, propensity=chosen(columns) / 2))


@pytest.mark.parametrize("episodes", [1, 30, 500])
def test_a_logger_that_adapts_is_flagged(episodes):
    rng = np.random.default_rng(0)
    n = 6000
    greedy = np.linspace(0.4, 0.8, n)
    p = np.stack([greedy, 1 - greedy], axis=1)
    log = one_long_episode(p, rng)
    log = Log.from_columns(
        observation=log.observation,
        next_observation=log.observation,
        action=log.action,
        reward=log.reward,
        propensity=p,
        episode=np.arange(n) * episodes // n,
        terminated=np.zeros(n, bool),
    )
    assert 'order="log"' in flagged(propensity_trend, log)[0]
    assert flagged(propensity_frequency, log) == []


def test_labels_are_named(walk):
    columns = walk(episodes=200)
    log = logged(columns, actions=["left", "stay", "right"], propensity=columns["propensity"][:, [2, 1, 0]])
    assert flagged(propensity_frequency, log)[0].startswith(("action=left", "action=right"))


def test_short_logs_tell_nothing_of_time():
    rng = np.random.default_rng(0)
    p = np.stack([np.linspace(0.1, 0.9, 100), np.linspace(0.9, 0.1, 100)], axis=1)
    assert flagged(propensity_trend, one_long_episode(p, rng)) == []


def misstated(columns, action, factor=1.5, where=None):
    """The propensities with one action's multiplied, in all rows or in those of one observation."""
    p = columns["propensity"].copy()
    rows = np.ones(len(p), bool) if where is None else columns["observation"] == where
    others = (1 - factor * p[rows, action]) / (1 - p[rows, action])
    wrong = p[rows] * others[:, None]
    wrong[:, action] = factor * p[rows, action]
    p[rows] = wrong
    return p


EVEN = np.tile([0.3, 0.3, 0.4], (12, 1))


def test_a_factor_for_one_action_makes_a_log_one_not_to_be_believed(walk):
    for seed in range(10):
        columns = walk(seed=seed, episodes=200, policy=EVEN)
        log = logged(columns, propensity=misstated(columns, 1))
        (finding,) = propensity_frequency(log, recurring(log.observation)).findings
        assert finding.severity == "doubt"


def test_a_factor_in_one_observation_is_found_there(walk):
    columns = walk(episodes=1000, policy=EVEN)
    p = misstated(columns, 1, where=4)
    (sentence,) = flagged(propensity_frequency, logged(columns, propensity=p))
    assert "where observation=4" in sentence
    nowhere = {"observation": np.zeros(len(p)), "next_observation": np.zeros(len(p))}
    flat = np.where(columns["observation"] == 4, 0.05, 0.0)[:, None] * [-1, 1, 0] + [0.3, 0.3, 0.4]
    assert flagged(propensity_frequency, logged(columns | nowhere, propensity=flat)) == []


def test_a_factor_that_begins_late_is_found_in_its_time(walk):
    columns = walk(episodes=1000, policy=EVEN)
    p = columns["propensity"].copy()
    late = slice(len(p) * 9 // 10, None)
    p[late] = misstated(columns, 1)[late]
    assert flagged(propensity_frequency, logged(columns, propensity=p))


def test_numbers_that_never_recur_are_compared_in_fifths():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 2))
    truth = np.where(x[:, 1] > 0.8, 0.8, 0.4)
    action = (rng.random(6000) < truth).astype(int)
    p = np.full(6000, (x[:, 1] > 0.8).mean() * 0.4 + 0.4)  # right on average
    columns = {"observation": x, "action": action, "reward": np.zeros(6000), "ends": "every-row"}
    (sentence,) = flagged(propensity_frequency, Log.from_columns(**columns, propensity=np.stack([1 - p, p], axis=1)))
    assert "where observation_1 is" in sentence


def test_chosen_propensities_that_are_too_large_are_flagged_where_observations_recur(walk):
    columns = walk(episodes=1000, policy=EVEN)
    wrong = misstated(columns, 1)[np.arange(len(columns["action"])), columns["action"]]
    assert flagged(propensity_frequency, logged(columns, propensity=wrong))


def test_propensities_of_0_and_1_cannot_be_compared():
    n = 50
    p = np.tile([1.0, 0.0], (n, 1))
    log = Log.from_columns(observation=np.zeros(n), action=np.zeros(n, int), reward=np.zeros(n), propensity=p)
    tested = propensity_frequency(log, recurring(log.observation)).tested
    assert tested.p_value is None
    assert tested.reason == "every propensity is 0 or 1"


def seen_by_the_logger(seed, n, steep=1.0, n_actions=5):
    """Contexts of four columns that hardly recur, each action's propensity there, and the actions drawn by it."""
    rng = np.random.default_rng(seed)
    contexts = np.column_stack([rng.integers(3, size=n), rng.integers(6, size=n), rng.integers(24, size=n),
                                rng.normal(size=n)])  # fmt: skip
    odds = np.exp(steep * (contexts / contexts.std(axis=0)) @ rng.normal(size=(4, n_actions)))
    p = odds / odds.sum(axis=1, keepdims=True)
    return contexts, p, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def log_of_chosen(contexts, action, chosen_p, **options):
    columns = {"observation": contexts, "action": action, "reward": np.zeros(len(action)), "ends": "every-row"}
    return Log.from_columns(**columns, propensity=chosen_p, **options)


def studentized(log):
    """The wrong variant: the mean of 1/p over its standard error, as if it was normal. Corrected like the test."""
    states, smallest, comparisons = recurring(log.observation), 1.0, 0
    for group in (all_rows(log), tenths_of_time(log), *by_observation(log, states, entries_too=True)):
        for action in range(log.spec.n_actions):
            gap = np.where(log.action == action, 1 / log.propensity, 0.0) - 1.0
            z = group.sums(gap) / np.sqrt(np.maximum(group.sums(np.square(gap)), 1e-9))
            smallest, comparisons = min(smallest, erfc(z.max() / sqrt(2)) / 2), comparisons + group.size
    return comparisons * smallest


def test_small_propensities_of_chosen_actions_are_not_flagged():
    """120 clean logs with propensities down to 1e-6: at a rate of 1e-4 none is flagged, and by a z-score some are."""
    p_values, wrong = [], []
    for seed in range(120):
        contexts, p, action = seen_by_the_logger(seed, 3000, steep=3.0)
        log = log_of_chosen(contexts, action, p[np.arange(3000), action])
        p_values.append(propensity_frequency(log, recurring(log.observation)).tested.p_value)
        wrong.append(studentized(log))
    assert min(p_values) >= 1e-4
    assert np.mean(np.array(p_values) < 0.05) <= 0.05
    assert np.sum(np.array(wrong) < 1e-4) >= 2


@pytest.mark.parametrize("blurred", [False, True])
def test_frequencies_logged_for_propensities_are_found_by_column_though_observations_do_not_recur(blurred):
    for seed in range(10):
        contexts, _, action = seen_by_the_logger(seed, 5000)
        often = (np.bincount(action) / 5000)[action]
        often = often * np.random.default_rng(seed).uniform(0.99, 1.0, size=5000) if blurred else often
        log = log_of_chosen(contexts, action, often)
        answer = propensity_frequency(log, recurring(log.observation))
        assert " where observation_" in answer.findings[0].sentence
        assert "or what is observed was filled in after the action" in answer.findings[0].sentence
        assert (answer.tested.reason == "") is not blurred


def test_what_cannot_be_asked_of_chosen_propensities_is_said():
    contexts, p, action = seen_by_the_logger(0, 2000)
    log = log_of_chosen(contexts, action, p[np.arange(2000), action])
    tested = propensity_frequency(log, recurring(log.observation)).tested
    assert "taken more often than" in tested.question
    assert "less often" in tested.reason
    assert not tested.fires


def test_a_column_that_tells_the_action_is_flagged():
    contexts, p, action = seen_by_the_logger(0, 4000)
    clicked = np.random.default_rng(1).random(4000) < 0.1
    contexts = np.column_stack([contexts, np.where(clicked, action, -1)])
    (sentence,) = flagged(propensity_frequency, log_of_chosen(contexts, action, p[np.arange(4000), action]))
    assert "where observation_4 is" in sentence
    assert "filled in after the action" in sentence


def test_chosen_propensities_that_were_rounded_are_not_flagged():
    for seed in range(5):
        contexts, p, action = seen_by_the_logger(seed, 60_000, steep=0.3)
        rounded = np.maximum(np.round(p[np.arange(60_000), action], 2), 0.01)
        assert flagged(propensity_frequency, log_of_chosen(contexts, action, rounded)) == []


def test_chosen_propensities_that_are_shares_of_draws_are_not_asked():
    """Where one share was drawn for all rows, its error is that of all of them: as if exact, most logs are flagged."""
    wrong = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        seen, table = rng.integers(3, size=20_000), rng.dirichlet(np.full(3, 3.0), size=3)
        action = (table[seen].cumsum(axis=1) > rng.random((20_000, 1))).argmax(axis=1)
        share = np.array([rng.multinomial(100, row) for row in table])[seen, action] / 100
        log = log_of_chosen(seen, action, share, n_samples=100)
        tested = propensity_frequency(log, recurring(log.observation)).tested
        assert tested.p_value is None
        assert "shares of draws" in tested.reason
        tail, _, comparisons = calibration._too_often(log, [all_rows(log)])
        wrong += tail * comparisons < 1e-4
    assert wrong >= 3
