import json
import os
import re
import shutil
import subprocess
import sys

import gymnasium
import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.cli import main
from understudy.cli.words import as_flags, in_flags

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
    arguments.append("--anyway")
    assert main([*arguments, "--runs", "2"]) == 0
    assert "KMeans(20, seed=0)" in capsys.readouterr().out
    kept = us.encoders.load(tmp_path / "out" / "encoder.npz")
    monkeypatch.delattr(us.encoders.KMeans, "fit")
    assert main([*arguments, "--runs", "3"]) == 0
    assert us.load(tmp_path / "out" / "psrs").about.n_states == kept.n_states == 20
    elsewhere = ["--encoder", str(tmp_path / "out" / "encoder.npz"), "--out", str(tmp_path / "other")]
    assert main(["simulate", str(floats), "--runs", "1", "--anyway", *elsewhere]) == 0


def test_an_encoder_of_a_file_is_remembered_by_what_is_in_it(floats, tmp_path, capsys):
    path, arguments = tmp_path / "boxes.npz", ["simulate", str(floats), "--anyway", "--out", str(tmp_path / "out")]
    arguments += ["--encoder", str(path)]
    for bins, runs, code in ((2, "1", 0), (2, "2", 0), (3, "2", 2)):
        us.encoders.Boxes(bins=bins).fit(us.read(floats)).save(path)
        capsys.readouterr()
        assert main([*arguments, "--runs", runs]) == code
    told = capsys.readouterr().err
    assert "holds another rehearsal: encoder_content is" in told
    assert len(told.splitlines()) == 1


def test_a_uniform_learner_goes_on_with_more_runs(floats, tmp_path):
    arguments = ["simulate", str(floats), "--learner", "uniform", "--anyway", "--out", str(tmp_path / "out")]
    for runs in ("1", "2"):
        assert main([*arguments, "--runs", runs]) == 0
    assert len(us.load(tmp_path / "out" / "psrs")) == 2


def test_an_encoder_that_is_neither_a_name_nor_a_file_is_refused(floats, tmp_path, capsys):
    assert main(["simulate", str(floats), "--encoder", "fourier", "--out", str(tmp_path / "out")]) == 2
    assert "there is no encoder 'fourier'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_ppo_needs_no_table(floats, tmp_path, capsys):
    arguments = ["simulate", str(floats), "--encoder", "boxes", "--learner", "ppo", "--epoch-steps", "200"]
    assert main([*arguments, "--runs", "2", "--workers", "1", "--anyway", "--out", str(tmp_path / "out")]) == 0
    runs = us.load(tmp_path / "out" / "psrs")
    assert runs.about.learner["class"] == "PPO"
    assert min(runs.lengths) > 200


