"""What the log earned, where it is hard to know: rare outcomes, few large ones, cut episodes, a world that changes."""

from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.contracts import Stop
from understudy.runs import About, Run, Runs
from understudy.runs.compact import NotKept
from understudy.trust.deploying import deploying
from understudy.trust.logged_earnings import LoggedEarnings, least_errors, logged_earnings
from understudy.trust.windows import windows_of_episodes

ROWS = 2000


def bandit(reward, arm, chance, **more):
    """A log of decisions with two arms, the first of which was taken with this chance."""
    return us.Log.from_columns(
        observation=np.zeros(len(arm), int), action=arm, reward=reward, n_actions=2,
        propensity=np.tile([chance, 1 - chance], (len(arm), 1)), ends="every-row", **more,
    )  # fmt: skip


def halved(log, action=0, order="episodes", runs=10, halves=8):
    """Runs, and runs on halves, of a learner that always takes one action, and learns nothing."""
    make = lambda seed: us.learners.FixedPolicy(np.eye(2)[[action]])  # noqa: E731
    return us.halves(us.replay(log, order=order), make, runs=runs, halves=halves, progress=False)


def test_that_no_run_met_a_rare_outcome_does_not_show_that_there_is_none():
    """Both arms fail once in a hundred times; of some 200 decisions of one arm a few fail, or none does."""
    told, by_spread_alone = 0, 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        arm = (rng.random(ROWS) > 0.1).astype(int)
        found = halved(bandit(-(rng.random(ROWS) < 0.01).astype(float), arm, 0.1))
        one = deploying("first arm", found)
        told += one.verdict != "not told"
        certain = replace(found.runs.about, log_returns=found.runs.about.log_returns | {"error": 1e-9})
        by_spread_alone += deploying("", us.Halves(replace(found.runs, about=certain))).verdict != "not told"
    assert told <= 4  # at a true rate of 5%, more in one seed of 70
    assert by_spread_alone > 4


def run_that_ends_at(rows, length=100):
    ends, none = np.arange(1, length + 1), np.empty(0)
    return Run(
        0,
        np.resize(rows, length).astype(np.int32),
        none,
        None,
        ends,
        np.zeros(length),
        none,
        {},
        {},
        Stop("no opening"),
    )


def test_the_least_error_is_that_of_as_many_different_rows_as_runs_met():
    ends = np.array([50, 100])
    few = Runs((run_that_ends_at([1, 2, 3, 4]), run_that_ends_at([3, 4, 5, 6, 7, 8, 9])), About())
    each, in_all, later = least_errors(few, ends, 6.0, 400)
    assert each.tolist() == in_all.tolist() == [2.0, 2.0]  # nine different rows
    assert later == 2.0
    bare = Runs(tuple(replace(run, rows=NotKept(100)) for run in few), About())
    assert least_errors(bare, ends, 6.0, 400)[2] == 6.0 / 10  # two runs of 50 episodes may have met a hundred
    assert least_errors(bare, ends, 6.0, 36)[2] == 1.0  # but not more than there are


def test_the_interval_is_wider_on_the_side_of_what_few_episodes_earn(compared):
    found = compared.halves["seldom"]
    logged = logged_earnings(found, windows_of_episodes({"": found}))
    even, few_large, few_small = (replace(logged, skew=skew, n=10**6) for skew in (0.0, 0.5, -0.5))
    assert even.quantiles(0.95) == pytest.approx((1.96, 1.96), abs=0.001)
    assert few_large.quantiles(0.95) == pytest.approx((1.96 + 0.5 * (1.96**2 + 1) / 2, 1.96), abs=0.001)
    assert few_small.quantiles(0.95) == few_large.quantiles(0.95)[::-1]


@pytest.mark.parametrize("n", [60, 500])
def test_a_log_that_met_few_large_returns_is_seldom_taken_for_a_poor_one(n):
    """Of 1,000 logs of lognormal returns (sigma 1), the truth lies above the interval in at most 6%; that of a
    normal law leaves it below in more.
    """
    rng, above, above_normal = np.random.default_rng(n), 0, 0
    truth, none = np.exp(0.5), np.zeros(1)
    for _ in range(1000):
        returns = rng.lognormal(0, 1, n)
        apart, error = returns - returns.mean(), returns.std(ddof=1) / n**0.5
        skew = (apart**3).sum() / (apart**2).sum() ** 1.5
        logged = LoggedEarnings(none, none, none, none, 0.0, 0.0, none, none, 0.0, skew, n, 0.0, 0.0, 0.0)
        low, _ = logged.around(-returns.mean(), 0.0, error, 0.95)  # of nothing, less what the log earns
        above += low > -truth
        above_normal += -returns.mean() - 1.96 * error > -truth
    assert above <= 60
    assert above_normal > above + 10


