import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.cli import main

BARE = ["--observation", "page", "--action", "arm", "--reward", "paid"]


def test_the_demo_prints_a_table_and_writes_the_page(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["demo", "--runs", "2", "--report", str(page)]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("PSRS, latent states", "QBE", "any row", "real", "RMSE", "nothing found"))
    assert "<svg" in page.read_text()


def test_check_prints_findings_or_json_and_tells_errors_by_its_exit_code(events, tmp_path, capsys, columns):
    assert main(["check", str(events), *columns, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accepted"] is True
    frame = pd.read_csv(events)
    frame.loc[7, "paid"] = np.nan
    frame.to_csv(tmp_path / "bad.csv", index=False)
    assert main(["check", str(tmp_path / "bad.csv"), *columns]) == 1
    assert "row 7" in capsys.readouterr().out


def test_files_that_are_none_are_named(log, tmp_path, refused):
    us.write(log, tmp_path / "log.parquet")
    whole = (tmp_path / "log.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.csv").write_text("")
    for name in ("cut.parquet", "empty.csv", "missing.parquet", "."):
        for command in ("check", "simulate"):
            assert name in refused(command, tmp_path / name) or name == "."


def test_a_column_that_is_not_there_is_named_with_those_that_are(events, refused):
    assert "mvoe" in refused("simulate", events, "--action", "mvoe", "--observation", "cell")


def test_the_command_is_installed_and_imports_little():
    """Neither help nor a bad flag needs what takes seconds to import."""
    slow = {"numba", "scipy", "pyarrow", "matplotlib", "rich"}
    for flags in (["--help"], ["simulate", "--help"], ["simulate", "log.csv", "--learner", "ucb"]):
        code = f"import sys; from understudy.cli import main\ntry:\n main({flags})\nexcept SystemExit: pass\n"
        code += f"sys.exit(bool({slow} & set(sys.modules)))"
        found = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
        assert found.returncode == 0


def test_every_row_can_be_an_episode(bandit, tmp_path, capsys):
    assert main(["check", str(bandit), *BARE, "--ends", "every-row"]) == 0
    assert capsys.readouterr().out.startswith("40 rows, 40 episodes, 2 actions")
    arguments = ["simulate", str(bandit), *BARE, "--ends", "every-row", "--runs", "2", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    for run in us.load(tmp_path / "out" / "qbe"):
        assert len(run.returns) == len(run) > 0


def test_rows_without_episodes_are_warned_of_in_the_words_of_the_command_line(bandit, capsys):
    assert main(["check", str(bandit), *BARE]) == 0
    said = capsys.readouterr().out
    assert "warning: no-episode: " in said
    assert "if each row is a decision by itself, give --bandit; if" in said.split("warning: ")[1]  # the first of them
    assert "with --episode and --terminated" in said
    assert main(["check", str(bandit), *BARE, "--json"]) == 0
    assert "give --bandit" in capsys.readouterr().out


def test_episodes_without_ends_are_asked_about_in_the_words_of_the_command_line(bandit, capsys, refused):
    message = refused("check", bandit, *BARE, "--episode", "visit")
    assert "every episode has one row" in message
    assert "after which nothing follows, give --bandit; or name the column" in message
    message = refused("check", bandit, *BARE, "--episode", "shop")
    for choice in ("terminated", "truncated", "unfinished"):
        assert f"--ends {choice} " in message
    assert "=" not in message
    assert main(["check", str(bandit), *BARE, "--episode", "visit", "--ends", "terminated"]) == 0
    assert capsys.readouterr().out.startswith("40 rows, 40 episodes")


def test_labels_of_truth_values_go_with_their_propensities(bandit, capsys, refused):
    arguments = [*BARE, "--ends", "every-row", "--actions", "true", "false", "--propensity", "p", "q", "--json"]
    assert main(["check", str(bandit), *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["n_actions"] == 2
    assert "give --actions every label" in refused("check", bandit, *BARE, "--actions", "yes", "no")


def test_rules_of_text_are_told_in_flags(tmp_path, refused):
    path = tmp_path / "log.csv"
    path.write_text("id,age,arm,paid\n" + "".join(f"visit {at},{at if at else 'old'},a,1\n" for at in range(120)))
    columns = ["--action", "arm", "--reward", "paid", "--ends", "every-row"]
    message = refused("check", path, "--observation", "id", *columns)
    assert "120 distinct texts in 120 rows" in message
    assert "or give --categories id to code it all the same" in message
    assert main(["check", str(path), "--observation", "id", *columns, "--categories", "id"]) == 0
    message = refused("check", path, "--observation", "age", *columns)
    assert "observation column age is 'old' in row 0; " in message
    assert "--categories" in message
    assert "--categories names arm, and observations are age" in refused(
        "check", path, "--observation", "age", *columns, "--categories", "arm"
    )


def test_the_number_of_actions_can_be_told(bandit, capsys, refused):
    columns = ["--observation", "shop", "--action", "page", "--reward", "paid"]
    assert main(["check", str(bandit), *columns, "--n-actions", "7"]) == 0
    assert "4 of 7 actions were never taken" in capsys.readouterr().out
    assert "is the most" in refused("check", bandit, *columns, "--n-actions", 2**40)


@pytest.mark.parametrize("command", ["check", "simulate"])
@pytest.mark.parametrize(
    "path", ["a\0b.csv", "x" * 5000 + ".csv", "y/" * 3000 + "z.csv", "\ud800.csv", "\x1b[31m.csv"], ids=ascii
)
def test_paths_that_cannot_be_end_in_one_sentence(command, path, refused):
    message = refused(command, path)
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


def test_a_log_with_a_path_that_is_not_utf8_is_checked(tmp_path, refused):
    path = os.fsencode(tmp_path) + b"/b\xff.csv"
    try:
        with open(path, "wb") as file:
            file.write(b"observation,action,reward,terminated\n0,left,1,true\n")
    except OSError:
        pytest.skip("the file system takes no such name")
    assert main(["check", os.fsdecode(path)]) == 0
    assert refused("check", os.fsdecode(path), "--reward", "gain").isascii()


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


def test_check_says_1_of_a_log_that_must_not_be_believed_and_qbe_still_takes_it(events, tmp_path, capsys, columns):
    frame = pd.read_csv(events)
    wrong = [0.3, 0.175, 0.175, 0.175, 0.175]
    frame[[f"p{action}" for action in range(5)]] = wrong
    frame.to_csv(tmp_path / "wrong.csv", index=False)
    assert main(["check", str(tmp_path / "wrong.csv"), *columns]) == 1
    printed = capsys.readouterr().out
    assert "verdict: do not believe what is simulated on this log: propensity-frequency" in printed
    assert "What was tested" in printed
    assert main(["check", str(tmp_path / "wrong.csv"), *columns, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["accepted"], found["believable"]) == (True, False)
    assert "ok" not in found
    assert found["rates"]["all tests"] == 1e-3
    us.qbe(us.read(tmp_path / "wrong.csv", observation="cell", action="move", reward="paid", terminated="home"))


VW = "".join(
    f"{action}:{-reward}:0.5 |user age:{age}\n"
    for action, reward, age in np.random.default_rng(0).integers(1, 3, (40, 3))
)


def test_a_file_of_another_tool_needs_no_flags(tmp_path, capsys):
    (tmp_path / "clicks.txt").write_text(VW)
    assert main(["check", str(tmp_path / "clicks.txt"), "--format", "vw"]) == 0
    assert main(["check", str(tmp_path / "clicks.txt")]) == 0
    assert "40 rows, 40 episodes, 2 actions" in capsys.readouterr().out


def test_a_log_is_converted(tmp_path, capsys):
    (tmp_path / "clicks.vw").write_text(VW)
    for name in ("clicks.parquet", "clicks.dsjson.gz", "clicks.csv.zst"):
        assert main(["convert", str(tmp_path / "clicks.vw"), str(tmp_path / name)]) == 0
        assert us.read(tmp_path / name).reward.tolist() == us.read(tmp_path / "clicks.vw").reward.tolist()
    assert "clicks.csv.zst has 40 rows, 40 episodes and 2 actions" in capsys.readouterr().out


def test_refusals_of_formats_are_in_flags(tmp_path, refused):
    (tmp_path / "clicks.txt").write_text("what is this")
    assert "or say --format one of parquet, csv, open-bandit" in refused("check", tmp_path / "clicks.txt")
    (tmp_path / "clicks.vw").write_text(VW)
    assert "a log is written as .parquet" in refused("convert", tmp_path / "clicks.vw", tmp_path / "clicks.txt")
