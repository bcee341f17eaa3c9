import numpy as np
import pytest

import understudy as us
from understudy.trust.against_log import against_log
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
    assert "seldom is worst in episodes 1 to" in str(found)
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
    assert len(table.rows) == len(found.last)
    assert table.rows[-1][0] == f"{found.first[-1]:,} to {found.last[-1]:,}"
    assert float(table.rows[-1][2]) == pytest.approx(found.difference.mean[-1], abs=0.05)
    assert all(len(row[2].split(".")[-1]) == len(table.rows[0][2].split(".")[-1]) for row in table.rows)


def test_a_log_without_a_finished_episode_has_nothing_to_compare_with(compared):
    from dataclasses import replace

    one = compared.halves["often"]
    runs = replace(one.runs, about=replace(one.runs.about, log_return=None))
    with pytest.raises(us.LogError, match="what an episode of the log earned is not known"):
        against_log("often", us.Halves(runs), compared.windows)
