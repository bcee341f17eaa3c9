"""A sweep makes what is missing, once, refuses parts that have changed, and survives the death of its process."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import understudy as us
from understudy.contracts.streams import spawn
from understudy.errors import FailedRunsWarning, ResultsError, RunError, SettingError
from understudy.runs import backends
from understudy.sweeps import keeping
from understudy.sweeps.folder import SweepFolder
from understudy.sweeps.names import KEYS

RESULTS = [*KEYS, "number", "seed", "steps", "episodes", "reward", "cause", "failed"]
"""The columns of runs that depend on nothing but their seeds."""


def rows_of(folder):
    lines = us.load_sweep(folder).to_frame().select(RESULTS).to_pylist()
    return sorted(lines, key=lambda line: [str(line[name]) for name in (*KEYS, "number")])


def readings_of(folder):
    return sorted(map(str, us.load_sweep(folder).to_frame("curves").to_pylist()))


def q_learning(epsilon):
    return lambda seed: us.learners.QLearning(25, 5, epsilon=epsilon, seed=seed)


def test_every_combination_has_every_run_once(made):
    lines = rows_of(made)
    assert len(lines) == 2 * 2 * 6
    assert {tuple(line[key] for key in (*KEYS, "number")) for line in lines} == {
        (learner, simulator, "identity", "may", number)
        for learner in ("small", "large") for simulator in ("psrs", "qbe") for number in range(6)
    }  # fmt: skip


def test_runs_of_one_number_have_one_seed_in_all_combinations(made):
    assert {(line["number"], line["seed"]) for line in rows_of(made)} == {(n, spawn(0, n, 0)) for n in range(6)}


def test_another_log_of_the_same_name_is_refused_though_no_run_is_missing(copied, learners, settings):
    other = us.record(us.envs.Grid(), episodes=20, seed=123)
    with pytest.raises(ResultsError, match="log 'may' is not what it was"):
        us.sweep(learners, ["psrs", "qbe"], {"may": other}, out=copied, runs=6, **settings)


def test_a_file_that_has_changed_is_refused_though_no_run_is_missing(learners, settings, tmp_path):
    path = tmp_path / "may.parquet"
    us.write(us.record(us.envs.Grid(), episodes=40, seed=1), path)
    us.sweep(learners, "psrs", {"may": str(path)}, out=tmp_path / "sweep", **settings)
    us.sweep(learners, "psrs", {"may": str(path)}, out=tmp_path / "sweep", **settings)
    us.write(us.record(us.envs.Grid(), episodes=40, seed=2), path)
    with pytest.raises(us.ResultsError, match="log 'may' is not what it was"):
        us.sweep(learners, "psrs", {"may": str(path)}, out=tmp_path / "sweep", **settings)


def test_every_backend_with_a_name_is_known(copied, log, learners, settings, monkeypatch):
    asked = []
    monkeypatch.setattr(backends, "ray", lambda: asked.append("ray") or backends.in_turn)
    us.sweep(learners, "psrs", {"may": log}, out=copied, runs=7, **settings | {"backend": "ray"})
    assert asked == ["ray"]
    assert us.load_sweep(copied).counts["small", "psrs", "identity", "may"]["runs"] == 7


def test_runs_are_those_of_an_experiment(made, log, learners):
    runs = us.experiment(us.qbe(log), learners["large"], runs=6, max_steps=60, progress=False)
    lines = [line for line in rows_of(made) if (line["learner"], line["simulator"]) == ("large", "qbe")]
    assert [(line["seed"], line["steps"], line["episodes"]) for line in lines] == [
        (run.seed, len(run), len(run.ends)) for run in runs
    ]


def test_the_same_call_makes_nothing_again(copied, log, learners, settings):
    before = {path: path.stat().st_mtime_ns for path in copied.rglob("*.parquet")}
    us.sweep(learners, ["psrs", "qbe"], {"may": log}, out=copied, runs=6, **settings)
    assert {path: path.stat().st_mtime_ns for path in copied.rglob("*.parquet")} == before


def test_more_runs_and_further_parts_make_what_is_missing(copied, log, learners, settings, tmp_path):
    before = rows_of(copied)
    more = {**learners, "middle": q_learning(0.5)}
    us.sweep(more, ["psrs", "qbe"], {"may": log}, out=copied, runs=8, **settings)
    us.sweep(more, ["psrs", "qbe"], {"may": log}, out=tmp_path / "at once", runs=8, **settings)
    assert rows_of(copied) == rows_of(tmp_path / "at once")
    assert readings_of(copied) == readings_of(tmp_path / "at once")
    assert all(line in rows_of(copied) for line in before)


def test_fewer_parts_leave_the_others_as_they_are(copied, log, learners, settings):
    found = us.sweep({"small": learners["small"]}, "psrs", {"may": log}, out=copied, runs=6, **settings)
    assert len(found.combinations) == 4


@pytest.mark.parametrize("key", ["learner", "simulator", "encoder", "log"])
def test_a_part_that_has_changed_under_its_name_is_refused(key, copied, log, learners, settings):
    parts = {"learner": learners, "simulator": ["psrs", "qbe"], "encoder": None, "log": {"may": log}}
    parts |= {
        "learner": {"learner": {**learners, "small": q_learning(0.2)}},
        "simulator": {"simulator": {"psrs": lambda log, encoder: us.psrs(log, encoder, reserve=True), "qbe": "qbe"}},
        "encoder": {"encoder": {"identity": us.encoders.Boxes(bins=2)}},
        "log": {"log": {"may": us.record(us.envs.Grid(slip=0.1), episodes=40, seed=4)}},
    }[key]
    before = rows_of(copied)
    with pytest.raises(ResultsError, match=f"{key} '.*' is not what it was in .*give the new one another name"):
        us.sweep(*(parts[key] for key in ("learner", "simulator", "log", "encoder")), out=copied, runs=7, **settings)
    assert rows_of(copied) == before


def test_another_seed_limit_or_interval_is_refused(copied, log, learners, settings):
    for changed, match in (({"seed": 1}, "seed is 0 there"), ({"max_steps": 50}, "max_steps is 60 there"),
                           ({"every": 10}, "every is 20 there and 10 here")):  # fmt: skip
        with pytest.raises(ResultsError, match=match):
            us.sweep(learners, ["psrs", "qbe"], {"may": log}, out=copied, runs=7, **settings | changed)


def test_combinations_are_left_out(log, learners, settings, tmp_path):
    rules = [{"learner": "small", "simulator": "qbe"}]
    found = us.sweep(learners, ["psrs", "qbe"], {"may": log}, out=tmp_path / "a", runs=1, leave_out=rules, **settings)
    assert {one[:2] for one in found.combinations} == {("small", "psrs"), ("large", "psrs"), ("large", "qbe")}
    rule = lambda learner, simulator, encoder, log: simulator == "qbe"  # noqa: E731
    found = us.sweep(learners, ["psrs", "qbe"], {"may": log}, out=tmp_path / "b", runs=1, leave_out=rule, **settings)
    assert {one.simulator for one in found.combinations} == {"psrs"}
    with pytest.raises(SettingError, match="leaves no combination"):
        us.sweep(learners, "psrs", {"may": log}, out=tmp_path / "c", leave_out=lambda **names: True, **settings)


class Failing(us.learners.QLearning):
    """Fails for some seeds while a file is there: its code stays the same, so that the sweep goes on."""

    def __init__(self, path, seed):
        super().__init__(25, 5, seed=seed)
        if seed % 2 == 0 and os.path.exists(path):
            raise ValueError("the server is down")


def test_runs_that_fail_are_kept_and_made_by_the_same_call(log, learners, settings, tmp_path):
    switch, out = str(tmp_path / "down"), tmp_path / "out"
    parts = {**learners, "failing": lambda seed: Failing(switch, seed)}
    bad = [number for number in range(8) if spawn(0, number, 0) % 2 == 0]
    assert 0 < len(bad) < 8
    assert 0 not in bad  # its learner is made to see what it is
    open(switch, "w").close()
    for _ in range(2):  # failing again, they are still there once
        with pytest.warns(FailedRunsWarning, match=f"{len(bad)} of .* runs of the sweep failed: learner 'failing'"):
            found = us.sweep(parts, "psrs", {"may": log}, out=out, runs=8, **settings)
        lines = found.failed().to_pylist()
        assert sorted(line["number"] for line in lines) == bad
        assert {line["failed"] for line in lines} == {"ValueError: the server is down"}
        assert all("in __init__" in line["traceback"] for line in lines)
        assert len(rows_of(out)) == 3 * 8
    os.remove(switch)
    found = us.sweep(parts, "psrs", {"may": log}, out=out, runs=8, **settings)
    assert len(found.failed()) == 0
    us.sweep(parts, "psrs", {"may": log}, out=tmp_path / "well", runs=8, **settings)
    assert rows_of(out) == rows_of(tmp_path / "well")
    assert readings_of(out) == readings_of(tmp_path / "well")


def test_a_failed_run_ends_the_sweep_where_that_is_asked_for(log, settings, tmp_path):
    open(tmp_path / "down", "w").close()
    make = {"failing": lambda seed: Failing(str(tmp_path / "down"), seed)}
    with pytest.raises(RunError, match=r"learner 'failing'.*the server is down"):
        us.sweep(make, "psrs", {"may": log}, out=tmp_path / "out", runs=8, errors="raise", **settings)
    assert len(us.load_sweep(tmp_path / "out").failed()) >= 1


def test_a_part_that_cannot_be_made_fails_its_runs_and_the_others_go_on(log, learners, settings, tmp_path):
    def no_learner(seed):
        raise ZeroDivisionError("never")

    def no_simulator(log):
        raise RuntimeError("not on this log")

    learners = {"small": learners["small"], "none": no_learner}
    parts = learners, {"psrs": "psrs", "none": no_simulator}, {"may": log, "lost": tmp_path / "lost.parquet"}
    with pytest.warns(FailedRunsWarning, match="14 of 16 runs"):
        found = us.sweep(*parts, out=tmp_path / "out", runs=2, **settings)
    reasons = {(line["learner"], line["simulator"], line["log"]): line["failed"] for line in found.failed().to_pylist()}
    assert reasons["none", "psrs", "may"] == "ZeroDivisionError: never"
    assert reasons["small", "none", "may"] == "RuntimeError: not on this log"
    assert "lost.parquet" in reasons["small", "psrs", "lost"]
    assert [one for one, count in found.counts.items() if count["runs"]] == [("small", "psrs", "identity", "may")]
    with pytest.raises(ZeroDivisionError, match="never"):
        us.sweep(no_learner, "psrs", {"may": log}, out=tmp_path / "raised", errors="raise", **settings)


def test_results_do_not_depend_on_the_backend(made, log, learners, settings, tmp_path):
    options = settings | {"backend": "threads", "workers": 2}
    us.sweep(learners, ["psrs", "qbe"], {"may": log}, out=tmp_path / "out", runs=6, **options)
    assert rows_of(tmp_path / "out") == rows_of(made)
    assert readings_of(tmp_path / "out") == readings_of(made)


@pytest.mark.slow
def test_results_are_those_of_processes(made, log, learners, settings, tmp_path):
    options = settings | {"backend": "processes", "workers": 2}
    us.sweep(learners, ["psrs", "qbe"], {"may": log}, out=tmp_path / "out", runs=6, **options)
    assert rows_of(tmp_path / "out") == rows_of(made)
    assert readings_of(tmp_path / "out") == readings_of(made)


def test_what_has_been_made_is_kept_on_interrupt(log, settings, tmp_path):
    class Interrupting(us.learners.QLearning):
        def __init__(self, seed):
            super().__init__(25, 5, seed=seed)
            if seed == spawn(0, 40, 0):
                raise KeyboardInterrupt

    make = {"q": lambda seed: Interrupting(seed)}
    with pytest.raises(KeyboardInterrupt):
        us.sweep(make, "psrs", {"may": log}, out=tmp_path / "out", runs=64, workers=1, **settings)
    assert 30 <= len(rows_of(tmp_path / "out")) <= 40


KILLED = """
import sys
import understudy as us
from understudy.sweeps import keeping

