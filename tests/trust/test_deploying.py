"""A learner beside the logging policy. The truth is known where the learner is that policy itself."""

from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.contracts import Stop
from understudy.runs import About, Run, Runs
from understudy.tables import NONE
from understudy.trust.against_log import UNKNOWN
from understudy.trust.deploying import deploying

EPISODES, RUNS, HALVES, RUNS_OF_HALF, SERVED = 100, 20, 20, 4, 32
NO_RISE = np.zeros(SERVED)


def run_of_returns(returns, rng, rows=3 * EPISODES):
    """A run through a log whose episodes have three rows each, in an order of its own."""
    ends = 3 * np.arange(1, len(returns) + 1)
    none, order = np.empty(0), rng.permutation(rows).astype(np.int32)[: ends[-1]]
    return Run(0, order, none, None, ends, returns, none, {}, {}, Stop("no opening"))


def spread(returns):
    """What is told of the log's returns, where all episodes have three rows."""
    n, apart = len(returns), returns - returns.mean()
    return {
        "error": returns.std(ddof=1) / n**0.5, "skew": (apart**3).sum() / (apart**2).sum() ** 1.5,
        "single": (apart**2).max() / (apart**2).sum(), "low": returns.min(), "high": returns.max(),
        "rows": (3 * np.arange(1, n + 1)).tolist(), "episodes": list(range(1, n + 1)),
        "earned": returns.cumsum().tolist(),
    }  # fmt: skip


