from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import understudy as us
from understudy.contracts import Stop
from understudy.errors import CensoringWarning, SettingError
from understudy.evaluation import fidelity
from understudy.runs import About, Run, Runs

NONE = np.empty(0)


def runs_of(curves, lengths=None, every=10, **about):
    """Runs with given curves, one probe."""
    made = []
    for place, curve in enumerate(np.asarray(curves, float)):
        length = len(curve) * every if lengths is None else lengths[place]
        points = length // every
        made.append(
            Run(
                seed=place,
                rows=np.arange(length),
                openings=NONE,
                emissions=None,
                ends=NONE,
                returns=NONE,
                steps=every * np.arange(1, points + 1),
                curves={"g": curve[:points]},
                final={"g": curve[points - 1]},
                stopped=Stop("max steps"),
            )
        )
    return Runs(tuple(made), About(**about))


def wandering(rng, n_runs, n_points=30, shift=0.0):
    """Curves with strongly correlated noise, as learning curves have: a random walk around a common rise."""
    noise = rng.normal(size=(n_runs, n_points)).cumsum(axis=1) / np.sqrt(n_points)
    return np.linspace(0, 5, n_points) + shift * np.linspace(0, 1, n_points) + noise


def test_errors_are_those_of_the_mean_curves():
    ours, theirs = runs_of([[0, 2], [2, 4]], kind="simulated"), runs_of([[1, 1], [1, 1]], kind="real")
    found = fidelity(ours, theirs)
    assert (found.rmse, found.mean_error, found.max_error) == (np.sqrt(2), 1.0, 2.0)
    assert found.horizon == 20


def test_the_horizon_is_what_every_run_reached():
    ours = runs_of([[1, 1, 1], [1, 1, 9]], lengths=[29, 30], own_logs=True)
    theirs = runs_of([[1, 1, 5], [1, 1, 5]], kind="real")
    found = fidelity(ours, theirs)
    assert (found.horizon, found.n_points, found.rmse, found.alive) == (29, 2, 0.0, 1.0)


def test_survivors_are_never_averaged_silently():
    ours, theirs = (
        runs_of([[1, 1, 1], [1, 1, 9]], lengths=[20, 30], own_logs=True),
        runs_of(np.ones((3, 3)), kind="real"),
    )
    with pytest.warns(CensoringWarning, match="1 of 5 runs had stopped before step 30"):
        found = fidelity(ours, theirs, horizon=30)
    assert found.alive == 0.8
    assert found.max_error == 8.0
    assert found.verdict is None
    assert "survivors" in found.note


def test_a_horizon_before_the_first_reading_is_refused():
    with pytest.raises(SettingError, match="no reading"):
        fidelity(runs_of(np.ones((2, 3))), runs_of(np.ones((2, 3))), horizon=5)


def test_runs_on_one_log_get_no_verdict_and_are_told_why():
    found = fidelity(runs_of(np.ones((5, 3)), own_logs=False), runs_of(np.ones((5, 3)), kind="real"))
    assert found.verdict is None
    assert found.interval is None
    assert "share a log" in str(found)


def test_two_runs_get_no_verdict():
    found = fidelity(runs_of(np.ones((2, 3)), own_logs=True), runs_of(np.ones((5, 3)), kind="real"))
    assert found.verdict is None


def test_readings_that_are_nan_are_left_out_of_both():
    ours = runs_of([[np.nan, 2, 3], [1, 2, 3]], own_logs=True)
    found = fidelity(ours, runs_of(np.ones((3, 3)), kind="real"))
    assert (found.n_points, found.max_error) == (2, 2.0)


def test_vector_probes_are_compared_entry_by_entry():
    ours, theirs = runs_of(np.zeros((3, 4))), runs_of(np.zeros((3, 4)))
    for run in ours:
        run.curves["share"] = np.full((4, 2), 0.5)
    for run in theirs:
        run.curves["share"] = np.tile([0.25, 0.75], (4, 1))
    assert fidelity(ours, theirs, "share").rmse == 0.25


def test_sets_without_a_common_probe_are_refused():
    other = runs_of(np.ones((2, 2)))
    for run in other:
        run.curves["h"] = run.curves.pop("g")
    with pytest.raises(SettingError, match="no probe in common"):
        fidelity(runs_of(np.ones((2, 2))), other)


def test_verdicts_tell_equivalent_different_and_undecided_apart():
    rng = np.random.default_rng(4)
    real = runs_of(wandering(rng, 200), kind="real")
    close, far = (runs_of(wandering(rng, 200, shift=s), own_logs=True) for s in (0.0, 3.0))
    few = runs_of(wandering(rng, 4), own_logs=True)
    verdicts = [fidelity(runs, real, margin=0.5).verdict for runs in (close, far, few)]
    assert verdicts == ["equivalent", "different", "undecided"]
    assert fidelity(close, real, margin=0.5).faithful


def test_the_margin_is_a_tenth_of_the_reference_range_unless_stated():
    rng = np.random.default_rng(5)
    found = fidelity(
        runs_of(wandering(rng, 9), own_logs=True), runs_of(np.tile([0.0, 5.0, 2.0] * 10, (9, 1)), kind="real")
    )
    assert found.margin == pytest.approx(0.5)


def test_a_fidelity_is_plain_json():
    import json

    rng = np.random.default_rng(6)
    found = fidelity(runs_of(wandering(rng, 9), own_logs=True), runs_of(wandering(rng, 9), kind="real"))
    assert json.loads(json.dumps(found.to_json()))["verdict"] == found.verdict


def test_a_horizon_beyond_both_sets_is_brought_back_to_what_they_share():
    ours, theirs = runs_of(np.ones((3, 5)), own_logs=True), runs_of(np.ones((3, 4)), kind="real")
    found = fidelity(ours, theirs, horizon=10_000, margin=1.0)
    assert (found.horizon, found.alive, found.verdict) == (40, 1.0, "equivalent")