def test_simulate_on_floats_cuts_them_into_boxes(tmp_path, capsys):
    log = us.record(us.envs.ContinuousGrid(), episodes=30, seed=0)
    us.write(log, tmp_path / "floats.parquet")
    arguments = ["simulate", str(tmp_path / "floats.parquet"), "--runs", "2", "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    assert "--encoder boxes" in capsys.readouterr().err
    assert main([*arguments, "--encoder", "boxes", "--bins", "5", "--anyway"]) == 0


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
    assert us.load(tmp_path / "out" / "psrs").about.learner["n_observations"] == 25


def test_folders_are_compared_on_one_page_and_one_alone_keeps_its_title_and_audit(events, tmp_path):
    for epsilon in ("0.1", "0.5"):
        arguments = ["simulate", str(events), *COLUMNS, "--runs", "2", "--epsilon", epsilon]
        assert main([*arguments, "--out", str(tmp_path / f"eps{epsilon}")]) == 0
    page = tmp_path / "both.html"
    assert main(["report", str(tmp_path / "eps0.1"), str(tmp_path / "eps0.5"), "--report", str(page)]) == 0
    assert "“eps0.1”" in page.read_text()
    assert "“eps0.5”" in page.read_text()
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


def test_readings_are_as_frequent_as_runs_are_short(log, tmp_path, capsys):
    """A rare state ends runs after a few of thousands of rows: readings a share of the log apart would draw nothing."""
    rare = us.Log.from_columns(
        observation=np.where(np.arange(len(log)) < 20, 99, log.observation), action=log.action, reward=log.reward,
        next_observation=log.next_observation, terminated=log.terminated, propensity=log.propensity,
    )  # fmt: skip
    us.write(rare, tmp_path / "rare.parquet")
    for name, arguments in {"rare": [], "asked": ["--every", "7"]}.items():
        out = tmp_path / name
        assert main(["simulate", str(tmp_path / "rare.parquet"), "--runs", "5", *arguments, "--out", str(out)]) == 0
    runs = us.load(tmp_path / "rare" / "psrs")
    assert runs.about.every <= max(1, runs.lengths.max() / 50)
    assert max(len(run.steps) for run in runs) >= min(20, runs.lengths.max())
    assert "has no curve" not in (tmp_path / "rare" / "report.html").read_text()
    assert us.load(tmp_path / "asked" / "psrs").about.every == 7


def test_folders_of_the_same_name_are_told_apart_and_one_given_twice_is_one(events, tmp_path, capsys):
    for year, epsilon in (("2021", "0.1"), ("2022", "0.5")):
        arguments = ["simulate", str(events), *COLUMNS, "--runs", "2", "--epsilon", epsilon]
        assert main([*arguments, "--out", str(tmp_path / year / "out")]) == 0
    capsys.readouterr()
    folders = [str(tmp_path / year / "out") for year in ("2021", "2022", "2021")]
    assert main(["report", *folders, "--report", str(tmp_path / "both.html")]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines() if line.strip().startswith("20")] == ["2021", "2022"]
    assert "earn" in printed.split("log's own episodes")[1]
    assert "earn" in (tmp_path / "both.html").read_text().split('class="lead">')[1].split(".")[0]


@pytest.mark.parametrize("flag", ["--max-episode-steps", "--max-steps", "--every"])
@pytest.mark.parametrize("number", ["0", str(2**63), "9" * 400])
def test_a_number_of_steps_that_cannot_be_counted_to_is_refused_in_a_sentence(events, tmp_path, capsys, flag, number):
    with pytest.raises(SystemExit) as caught:
        main(["simulate", str(events), *COLUMNS, "--out", str(tmp_path / "out"), flag, number])
    assert caught.value.code == 2
    assert f"error: argument {flag}: {number} is " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_largest_number_of_steps_is_taken(events, tmp_path):
    flags = ["--max-episode-steps", "--max-steps", "--every"]
    most = [word for flag in flags for word in (flag, str(2**63 - 1))]
    assert main(["simulate", str(events), *COLUMNS, "--out", str(tmp_path / "out"), "--runs", "2", *most]) == 0


def test_what_ran_out_is_told_in_the_words_of_the_file(tmp_path, capsys):
    rng, n = np.random.default_rng(0), 60
    frame = pd.DataFrame(
        {"page": rng.integers(0, 2, n), "arm": rng.choice(["<wait>", "buy"], n), "paid": 1.0, "p0": 0.5}
    )
    frame["p1"], frame["end"] = 0.5, True
    frame.to_csv(tmp_path / "visits.csv", index=False)
    flags = ["--observation", "page", "--action", "arm", "--reward", "paid", "--terminated", "end", "--runs", "5"]
    flags += ["--propensity", "p0", "p1"]
    out = tmp_path / "out"
    arguments = [str(tmp_path / "visits.csv"), *flags, "--simulator", "qbe", "--out", str(out)]
    assert main(["simulate", *arguments, "--actions", "<wait>", "buy"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(r"page=[01], action (<wait>|buy) \(", printed)
    stop = us.load(out / "qbe")[0].stopped
    assert re.fullmatch(r"page=[01] has no row left with action (<wait>|buy)", stop.reason)
    assert str(stop) in str(us.load(out / "qbe")[0])
    assert main(["report", str(out), "--report", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert re.search(r"page=[01], action (&lt;wait&gt;|buy) \(", page)
    assert "<wait>" not in page


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory):
    """A log of CartPole, whose observations lead on each in its own way."""
    path = tmp_path_factory.mktemp("cartpole") / "cartpole.parquet"
    us.write(us.record(gymnasium.make("CartPole-v1"), episodes=300, seed=0), path)
    return path


def test_simulate_stops_where_most_rows_are_in_suspicious_states_and_writes_nothing(cartpole, tmp_path, capsys):
    for encoder in (("boxes",), ("kmeans", "--states", "20")):
        message = refused(capsys, "simulate", cartpole, "--encoder", *encoder, "--out", tmp_path / "out")
        assert re.search(r"states tested are suspicious, with \d+\.\d% of the rows", message)
        assert "--anyway" in message
        assert "try another encoder, whose states are tested like these" in message
        assert not (tmp_path / "out").exists()


def test_with_anyway_the_page_begins_with_the_warning_and_so_does_one_drawn_later(cartpole, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["simulate", str(cartpole), "--encoder", "boxes", "--out", str(out), "--runs", "2"]
    assert main([*arguments, "--anyway"]) == 0
    first = (out / "report.html").read_text()
    assert first.index("Do not trust these curves") < first.index('class="lead"')
    (out / "report.html").unlink()
    assert main(["report", str(out)]) == 0
    assert "Do not trust these curves" in (out / "report.html").read_text()
    assert main(["report", str(out / "psrs"), "--report", str(tmp_path / "one.html")]) == 0
    assert "Do not trust these curves" in (tmp_path / "one.html").read_text()
    (tmp_path / "states.json").write_text("a file of someone else's, beside the folder")
    assert main(["report", str(out)]) == 0
    capsys.readouterr()
    assert "--anyway" in refused(capsys, *arguments)  # asked for each time


def test_baselines_that_know_no_states_need_none_that_will_do(cartpole, tmp_path):
    arguments = ["simulate", str(cartpole), "--encoder", "boxes", "--runs", "2", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--simulator", "any_row", "actions_only"]) == 0


def test_without_an_encoder_the_page_says_what_states_are(events, tmp_path):
    assert main(["simulate", str(events), *COLUMNS, "--runs", "2", "--out", str(tmp_path / "out")]) == 0
    assert "States are the 24 distinct observations" in (tmp_path / "out" / "report.html").read_text()


def test_what_was_found_of_states_is_not_made_again_and_a_damaged_file_is_said(cartpole, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    arguments = ["simulate", str(cartpole), "--encoder", "boxes", "--out", str(out), "--anyway"]
    assert main([*arguments, "--runs", "1"]) == 0
    kept = (out / "states.json").read_bytes()
    for content in (b"", b"{}", b"[" * 10**5, kept[: len(kept) // 2], kept.replace(b"false", b"5"), b"\xff"):
        (out / "states.json").write_bytes(content)
        capsys.readouterr()
        assert "states.json cannot be read, or is not an audit of states; remove it" in refused(capsys, "report", out)
    assert main([*arguments, "--runs", "1"]) == 0
    assert (out / "states.json").read_bytes() == kept
    monkeypatch.delattr(us.encoders.Boxes, "audit")
    assert main([*arguments, "--runs", "2"]) == 0


def test_folders_of_one_kind_of_states_have_one_box_and_others_one_each(cartpole, tmp_path):
    for name, options in {"a": (), "b": ("--epsilon", "0.5"), "c": ("--bins", "3")}.items():
        arguments = ["simulate", str(cartpole), "--encoder", "boxes", "--anyway", "--runs", "1", *options]
        assert main([*arguments, "--out", str(tmp_path / name)]) == 0
    page = tmp_path / "page.html"
    for names, boxes in ((("a", "b"), 1), (("a", "b", "c"), 2)):
        assert main(["report", *(str(tmp_path / name) for name in names), "--report", str(page)]) == 0
        assert page.read_text().count('class="states ') == boxes


def test_no_advice_is_given_that_the_audit_would_find_suspicious(cartpole, tmp_path, capsys):
    message = refused(capsys, "simulate", cartpole, "--out", tmp_path / "out")
    assert "simulate tests the states first, and stops where they will not do" in message
    assert main(["check", str(cartpole)]) == 0
    assert "merge them with --encoder NAME, whose states are tested before the first run" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["", "x" * 5000, "nul\0", ".", "\ud800"])
def test_an_encoder_at_a_path_that_cannot_be_is_said(floats, tmp_path, capsys, path):
    message = refused(capsys, "simulate", floats, "--encoder", path, "--out", tmp_path / "out")
    assert "file that" in message
    assert not (tmp_path / "out").exists()


BANDIT = "page,arm,paid,p,q,visit,ts,shop\n" + "".join(
    f"{row % 3},{'true' if row % 2 else 'false'},{row % 2},{0.3 + 0.1 * (row % 2)},{0.7 - 0.1 * (row % 2)},"
    f"{10**19 + row},{row},{'north' if row % 4 else 'south'}\n"
    for row in range(40)
)
BARE = ["--observation", "page", "--action", "arm", "--reward", "paid"]


@pytest.fixture
def bandit(tmp_path):
    """A CSV of decisions by themselves: no column tells of episodes, and ids are beyond int64."""
    (tmp_path / "bandit.csv").write_text(BANDIT)
    return tmp_path / "bandit.csv"


def test_every_row_can_be_an_episode(bandit, tmp_path, capsys):
    assert main(["check", str(bandit), *BARE, "--ends", "every-row"]) == 0
    assert capsys.readouterr().out.startswith("40 rows, 40 episodes, 2 actions")
    arguments = ["simulate", str(bandit), *BARE, "--ends", "every-row", "--runs", "2", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0


def test_rows_without_episodes_are_warned_of_in_the_words_of_the_command_line(bandit, capsys):
    assert main(["check", str(bandit), *BARE]) == 0
    said = capsys.readouterr().out
    assert "warning: no-episode: " in said
    assert "say --ends every-row" in said
    assert "with --episode and --terminated" in said
    assert main(["check", str(bandit), *BARE, "--json"]) == 0
    assert "say --ends every-row" in capsys.readouterr().out


def test_episodes_without_ends_are_asked_about_in_the_words_of_the_command_line(bandit, capsys):
    message = refused(capsys, "check", bandit, *BARE, "--episode", "visit")
    assert "every episode has one row" in message
    assert "say --ends every-row" in message
    message = refused(capsys, "check", bandit, *BARE, "--episode", "shop")
    for choice in ("terminated", "truncated", "unfinished"):
        assert f"--ends {choice} " in message
    assert "=" not in message
    assert main(["check", str(bandit), *BARE, "--episode", "visit", "--ends", "terminated"]) == 0
    assert capsys.readouterr().out.startswith("40 rows, 40 episodes")


def test_labels_of_truth_values_go_with_their_propensities(bandit, capsys):
    arguments = [*BARE, "--ends", "every-row", "--actions", "true", "false", "--propensity", "p", "q", "--json"]
    assert main(["check", str(bandit), *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["n_actions"] == 2
    assert "give --actions every label" in refused(capsys, "check", bandit, *BARE, "--actions", "yes", "no")


def test_text_is_advised_upon_without_python(bandit, capsys):
    for names in (["shop"], ["page", "shop"]):
        message = refused(capsys, "check", bandit, "--observation", *names, "--action", "arm", "--reward", "paid")
        assert "holds text ('south' in row 0); add a column to the file" in message
        assert "astype" not in message


def test_the_number_of_actions_can_be_told(bandit, capsys):
    columns = ["--observation", "page", "--action", "page", "--reward", "paid"]
    assert main(["check", str(bandit), *columns, "--n-actions", "7"]) == 0
    assert "4 of 7 actions were never taken" in capsys.readouterr().out
    assert "is the most" in refused(capsys, "check", bandit, *columns, "--n-actions", 2**40)


@pytest.mark.parametrize("command", ["check", "simulate"])
@pytest.mark.parametrize(
    "path", ["a\0b.csv", "x" * 5000 + ".csv", "y/" * 3000 + "z.csv", "\ud800.csv", "\x1b[31m.csv"], ids=ascii
)
def test_paths_that_cannot_be_end_in_one_sentence(command, path, capsys):
    message = refused(capsys, command, path)
    assert message.isprintable()
    assert len(message) < 600


def test_escape_bytes_of_a_file_do_not_reach_the_terminal(tmp_path, capsys):
    red = "\x1b[31mred\x1b]0;title\x07"
    path = tmp_path / "log.parquet"
    columns = {"observation": np.arange(40) % 2, "reward": np.zeros(40), "terminated": [True] * 40}
    log = us.Log.from_columns(**columns, action=[red, "b"] * 20, actions=[red, "b", f"{red}\n  error: forged"])
    us.write(log, path)
    frame = pd.DataFrame({red: [0, 1], "action": [0, 1], "reward": [0, 1]})
    frame.to_csv(tmp_path / "names.csv", index=False)
    assert main(["check", str(path)]) == 0
    assert main(["simulate", str(path), "--runs", "2", "--out", str(tmp_path / "out\x1b[2J")]) == 0
    assert main(["report", str(tmp_path / "out\x1b[2J"), "--report", str(tmp_path / "page\x1b.html")]) == 0
    assert main(["check", str(tmp_path / "names.csv")]) == 2
    captured = capsys.readouterr()
    assert "\\x1b[31mred" in captured.out
    assert "\\x1b[31mred" in captured.err
    for said in (captured.out, captured.err):
        assert not {letter for letter in said if not letter.isprintable()} - {"\n"}
    assert "\n  error: forged" not in captured.out


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


def test_a_process_without_ends_is_told_by_its_steps(tmp_path, capsys):
    rng, n = np.random.default_rng(0), 3000
    frame = pd.DataFrame(
        {"stock": rng.integers(0, 3, n), "order": rng.integers(0, 2, n), "profit": rng.normal(1, 1, n)}
    )
    frame.to_csv(tmp_path / "inventory.csv", index=False)
    flags = ["--observation", "stock", "--action", "order", "--reward", "profit", "--ends", "unfinished", "--runs", "5"]
    for name, alpha in (("a", "0.5"), ("b", "0.05")):
        arguments = [
            "simulate",
            str(tmp_path / "inventory.csv"),
            *flags,
            "--alpha",
            alpha,
            "--out",
            str(tmp_path / name),
        ]
        assert main(arguments) == 0
    assert "The log itself earned" in capsys.readouterr().out
    runs = us.load(tmp_path / "a" / "qbe")
    assert runs[0].final["reward per step"] == pytest.approx(runs[0].partial / len(runs[0]))
    page = tmp_path / "both.html"
    assert main(["report", str(tmp_path / "a"), str(tmp_path / "b"), "--report", str(page)]) == 0
    assert "no episode of this log ends" in page.read_text()
    assert "a step earned: “" in page.read_text()


def test_a_comparison_keeps_the_pages_and_the_audits_of_its_folders(events, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    swapped = [*COLUMNS[: COLUMNS.index("p0")], "p1", "p0", *COLUMNS[COLUMNS.index("p1") + 1 :]]
    frame = pd.read_csv(events)
    frame["p0"], frame["p1"] = 0.05, 0.35
    frame.to_csv(tmp_path / "wrong.csv", index=False)
    assert main(["simulate", str(events), *COLUMNS, "--runs", "2", "--out", "right"]) == 0
    assert main(["simulate", "wrong.csv", *swapped, "--runs", "2", "--out", "wrong"]) == 0
    own = (tmp_path / "right" / "report.html").read_text()
    assert "The audit of the log found: action" in (tmp_path / "wrong" / "report.html").read_text()
    assert "The audit of the log found" not in own
    assert main(["report", "right", "wrong"]) == 0
    assert (tmp_path / "right" / "report.html").read_text() == own
    both = (tmp_path / "comparison.html").read_text()
    assert "The audit of the log found: wrong: action" in both
    assert "2 sets of runs compared: right, wrong</h1>" in both


def test_a_log_with_a_path_that_is_not_utf8_is_checked(tmp_path, capsys):
    path = os.fsencode(tmp_path) + b"/b\xff.csv"
    try:
        with open(path, "wb") as file:
            file.write(b"observation,action,reward,terminated\n0,left,1,true\n")
    except OSError:
        pytest.skip("the file system takes no such name")
    assert main(["check", os.fsdecode(path)]) == 0
    assert refused(capsys, "check", os.fsdecode(path), "--reward", "gain").isascii()


def test_a_terminal_without_the_letters_of_a_log_gets_escapes(tmp_path):
    (tmp_path / "log.csv").write_text("observation,action,reward,terminated\n0,1,1,true\n", encoding="utf-8")
    (tmp_path / "bad.csv").write_text("é,action,reward\n0,1,1\n", encoding="utf-8")
    command = [
        sys.executable,
        "-c",
        "import sys; from understudy.cli import main; sys.exit(main(sys.argv[1:]))",
        "check",
    ]
    for name, code in (("log.csv", 0), ("bad.csv", 2)):
        run = subprocess.run(
            [*command, name],
            cwd=tmp_path,
            env=os.environ | {"PYTHONIOENCODING": "ascii"},
            capture_output=True,
            check=False,
        )
        assert (run.returncode, b"Traceback" in run.stderr) == (code, False)
    assert b"\\xe9" in run.stderr


def test_advice_on_actions_and_states_is_in_the_words_of_the_command_line():
    assert as_flags('say actions=["0", "5", "b c"], in order') == "say --actions 0 5 'b c', in order"
    for name in ("runs", "seed", "every", "workers", "order_by", "max_steps"):
        assert as_flags(f"say {name}= and {name}=.") == "say --{0} and --{0}.".format(name.replace("_", "-"))
    floats = np.random.default_rng(0).random(200)
    audit = us.check({"observation": floats, "action": [0] * 200, "reward": [0.0] * 200, "ends": "every-row"})
    sentence = next(finding.sentence for finding in in_flags(audit).findings if finding.rule == "distinct-observations")
    assert "encoder.audit" not in sentence
    assert "--encoder" in sentence
