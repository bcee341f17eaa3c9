import json
import os

import pandas as pd
import pytest

from understudy.cli import main


def test_report_draws_the_page_of_a_results_folder(events, tmp_path, capsys, columns):
    out = tmp_path / "out"
    main(["simulate", str(events), *columns, "--runs", "2", "--out", str(out)])
    drawn = (out / "report.html").read_text()
    (out / "report.html").unlink()
    capsys.readouterr()
    assert main(["report", str(out)]) == 0
    assert capsys.readouterr().out.rstrip().endswith(f"The page is {out / 'report.html'}")
    again = (out / "report.html").read_text()
    for words in ("q-learning rehearsed on events.csv", "8,135 rows, 60 episodes", "States are the 24 distinct"):
        assert words in drawn
        assert words in again
    assert main(["report", str(out / "psrs"), "--report", str(tmp_path / "one.html")]) == 0
    assert "psrs" in (tmp_path / "one.html").read_text()
    assert main(["report", str(tmp_path)]) == 2
    assert "experiment.json" in capsys.readouterr().err


def test_folders_are_compared_on_one_page_and_one_alone_keeps_its_title_and_audit(events, tmp_path, columns):
    for epsilon in ("0.1", "0.5"):
        arguments = ["simulate", str(events), *columns, "--runs", "2", "--epsilon", epsilon]
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
def test_a_page_that_cannot_be_written_is_named(events, tmp_path, capsys, refused, columns):
    main(["simulate", str(events), *columns, "--runs", "2", "--out", str(tmp_path / "out")])
    capsys.readouterr()
    assert "/proc/none" in refused("report", tmp_path / "out", "--report", "/proc/none/page.html")
    assert "/proc/none" in refused("simulate", events, *columns, "--out", "/proc/none/out")


def test_folders_of_the_same_name_are_told_apart_and_one_given_twice_is_one(events, tmp_path, capsys, columns):
    for year, epsilon in (("2021", "0.1"), ("2022", "0.5")):
        arguments = ["simulate", str(events), *columns, "--runs", "2", "--epsilon", epsilon]
        assert main([*arguments, "--out", str(tmp_path / year / "out")]) == 0
    capsys.readouterr()
    folders = [str(tmp_path / year / "out") for year in ("2021", "2022", "2021")]
    assert main(["report", *folders, "--report", str(tmp_path / "both.html")]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines() if line.strip().startswith("20")] == ["2021", "2022"]
    assert "earn" in printed.split("log's own episodes")[1]
    assert "earn" in (tmp_path / "both.html").read_text().split('class="lead">')[1].split(".")[0]


@pytest.mark.slow
def test_folders_of_one_kind_of_states_have_one_box_and_others_one_each(cartpole, tmp_path):
    for name, options in {"a": (), "b": ("--epsilon", "0.5"), "c": ("--bins", "3")}.items():
        arguments = ["simulate", str(cartpole), "--encoder", "boxes", "--anyway", "--runs", "1", *options]
        assert main([*arguments, "--out", str(tmp_path / name)]) == 0
    page = tmp_path / "page.html"
    for names, boxes in ((("a", "b"), 1), (("a", "b", "c"), 2)):
        assert main(["report", *(str(tmp_path / name) for name in names), "--report", str(page)]) == 0
        assert page.read_text().count('class="states ') == boxes


@pytest.mark.parametrize("path", ["nul\0byte", "x" * 300, "a/" * 3000, "/proc/1/mem/x", "/dev/null/x"])
def test_paths_that_are_none_end_in_one_sentence(path, results, refused):
    arguments, out = results
    refused("report", path)
    refused("report", out, "--report", path)
    refused(*arguments[:-1], path)


@pytest.mark.parametrize("name", ["experiment.json", "runs/000001.json", "runs/000001.parquet"])
def test_damaged_results_are_named(name, results, refused):
    arguments, out = results
    path = out / "psrs" / name
    path.write_bytes(path.read_bytes()[:-20])
    for command in (arguments, ["report", out]):
        assert name in refused(*command)


def test_a_comparison_keeps_the_pages_and_the_audits_of_its_folders(events, tmp_path, capsys, monkeypatch, columns):
    monkeypatch.chdir(tmp_path)
    swapped = [*columns[: columns.index("p0")], "p1", "p0", *columns[columns.index("p1") + 1 :]]
    frame = pd.read_csv(events)
    frame["p0"], frame["p1"] = 0.05, 0.35
    frame.to_csv(tmp_path / "wrong.csv", index=False)
    assert main(["simulate", str(events), *columns, "--runs", "2", "--out", "right"]) == 0
    assert main(["simulate", "wrong.csv", *swapped, "--runs", "2", "--out", "wrong"]) == 0
    own = (tmp_path / "right" / "report.html").read_text()
    assert "The audit of the log found: " in (tmp_path / "wrong" / "report.html").read_text()
    assert "The audit of the log found" not in own
    assert main(["report", "right", "wrong"]) == 0
    assert (tmp_path / "right" / "report.html").read_text() == own
    both = (tmp_path / "comparison.html").read_text()
    assert "The audit of the log found: wrong: " in both
    assert "2 sets of runs compared: right, wrong</h1>" in both
    assert "Runs on 2 different logs, each judged by the checks of its own: " in both
    assert "not to be believed: the audit of the log speaks against it (“wrong”)" in both
    content = json.loads((tmp_path / "comparison.json").read_text())
    assert content["audit"] is None
    assert set(content["audits"]) == {"right", "wrong"}