def test_runs_that_do_not_differ_leave_nothing_uncertain():
    same, apart = runs_of(np.ones((3, 4)), own_logs=True), runs_of(np.full((3, 4), 3.0), own_logs=True)
    real = runs_of(np.ones((3, 4)), kind="real")
    assert fidelity(same, real, margin=1.0).interval == (0.0, 0.0)
    assert fidelity(apart, real, margin=1.0).interval == (4.0, 4.0)
    assert fidelity(apart, real, margin=1.0).verdict == "different"


@pytest.mark.parametrize(
    "options",
    [
        *({"level": level} for level in (95, 0, 1, 1.0, -0.5, np.nan, np.inf, "0.95", None, True)),
        *({"margin": margin} for margin in (-1, -1e-9, np.nan, np.inf, "0.1", True)),
        *({"horizon": horizon} for horizon in (0, -5, 1.5, np.nan, np.inf, "10", True)),
    ],
    ids=str,
)
def test_levels_margins_and_horizons_that_are_none_are_refused(options):
    runs = runs_of([[1.0, 2.0]] * 3, own_logs=True)
    with pytest.raises(SettingError, match=rf"^{next(iter(options))} is .*; give .*, a (whole )?number"):
        fidelity(runs, runs, **options)


def test_numbers_of_every_kind_will_do():
    runs = runs_of([[1.0, 2.0]] * 3, own_logs=True)
    found = fidelity(runs, runs, level=np.float32(0.5), margin=0, horizon=np.int64(20))
    assert (found.level, found.margin, found.horizon) == (0.5, 0.0, 20)


def test_it_prints_in_a_prompt_and_shows_in_a_notebook():
    found = fidelity(runs_of([[0, 2], [2, 4]], kind="real"), runs_of([[1, 1], [1, 1]], kind="real"))
    assert repr(found) == str(found)
    assert '<th scope="row">rmse</th>' in found._repr_html_()
    assert "<script>" not in replace(found, probe="<script>")._repr_html_()


def test_its_frame_is_one_line_that_others_can_stand_under():
    rng = np.random.default_rng(0)
    one, other = (runs_of(wandering(rng, 5), kind="real") for _ in range(2))
    decided, shared = fidelity(one, other), fidelity(runs_of(wandering(rng, 5)), other)
    frame = pa.concat_tables([decided.to_frame(), shared.to_frame()])
    assert frame["rmse"].to_pylist() == [decided.rmse, shared.rmse]
    assert frame["low"].to_pylist() == [decided.interval[0], None]
    assert frame["verdict"].to_pylist() == [decided.verdict, None]
    assert len(frame.to_pandas()) == len(pl.from_arrow(frame)) == 2


@pytest.fixture(scope="module")
def on_one_log():
    """Q-learning on one log of a slippery grid, in exact simulators and in one that ignores actions; and real runs."""
    env = us.envs.Grid(4, slip=0.2)
    log = us.record(env, episodes=80, seed=0)
    options = {"every": 100, "max_steps": 800, "progress": False, "probes": {"start value": us.probes.start_value(env)}}

    def make(seed):
        return us.learners.QLearning(16, 5, epsilon=0.9, alpha=0.5, gamma=0.95, seed=seed)

    found = {
        name: us.halves(getattr(us, name)(log), make, runs=60, **options) for name in ("psrs", "qbe", "states_only")
    }
    return found | {"real": us.experiment(us.real(env), make, runs=200, **options)}


def test_runs_on_one_log_have_a_verdict_where_its_luck_is_known(on_one_log):
    exact, wrong = (fidelity(on_one_log[name], on_one_log["real"], margin=0.06) for name in ("psrs", "states_only"))
    assert (exact.verdict, wrong.verdict) == ("equivalent", "undecided")
    assert fidelity(on_one_log["psrs"], on_one_log["real"], margin=0.03).verdict == "undecided"
    assert fidelity(on_one_log["states_only"], on_one_log["real"], margin=0.02).verdict == "different"
    assert fidelity(on_one_log["psrs"].runs, on_one_log["real"], margin=0.06) == exact
    assert exact.interval[1] > 0


def test_the_luck_makes_the_interval_wider_and_the_floor_higher(on_one_log):
    lucky, real = on_one_log["psrs"].runs, on_one_log["real"]
    alone = replace(lucky, about=replace(lucky.about, own_logs=True), halves=())
    with_luck, without = fidelity(lucky, real), fidelity(alone, real)
    assert with_luck.interval[1] > without.interval[1]
    assert with_luck.floor > without.floor


def test_two_simulators_on_one_log_are_compared_by_its_halves(on_one_log):
    assert fidelity(on_one_log["qbe"], on_one_log["psrs"], margin=0.15).verdict == "equivalent"
    assert fidelity(on_one_log["states_only"], on_one_log["psrs"], margin=0.04).verdict == "different"
    without = replace(on_one_log["qbe"].runs, halves=())
    assert "us.halves" in fidelity(without, on_one_log["psrs"]).note


def test_vectors_on_one_log_have_no_verdict(on_one_log):
    def as_vectors(runs):
        doubled = (np.stack([run.curves["start value"]] * 2, axis=1) for run in runs)
        return replace(runs, runs=tuple(replace(run, curves={"v": v}) for run, v in zip(runs, doubled, strict=True)))

    ours = replace(as_vectors(on_one_log["psrs"].runs), halves=tuple(map(as_vectors, on_one_log["psrs"].halves)))
    found = fidelity(ours, as_vectors(on_one_log["real"]), "v")
    assert found.verdict is None
    assert "probes of one number" in found.note
