"""A results folder: whole runs or none, read back as they were, and never mixed with others."""

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.contracts import Stop
from understudy.encoders import Function
from understudy.envs import CounterGrid, Grid
from understudy.errors import ResultsError, SettingError, UsageError
from understudy.learners import ExpectedSarsa, Linear, QLearning
from understudy.logs import Log
from understudy.runs import experiment, load, probes, simulate
from understudy.runs.folder import FORMAT, Folder, seal
from understudy.simulators import exo_psrs, model, psrs, qbe, real

MEASURED = {"value": probes.start_value([0]), "returns": probes.episode_returns, "visitation": probes.visitation}


@pytest.fixture
def out(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def kept(log, make, out):
    """Three runs, and the folder they are in."""
    return experiment(psrs(log), make, runs=3, probes=MEASURED, every=50, out=out)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*"))


def test_runs_come_back_as_they_were(kept, out, assert_same_runs):
    again = load(out)
    assert_same_runs(kept, again)
    assert again.about == kept.about
    assert repr(again) == repr(kept)


@pytest.mark.parametrize("kind", ["model", "exo_psrs", "real", "no step", "one step"])
def test_every_kind_of_run_comes_back_as_it_was(kind, log, grid, make, out, assert_same):
    env = CounterGrid(2, size=3)
    ticking = Log.from_columns(**env.rollout(np.full((18, 5), 0.2), 40, seed=0))
    simulator, steps = {
        "model": (model(log, Function(grid.latent)), 200),
        "exo_psrs": (exo_psrs(ticking, split=env.split, merge=env.merge, reward=env.reward), None),
        "real": (real(grid), 200),
        "no step": (psrs(log, Function(lambda x: np.where(x % 9 == 0, -1, x))), None),
        "one step": (psrs(log), 1),
    }[kind]
    run = simulate(simulator, make(1), 1, steps, probes=MEASURED, every=30)
    folder = Folder(out, {"simulator": {}})
    folder.reserve()
    folder.save(0, run)
    assert_same(folder.load(0), run)


def test_a_folder_holds_parquet_and_json_only(kept, out):
    assert files(out) == [
        "experiment.json", "runs", *(f"runs/00000{n}.{kind}" for n in range(3) for kind in ("json", "parquet")),
    ]  # fmt: skip
    table = pq.read_table(out / "runs" / "000001.parquet")
    assert table["rows"][0].as_py() == kept[1].rows.tolist()


def test_json_is_json_for_every_reader(log, make, out):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    runs = experiment(psrs(log), make, runs=1, max_steps=1, probes=MEASURED, out=out)
    assert np.isnan(runs[0].final["returns"])
    for path in out.rglob("*.json"):
        json.loads(path.read_text(), parse_constant=refuse)


def test_finished_runs_are_not_run_again(out, log, make, assert_same_runs):
    made = []

    def counted(seed):
        made.append(seed)
        return make(seed)

    kept = experiment(psrs(log), counted, runs=3, probes=MEASURED, every=50, out=out)
    assert set(made) == {run.seed for run in kept}
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    made.clear()
    again = experiment(psrs(log), counted, runs=3, probes=MEASURED, every=50, out=out)
    assert_same_runs(again, kept)
    assert not set(made) & {run.seed for run in kept[1:]}
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")} == before


def test_more_runs_go_on_where_it_stopped(kept, out, log, make, assert_same_runs):
    more = experiment(psrs(log), make, runs=5, probes=MEASURED, every=50, out=out)
    assert_same_runs(more[:3], kept)
    assert_same_runs(more, experiment(psrs(log), make, runs=5, probes=MEASURED, every=50))
    assert len(load(out)) == 5


def test_fewer_runs_are_the_first_ones(kept, out, log, make, assert_same_runs):
    assert_same_runs(experiment(psrs(log), make, runs=2, probes=MEASURED, every=50, out=out), kept[:2])


def test_a_gap_is_filled(kept, out, log, make, assert_same_runs):
    for kind in ("json", "parquet"):
        (out / "runs" / f"000001.{kind}").unlink()
    assert_same_runs(experiment(psrs(log), make, runs=3, probes=MEASURED, every=50, out=out), kept)


def test_a_run_without_its_json_is_not_finished(kept, out, log, make, assert_same_runs):
    (out / "runs" / "000001.json").unlink()
    assert len(load(out)) == 2
    assert_same_runs(experiment(psrs(log), make, runs=3, probes=MEASURED, every=50, out=out), kept)


def test_workers_and_backend_may_change_in_between(kept, out, log, make, assert_same_runs):
    again = experiment(
        psrs(log), make, runs=4, probes=MEASURED, every=50, out=out, backend="serial", compiled=False, workers=1
    )
    assert_same_runs(again, experiment(psrs(log), make, runs=4, probes=MEASURED, every=50))


def refusal(log, make, out, simulator=None, **changed):
    """What is said when an experiment that differs in something is given the folder of another."""
    options = {"runs": 2, "max_steps": 60, "probes": MEASURED, "every": 50}
    before = files(out)
    with pytest.raises(ResultsError, match="another experiment") as caught:
        experiment(simulator or psrs(log), make, out=out, **(options | changed))
    assert files(out) == before
    assert "give another folder" in str(caught.value).lower()
    return str(caught.value)


@pytest.fixture
def taken(log, make, out):
    experiment(psrs(log), make, runs=2, max_steps=60, probes=MEASURED, every=50, out=out)
    return out


def test_a_folder_of_another_log_is_refused(taken, log, make):
    assert "log is" in refusal(log, make, taken, simulator=psrs(log.select(range(59))))


def test_a_folder_of_other_states_is_refused(taken, log, grid, make):
    assert "states is" in refusal(log, make, taken, simulator=psrs(log, Function(grid.latent)))
    shifted = Function(lambda x: (x + 1) % 18)
    assert "states is" in refusal(log, make, taken, simulator=psrs(log, shifted))


def test_a_folder_of_another_simulator_or_option_is_refused(taken, log, make):
    assert "simulator simulator is psrs there and qbe here" in refusal(log, make, taken, simulator=qbe(log))
    assert "simulator order is episodes there and rows here" in refusal(
        log, make, taken, simulator=psrs(log, order="rows")
    )
    assert "openings" in refusal(log, make, taken, simulator=psrs(log, openings="replacement"))
    assert "max_episode_steps is None there and 9 here" in refusal(
        log, make, taken, simulator=psrs(log, max_episode_steps=9)
    )


@pytest.mark.parametrize(
    ("setting", "changed"),
    [("epsilon", 0.4), ("alpha", 0.4), ("gamma", 0.4), ("initial", 0.4), ("epsilon", Linear(0.5, 0.5, steps=3))],
)
def test_a_folder_of_another_learner_setting_is_refused(taken, log, setting, changed):
    other = {"epsilon": 0.5, setting: changed}
    assert f"learner {setting} is" in refusal(log, lambda seed: QLearning(18, 5, seed=seed, **other), taken)


def test_a_folder_of_another_learner_is_refused(taken, log):
    sarsa = refusal(log, lambda seed: ExpectedSarsa(18, 5, epsilon=0.5, seed=seed), taken)
    assert "learner class is QLearning there and ExpectedSarsa here" in sarsa


def test_a_folder_of_another_schedule_is_refused(log, out):
    def learner(schedule):
        return lambda seed: QLearning(18, 5, epsilon=schedule, seed=seed)

    options = {"runs": 1, "max_steps": 60, "probes": MEASURED, "every": 50}
    experiment(psrs(log), learner(lambda step: 1 / np.sqrt(step + 1)), out=out, **options)
    experiment(psrs(log), learner(lambda step: 1 / np.sqrt(step + 1)), out=out, **options)
    assert "learner epsilon" in refusal(log, learner(lambda step: 0.5 / np.sqrt(step + 1)), out)
    assert "learner epsilon" in refusal(log, learner(lambda step: 1 / np.cbrt(step + 1)), out)


def test_a_folder_of_another_encoder_of_the_learner_is_refused(log, out):
    def learner(f):
        return lambda seed: QLearning(18, 5, encoder=Function(f), seed=seed)

    experiment(psrs(log), learner(lambda x: x // 2), runs=2, max_steps=60, every=50, out=out)
    assert "learner encoder" in refusal(log, learner(lambda x: x // 3), out, probes=None)


def test_a_folder_of_another_seed_reading_or_length_is_refused(taken, log, make):
    assert "seed is 0 there and 1 here" in refusal(log, make, taken, seed=1)
    assert "every is 50 there and 25 here" in refusal(log, make, taken, every=25)
    assert "max_steps is 60 there and None here" in refusal(log, make, taken, max_steps=None)
    assert "probes" in refusal(log, make, taken, probes={"value": MEASURED["value"]})
    assert "probes" in refusal(log, make, taken, probes=None)


def test_a_folder_of_another_probe_of_the_same_name_is_refused(taken, log, make):
    assert "probes" in refusal(log, make, taken, probes=MEASURED | {"value": probes.start_value([9])})
    assert "probes" in refusal(log, make, taken, probes=MEASURED | {"value": lambda learner: 0.0})


def test_a_folder_of_another_oracle_is_refused(make, out):
    env = CounterGrid(2, size=3)
    log = Log.from_columns(**env.rollout(np.full((18, 5), 0.2), 40, seed=0))
    oracles = {"split": env.split, "merge": env.merge}
    experiment(exo_psrs(log, reward=env.reward, **oracles), make, runs=1, out=out)
    with pytest.raises(ResultsError, match="another experiment"):
        experiment(exo_psrs(log, reward=lambda z, c: -env.reward(z, c), **oracles), make, runs=1, out=out)


def test_a_folder_of_another_real_environment_is_refused(make, out):
    import gymnasium

    options = {"runs": 1, "max_steps": 30, "out": out}
    experiment(real(Grid(size=3)), make, **options)
    with pytest.raises(ResultsError, match="another experiment"):
        experiment(real(Grid(size=3, slip=0.1)), make, **options)
    with pytest.raises(ResultsError, match="another experiment"):
        experiment(real(gymnasium.wrappers.TransformReward(Grid(size=3), lambda r: -r)), make, **options)


def test_a_folder_that_was_there_with_something_else_is_refused(log, make, tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ResultsError, match="is not a results folder"):
        experiment(psrs(log), make, runs=1, out=tmp_path)
    assert files(tmp_path) == ["letter.txt"]


def test_an_empty_folder_is_taken(log, make, tmp_path):
    assert len(experiment(psrs(log), make, runs=1, out=str(tmp_path))) == 1


def test_a_path_that_is_a_file_or_lies_below_one_is_refused(log, make, tmp_path):
    (tmp_path / "file").write_text("dear")
    with pytest.raises(ResultsError, match="is not a results folder"):
        experiment(psrs(log), make, runs=1, out=tmp_path / "file")
    with pytest.raises(ResultsError, match="cannot make the folder"):
        experiment(psrs(log), make, runs=1, out=tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "dear"


@pytest.mark.parametrize("path", ["/proc/understudy", "/dev/null/results", "/tmp/" + "x" * 300])
def test_a_path_that_cannot_be_made_is_refused_before_anything_runs(log, path):
    def never(seed):
        made.append(seed)
        return QLearning(18, 5, seed=seed)

    made = []
    with pytest.raises(ResultsError, match=path[:10]):
        experiment(psrs(log), never, runs=2, out=path)
    assert len(set(made)) <= 1  # one learner is made to be described


@pytest.mark.parametrize("kind", ["parquet", "json"])
@pytest.mark.parametrize("length", [0, 1, 40, -1])
def test_a_file_that_was_cut_short_is_named_with_what_to_do(kept, out, log, make, kind, length):
    path = out / "runs" / f"000001.{kind}"
    path.write_bytes(path.read_bytes()[:length])
    for read in (
        lambda: load(out),
        lambda: experiment(psrs(log), make, runs=3, probes=MEASURED, every=50, out=out),
    ):
        with pytest.raises(ResultsError, match=rf"000001\.{kind} .*remove it"):
            read()


def test_a_run_without_its_parquet_is_named_with_what_to_do(kept, out):
    (out / "runs" / "000002.parquet").unlink()
    with pytest.raises(ResultsError, match=r"000002\.parquet .*remove it and its \.json"):
        load(out)


@pytest.mark.parametrize(
    "content", ["{}", "[]", "3", '{"seed": 1}', '{"seed": 1, "shapes": [], "stopped": {}, "final": 0}']
)
def test_a_json_of_something_else_is_named(kept, out, content):
    (out / "runs" / "000000.json").write_text(content)
    with pytest.raises(ResultsError, match="000000"):
        load(out)


def test_a_parquet_of_something_else_is_named(kept, out, log):
    import understudy

    path = out / "runs" / "000000.parquet"
    understudy.write(log, path)
    with pytest.raises(ResultsError, match="000000"):
        load(out)
    pq.write_table(pq.read_table(out / "runs" / "000001.parquet")[:0], path)
    with pytest.raises(ResultsError, match="000000"):
        load(out)


def check_damaged(out, damage, count, assert_same_runs):
    """Damage each file of a run many times: it is refused by name, or is JSON that says the same in other words."""
    whole = load(out)
    for name in ("experiment.json", "runs/000000.json", "runs/000000.parquet"):
        path, n_refused = out / name, 0
        content = path.read_bytes()
        for version in damage(content, count):
            path.write_bytes(version)
            try:
                again = load(out)
            except ResultsError as error:
                assert str(path) in str(error)  # noqa: PT017
                n_refused += 1
                continue
            assert version == content or (name.endswith("json") and json.loads(version) == json.loads(content))
            assert_same_runs(again, whole)
            assert again.about == whole.about
        path.write_bytes(content)
        assert n_refused > 0.9 * count


def test_damaged_files_are_refused_or_read_as_they_were(kept, out, damage, assert_same_runs):
    check_damaged(out, damage, 150, assert_same_runs)


@pytest.mark.slow
def test_ten_thousand_damaged_files_of_each_kind_are_refused_or_read_as_they_were(kept, out, damage, assert_same_runs):
    check_damaged(out, damage, 10_000, assert_same_runs)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", "one"), ("seed", 1.5), ("seed", None), ("length", "many"), ("length", -1), ("length", 10**30),
        ("length", 3), ("log", 7), ("shapes", []), ("shapes", {"value": 3}), ("shapes", {"value": [[10**18], []]}),
        ("stopped", None), ("stopped", {}), ("stopped", {"cause": "boredom"}), ("stopped", {"cause": ["max steps"]}),
        ("stopped", {"cause": "max steps", "counts": {"rows taken": "many"}}), ("not_kept", 3),
        ("stopped", {"cause": "max steps", "counts": [1]}), ("stopped", {"cause": "queue empty", "state": "x"}),
        ("stopped", {"cause": "queue empty", "state": 1, "place": ["page", 3]}),
        ("stopped", {"cause": "queue empty", "state": 1, "mass": "x"}), ("not_kept", {"rows": -1}),
        ("stopped", {"cause": "max steps", "counts": {}, "more": 1}), ("not_kept", {"emissions": 3}),
    ],
)  # fmt: skip
def test_values_of_another_type_are_refused_even_where_the_digest_is_right(kept, out, name, value):
    path = out / "runs" / "000000.json"
    content = json.loads(path.read_text())
    content.pop("digest")
    path.write_text(json.dumps(seal(content | {name: value})))
    with pytest.raises(ResultsError, match=r"000000\..*remove it"):
        load(out)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("simulator", "psrs"), ("simulator", {"simulator": [1]}), ("learner", None), ("learner", {"class": 3}),
        ("log_rows", "many"), ("log_rows", -1), ("log_episodes", [1]), ("log_return", "much"), ("log_return", [1]),
        ("kind", 3), ("from_factory", "yes"), ("seed", "x"), ("max_steps", "x"), ("probes", []), ("every", None),
        ("n_states", "x"), ("states", 3), ("log", 3), ("log_rows", True),
    ],
)  # fmt: skip
def test_what_runs_are_of_is_refused_where_it_is_of_another_type(kept, out, name, value):
    marker = out / "experiment.json"
    content = json.loads(marker.read_text())
    marker.write_text(json.dumps(seal({"format": FORMAT, "about": content["about"] | {name: value}})))
    with pytest.raises(ResultsError, match=rf"experiment\.json does not say.*{name}"):
        load(out)


def test_a_run_of_another_folder_is_refused(kept, out, log, make, tmp_path):
    other = tmp_path / "other"
    experiment(psrs(log), make, runs=3, probes=MEASURED, every=50, seed=1, out=other)
    for kind in ("json", "parquet"):
        shutil.copy(other / "runs" / f"000001.{kind}", out / "runs" / f"000001.{kind}")
    for read in (lambda: load(out), lambda: experiment(psrs(log), make, runs=3, probes=MEASURED, every=50, out=out)):
        with pytest.raises(ResultsError, match=r"000001\.json is not of this run: its experiment is .*remove it"):
            read()


def test_a_run_under_another_number_is_refused(kept, out):
    for kind in ("json", "parquet"):
        shutil.copy(out / "runs" / f"000001.{kind}", out / "runs" / f"000007.{kind}")
    with pytest.raises(ResultsError, match=r"000007\.json is not of this run: its number is 1, and here it is 7"):
        load(out)


def test_a_run_of_another_seed_is_refused(kept, out):
    folder = Folder(out)
    folder.save(1, replace(kept[1], seed=kept[1].seed + 1))
    with pytest.raises(ResultsError, match=r"000001\.json is not of this run: its seed is"):
        load(out)


def test_arrays_of_another_run_are_refused(kept, out):
    shutil.copy(out / "runs" / "000001.parquet", out / "runs" / "000002.parquet")
    with pytest.raises(ResultsError, match=r"000002\.parquet cannot be read .*remove it and its \.json"):
        load(out)


ODD_NAMES = ["0", "00000", "0000000", "x", "\u00b2", "\u0661" * 6, "-00001", " 00001", ""]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_only_files_named_by_six_digits_count(kept, out, log, make, name, assert_same_runs):
    for number in (0, 1):
        for kind in ("json", "parquet"):
            shutil.copy(out / "runs" / f"00000{number}.{kind}", out / "runs" / f"{name}.{kind}")
    assert_same_runs(load(out), kept)
    assert_same_runs(experiment(psrs(log), make, runs=3, probes=MEASURED, every=50, out=out), kept)


def test_a_folder_of_an_earlier_version_asks_to_run_again(kept, out, log, make):
    marker = out / "experiment.json"
    marker.write_text(json.dumps({"format": 1, "about": json.loads(marker.read_text())["about"]}))
    for read in (lambda: load(out), lambda: experiment(psrs(log), make, runs=3, probes=MEASURED, every=50, out=out)):
        with pytest.raises(ResultsError, match=r"format 1, of an earlier version.*run it again, into another folder"):
            read()


def test_deeply_nested_json_is_refused(kept, out):
    for path in (out / "runs" / "000000.json", out / "experiment.json"):
        path.write_text('{"format": 2, "about": ' + "[" * 100_000)
        with pytest.raises(ResultsError, match="levels"):
            load(out)


@pytest.mark.parametrize("path", ["nul\0byte", "x" * 300, "\ud800", "/proc/1/mem/x"])
def test_paths_that_cannot_exist_are_refused(path, log, make, tmp_path):
    where = tmp_path / path if "/" not in path else path
    with pytest.raises(ResultsError):
        experiment(psrs(log), make, runs=1, out=where)
    with pytest.raises(ResultsError):
        load(where)


# Reservations


def test_of_experiments_that_start_together_one_takes_the_folder(tmp_path):
    outcomes = []
    for attempt in range(40):
        folder, barrier = tmp_path / str(attempt), threading.Barrier(4)

        def reserve(number, folder=folder, barrier=barrier):
            barrier.wait()
            try:
                Folder(folder, {"seed": number % 2}).reserve()
                message = None
            except ResultsError as refusal:
                message = str(refusal)
            outcomes.append((number % 2, message))

        threads = [threading.Thread(target=reserve, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        taken = {number for number, error in outcomes if error is None}
        refused = {number for number, error in outcomes if error is not None}
        assert len(taken) == len(refused) == 1
        assert not taken & refused
        assert all("another experiment: seed is" in error for _, error in outcomes if error)
        assert files(folder) == ["experiment.json", "runs"]
        outcomes.clear()


def test_a_folder_that_is_reserved_between_a_look_and_the_reservation_is_refused(tmp_path, monkeypatch):
    """The other one reserves it at the worst moment: when this one has looked, and has its file ready to be moved."""
    link, late = os.link, []

    def slow_link(source, target, **options):
        if not late:
            late.append(True)
            Folder(tmp_path / "r", {"seed": 1}).reserve()  # by way of the same function, which is not late any more
        return link(source, target, **options)

    monkeypatch.setattr(os, "link", slow_link)
    with pytest.raises(ResultsError, match="another experiment: seed is 1 there and 2 here"):
        Folder(tmp_path / "r", {"seed": 2}).reserve()
    assert late
    assert files(tmp_path / "r") == ["experiment.json", "runs"]
    Folder(tmp_path / "r", {"seed": 1}).reserve()


RESERVING = """
import sys, time
from pathlib import Path
from understudy.runs.folder import Folder, ResultsError

folder, number = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
begin = float(sys.stdin.readline())
for attempt in range(100):
    while time.time() < begin + attempt * 0.01:
        pass
    try:
        Folder(folder / str(attempt), {"seed": number}).reserve()
        print("took")
    except ResultsError as error:
        print("refused" if "another experiment" in str(error) else str(error))
"""


def test_of_processes_that_start_together_one_takes_the_folder(tmp_path):
    path = tmp_path / "reserving.py"
    path.write_text(RESERVING)
    processes = [
        subprocess.Popen(
            [sys.executable, path, tmp_path / "folders", str(number)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(2)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    begin = f"{time.time() + 0.1}\n"
    for process in processes:
        process.stdin.write(begin)
        process.stdin.flush()
    told = [process.communicate(timeout=60)[0].split("\n")[:-1] for process in processes]
    assert {tuple(sorted(pair)) for pair in zip(*told, strict=True)} == {("refused", "took")}


# Rows that are not kept


@pytest.mark.parametrize("kind", ["psrs", "model", "real", "plain"])
def test_runs_without_rows_are_kept_and_gone_on_with(kind, log, grid, make, make_plain, out):
    simulator = {"psrs": psrs(log), "model": model(log, Function(grid.latent)), "real": real(grid), "plain": psrs(log)}
    learner = make_plain if kind == "plain" else make
    options = {"probes": MEASURED, "every": 50, "max_steps": 200, "backend": "serial"}
    whole = experiment(simulator[kind], learner, runs=4, **options)
    bare = experiment(simulator[kind], learner, runs=2, keep_rows=False, out=out, **options)
    bare = experiment(simulator[kind], learner, runs=4, keep_rows=False, out=out, **options)
    for runs in (bare, load(out)):
        assert runs.lengths.tolist() == whole.lengths.tolist()
        for one, other in zip(runs, whole, strict=True):
            assert (one.seed, one.stopped, len(one)) == (other.seed, other.stopped, len(other))
            np.testing.assert_array_equal(one.ends, other.ends)
            np.testing.assert_array_equal(one.returns, other.returns)
            np.testing.assert_array_equal(one.curves["visitation"], other.curves["visitation"])
            assert len(one.openings) == len(other.openings)
            with pytest.raises(UsageError, match="were not kept"):
                one.rows[0]
        assert str(us.efficiency(runs)) == str(us.efficiency(whole))
        assert us.fidelity(runs, whole, "value").rmse == 0.0
    if kind == "psrs":
        us.report({"a": bare}, out / "report.html")


def test_runs_without_rows_are_made_again_where_rows_are_asked_for(log, make, out, assert_same_runs):
    without = experiment(psrs(log), make, runs=2, keep_rows=False, out=out)
    assert [run.has_rows for run in load(out)] == [False, False]
    more = experiment(psrs(log), make, runs=3, out=out)
    assert [run.has_rows for run in more] == [run.has_rows for run in load(out)] == [True] * 3
    assert [run.seed for run in more][:2] == [run.seed for run in without]
    fewer = experiment(psrs(log), make, runs=3, keep_rows=False, out=out)
    assert [run.has_rows for run in fewer] == [True] * 3


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 1}', '{"format": 1, "about": 3}'])
def test_a_damaged_experiment_json_is_named(kept, out, log, make, content):
    (out / "experiment.json").write_text(content)
    with pytest.raises(ResultsError, match="results"):
        load(out)
    with pytest.raises(ResultsError, match="results"):
        experiment(psrs(log), make, runs=3, probes=MEASURED, every=50, out=out)


def test_a_folder_from_the_future_is_refused(kept, out, log, make):
    marker = out / "experiment.json"
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"format": FORMAT + 1}))
    with pytest.raises(ResultsError, match="update understudy"):
        load(out)
    with pytest.raises(ResultsError, match="update understudy"):
        experiment(psrs(log), make, runs=4, probes=MEASURED, every=50, out=out)


def test_what_is_not_a_results_folder_cannot_be_loaded(tmp_path):
    with pytest.raises(ResultsError, match=r"no experiment\.json"):
        load(tmp_path)
    with pytest.raises(ResultsError, match=r"no experiment\.json"):
        load(tmp_path / "nowhere")


def full_disk(*arguments, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_is_full_for_parquet_leaves_no_half_and_the_run_can_go_on(
    log, make, out, monkeypatch, assert_same_runs
):
    def half(path, content):
        with path.open("wb") as file:
            file.write(content[:3])
        full_disk()

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", half)
        with pytest.raises(ResultsError, match=r"000000\.parquet: No space left on device; make room"):
            experiment(psrs(log), make, runs=2, backend="serial", out=out)
        assert files(out) == ["experiment.json", "runs"]
    assert_same_runs(experiment(psrs(log), make, runs=2, out=out), experiment(psrs(log), make, runs=2))


def test_a_disk_that_is_full_for_json_leaves_no_half_and_the_run_can_go_on(
    log, make, out, monkeypatch, assert_same_runs
):
    def half(path, text, **options):
        with path.open("w") as file:
            file.write(text[: len(text) // 2])
        full_disk() if "0000" in path.name else None

    with monkeypatch.context() as patched:
        experiment(psrs(log), make, runs=1, out=out)
        patched.setattr(Path, "write_text", half)
        with pytest.raises(ResultsError, match="No space left on device; make room"):
            experiment(psrs(log), make, runs=3, backend="serial", out=out)
    assert [name for name in files(out) if name.startswith("runs/.")] == []
    assert "runs/000001.parquet" not in files(out)
    assert len(load(out)) == 1
    assert_same_runs(experiment(psrs(log), make, runs=3, out=out), experiment(psrs(log), make, runs=3))


def test_a_disk_that_is_full_from_the_start_leaves_nothing_that_stands_in_the_way(log, make, out, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full_disk)
        with pytest.raises(ResultsError, match="No space left"):
            experiment(psrs(log), make, runs=1, out=out)
    assert len(experiment(psrs(log), make, runs=1, out=out)) == 1


def test_a_file_that_cannot_grow_any_more_is_named_and_the_finished_runs_are_kept(log, make, out):
    experiment(psrs(log), make, runs=1, probes=MEASURED, every=1, out=out)
    largest = (out / "runs" / "000000.parquet").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest // 2, before[1]))
    try:
        with pytest.raises(ResultsError, match="File too large; make room"):
            experiment(psrs(log), make, runs=4, probes=MEASURED, every=1, out=out, backend="serial")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert files(out) == ["experiment.json", "runs", "runs/000000.json", "runs/000000.parquet"]
    assert len(load(out)) == 1


def test_a_mistake_that_is_found_before_anything_runs_does_not_reserve_the_folder(log, make, out):
    with pytest.raises(SettingError, match="max_steps"):
        experiment(model(log), make, runs=2, out=out)
    assert len(experiment(model(log), make, runs=2, max_steps=40, out=out)) == 2


def test_a_folder_that_was_made_but_not_yet_marked_is_taken(log, make, out):
    (out / "runs").mkdir(parents=True)  # killed there
    assert len(experiment(psrs(log), make, runs=1, out=out)) == 1


def test_numbers_of_numpy_are_written_as_numbers(log, make, out):
    options = {"runs": np.int64(1), "seed": np.int64(3), "max_steps": np.int64(20), "every": np.int32(5)}
    experiment(psrs(log), make, out=out, **options)
    experiment(psrs(log), make, out=out, runs=1, seed=3, max_steps=20, every=5)
    assert len(load(out)) == 1


def test_stops_come_back_with_all_they_tell(log, out):
    run = simulate(psrs(log), QLearning(18, 5), 0)
    words = {"place": "page=3", "example": "x=0.5", "label": "buy"}
    stop = Stop("unsupported", state=3, action=1, mass=0.25, counts={"steps": 12}, **words)
    folder = Folder(out, {})
    folder.reserve()
    folder.save(7, run.__class__(**{**vars(run), "stopped": stop}))
    assert folder.load(7).stopped == stop
    assert folder.numbers() == [7]
    assert 7 in folder.numbers()


def test_names_of_seven_digits_are_not_runs(kept, out):
    for name in ("1000000", "00000", "0000000", "00000\N{SUPERSCRIPT TWO}", "-00001", "+00001"):
        (out / "runs" / f"{name}.json").write_text("{}")
    assert Folder(out).numbers() == [0, 1, 2]


@pytest.mark.parametrize("name", ["experiment.json", "runs/000001.json", "runs/000001.parquet"])
def test_pipes_and_devices_in_place_of_files_are_refused_and_not_waited_for(kept, out, name):
    (out / name).unlink()
    os.mkfifo(out / name)
    with pytest.raises(ResultsError, match="it is not a plain file"):
        load(out)
    (out / name).unlink()
    os.symlink("/dev/zero", out / name)
    with pytest.raises(ResultsError, match="it is not a plain file"):
        load(out)


def test_a_forged_file_does_not_fill_the_terminal(kept, out):
    path = out / "runs/000001.json"
    summary = json.loads(path.read_text())
    del summary["digest"]
    for forged in ({"seed": "9" * 70_000}, {"stopped": summary["stopped"] | {"a" * 70_000: 1}}):
        path.write_text(json.dumps(seal(summary | forged)))
        with pytest.raises(ResultsError) as refused:
            load(out)
        assert len(str(refused.value)) < 1000


def test_what_killed_processes_left_is_removed_once_it_is_old(kept, out, log, make):
    old, new = out / "runs/.000007.parquet.0123456789abcdef", out / "runs/.000008.json.0123456789abcdef"
    other = out / "runs/.notes"
    for path in (old, new, other):
        path.write_text("half")
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    again = experiment(psrs(log), make, runs=1, probes=MEASURED, every=50, out=out)
    assert len(again) == 1
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)


def test_a_folder_that_tells_less_of_the_log_goes_on_as_what_it_is(out):
    """An earlier version did not say how the log's returns vary, and its runs hold a digest of what it said."""
    now = {"simulator": {"simulator": "psrs"}, "log": "abc", "log_returns": {"error": 0.1}, "digest": "d"}
    before = {name: value for name, value in now.items() if name != "log_returns"}
    earlier = Folder(out, before)
    earlier.reserve()
    one = Folder(out, now)
    assert one.identity != earlier.identity
    one.check()
    assert one.identity == earlier.identity
    with pytest.raises(ResultsError, match="another experiment: log"):
        Folder(out, now | {"log": "other"}).check()
