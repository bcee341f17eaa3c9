import numpy as np
import pytest

from understudy.logs import Log, blocks, concatenate
from understudy.runs import logged
from understudy.runs.logged import Logged, logged_return, spread_of_returns, why_unknown


def log_of(*episodes):
    """Episodes as (rewards, how the last row ended)."""
    rewards = np.concatenate([rewards for rewards, _ in episodes]).astype(float)
    lengths = [len(rewards) for rewards, _ in episodes]
    last = np.cumsum(lengths) - 1
    hows = np.array([how for _, how in episodes])
    ends = {how: np.isin(np.arange(len(rewards)), last[hows == how]) for how in ("terminated", "truncated")}
    zeros = np.zeros(len(rewards), int)
    return Log.from_columns(
        observation=zeros, action=zeros, reward=rewards, next_observation=zeros,
        episode=np.repeat(np.arange(len(lengths)), lengths), **ends,
    )  # fmt: skip


def test_it_is_the_mean_over_episodes():
    assert logged_return(log_of(([1, 2], "terminated"), ([4], "terminated")), None) == Logged(3.5, 0, 2)


def test_a_time_limit_cuts_the_logs_episodes_where_it_cuts_the_learners():
    log = log_of(([1, 2, 4], "terminated"), ([8], "terminated"))
    assert logged_return(log, 2) == Logged((3 + 8) / 2, 0, 2)
    assert logged_return(log, 3) == logged_return(log, 100) == Logged((7 + 8) / 2, 0, 2)


def test_episodes_cut_off_at_the_limit_count_whole():
    assert logged_return(log_of(([1, 2], "truncated"), ([4], "terminated")), 2) == Logged(3.5, 0, 2)


@pytest.mark.parametrize("limit", [None, 3])
def test_where_many_episodes_were_cut_off_before_the_limit_there_is_no_mean(limit):
    assert logged_return(log_of(([1, 2], "truncated"), ([4], "terminated")), limit) == Logged(None, 1, 2)


def test_a_few_that_were_cut_off_count_up_to_there_and_are_counted():
    """Leaving them out would leave out the long ones, which here cost all there is to lose."""
    log = log_of(*[([1.0], "terminated")] * 19, ([-1.0] * 100, None))
    assert logged_return(log, None) == Logged((19 - 100) / 20, 1, 20)


