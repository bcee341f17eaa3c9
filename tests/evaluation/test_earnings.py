"""Returns over the same episodes of every run; the mean of runs' own means is the wrong variant that is caught."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import understudy as us
from understudy.contracts import Stop
from understudy.errors import SettingError
from understudy.evaluation import earnings
from understudy.runs import About, Run, Runs

NONE = np.empty(0)


def run(*returns, every=5):
    """A run that finished these episodes, each of so many steps, and stopped within the next."""
    ends = every * np.arange(1, len(returns) + 1)
    rows = np.arange(every * len(returns) + 2)
    return Run(0, rows, NONE, None, ends, np.array(returns, float), NONE, {}, {}, Stop("no opening"))


def runs(*returns):
    return Runs(tuple(run(*one) for one in returns))


def naive(runs):
    """The mean over runs of each run's own mean."""
    return np.mean([one.returns.mean() for one in runs if len(one.returns)])


def test_as_many_episodes_are_counted_in_each_run_as_all_finished():
    found = earnings({"a": runs([1, 3], [2, 2, 90])})["a"]
    assert (found.episodes, found.mean, found.missing) == (2, 2.0, 0.0)
    assert found.low == found.mean == found.high
    assert found.steps == 10


def test_the_number_of_episodes_is_common_to_all_sets():
    found = earnings({"a": runs([1, 9], [1, 9]), "b": runs([2], [2])})
    assert {one.episodes for one in found.values()} == {1}
    assert found["a"].mean == 1.0


def test_missing_episodes_are_bounded_by_the_returns_that_were_seen():
    found = earnings({"a": runs(*[[1, 5]] * 9, [1])})["a"]
    assert found.episodes == 2
    assert found.missing == pytest.approx(1 / 20)
    assert found.mean == pytest.approx((9 * 6 + 1) / 19)
    assert (found.low, found.high) == pytest.approx(((9 * 6 + 1 + 1) / 20, (9 * 6 + 1 + 5) / 20))


def test_where_too_few_runs_finished_an_episode_there_is_nothing_to_tell():
    assert earnings({"a": runs([1], [])}) == {}
    assert earnings({"a": Runs(())}) == {}
    assert earnings({}) == {}


def test_a_share_asked_for_is_kept():
    sets = {"a": runs([1, 2, 3], [1, 2, 3], [1, 2], [1])}
    assert [earnings(sets, share=share)["a"].episodes for share in (1.0, 0.75, 0.5)] == [1, 2, 3]


@pytest.mark.parametrize("share", [0.0, 0.4, 1.01, float("nan")])
def test_shares_that_would_average_survivors_are_refused(share):
    with pytest.raises(SettingError, match="share"):
        earnings({"a": runs([1])}, share=share)


def test_one_run_has_no_error_and_independent_ones_have_that_of_their_means():
    assert np.isnan(earnings({"a": runs([1, 2])})["a"].error)
    means = np.array([1.5, 3.5, 8.5])
    own = Runs(runs([1, 2], [3, 4], [8, 9]).runs, About(own_logs=True))
    assert earnings({"a": own})["a"].error == pytest.approx(1.96 * means.std(ddof=1) / np.sqrt(3))


def test_runs_on_one_log_have_the_error_of_a_single_one_however_many_they_are():
    """Runs that replay a log word for word differ by the order of its episodes only: their means are all the same."""
    rng, log = np.random.default_rng(0), np.random.default_rng(1).normal(size=50)
    for n in (3, 300):
        replayed = runs(*(rng.permutation(log) for _ in range(n)))
        assert earnings({"a": replayed})["a"].error == pytest.approx(1.96 * log.std(ddof=1) / np.sqrt(50), rel=0.2)


def test_a_run_that_stopped_early_is_in_the_error_too():
    """Nine runs of 7.9 and a lucky one that stopped after its first episode: the mean is far from certain."""
    found = earnings({"c": Runs(runs(*[[7.9, 7.9]] * 9, [60.0]).runs, About(own_logs=True))})["c"]
    assert found.missing > 0
    assert found.error > 2


def test_what_an_unfinished_episode_had_cost_so_far_is_reckoned_with():
    """An episode is missing since it was long: those that were finished say too little of it."""
    stuck = replace(run(-1.0), partial=-1000.0)
    found = earnings({"a": Runs((*runs(*[[-1.0, -1.0]] * 19), stuck))})["a"]
    assert found.episodes == 2
    assert found.low == pytest.approx((-39 - 1000) / 40)
    assert found.high == pytest.approx(-1.0)


def test_sets_that_finished_no_episode_are_left_out_and_take_nothing_from_others():
    found = earnings({"a": runs([1, 3], [2, 2]), "b": runs([], [])})
    assert set(found) == {"a"}
    assert found["a"].episodes == 2


