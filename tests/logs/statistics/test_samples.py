"""Tests on a sample of a long log: the rate of false alarms holds, and what is wrong with a log is still found.

Each test raises a false alarm in at most one clean log in 10,000, so that 60 clean logs, six tests each, raise one with
a probability of at most .04; the seeds were fixed before.
"""

from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.logs import Log, check
from understudy.logs.recurring import recurring
from understudy.logs.statistics import samples
from understudy.logs.statistics.calibration import propensity_frequency
from understudy.logs.statistics.duplicates import duplicate_episodes
from understudy.logs.statistics.samples import Sample, sample_by_content, sample_of, stretches

SAMPLED = 1500


@pytest.fixture(autouse=True)
def short_samples(monkeypatch):
    monkeypatch.setattr(samples, "MOST_ROWS", SAMPLED)
    monkeypatch.setattr(samples, "STRETCHES", 30)


def rules_fired(audit):
    return {test.rule for test in audit.tests if test.fires}


def paid_walk(walk, seed=0, episodes=600, **changes):
    """A clean log whose rewards depend on the action."""
    columns = walk(seed=seed, episodes=episodes)
    return Log.from_columns(**columns | {"reward": columns["reward"] + columns["action"]} | changes)


def test_a_sample_is_of_whole_episodes_from_all_times_whatever_they_hold(walk):
    log = paid_walk(walk)
    sample = sample_of(log)
    assert 0.5 * SAMPLED < len(sample.rows) < 1.5 * SAMPLED < 0.5 * len(log)
    assert np.all(np.diff(sample.rows) > 0)
    ids, rows = np.unique(sample.log.episode, return_counts=True)
    assert np.array_equal(rows, np.diff(log.starts)[ids])
    shares = np.histogram(sample.rows, 5, (0, len(log)))[0] / len(sample.rows)
    assert (abs(shares - 0.2) < 0.1).all()
    for name, column in sample.log.columns.items():
        assert np.array_equal(column, log.columns[name][sample.rows])
    other = replace(log, reward=-log.reward, action=np.flip(log.action), observation=log.next_observation)
    assert np.array_equal(sample_of(other).rows, sample.rows)
    assert sample_of(log.select(range(30))).rows is None


def test_few_long_episodes_are_sampled_by_stretches_of_rows(walk):
    log = paid_walk(walk, episode=np.zeros(len(paid_walk(walk)), int), terminated=None, truncated=None, step=None,
                    ends="unfinished")  # fmt: skip
    sample = sample_of(log)
    assert len(sample.rows) == SAMPLED
    assert np.count_nonzero(np.diff(sample.rows) > 1) == 29
    assert sample.log.n_episodes == 1
    assert not rules_fired(check(log))