keeping.KEPT_EVERY = 0.05
log = us.record(us.envs.Grid(slip=0.1), episodes=40, seed=3)
learners = {f"q {e}": (lambda seed, e=e: us.learners.QLearning(25, 5, epsilon=e, seed=seed)) for e in (0.1, 0.9)}
us.sweep(learners, "psrs", {"may": log}, out=sys.argv[1], runs=500, max_steps=60, every=20, backend="serial",
         progress=False)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_loses_nothing_that_was_kept(log, settings, tmp_path):
    """Killed in the middle and then finished: what was kept stays, and each run is there once."""
    out, script = tmp_path / "out", tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED))
    with subprocess.Popen([sys.executable, script, out]) as process:
        deadline = time.monotonic() + 60
        while len(SweepFolder(out).files("runs")) < 2 and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL  # it had not finished
    kept = {str(line) for line in rows_of(out)}
    assert 0 < len(kept) < 1000
    subprocess.run([sys.executable, script, out], check=True)
    learners = {f"q {epsilon}": q_learning(epsilon) for epsilon in (0.1, 0.9)}
    us.sweep(learners, "psrs", {"may": log}, out=tmp_path / "at once", runs=500, **settings)
    lines = rows_of(out)
    assert lines == rows_of(tmp_path / "at once")
    assert kept <= {str(line) for line in lines}
    assert readings_of(out) == readings_of(tmp_path / "at once")


