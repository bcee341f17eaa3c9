import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.cli import main

COLUMNS = [
    "--observation", "cell", "--action", "move", "--reward", "paid", "--terminated", "home", "--episode", "trip",
    "--propensity", "p0", "p1", "p2", "p3", "p4", "--next-observation", "cell_after",
]  # fmt: skip


@pytest.fixture(scope="module")
def log():
    return us.record(us.envs.Grid(slip=0.1), episodes=60, seed=3)


@pytest.fixture
def events(log, tmp_path):
    """The same log as a CSV with column names of its own."""
    frame = pd.DataFrame({"trip": log.episode, "cell": log.observation, "move": log.action, "paid": log.reward})
    frame["cell_after"], frame["home"] = log.next_observation, log.terminated
    for action in range(5):
        frame[f"p{action}"] = log.propensity[:, action]
    frame.to_csv(tmp_path / "events.csv", index=False)
    return tmp_path / "events.csv"


def test_the_demo_prints_a_table_and_writes_the_page(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["demo", "--runs", "2", "--report", str(page)]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("PSRS, latent states", "QBE", "any row", "real", "RMSE", "nothing found"))
    assert "<svg" in page.read_text()


def test_simulate_takes_any_column_names_and_goes_on_where_it_stopped(events, tmp_path, capsys):
    arguments = ["simulate", str(events), *COLUMNS, "--every", "200", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--simulator", "psrs", "qbe", "--runs", "3"]) == 0
    first = us.load(tmp_path / "out" / "psrs")
    assert main([*arguments, "--simulator", "psrs", "--runs", "5"]) == 0
    more = us.load(tmp_path / "out" / "psrs")
    assert [run.seed for run in more][:3] == [run.seed for run in first]
    assert len(more) == 5
    assert (tmp_path / "out" / "report.html").exists()
    assert "psrs" in capsys.readouterr().out


@pytest.fixture
def floats(tmp_path):
    us.write(us.record(us.envs.ContinuousGrid(), episodes=30, seed=0), tmp_path / "floats.parquet")
    return tmp_path / "floats.parquet"


def test_a_learned_encoder_is_audited_kept_and_not_fitted_again(floats, tmp_path, capsys, monkeypatch):
    arguments = ["simulate", str(floats), "--encoder", "kmeans", "--states", "20", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--runs", "2"]) == 0
    assert "KMeans(20, seed=0)" in capsys.readouterr().out
    kept = us.encoders.load(tmp_path / "out" / "encoder.npz")
    monkeypatch.delattr(us.encoders.KMeans, "fit")
    assert main([*arguments, "--runs", "3"]) == 0
    assert us.load(tmp_path / "out" / "psrs").about["n_states"] == kept.n_states == 20
    elsewhere = ["--encoder", str(tmp_path / "out" / "encoder.npz"), "--out", str(tmp_path / "other")]
    assert main(["simulate", str(floats), "--runs", "1", *elsewhere]) == 0


def test_an_encoder_that_is_neither_a_name_nor_a_file_is_refused(floats, tmp_path, capsys):
    assert main(["simulate", str(floats), "--encoder", "fourier", "--out", str(tmp_path / "out")]) == 2
    assert "there is no encoder 'fourier'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_ppo_needs_no_table(floats, tmp_path, capsys):
    arguments = ["simulate", str(floats), "--encoder", "boxes", "--learner", "ppo", "--epoch-steps", "200"]
    assert main([*arguments, "--runs", "2", "--workers", "1", "--out", str(tmp_path / "out")]) == 0
    runs = us.load(tmp_path / "out" / "psrs")
    assert runs.about["learner"]["class"] == "PPO"
    assert min(runs.lengths) > 200


def test_simulate_on_floats_cuts_them_into_boxes(tmp_path, capsys):
    log = us.record(us.envs.ContinuousGrid(), episodes=30, seed=0)
    us.write(log, tmp_path / "floats.parquet")
    arguments = ["simulate", str(tmp_path / "floats.parquet"), "--runs", "2", "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    assert "--encoder boxes" in capsys.readouterr().err
    assert main([*arguments, "--encoder", "boxes", "--bins", "5"]) == 0


def test_without_propensities_simulate_uses_qbe(events, tmp_path, capsys):
    frame = pd.read_csv(events).drop(columns=[f"p{action}" for action in range(5)])
    frame.to_csv(tmp_path / "bare.csv", index=False)
    columns = [argument for argument in COLUMNS if argument not in ("--propensity", "p0", "p1", "p2", "p3", "p4")]
    arguments = ["simulate", str(tmp_path / "bare.csv"), *columns, "--runs", "2", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert (tmp_path / "out" / "qbe" / "experiment.json").exists()
    assert main([*arguments, "--simulator", "psrs"]) == 2
    assert "qbe" in capsys.readouterr().err


@pytest.mark.parametrize("learner", ["q-learning", "expected-sarsa", "uniform"])
def test_every_learner_can_be_named(events, tmp_path, learner):
    arguments = ["simulate", str(events), *COLUMNS, "--runs", "2", "--learner", learner, "--out", str(tmp_path / "out")]
    assert main(arguments) == 0


def test_check_prints_findings_or_json_and_tells_errors_by_its_exit_code(events, tmp_path, capsys):
    assert main(["check", str(events), *COLUMNS, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True
    frame = pd.read_csv(events)
    frame.loc[7, "paid"] = np.nan
    frame.to_csv(tmp_path / "bad.csv", index=False)
    assert main(["check", str(tmp_path / "bad.csv"), *COLUMNS]) == 1
    assert "row 7" in capsys.readouterr().out


def test_report_draws_the_page_of_a_results_folder(events, tmp_path, capsys):
    out = tmp_path / "out"
    main(["simulate", str(events), *COLUMNS, "--runs", "2", "--out", str(out)])
    (out / "report.html").unlink()
    assert main(["report", str(out)]) == 0
    assert (out / "report.html").exists()
    assert main(["report", str(out / "psrs"), "--report", str(tmp_path / "one.html")]) == 0
    assert (tmp_path / "one.html").exists()
    assert main(["report", str(tmp_path)]) == 2
    assert "experiment.json" in capsys.readouterr().err


def refused(capsys, *arguments):
    """What a command says on standard error when it ends with exit code 2 and in one line."""
    assert main([str(argument) for argument in arguments]) == 2
    message = capsys.readouterr().err.strip()
    assert message.startswith("understudy: ")
    assert "\n" not in message
    return message


def test_files_that_are_none_are_named(log, tmp_path, capsys):
    us.write(log, tmp_path / "log.parquet")
    whole = (tmp_path / "log.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.csv").write_text("")
    for name in ("cut.parquet", "empty.csv", "missing.parquet", "."):
        for command in ("check", "simulate"):
            assert name in refused(capsys, command, tmp_path / name) or name == "."


def test_a_column_that_is_not_there_is_named_with_those_that_are(events, capsys):
    assert "mvoe" in refused(capsys, "simulate", events, "--action", "mvoe", "--observation", "cell")


def test_a_log_that_simulators_refuse_ends_in_one_sentence(events, tmp_path, capsys):
    frame = pd.read_csv(events)
    frame["p0"] = 0.9
    frame.to_csv(tmp_path / "bad.csv", index=False)
    message = refused(capsys, "simulate", tmp_path / "bad.csv", *COLUMNS, "--out", tmp_path / "out")
    assert "propensity" in message
    assert not (tmp_path / "out" / "psrs").exists()


def test_a_folder_of_another_log_is_refused(events, tmp_path, capsys):
    arguments = [*COLUMNS, "--runs", "2", "--out", str(tmp_path / "out")]
    assert main(["simulate", str(events), *arguments]) == 0
    other = tmp_path / "other.csv"
    pd.read_csv(events).iloc[:-200].to_csv(other, index=False)
    assert "log is" in refused(capsys, "simulate", other, *arguments)
    assert "epsilon is 0.1 there and 0.7 here" in refused(capsys, "simulate", events, *arguments, "--epsilon", "0.7")


def test_simulators_of_one_folder_are_of_one_learner(events, tmp_path, capsys):
    arguments = ["simulate", events, *COLUMNS, "--runs", "2", "--out", tmp_path / "out"]
    assert main([str(argument) for argument in arguments]) == 0
    assert "epsilon" in refused(capsys, *arguments, "--simulator", "qbe", "--epsilon", "0.3")
    assert main([str(argument) for argument in [*arguments, "--simulator", "qbe"]]) == 0


def test_short_logs_are_read_often_enough_for_a_curve(events, tmp_path):
    main(["simulate", str(events), *COLUMNS, "--runs", "2", "--out", str(tmp_path / "out")])
    assert all(len(run.steps) > 20 for run in us.load(tmp_path / "out" / "psrs"))


def test_observations_of_several_whole_numbers_need_no_boxes(log, tmp_path):
    pairs = np.column_stack([log.observation % 5, log.observation // 5])
    following = np.column_stack([log.next_observation % 5, log.next_observation // 5])
    columns = {name: getattr(log, name) for name in ("action", "reward", "terminated", "episode", "propensity")}
    us.write(us.Log.from_columns(observation=pairs, next_observation=following, **columns), tmp_path / "pairs.parquet")
    arguments = ["simulate", str(tmp_path / "pairs.parquet"), "--runs", "2", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert us.load(tmp_path / "out" / "psrs").about["learner"]["n_observations"] == 25


def test_folders_are_compared_on_one_page_and_one_alone_keeps_its_title_and_audit(events, tmp_path):
    for epsilon in ("0.1", "0.5"):
        arguments = ["simulate", str(events), *COLUMNS, "--runs", "2", "--epsilon", epsilon]
        assert main([*arguments, "--out", str(tmp_path / f"eps{epsilon}")]) == 0
    page = tmp_path / "both.html"
    assert main(["report", str(tmp_path / "eps0.1"), str(tmp_path / "eps0.5"), "--report", str(page)]) == 0
    assert "eps0.1/psrs" in page.read_text()
    assert main(["report", str(tmp_path / "eps0.1")]) == 0
    text = (tmp_path / "eps0.1" / "report.html").read_text()
    assert "q-learning rehearsed on events.csv" in text
    assert "8,135 rows, 60 episodes" in text


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="needs a folder that nobody can write to")
def test_a_page_that_cannot_be_written_is_named(events, tmp_path, capsys):
    main(["simulate", str(events), *COLUMNS, "--runs", "2", "--out", str(tmp_path / "out")])
    capsys.readouterr()
    assert "/proc/none" in refused(capsys, "report", tmp_path / "out", "--report", "/proc/none/page.html")
    assert "/proc/none" in refused(capsys, "simulate", events, *COLUMNS, "--out", "/proc/none/out")


def test_a_model_without_max_steps_is_asked_for_it(events, tmp_path, capsys):
    arguments = [*COLUMNS, "--runs", "2", "--simulator", "model", "--out", str(tmp_path / "out")]
    assert "--max-steps" in refused(capsys, "simulate", events, *arguments)
    assert main(["simulate", str(events), *arguments, "--max-steps", "500"]) == 0


@pytest.mark.parametrize("flag", [("--epsilon", "2"), ("--runs", "0"), ("--simulator", "magic"), ("--every", "x")])
def test_options_out_of_range_are_refused(events, flag, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["simulate", str(events), *COLUMNS, *flag])
    assert stop.value.code == 2
    assert flag[0] in capsys.readouterr().err


def test_the_command_is_installed_and_imports_little():
    code = "import sys, understudy.cli; sys.exit('pyarrow' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture(scope="module")
def rehearsed(log, tmp_path_factory):
    """The arguments of a rehearsal, and its folder, for all to copy."""
    folder = tmp_path_factory.mktemp("rehearsed")
    us.write(log, folder / "log.parquet")
    arguments = ["simulate", str(folder / "log.parquet"), "--runs", "2", "--out", str(folder / "out")]
    assert main(arguments) == 0
    return arguments, folder / "out"


@pytest.fixture
def results(rehearsed, tmp_path):
    """The same in a folder of one's own."""
    shutil.copytree(rehearsed[1], tmp_path / "out")
    return [*rehearsed[0][:-1], str(tmp_path / "out")], tmp_path / "out"


@pytest.mark.parametrize("path", ["nul\0byte", "x" * 300, "a/" * 3000, "/proc/1/mem/x", "/dev/null/x"])
def test_paths_that_are_none_end_in_one_sentence(path, results, capsys):
    arguments, out = results
    refused(capsys, "report", path)
    refused(capsys, "report", out, "--report", path)
    refused(capsys, *arguments[:-1], path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"title": 3}', b"\xff", b"[" * 100_000, b"null"])
def test_a_damaged_rehearsal_is_refused_not_overwritten(content, results, capsys):
    arguments, out = results
    (out / "rehearsal.json").write_bytes(content)
    assert "rehearsal.json" in refused(capsys, *arguments)
    assert "rehearsal.json" in refused(capsys, "report", out)
    assert (out / "rehearsal.json").read_bytes() == content


@pytest.mark.parametrize("name", ["experiment.json", "runs/000001.json", "runs/000001.parquet"])
def test_damaged_results_are_named(name, results, capsys):
    arguments, out = results
    path = out / "psrs" / name
    path.write_bytes(path.read_bytes()[:-20])
    for command in (arguments, ["report", out]):
        assert name in refused(capsys, *command)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "x"])
def test_values_to_start_from_are_finite(value, events, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["simulate", str(events), *COLUMNS, f"--initial={value}"])
    assert ended.value.code == 2
    assert "--initial" in capsys.readouterr().err


def test_a_rehearsal_without_rows_is_as_long_and_has_a_page(results, tmp_path):
    arguments, out = results
    assert main([*arguments[:-1], str(tmp_path / "bare"), "--no-rows"]) == 0
    bare, whole = us.load(tmp_path / "bare" / "psrs"), us.load(out / "psrs")
    assert bare.lengths.tolist() == whole.lengths.tolist()
    assert not any(run.has_rows for run in bare)
    assert main(["report", str(tmp_path / "bare")]) == 0


def test_seeds_of_too_many_bits_end_in_one_sentence(events, tmp_path, capsys):
    told = refused(capsys, "simulate", events, *COLUMNS, "--seed", str(2**200), "--out", tmp_path / "out")
    assert "more than 127 bits" in told
