import shutil

import numpy as np
import pytest

import understudy as us
from understudy.evaluation import Halves
from understudy.evaluation.halves import episodes_of_half

ENV = us.envs.Grid(4, slip=0.2)
LOG = us.record(ENV, episodes=60, seed=0)
PROBES = {"start value": us.probes.start_value(ENV), "visits": us.probes.visitation}


def make(seed):
    return us.learners.QLearning(16, 5, epsilon=0.9, alpha=0.5, gamma=0.95, seed=seed)


def careful(seed):
    return us.learners.QLearning(16, 5, epsilon=0.5, alpha=0.5, gamma=0.95, seed=seed)


def run_halves(simulator=None, make=make, **options):
    given = {"runs": 12, "halves": 5, "runs_of_half": 4, "every": 100, "probes": PROBES, "progress": False}
    return us.halves(simulator or us.psrs(LOG), make, **{**given, **options})


@pytest.fixture(scope="module")
def found():
    return run_halves()


def test_the_whole_is_the_experiment_and_halves_are_the_same_on_half_of_the_episodes(found):
    alone = us.experiment(us.psrs(LOG), make, runs=12, every=100, probes=PROBES, progress=False)
    assert [run.rows.tolist() for run in found.runs] == [run.rows.tolist() for run in alone]
    assert [half.about.log_episodes for half in found.halves] == [30] * 5
    assert [len(half) for half in found.halves] == [4] * 5
    assert len({half.about.log for half in found.halves}) == 5
    assert found.runs.halves == found.halves


def test_a_half_is_the_simulator_on_the_log_of_its_episodes(found):
    half, episodes = found.halves[2], episodes_of_half(LOG, 0, 2)
    alone = us.simulate(us.psrs(LOG.select(episodes)), make(half[1].seed), half[1].seed, probes=PROBES, every=100)
    np.testing.assert_array_equal(alone.curves["start value"], half[1].curves["start value"])
    assert alone.stopped.reason == half[1].stopped.reason


def test_halves_depend_on_the_seed_and_not_on_the_learner():
    one, other, another = (
        [half.about.log for half in run_halves(make=learner, seed=seed, runs=2, runs_of_half=2).halves]
        for learner, seed in ((make, 0), (careful, 0), (make, 1))
    )
    assert one == other != another


def test_the_interval_is_around_the_mean_of_the_runs(found):
    interval = found.interval("start value")
    steps, curves = found.runs.curve("start value")
    n = len(interval.steps)
    np.testing.assert_array_equal(interval.steps, steps[:n])
    np.testing.assert_allclose(interval.mean, curves[:, :n].mean(axis=0))
    assert interval.steps[-1] <= found.runs.horizon()
    assert found.final("start value") == interval.final
    longer = found.interval("start value", share=0.5)
    assert len(longer.steps) > n


def test_trust_ends_with_a_reason(found):
    trusted = found.trust("start value", margin=1.0)
    assert found.trusted("start value", margin=1.0) == trusted.steps > 0
    assert trusted.reason == "halves end"
    assert found.trusted("start value", margin=1e-6) == 0
    assert found.trust().margin > 0


def test_differences_are_taken_run_by_run(found):
    other = run_halves(make=careful)
    difference = found.difference(other, "start value")
    (_, ours), (_, theirs) = (each.runs.curve("start value") for each in (found, other))
    n = len(difference.steps)
    np.testing.assert_allclose(difference.mean, (ours[:, :n] - theirs[:, :n]).mean(axis=0))
    same = found.difference(found)
    np.testing.assert_array_equal(same.mean, 0.0)
    np.testing.assert_array_equal(same.high, 0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 1}, "seed is 0 in one and 1 in the other"),
        ({"every": 50}, "every is 100 in one and 50"),
        ({"runs": 3}, "12 runs, 5 halves and 4 runs on each"),
        ({"simulator": us.psrs(LOG.select(np.arange(50)))}, "log is"),
    ],
)
def test_what_was_not_made_alike_cannot_be_paired(found, options, message):
    with pytest.raises(us.SettingError, match=message):
        found.difference(run_halves(**options))


def test_results_are_kept_and_continued(found, tmp_path):
    first = run_halves(out=tmp_path)
    assert sorted(path.name for path in (tmp_path / "halves").iterdir()) == ["000", "001", "002", "003", "004"]
    again = run_halves(out=tmp_path, halves=6)
    assert [half[0].seed for half in again.halves[:5]] == [half[0].seed for half in first.halves]
    again = run_halves(out=tmp_path)
    np.testing.assert_array_equal(again.interval().low, found.interval().low)
    loaded = us.Halves(us.load(tmp_path))
    np.testing.assert_array_equal(loaded.interval().mean, again.interval().mean)
    assert (len(first.halves), len(loaded.halves)) == (5, 6)


def test_unfinished_halves_are_said(tmp_path):
    run_halves(out=tmp_path)
    (tmp_path / "halves" / "003" / "runs" / "000002.json").unlink()
    with pytest.raises(us.ResultsError, match=r"3 to 4 finished runs each.*same out="):
        us.Halves(us.load(tmp_path))


@pytest.mark.parametrize("name", ["psrs", "qbe", "states_only", "actions_only", "any_row", "model"])
def test_every_simulator_on_a_log_has_halves(name):
    found = run_halves(getattr(us, name)(LOG), max_steps=400, runs=3, runs_of_half=2, every=50)
    assert found.runs.about.simulator_name == name
    assert len(found.halves) == 5