def test_short_runs_are_gathered_into_few_files(log, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "KEPT_EVERY", 1000.0)
    us.sweep({"q": q_learning(0.1)}, "psrs", {"may": log}, out=tmp_path / "out", runs=300, **settings)
    assert len(SweepFolder(tmp_path / "out").files("runs")) == 1


def test_a_learner_may_depend_on_encoder_and_log(settings, tmp_path):
    log = us.record(us.envs.ContinuousGrid(), episodes=40, seed=1)

    def table(log, encoder, seed):
        return us.learners.QLearning(encoder.n_states, log.spec.n_actions, encoder=encoder, seed=seed)

    encoders = {"coarse": us.encoders.Boxes(bins=2), "fine": us.encoders.Boxes(bins=4)}
    found = us.sweep(table, us.psrs, {"may": log}, encoders, out=tmp_path / "out", runs=2, **settings)
    assert [found.about(encoder=name).n_states for name in ("coarse", "fine")] == [4, 16]


@pytest.mark.parametrize(
    ("options", "match"),
    [({"backend": "cloud"}, "backend='cloud'"), ({"errors": "hide"}, "errors='hide'"), ({"runs": 0}, "runs is 0"),
     ({"every": 0}, "every is 0"), ({"workers": 0}, "workers is 0")],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_refused(options, match, log, learners, settings, tmp_path):
    with pytest.raises(SettingError, match=match):
        us.sweep(learners, "psrs", {"may": log}, out=tmp_path / "out", **settings | options)
    assert not (tmp_path / "out").exists()