def test_episodes_that_were_cut_off_may_have_earned_the_most_or_the_least():
    """The reward comes at the end: episodes whose recording stopped earned nothing, and complete ones are all met."""
    rng = np.random.default_rng(0)
    n, last = 600, np.arange(4, 3000, 5)
    cut = rng.random(n) < 0.08
    kept = np.ones(3000, bool)
    for episode in np.flatnonzero(cut):
        kept[5 * episode + 2 : 5 * episode + 5] = False
    reward = np.zeros(3000)
    reward[last] = rng.normal(10, 2, n)
    ends = np.zeros(3000, bool)
    ends[last] = True
    episode = np.repeat(np.arange(n), 5)
    log = us.Log.from_columns(
        observation=np.tile(np.arange(5), n)[kept], action=rng.integers(2, size=3000)[kept], reward=reward[kept],
        next_observation=np.tile([1, 2, 3, 4, 4], n)[kept], terminated=ends[kept], episode=episode[kept],
        propensity=np.full((kept.sum(), 2), 0.5),
    )  # fmt: skip
    found = us.halves(us.psrs(log), lambda seed: us.learners.Uniform(2), runs=10, halves=8, progress=False)
    one = deploying("the logging policy", found)
    assert one.verdict == "not told"
    returns = reward[last][~cut]
    assert one.against.cut == pytest.approx(cut.mean() * (returns.max() - min(0, returns.min())), rel=0.05)
    none = us.Halves(replace(found.runs, about=replace(found.runs.about, log_cut_off=0)))
    assert deploying("", none).verdict == "better"  # as if each had earned nothing more


def test_a_bound_that_was_exceeded_widens_the_interval_by_what_it_may_change():
    rng = np.random.default_rng(1)
    arm = (rng.random(ROWS) > 0.2).astype(int)
    log = bandit(rng.normal(0, 1, ROWS), arm, 0.2)
    exact = deploying("", halved(log))
    assert exact.against.bias == 0.0
    found = us.halves(us.replay(log, bound=2), lambda seed: us.learners.Uniform(2), runs=10, halves=8, progress=False)
    one, spread = deploying("", found), found.runs.about.log_returns
    bias = np.mean([run.stopped.bias for run in found.runs])
    assert bias > 0
    assert one.against.bias == pytest.approx(bias * (spread["high"] - spread["low"]))
    assert one.high - one.low > 2 * one.against.bias
    above = one.against.difference.mean > 0
    assert above.any()
    assert ((one.against.mean_worse > 0.025) == (one.against.difference.low < 0))[above].all()


def test_in_log_order_runs_are_compared_with_the_stretch_of_the_log_that_they_met():
    """What is earned rises along the log, whatever is done; runs end within its first half, and earn as the log did."""
    rng = np.random.default_rng(2)
    level = np.linspace(0, 4, 4 * ROWS)
    arm = rng.integers(2, size=len(level))
    found = halved(bandit(level + rng.normal(0, 0.3, len(level)), arm, 0.5), order="log")
    upto = 1000  # of some 4,000 decisions that each run is answered
    one = deploying("the same", found, upto)
    assert one.verdict == "not told"
    assert one.against.along
    assert one.against.logged == pytest.approx(level[:2000][1000:].mean(), abs=0.1)
    assert np.abs(one.against.difference.mean).max() < 0.3
    assert found.runs.about.log_return == pytest.approx(2, abs=0.1)  # of all of it, which is more than runs met


@pytest.mark.parametrize("rows", [[3] * 100, [*range(50), *[49] * 50], [1999] * 100])
def test_in_log_order_windows_without_a_row_of_their_own_have_a_stretch_of_the_log_too(rows):
    """Runs on several states may stay at one place of the log for long, or be at its end."""
    log = bandit(np.random.default_rng(3).normal(1, 1, ROWS), np.zeros(ROWS, int), 1.0)
    found = halved(log, order="log")
    stays = tuple(replace(run_that_ends_at(rows), returns=run.returns[:100]) for run in found.runs)
    half = tuple(replace(one, runs=one.runs[:2]) for one in found.runs.halves)
    still = us.Halves(replace(found.runs, runs=stays, halves=half))
    with np.errstate(all="raise"):
        logged = logged_earnings(still, windows_of_episodes({"": still}))
    assert np.isfinite([*logged.mean, *logged.error, *logged.in_all, logged.later, logged.error_of_later]).all()
    assert logged.later == pytest.approx(1, abs=1.5)


def test_a_model_is_not_compared_with_the_log():
    log = us.record(us.envs.Grid(), episodes=40, seed=0)
    make = lambda seed: us.learners.Uniform(5)  # noqa: E731
    found = us.halves(us.model(log), make, runs=4, halves=5, max_steps=400, progress=False)
    with pytest.raises(us.LogError, match="serves rows again and again"):
        deploying("model", found)


def test_results_that_do_not_tell_how_returns_vary_are_not_compared(compared):
    one = compared.halves["often"].runs
    old = us.Halves(replace(one, about=replace(one.about, log_returns=None)))
    with pytest.raises(us.LogError, match="or of an earlier version"):
        deploying("old", old)
