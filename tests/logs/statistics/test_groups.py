import numpy as np

from understudy.logs import Log
from understudy.logs.recurring import recurring
from understudy.logs.statistics.groups import all_rows, by_observation, by_past, by_value, tenths_of_time


def log_of(columns):
    log = Log.from_columns(**columns)
    return log, recurring(log.observation)


def test_every_row_is_in_one_group_of_a_kind(clean):
    log, states = log_of(clean)
    for groups in (all_rows(log), tenths_of_time(log), *by_observation(log, states)):
        assert groups.sums(np.ones(len(log))).sum() == len(log)


def test_rows_are_grouped_by_the_observation_where_it_recurs(clean):
    log, states = log_of(clean)
    (groups,) = by_observation(log, states)
    assert groups.size == 12
    for state in range(12):
        assert (groups.words(state)) == f"where observation={log.observation[groups.code == state][0]}"


def test_numbers_that_do_not_recur_are_cut_into_fifths():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    log, states = log_of({"observation": x, "action": np.zeros(500, int), "reward": np.zeros(500), "ends": "every-row"})
    first, second = by_observation(log, states)
    assert first.sums(np.ones(500)).tolist() == [100] * 5
    assert second.words(0).startswith("where observation_1 is -")


def test_few_values_are_groups_of_their_own():
    groups = by_value(np.repeat([0.0, 2.5], [900, 100]), "after a reward of")
    assert groups.size == 2
    assert groups.words(1) == "after a reward of 2.5"


def test_the_first_row_of_an_episode_has_no_past(clean):
    log, states = log_of(clean)
    steps, action, reward, place = by_past(log, states)
    first = log.starts[:-1]
    assert (steps.code[first] == 0).all()
    for groups, column in ((action, log.action), (place, states.code)):
        assert (groups.code[first] == groups.size).all()
        later = np.setdiff1d(np.arange(len(log)), first)
        assert (groups.code[later] == column[later - 1]).all()
    assert (reward.code[first] == reward.size).all()


def test_groups_of_coded_columns_are_named_by_their_labels():
    rng = np.random.default_rng(0)
    n = 400
    countries = np.array([f"c{at:02}" for at in range(12)])[np.arange(n) % 12]
    columns = {
        "country": countries,
        "vip": np.where(np.arange(n) % 2, "yes", "no"),
        "day": np.datetime64("2024-01-01") + np.arange(n),
        "x": rng.normal(size=n),
    }
    log, states = log_of(
        {"observation": columns, "action": np.zeros(n, int), "reward": np.zeros(n), "ends": "every-row"}
    )
    country, vip, day, _ = by_observation(log, states)
    assert vip.words(1) == "where vip is yes"
    assert country.words(0) == "where country is c00"
    assert day.words(0).startswith("where day is 2024-01-01 to 2024-03-")
    assert by_observation(log, states)[0].sums(np.ones(n)).sum() == n


def test_labels_that_do_not_recur_are_no_groups():
    names = {"user": [f"u{at}" for at in range(60)], "vip": ["yes", "no"] * 30}
    log, states = log_of(
        {"observation": names, "action": np.zeros(60, int), "reward": np.zeros(60), "ends": "every-row"}
    )
    (vip,) = by_observation(log, states)
    assert vip.words(0).startswith("where vip is ")


def test_entries_are_groups_too_where_this_is_asked_for():
    both = np.stack([np.arange(400) % 2, np.arange(400) // 2 % 3], axis=1)
    log, states = log_of(
        {"observation": both, "action": np.zeros(400, int), "reward": np.zeros(400), "ends": "every-row"}
    )
    assert [group.size for group in by_observation(log, states)] == [6]
    assert [group.size for group in by_observation(log, states, entries_too=True)] == [6, 2, 3]
