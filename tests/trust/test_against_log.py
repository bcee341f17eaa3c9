from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.evaluation.intervals import HalvedReadings, interval_of
from understudy.trust.against_log import against_log, regret
from understudy.trust.logged_earnings import LoggedEarnings
from understudy.trust.windows import windows_of_episodes


@pytest.fixture(scope="module")
def logging_policies(logging_policy_runs):
    """The logging policy itself, as a learner, on twenty logs: truly, it earns what the log did."""
    pairs = ({"uniform": one, "again": one} for one in logging_policy_runs)
    return [against_log("uniform", pair["uniform"], windows_of_episodes(pair)) for pair in pairs]


def test_the_logging_policy_differs_from_itself_by_less_than_the_interval(logging_policies):
    """Over 20 logs, intervals of 95% miss 0 at their middle window in more than 4 logs once in 400 seeds."""
    covered = [found.difference.low[7] < 0 < found.difference.high[7] for found in logging_policies]
    assert sum(covered) >= 16


def test_intervals_of_runs_alone_would_miss_it(logging_policies):
    regrets = [found.regret for found in logging_policies]
    assert sum(abs(regret.mean[-1]) > 1.96 * regret.from_runs[-1] for regret in regrets) > 4
    assert sum(regret.low[-1] < 0 < regret.high[-1] for regret in regrets) >= 16


def test_a_deployment_of_the_logging_policy_is_worse_about_half_of_the_time(logging_policies):
    assert np.mean(np.concatenate([found.worse for found in logging_policies])) == pytest.approx(0.5, abs=0.12)
    assert np.mean(np.concatenate([found.mean_worse for found in logging_policies])) == pytest.approx(0.5, abs=0.15)


def test_the_regret_is_the_sum_of_the_windows(compared):
    for name, found in compared.against_log.items():
        whole = compared.windows.readings[name].whole
        complete = np.isfinite(whole).all(axis=0)
        sizes = found.last - found.first + 1
        expected = -np.cumsum(sizes * found.difference.mean)
        assert found.regret.mean[complete] == pytest.approx(expected[complete])
        assert found.logged == pytest.approx(compared.halves[name].runs.about.log_return)
        assert found.difference.mean == pytest.approx(np.nanmean(whole, axis=0) - found.logged)


def test_a_learner_that_learns_is_soon_better_and_is_worst_at_first(compared):
    found = compared.against_log["seldom"]
    assert found.worst[0] == 1
    assert found.worse[-1] < 0.01
    assert found.regret.mean[-1] < 0
    assert ((found.worse >= 0) & (found.worse <= 1)).all()
    assert ((found.worse_in_all >= 0) & (found.worse_in_all <= 1)).all()
    assert found.worse_in_all[0] == pytest.approx(found.worse[0])  # of the first window both are of the same episodes
    assert "seldom earns least in episodes 1 to" in str(found)
    assert "more in all" in str(found)


def test_a_learner_that_gets_worse_is_found(log):
    class Stays:
        def __init__(self, seed):
            self.n = 0

        def policy(self, observation):
            still = min(0.9, 0.2 + self.n / 5000)
            return np.array([still, *[(1 - still) / 4] * 4])

        def learn(self, step):
            self.n += 1

    simulator = us.psrs(log)
    one = us.halves(simulator, Stays, runs=6, halves=5, backend="serial", progress=False)
    found = against_log("stays", one, windows_of_episodes({"stays": one, "again": one}))
    assert found.worst[0] > 1
    assert found.regret.mean[-1] > 0
    assert "less in all" in str(found)


def test_it_converts_to_a_table_to_json_and_to_html(compared):
    found = compared.against_log["often"]
    frame = found.to_frame()
    assert frame.num_rows == len(found.last)
    assert frame.column("worse").to_pylist() == found.worse.tolist()
    assert found.to_json()["worst"] == list(found.worst)
    assert "mean worse" in found._repr_html_()
    table = found.table()
    single = replace(found, noun="decision").table()
    assert single.columns[:2] == ("decisions", "difference a decision")
    assert [len(row) for row in single.rows] == [len(single.columns)] * len(table.rows)
    assert len(table.rows) == len(found.last)
    assert table.rows[-1][0] == f"{found.first[-1]:,} to {found.last[-1]:,}"
    assert float(table.rows[-1][2]) == pytest.approx(found.difference.mean[-1], abs=0.05)
    assert all(len(row[2].split(".")[-1]) == len(table.rows[0][2].split(".")[-1]) for row in table.rows)


def test_a_table_of_tiny_rewards_shows_their_digits(compared):
    found = compared.against_log["often"]
    small = [replace(one, **{name: 1e-9 * vars(one)[name] for name in ("mean", "low", "high")})
             for one in (found.difference, found.regret)]  # fmt: skip
    table = replace(found, difference=small[0], regret=small[1]).table()
    assert float(table.rows[-1][2]) == pytest.approx(1e-9 * found.difference.mean[-1], rel=0.05)


def test_a_log_without_a_finished_episode_has_nothing_to_compare_with(compared):
    one = compared.halves["often"]
    runs = replace(one.runs, about=replace(one.runs.about, log_return=None))
    with pytest.raises(us.LogError, match="what an episode of the log earned is not known"):
        against_log("often", us.Halves(runs), compared.windows)


def made_up_readings(rng, luck, noise, windows=14, halves=20):
    """Readings of 20 runs on one log and of 4 on each half, which reach half as far; the truth is 0."""
    of_log = luck * rng.normal()
    whole = of_log + noise * rng.normal(size=(20, windows))
    parts = (of_log + luck * rng.normal(size=halves))[:, None, None] + noise * rng.normal(size=(halves, 4, windows))
    parts[:, :, windows // 2 :] = np.nan
    going = np.where(np.arange(windows) < windows // 2, 1.0, 0.0)
    return HalvedReadings(8 * np.arange(1, windows + 1), whole, parts, going, False)


def test_what_was_earned_in_all_is_in_its_interval_also_where_halves_have_ended():
    """Of 200 made-up logs, an interval of 95% misses the truth at the end more than 20 times in 1 of 1,000 seeds; one
    fitted on sums, whose luck was taken to stop growing where halves end, misses it more often."""
    rng, sizes = np.random.default_rng(3), np.full(14, 8)
    missed, missed_by_sums = 0, 0
    none = np.zeros(14)
    nothing = LoggedEarnings(
        none, none, none, none, 0.0, 0.0, none, none, 0.0, 0.0, 100, 0.0, 0.0, 0.0
    )  # the log earned just that
    for _ in range(200):
        readings = made_up_readings(rng, 0.4, 0.5)
        found = regret(readings, sizes, nothing)
        missed += not found.low[-1] <= 0 <= found.high[-1]
        whole, halves = (np.cumsum(values * sizes, axis=-1) for values in (readings.whole, readings.halves))
        _, low, high = interval_of(replace(readings, whole=whole, halves=halves)).final
        missed_by_sums += not low <= 0 <= high
    assert missed <= 20
    assert missed_by_sums > 20