def test_stretches_lie_in_equal_parts():
    places = stretches(3000, 60, np.random.default_rng(0)).reshape(30, 2)
    assert np.array_equal(places[:, 0] // 100, np.arange(30))
    assert np.array_equal(places[:, 1], places[:, 0] + 1)


def test_a_clean_log_raises_no_alarm(walk):
    for seed in range(60):
        audit = check(paid_walk(walk, seed))
        assert not rules_fired(audit), seed
        assert sum(test.comparisons > 0 for test in audit.tests) >= 6


def test_a_sample_that_looks_at_rewards_would_raise_false_alarms(walk):
    log = paid_walk(walk)
    earned = np.add.reduceat(log.reward, log.starts[:-1]) / np.diff(log.starts)
    lucky = log.select(np.sort(np.argsort(-earned)[:75]))
    assert propensity_frequency(lucky, recurring(lucky.observation)).tested.fires
    fair = sample_of(log).log
    assert not propensity_frequency(fair, recurring(fair.observation)).tested.fires


def test_what_is_wrong_with_a_log_is_found_in_its_sample(walk):
    log = paid_walk(walk)
    later = np.arange(len(log)) / len(log)
    wrong = {
        "propensity-frequency": replace(log, propensity=np.roll(log.propensity, 1, axis=1)),
        "reward-drift": replace(log, reward=log.reward + 2 * later),
        "outcome-drift": replace(log, reward=log.reward + 2 * later),
        "visit-drift": replace(log, observation=np.where(later < 0.5, log.observation, 5)),
    }
    for rule, broken in wrong.items():
        audit = check(broken)
        assert rule in rules_fired(audit)
        (finding,) = (one for one in audit.findings if one.rule == rule)
        assert finding.sentence.startswith("in a sample of ")
        assert f"of {len(log):,} rows" in finding.sentence
    (note,) = (one for one in audit.findings if one.rule == "sample")
    assert note.severity == "note"


def test_doubled_rows_are_found_and_named_by_their_numbers_in_the_log(walk):
    columns = walk(episodes=400)
    twice = {name: np.repeat(column, 2, axis=0) for name, column in columns.items()}
    ends = np.arange(len(twice["action"])) % 2 == 1
    twice |= {"terminated": twice["terminated"] & ends, "truncated": twice["truncated"] & ends, "step": None}
    log = Log.from_columns(**twice)
    (finding,) = (one for one in check(log).findings if one.rule == "duplicate-rows")
    for row in finding.rows:
        assert log.observation[row] == log.observation[row - 1]
        assert log.reward[row] == log.reward[row - 1]
    assert finding.rows[-1] - finding.rows[0] < len(log)


def test_decisions_that_were_written_twice_are_found_in_a_sample_of_the_log():
    rng = np.random.default_rng(0)
    context, action = rng.integers(50, size=8000), rng.integers(4, size=8000)
    columns = {"observation": context, "action": action, "reward": context % 3, "propensity": np.full((8000, 4), 0.25)}
    assert "duplicate-rows" not in rules_fired(check(Log.from_columns(**columns, ends="every-row")))
    rows = np.sort(np.append(np.arange(8000), np.arange(0, 8000, 8)))
    log = Log.from_columns(**{name: one[rows] for name, one in columns.items()}, ends="every-row")
    (finding,) = (one for one in check(log).findings if one.rule == "duplicate-rows")
    assert finding.sentence.startswith("in a sample of ")
    assert all(log.observation[row] == log.observation[row - 1] for row in finding.rows)
    assert max(finding.rows) < len(log)


def grid_log(episodes, copies=0, seed=0):
    log = us.record(us.envs.Grid(4), episodes=episodes, seed=seed)
    rng = np.random.default_rng(seed)
    twice = rng.permutation(episodes)[:copies]
    return log.select(rng.permutation(np.concatenate([np.arange(episodes), twice])))


def answer_on(log, certain):
    sample = sample_of(log)
    return duplicate_episodes(sample.log, recurring(sample.log.observation), certain, log.n_episodes)


@pytest.mark.parametrize(("known", "copies"), [(True, 160), (False, 800)])
def test_copies_are_found_since_an_episode_is_sampled_with_its_copies(monkeypatch, known, copies):
    for seed in range(8):
        clean, log = (grid_log(800, n, seed) for n in (0, copies))
        monkeypatch.setattr(samples, "MOST_ROWS", len(log) // 4)
        if not known:
            clean, log = (replace(one, propensity=None) for one in (clean, log))
        assert len(sample_by_content(log).rows) < 0.5 * len(log)
        (finding,) = answer_on(log, sample_by_content(log)).findings
        assert finding.severity == "doubt"
        assert set(finding.rows) <= set(log.starts.tolist())
        assert not answer_on(clean, sample_by_content(clean)).findings
        by_place = sample_of(log)._replace(words="by place: ")  # where a copy is rarely with its original
        missed = answer_on(log, by_place).tested.p_value
        assert answer_on(log, sample_by_content(log)).tested.p_value < min(1e-4, missed)


def test_episodes_are_in_a_sample_by_content_with_all_that_are_equal():
    log = grid_log(300, 150)
    key = {episode: tuple(log.action[log.starts[episode] : log.starts[episode + 1]]) for episode in range(450)}
    kept = set(np.searchsorted(log.starts, sample_by_content(log).rows, side="right") - 1)
    assert 0 < len(kept) < 450
    equal = [(one, other) for one in key for other in key if key[one] == key[other]]
    assert len(equal) > 450 + 2 * 150 - 1
    assert all((one in kept) == (other in kept) for one, other in equal)


def test_errors_are_looked_for_in_all_rows(walk):
    log = paid_walk(walk)
    left_out = np.setdiff1d(np.arange(len(log)), sample_of(log).rows)[7]
    reward = np.array(log.reward)
    reward[left_out] = np.nan
    (finding,) = (one for one in check(replace(log, reward=reward)).findings if one.severity == "error")
    assert finding.rows == (left_out,)


def test_an_action_that_was_taken_once_was_not_never_taken(walk):
    policy = np.full((12, 3), 1 / 3)
    policy[5] = [0.5, 0.0, 0.5]
    log = Log.from_columns(**walk(policy=policy, episodes=600) | {"propensity": None})
    (never,) = (one for one in check(log).findings if one.rule == "action-support")
    assert "1 of 12 lack some action" in never.sentence
    assert f"({np.count_nonzero(log.observation == 5):,} rows)" in never.sentence
    left_out = np.setdiff1d(np.flatnonzero(log.observation == 5), sample_of(log).rows)
    action = np.array(log.action)
    action[left_out[0]] = 1
    assert "action-support" not in {one.rule for one in check(replace(log, action=action)).findings}


def test_a_log_that_is_not_long_is_its_own_sample(walk):
    log = paid_walk(walk, episodes=30)
    assert sample_of(log) == sample_by_content(log) == Sample(log)
    assert sample_of(log).row_numbers(np.array([3])) == [3]