def on_one_log(rng, truth=0.0, luck=3.0, rise=NO_RISE):
    """Runs on one log, and on halves of it: what its episodes hold shifts all runs; so does what they earned."""
    shifts, earned = rng.normal(truth, luck, EPISODES), rng.normal(0.0, luck, EPISODES)

    def part(episodes, n_runs):
        returns = shifts[episodes].mean() + rise + rng.normal(0, 1, (n_runs, SERVED))
        told = spread(earned[episodes])
        about = About(log_return=earned[episodes].mean(), log_returns=told, log_episodes=len(episodes))
        return Runs(tuple(run_of_returns(one, rng, 3 * len(episodes)) for one in returns), about)

    halves = tuple(part(rng.permutation(EPISODES)[: EPISODES // 2], RUNS_OF_HALF) for _ in range(HALVES))
    return us.Halves(replace(part(np.arange(EPISODES), RUNS), halves=halves))


@pytest.fixture(scope="module")
def without_difference():
    """A hundred logs on which the learner truly earns what the log did."""
    rng = np.random.default_rng(5)
    return [on_one_log(rng) for _ in range(100)]


def test_a_learner_that_earns_what_the_log_did_is_seldom_told_from_it(without_difference):
    """At a true rate of 5%, more than 13 of 100 logs are told apart in one seed of 2,000; the seed is fixed."""
    assert sum(deploying("alike", one).verdict != "not told" for one in without_difference) <= 13


def test_the_same_test_catches_an_interval_that_leaves_the_luck_of_the_log_out(without_difference):
    wrong = 0
    for one in without_difference:
        found = deploying("alike", one)
        earned = [run.returns[found.first - 1 : found.last].mean() for run in one.runs]
        wrong += abs(found.mean) > 1.96 * np.std(earned, ddof=1) / len(earned) ** 0.5
    assert wrong > 13


LEARNERS = 20


def n_logs_with_a_verdict(n_learners):
    """Return on how many of 40 logs one of twenty learners is told from the log, though all truly earn what it did."""
    rng = np.random.default_rng(8)
    return sum(
        any(deploying("alike", on_one_log(rng), None, n_learners).verdict != "not told" for _ in range(LEARNERS))
        for _ in range(40)
    )


def test_of_several_learners_that_are_judged_together_one_is_seldom_told_from_the_log():
    """At a true rate of 5%, more than 7 of 40 logs have one in one seed of 1,400; the seed is fixed."""
    assert n_logs_with_a_verdict(LEARNERS) <= 7


def test_the_same_test_catches_learners_that_are_judged_each_by_itself():
    assert n_logs_with_a_verdict(1) > 7


def test_where_halves_have_no_answer_nothing_is_told(without_difference):
    """Halves whose runs end before the first episode does show no luck of the log."""
    one = without_difference[0].runs
    none = tuple(
        replace(
            half,
            runs=tuple(replace(run, rows=run.rows[:2], ends=run.ends[:0], returns=run.returns[:0]) for run in half),
        )
        for half in one.halves
    )
    found = deploying("unknown", us.Halves(replace(one, halves=none)))
    assert (found.verdict, found.is_known) == ("not told", False)
    assert str(found).endswith(f"not told over episodes 17 to 32, since {UNKNOWN}")
    assert f"; {UNKNOWN}, and so how likely that is" in str(found.against)
    assert {row[3:6:2] for row in found.against.table().rows} == {(NONE, NONE)}
    assert found.to_json()["low"] is None


def test_the_logging_policy_is_seldom_told_from_itself(logging_policy_runs):
    """At a true rate of 5%, more than 4 of 20 logs are told apart once in 400 seeds; the seeds are fixed."""
    assert sum(deploying("itself", one).verdict != "not told" for one in logging_policy_runs) <= 4


def test_a_large_difference_is_told_and_never_turned_around():
    rng = np.random.default_rng(6)
    assert {deploying("better", on_one_log(rng, truth=3.0)).verdict for _ in range(10)} == {"better"}
    assert {deploying("worse", on_one_log(rng, truth=-3.0)).verdict for _ in range(10)} == {"worse"}


def test_a_learner_that_learns_is_better_from_some_step_on(compared):
    found = deploying("seldom", compared.halves["seldom"])
    assert found.verdict == "better"
    assert found.low < found.mean < found.high
    begins = found.begins.latest
    assert (found.against.difference.low[begins:] > 0).all()
    assert begins == 0 or found.against.difference.low[begins - 1] <= 0
    assert found.from_step == (found.against.difference.steps[begins - 1] if begins else 0)
    begin = (
        f"from step {found.from_step:,} on at the latest"
        if begins
        else f"from its first {found.against.last[0]} episodes on"
    )
    assert f": better {begin}; over" in str(found)
    assert f" more an episode than the log's {found.against.logged:.3g}" in str(found)
    assert found.begins.earliest <= found.begins.by_mean <= begins


@pytest.mark.parametrize(
    ("low", "high", "much"),
    [(-1.17, -0.341, "0.341 to 1.17 less"), (-0.5, 1.25, "0.5 less to 1.25 more"), (0.5, 1.25, "0.5 to 1.25 more")],
)
def test_how_much_a_learner_earns_less_has_no_sign(without_difference, low, high, much):
    found = replace(deploying("a", without_difference[0]), low=low, high=high, begins=None)
    assert f" it earns {much} an episode than the log's" in str(found)
    single = replace(found, against=replace(found.against, noun="decision"))
    assert f" it earns {much} a decision than the log's" in str(single)


RISE = np.repeat(np.linspace(-1.0, 2.0, SERVED // 2), 2)
"""What an episode truly earns more than the log, in windows of two episodes: more from the sixth window on."""


@pytest.fixture(scope="module")
def rising():
    """A hundred logs on which the learner truly is worse than the log at first, and better later."""
    rng = np.random.default_rng(7)
    return [deploying("rises", on_one_log(rng, rise=RISE)) for _ in range(100)]


def n_wrong(onsets, truth):
    """Return how many of these ranges do not hold the true window."""
    return sum(not (one.earliest <= truth <= (len(RISE) if one.latest is None else one.latest)) for one in onsets)


def test_from_when_on_a_learner_is_better_lies_in_the_range_that_is_told(rising):
    """At a true rate of 5%, more than 13 of 100 ranges are wrong in one seed of 2,000; the seed is fixed."""
    onsets = [one.begins for one in rising if one.better]
    assert len(onsets) > 50
    assert n_wrong(onsets, int(np.argmax(RISE[::2] > 0))) <= 13


def test_the_same_test_catches_the_mean_taken_for_the_latest(rising):
    onsets = [replace(one.begins, latest=one.begins.by_mean) for one in rising if one.better]
    assert n_wrong(onsets, int(np.argmax(RISE[::2] > 0))) > 13


def test_by_when_half_of_the_gain_is_there_lies_in_the_range_that_is_told(rising):
    half = RISE[SERVED // 2 :].mean() / 2
    truth = int(np.argmax(RISE[::2] >= half))
    onsets = [one.half_gain for one in rising if one.better]
    assert n_wrong(onsets, truth) <= 13
    assert n_wrong([replace(one, latest=one.by_mean) for one in onsets], truth) > 13
    assert sum(one.earliest > 0 for one in onsets) > 50  # the ranges are narrow enough to say something
    assert sum(one.latest is not None for one in onsets) > 50


def test_only_episodes_within_the_believed_steps_are_compared(compared):
    one = compared.halves["seldom"]
    whole = deploying("seldom", one)
    upto = int(whole.against.difference.steps[3])
    found = deploying("seldom", one, upto)
    finished = [np.count_nonzero(run.ends <= upto) for run in one.runs]
    assert found.last <= np.quantile(finished, 0.06)
    assert found.last < whole.last
    with pytest.raises(us.LogError, match="finished an episode by step 1;"):
        deploying("seldom", one, 1)


def test_it_converts_to_json(compared):
    found = deploying("often", compared.halves["often"])
    content = found.to_json()
    assert content["verdict"] == found.verdict
    assert content["from_step"] == content["begins"]["latest"]
    assert content["episodes"] == [found.first, found.last]
    assert content["against_log"]["last"][-1] == found.last


@pytest.mark.parametrize("reward", [0.1, 0.3, 0.351, 12.34, -1e9])
def test_rewards_that_are_all_equal_are_not_told_apart_by_their_rounding(reward):
    """Sums in another order differ in the last digit; before, such logs were "likely better", or "likely worse"."""
    rng = np.random.default_rng(0)
    log = us.Log.from_columns(
        observation=np.zeros(400, int), action=rng.integers(2, size=400), reward=np.full(400, reward),
        propensity=np.full((400, 2), 0.5), ends="every-row",
    )  # fmt: skip
    make = lambda seed: us.learners.EpsilonGreedy(2, epsilon=0.2, seed=seed)  # noqa: E731
    found = us.halves(us.psrs(log), make, runs=8, halves=8, progress=False)
    for upto in (None, 20, 60, 100):
        one = deploying("equal", found, upto)
        assert (one.verdict, one.begins) == ("not told", None)
        assert 0.0 < one.against.worse_in_all[-1] < 1.0