def test_earnings_are_plain_json():
    assert json.loads(json.dumps(earnings({"a": runs([1, 2], [3, 4])})["a"].to_json()))["episodes"] == 2


def bandit_log(seed, n=4000, arms=80):
    """Decisions whose reward has nothing to do with the arm."""
    rng = np.random.default_rng(seed)
    zeros = np.zeros(n, int)
    return us.Log.from_columns(
        observation=zeros, action=rng.integers(0, arms, n), reward=(rng.random(n) < 0.02).astype(float),
        next_observation=zeros, terminated=np.ones(n, bool), n_actions=arms,
    )  # fmt: skip


def test_where_no_arm_is_better_no_learner_earns_more_than_the_log():
    """Rewards found early keep a learner on one arm, which runs out: such runs are short, and their means high.

    60 logs; z of the mean difference from the log's own, two-sided error rate 1e-4.
    """
    apart, wrong = [], []
    for seed in range(60):
        log = bandit_log(seed)
        rehearsed = us.experiment(
            us.qbe(log), lambda seed: us.learners.QLearning(1, 80, epsilon=0.1, seed=seed), runs=40, seed=seed
        )
        apart.append(earnings({"qbe": rehearsed})["qbe"].mean - log.reward.mean())
        wrong.append(naive(rehearsed) - log.reward.mean())
    z, z_naive = (np.mean(each) / (np.std(each, ddof=1) / np.sqrt(len(each))) for each in (apart, wrong))
    assert abs(z) < 3.9
    assert z_naive > 3.9


def test_a_simulator_that_lasts_longer_earns_no_more():
    """The same learner under psrs, qbe and in the true grid: a log for each run, two-sided error rate 1e-4 a pair.

    A random walker's first episodes are long, so a run's own mean is that of its short ones; and a learner improves, so
    that whoever lasts longer has the higher mean.
    """
    env = us.envs.Grid(slip=0.2)
    make = lambda seed: us.learners.QLearning(25, 5, epsilon=0.3, alpha=0.5, gamma=0.95, seed=seed)  # noqa: E731
    options = {"runs": 200, "backend": "serial"}

    def on_its_own_log(simulator):
        return lambda seed: simulator(us.record(env, episodes=30, seed=seed))

    sets = {
        "psrs": us.experiment(on_its_own_log(us.psrs), make, seed=1, **options),
        "qbe": us.experiment(on_its_own_log(us.qbe), make, seed=2, **options),
        "real": us.experiment(us.real(env), make, seed=3, max_steps=5000, **options),
    }
    found = earnings(sets)
    assert found["real"].episodes >= 2
    for name in ("psrs", "qbe"):
        one, real = found[name], found["real"]
        spread = 3.9 / 1.96 * np.hypot(one.error, real.error)
        assert one.low - spread < real.mean < one.high + spread
        assert abs(naive(sets[name]) - real.mean) > spread


def test_it_prints_as_a_sentence_and_shows_in_a_notebook():
    found = earnings({"a": runs([1, 2], [3, 4])})["a"]
    assert str(found) == repr(found)
    assert str(found).endswith("an episode, over the first 2 episodes of each run (steps 1 to 10)")
    assert str(found).startswith("2.5 (+/- ")
    assert str(earnings({"a": runs([1])})["a"]) == "1 an episode, over the first episode of each run (steps 1 to 5)"
    assert '<th scope="row">mean</th>' in found._repr_html_()


def test_its_frame_is_one_line_that_others_can_stand_under():
    found = [earnings({"a": some})["a"] for some in (runs([1, 2], [3, 4]), runs([1]))]
    frame = pa.concat_tables([one.to_frame() for one in found])
    assert frame["mean"].to_pylist() == [2.5, 1.0]
    assert frame.column_names == list(found[0].to_json())
    assert len(frame.to_pandas()) == len(pl.from_arrow(frame)) == 2


def test_a_single_set_is_named_runs(runs_of):
    runs = runs_of([20, 30])
    assert earnings(runs) == earnings({"runs": runs})
    assert list(earnings(runs)) == ["runs"]


def test_the_earnings_of_sets_convert_to_one_table(runs_of):
    found = earnings({"<script>": runs_of([20, 30]), 0.5: runs_of([40, 40])})
    frame = found.to_frame()
    assert frame.column_names == ["set", *found[0.5].to_frame().column_names]
    assert frame["set"].to_pylist() == ["<script>", "0.5"]
    assert frame.drop_columns("set").slice(1) == found[0.5].to_frame()
    assert found.to_frame().schema == earnings({}).to_frame().schema
    html = found._repr_html_()
    assert "<script>" not in html
    assert f'<th scope="row">0.5</th><td class="words">{found[0.5]}</td>' in html
