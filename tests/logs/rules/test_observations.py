import re

import numpy as np
import pytest

import understudy as us
from tests.logs.rules.columns import changed, rules_found
from understudy.logs import Log, check


def last_rows(columns):
    return Log.from_columns(**columns).starts[1:] - 1


@pytest.mark.parametrize("shape", [(), (3,)])
def test_next_observation_is_reset_where_truncated(walk, shape):
    columns = walk(episodes=120)
    spread = {name: np.multiply.outer(columns[name], np.ones(shape)) for name in ("observation", "next_observation")}
    last = last_rows(columns)[:-1]
    assert rules_found({**columns, **spread}) == set()
    spread["next_observation"][last] = spread["observation"][last + 1]
    found = rules_found({**columns, **spread})
    assert found == {("error", "next-observation-is-reset"), ("warning", "next-observation-is-reset")}


def test_next_observation_is_reset_where_only_terminated(walk):
    columns = walk(episodes=120)
    last = last_rows(columns)[:-1]
    last = last[columns["terminated"][last]]
    columns["next_observation"][last] = columns["observation"][last + 1]
    assert rules_found(columns) == {("warning", "next-observation-is-reset")}


def test_shifted_observations_are_found_in_episodes_that_just_stop(walk):
    columns = walk(episodes=120)
    shifted = np.roll(columns["observation"], -1)
    never = np.zeros(len(shifted), bool)
    found = rules_found(columns, next_observation=shifted, terminated=never, truncated=never)
    assert ("error", "next-observation-is-reset") in found


def test_openings_that_are_common_are_no_resets():
    n, ends = 400, np.arange(1, 401) % 4 == 0
    bandit = {"observation": np.zeros(n, int), "next_observation": np.zeros(n, int), "truncated": ends}
    assert rules_found({"action": np.arange(n) % 2, "reward": np.zeros(n), **bandit}) == {("warning", "no-propensity")}


def test_one_step_episodes_tell_nothing_of_resets():
    n = 400
    columns = {"observation": np.arange(n), "next_observation": np.arange(n) + 1, "truncated": np.ones(n, bool)}
    found = rules_found({"action": np.arange(n) % 2, "reward": np.zeros(n), **columns})
    counted_up = ("warning", "visit-drift")
    assert found == {("warning", "no-propensity"), ("warning", "distinct-observations"), counted_up}


def test_next_observation_continuity(clean):
    following = changed(clean["next_observation"], 0, 99)
    assert rules_found(clean, next_observation=following) == {("warning", "next-observation-continuity")}


def distinct(observation, **changes):
    n = len(observation)
    log = Log.from_columns(
        observation=observation, next_observation=observation, action=np.arange(n) % 2, reward=np.zeros(n), **changes
    )
    return [finding for finding in check(log).findings if finding.rule == "distinct-observations"]


def test_observations_that_never_recur_are_a_warning(monkeypatch):
    observation = np.random.default_rng(0).random((1000, 2))
    assert distinct(observation)[0].severity == "warning"
    assert distinct(observation)[0].sentence.startswith("1,000 of 1,000 observations are distinct, and 1,000 occur")
    monkeypatch.setattr("understudy.logs.rules.observations.SAMPLE", 500)
    told = re.match(r"in a sample of rows, (\d+) of (\d+) observations are distinct", distinct(observation)[0].sentence)
    assert told is not None
    assert 400 < int(told[1]) == int(told[2]) < 600


@pytest.mark.parametrize("times", [2, 50])
def test_observations_that_recur_in_a_long_log_are_not_taken_for_single_ones(times, monkeypatch):
    monkeypatch.setattr("understudy.logs.rules.observations.SAMPLE", 400)
    rng = np.random.default_rng(1)
    assert distinct(rng.permutation(np.arange(20_000) // times)) == []
    assert distinct(rng.permutation(np.arange(20_000) // times).astype(float)) == []
    assert distinct(rng.permutation(20_000))[0].severity == "warning"


def test_observations_that_seldom_recur_are_a_note():
    finding = distinct(np.maximum(np.arange(1000), 300))[0]
    assert (finding.severity, finding.count) == ("note", 699)


@pytest.mark.parametrize("observation", [np.arange(1000) // 2, np.maximum(np.arange(1000), 600), np.arange(99)])
def test_observations_that_recur_or_are_few_are_not_found(observation):
    assert distinct(observation) == []


def test_next_observations_that_were_derived_are_not_taken_for_resets():
    """A visit that ends on the page where the next one begins shows that page again: nothing was reset."""
    rng = np.random.default_rng(0)
    lengths = rng.choice([1, 2, 3], size=3000, p=[0.6, 0.2, 0.2])
    page = np.concatenate([np.arange(length) for length in lengths])
    columns = {"observation": page, "action": rng.integers(2, size=len(page)), "reward": np.zeros(len(page))}
    columns["episode"] = np.repeat(np.arange(len(lengths)), lengths)
    log = Log.from_columns(**columns, ends="terminated")
    assert "next-observation-is-reset" not in {finding.rule for finding in check(log).findings}
    given = Log.from_columns(**columns, ends="terminated", next_observation=log.next_observation)
    assert "next-observation-is-reset" in {finding.rule for finding in check(given).findings}


def counted_chats(n=400, limit=6, *, counts):
    """Columns of episodes whose last steps a limit cuts off; what is seen has the number of the step, or has not."""
    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.geometric(0.2, n), limit)
    episode = np.repeat(np.arange(n), lengths)
    step = np.concatenate([np.arange(length) for length in lengths])
    over = step == np.repeat(lengths, lengths) - 1
    return {
        "observation": np.column_stack([rng.integers(3, size=len(episode)), step * counts]), "reward": step + 1.0,
        "action": rng.integers(2, size=len(episode)), "episode": episode, "terminated": over & (step < limit - 1),
        "truncated": step == limit - 1,
    }  # fmt: skip


def longest_of_twenty(log):
    return max(len(us.simulate(us.qbe(log), us.learners.Uniform(2), seed=seed)) for seed in range(20))


def test_a_limit_that_is_observed_is_told_where_its_rows_were_dropped():
    log = Log.from_columns(**counted_chats(counts=True))
    (found,) = (one for one in check(log).findings if one.rule == "limit-observed")
    assert found.severity == "warning"
    assert found.sentence.startswith("what was seen in step 6, where a limit cuts episodes off, such as ")
    assert longest_of_twenty(log) < 100  # of 1,400 rows; mended, of 300 and more


@pytest.mark.parametrize("told", ["another observation", "next observations", "terminated"])
def test_what_it_advises_mends_it(told):
    columns = counted_chats(counts=told != "another observation")
    if told == "next observations":
        columns["next_observation"] = columns["observation"]
    if told == "terminated":
        columns["terminated"] = columns["terminated"] | columns.pop("truncated")
    log = Log.from_columns(**columns)
    assert not [one for one in check(log).findings if one.rule == "limit-observed"]
    assert longest_of_twenty(log) > 200