@pytest.mark.parametrize(
    ("simulator", "message"),
    [
        (us.real(ENV), "cannot be had on half of a log"),
        (us.psrs(LOG.select([0])), "has 1 episode, and halves need at least 8.*luck of this log out"),
        (us.psrs(us.record(ENV, steps=40, seed=0)), "halves need at least 8"),
    ],
)
def test_where_halves_cannot_be_made_it_is_said(simulator, message):
    with pytest.raises(us.UnderstudyError, match=message):
        run_halves(simulator, max_steps=10)


def test_runs_without_halves_and_single_runs_are_refused(found):
    alone = us.experiment(us.psrs(LOG), make, runs=2, progress=False)
    with pytest.raises(us.SettingError, match="have no halves"):
        us.Halves(alone)
    with pytest.raises(us.SettingError, match="runs"):
        run_halves(runs=1)
    with pytest.raises(us.SettingError, match="one run tells nothing"):
        us.Halves(found.runs[:1])


def test_probes_that_cannot_have_an_interval_are_named(found):
    with pytest.raises(us.SettingError, match="'visits' is a vector"):
        found.interval("visits")
    with pytest.raises(us.SettingError, match="no probe 'value'; there is 'start value', 'visits'"):
        found.interval("value")
    with pytest.raises(us.SettingError, match="have no probe"):
        run_halves(probes=None, runs=2, runs_of_half=2).interval()


def test_runs_that_stop_before_the_first_reading_say_so():
    found = run_halves(every=100_000)
    with pytest.raises(us.SettingError, match=r"not all runs reached the first reading.*every="):
        found.interval("start value")


def test_it_shows_itself(found):
    assert repr(found) == "12 runs of psrs, and 4 on each of 5 halves of the log, probes: start value, visits"
    assert found.to_frame().num_rows == len(found.interval().steps)
    assert found._repr_html_().startswith("<p>12 runs of psrs, and 4 on each of 5 halves of the log")
    assert "<svg" in found._repr_html_()
    assert "Trusted horizon" in found.trust()._repr_html_()


def test_halves_of_another_log_are_refused(tmp_path):
    other = us.psrs(us.record(ENV, episodes=60, seed=1))
    for name, simulator in (("one", us.psrs(LOG)), ("other", other)):
        run_halves(simulator, out=tmp_path / name, runs=2, runs_of_half=2)
    shutil.rmtree(tmp_path / "one" / "halves")
    shutil.copytree(tmp_path / "other" / "halves", tmp_path / "one" / "halves")
    with pytest.raises(us.ResultsError, match="half 0 of the log is not of these runs"):
        us.Halves(us.load(tmp_path / "one"))


def test_in_log_order_intervals_are_wider():
    def width(order):
        found = run_halves(us.qbe(LOG, order=order), runs=20, halves=20).interval("start value")
        return found.from_log[0] / found.from_runs[0]

    assert width("log") > width("episodes")


def test_a_probe_that_is_not_a_number_has_no_trust():
    empty = run_halves(probes={"g": lambda learner: float("nan")}, runs=2, runs_of_half=2)
    with pytest.raises(us.SettingError, match="'g' is NaN at every reading"):
        empty.trust("g")


def test_a_curve_that_is_constant_is_trusted_to_the_end_of_halves():
    found = run_halves(probes={"g": lambda learner: 1.0}).trust("g")
    assert (found.margin, found.difference) == (0.0, 0.0)
    assert found.reason == "halves end"
    assert found.steps > 0


def test_more_runs_do_not_end_the_trusted_horizon_with_the_shortest_of_them(halved_of):
    few = us.Halves(halved_of([100] * 20, [100] * 4, noise=0.01, luck=0.01))
    many = us.Halves(halved_of([10, 20] + [100] * 198, [100] * 4, noise=0.01, luck=0.01))
    assert few.trusted() == many.trusted() == 100
    three = us.Halves(halved_of([10, 20, 30] + [100] * 197, [100] * 4, noise=0.01, luck=0.01))
    assert three.trusted() == 30  # with more than one run in a hundred gone, later readings are of survivors


def test_one_short_run_does_not_take_the_range_away_that_the_margin_is_a_share_of(halved_of):
    short = Halves(halved_of([12] + [100] * 19, [60] * 4, noise=0.01, luck=0.01))
    alike = Halves(halved_of([100] * 20, [60] * 4, noise=0.01, luck=0.01))
    assert short.trust("g").margin == pytest.approx(alike.trust("g").margin, rel=0.1) == pytest.approx(0.09, rel=0.1)
    assert (short.trust("g").steps, short.trust("g").reason) == (10, "runs end")
    half_as_long = Halves(halved_of([50] + [100] * 19, [60] * 4, noise=0.01, luck=0.01))
    assert half_as_long.trust("g").margin == pytest.approx(0.04, rel=0.1)  # as far as all runs go


def test_runs_of_one_reading_have_no_range_to_take_a_margin_from(halved_of):
    found = Halves(halved_of([12] * 8, [12] * 4)).trust("g")
    assert (found.steps, found.reason) == (0, "too short")
    assert "more halves" not in str(found)
    given = Halves(halved_of([12] * 8, [12] * 4, noise=0.01, luck=0.01)).trust("g", margin=0.3)
    assert (given.steps, given.reason) == (10, "runs end")