def exported_while_episodes_were_under_way(n=200, seed=0):
    """Each day an episode begins, and takes 1 to 60 days; the export cuts off those that are not over by then."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 61, n)
    left = n - np.arange(n)
    return log_of(*(([1.0] * min(a, b), "terminated" if a <= b else None) for a, b in zip(lengths, left, strict=True)))


def test_where_an_export_cut_off_many_the_mean_is_that_of_episodes_before_them():
    log = exported_while_episodes_were_under_way()
    assert log.unfinished.mean() > 0.1
    first = int(np.argmax(log.unfinished))
    assert logged_return(log, None) == Logged(np.diff(log.starts)[:first].mean(), 0, first)


def test_that_mean_is_nearer_to_the_truth_than_the_mean_of_all_that_are_over():
    """Over 200 logs the first is off by .1 of 30.5 steps, the second by 1.6, with standard errors of .1 each."""
    logs = [exported_while_episodes_were_under_way(seed=seed) for seed in range(200)]
    before = np.mean([logged_return(log, None).mean for log in logs])
    over = np.mean([np.diff(log.starts)[~log.unfinished].mean() for log in logs])
    assert abs(before - 30.5) < 0.8 < abs(over - 30.5)


def test_of_unfinished_episodes_among_all_others_there_is_no_part_before_them():
    log = log_of(*[([1, 2], "terminated"), ([1], None), ([4], "terminated")] * 20)
    assert logged_return(log, None) == Logged(None, 20, 60)


def cut_by_a_clock(lengths, **given):
    """Episodes that a limit ended, without next observations: the last row of each is dropped, its reward is 100."""
    rows = np.concatenate([[*range(1, length), 100] for length in lengths]).astype(float)
    return Log.from_columns(
        observation=np.zeros(len(rows), int), action=np.zeros(len(rows), int), reward=rows, n_actions=1,
        episode=np.repeat(np.arange(len(lengths)), lengths), **{"ends": "truncated"} | given,
    )  # fmt: skip


def test_rewards_of_dropped_rows_count():
    log = cut_by_a_clock([4] * 6)
    assert (len(log), log.max_episode_steps) == (18, 4)
    assert logged_return(log, 4) == Logged(106, 0, 6)
    assert logged_return(log.select([0, 5, 5]), 4) == Logged(106, 0, 3)
    assert logged_return(concatenate([log, log]), 4) == Logged(106, 0, 12)
    assert logged_return(log, 3) == Logged(6, 0, 6)  # a shorter limit, before the dropped row
    assert logged_return(log, 5).mean is None  # nobody knows what the fifth step would have earned


def test_rewards_of_dropped_rows_stay_with_their_episodes():
    """An episode of one row is gone with it; of a terminated one nothing is dropped."""
    ends = np.zeros((2, 14), bool)
    ends[0, 3] = ends[1, [7, 8, 12]] = True  # of episodes with 4, 4, 1, 4 and 1 rows
    log = cut_by_a_clock([4, 4, 1, 4, 1], ends=None, terminated=ends[0], truncated=ends[1])
    assert log.n_episodes == 3
    assert np.array_equal(log.dropped_reward, [np.nan, 100, 100], equal_nan=True)
    assert np.array_equal(log.select([2, 0]).dropped_reward, [100, np.nan], equal_nan=True)
    with_next = log_of(([1.0], "terminated"), ([2.0], "terminated"))
    joined = concatenate([with_next, log])
    assert np.array_equal(joined.dropped_reward, [np.nan, np.nan, np.nan, 100, 100], equal_nan=True)


def test_why_it_is_not_known_has_the_next_move():
    assert "since 3 of 9 were cut off before they were over" in why_unknown(3, 9)
    assert "log next_observation" in why_unknown(3, 9)
    assert why_unknown(None, None) == "what an episode of the log earned is not known"


def test_sums_that_no_float_holds_have_no_mean():
    assert logged_return(log_of(([1e308, 1e308], "terminated")), None).mean is None


def spread_of(log, limit=None):
    return spread_of_returns(log, limit, logged_return(log, limit))


def test_how_returns_vary_is_told_of_those_whose_mean_it_is():
    log = log_of(([1, 2, 4], "terminated"), ([8], "terminated"), ([5], "terminated"))
    assert spread_of(log)["error"] == pytest.approx(np.std([7, 8, 5], ddof=1) / 3**0.5)
    assert spread_of(log, 2)["error"] == pytest.approx(np.std([3, 8, 5], ddof=1) / 3**0.5)
    exported = log_of(*[([1], "terminated"), ([3], "terminated")] * 20, ([9, 9], None))
    assert spread_of(exported)["high"] == 3  # without the unfinished one
    ends = np.zeros((2, 11), bool)
    ends[0, 10] = ends[1, [3, 7]] = True  # the clock ended the first two, whose last rows are dropped
    clocked = cut_by_a_clock([4, 4, 3], ends=None, terminated=ends[0], truncated=ends[1])
    assert spread_of(clocked, 4)["error"] == pytest.approx(np.std([106, 106, 103], ddof=1) / 3**0.5)


def test_skewness_the_largest_share_and_sums_along_the_log_are_told():
    returns = np.random.default_rng(0).exponential(size=200)
    found = spread_of(log_of(*(([one / 2, one / 2], "terminated") for one in returns)))
    apart = returns - returns.mean()
    assert found["skew"] == pytest.approx((apart**3).mean() / returns.std() ** 3 / 200**0.5)
    assert found["single"] == pytest.approx((apart**2).max() / (apart**2).sum())
    assert (found["low"], found["high"]) == pytest.approx((returns.min(), returns.max()))
    assert len(found["rows"]) == len(found["earned"]) == logged.PARTS
    assert (found["rows"][-1], found["episodes"][-1]) == (400, 200)
    assert found["earned"] == pytest.approx(np.cumsum(returns)[np.array(found["episodes"]) - 1])


def test_nothing_is_told_of_one_episode_of_no_mean_and_of_squares_that_no_float_holds():
    assert spread_of(log_of(([1, 2], "terminated"))) is None
    assert spread_of(log_of(([1, 2], "truncated"), ([4], "terminated"))) is None
    assert spread_of(log_of(([1e300], "terminated"), ([-1e300], "terminated"))) is None
    alike = spread_of(log_of(([2], "terminated"), ([2], "terminated")))
    assert (alike["error"], alike["skew"], alike["single"]) == (0, 0, 0)


@pytest.mark.parametrize("limit", [None, 1, 3, 4, 100])
@pytest.mark.parametrize("block", [1, 7])
def test_blocks_change_nothing(monkeypatch, limit, block):
    rng = np.random.default_rng(0)
    log = log_of(*(([*range(1, 2 + rng.integers(5))], "terminated") for _ in range(40)), ([3, 4], None))
    whole = logged_return(log, limit)
    spread = spread_of_returns(log, limit, whole)
    monkeypatch.setattr(logged, "SUMMED", block)
    monkeypatch.setattr(blocks, "BLOCK", block)
    assert logged_return(log, limit) == whole
    assert spread_of_returns(log, limit, whole) == {name: pytest.approx(one) for name, one in spread.items()}
    lengths = np.diff(log.starts)
    step = np.arange(len(log)) - np.repeat(log.starts[:-1], lengths)
    n = 41 if limit == 1 else 40  # the last one is cut off, so the mean is that of those before it
    assert whole.mean == log.reward[: log.starts[n]][step[: log.starts[n]] < (limit or 100)].sum() / n
