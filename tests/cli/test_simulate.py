import re

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.cli import main


def test_simulate_takes_any_column_names_and_goes_on_where_it_stopped(events, tmp_path, capsys, columns):
    arguments = ["simulate", str(events), *columns, "--every", "200", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--simulator", "psrs", "qbe", "--runs", "3"]) == 0
    first = us.load(tmp_path / "out" / "psrs")
    assert main([*arguments, "--simulator", "psrs", "--runs", "5"]) == 0
    more = us.load(tmp_path / "out" / "psrs")
    assert [run.seed for run in more][:3] == [run.seed for run in first]
    assert len(more) == 5
    assert (tmp_path / "out" / "report.html").exists()
    assert "psrs" in capsys.readouterr().out


def test_without_propensities_simulate_uses_qbe(events, tmp_path, capsys, columns):
    frame = pd.read_csv(events).drop(columns=[f"p{action}" for action in range(5)])
    frame.to_csv(tmp_path / "bare.csv", index=False)
    flags = [argument for argument in columns if argument not in ("--propensity", "p0", "p1", "p2", "p3", "p4")]
    arguments = ["simulate", str(tmp_path / "bare.csv"), *flags, "--runs", "2", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert (tmp_path / "out" / "qbe" / "experiment.json").exists()
    assert main([*arguments, "--simulator", "psrs"]) == 2
    assert "qbe" in capsys.readouterr().err


def test_a_log_that_simulators_refuse_ends_in_one_sentence(events, tmp_path, refused, columns):
    frame = pd.read_csv(events)
    frame["p0"] = 0.9
    frame.to_csv(tmp_path / "bad.csv", index=False)
    message = refused("simulate", tmp_path / "bad.csv", *columns, "--out", tmp_path / "out")
    assert "propensity" in message
    assert not (tmp_path / "out" / "psrs").exists()


def test_a_folder_of_another_log_is_refused(events, tmp_path, refused, columns):
    arguments = [*columns, "--runs", "2", "--out", str(tmp_path / "out")]
    assert main(["simulate", str(events), *arguments]) == 0
    other = tmp_path / "other.csv"
    pd.read_csv(events).iloc[:-200].to_csv(other, index=False)
    assert "log is" in refused("simulate", other, *arguments)
    assert "epsilon is 0.1 there and 0.7 here" in refused("simulate", events, *arguments, "--epsilon", "0.7")


def test_simulators_of_one_folder_are_of_one_learner(events, tmp_path, refused, columns):
    arguments = ["simulate", events, *columns, "--runs", "2", "--out", tmp_path / "out"]
    assert main([str(argument) for argument in arguments]) == 0
    assert "epsilon" in refused(*arguments, "--simulator", "qbe", "--epsilon", "0.3")
    assert main([str(argument) for argument in [*arguments, "--simulator", "qbe"]]) == 0
    learners = [us.load(tmp_path / "out" / name).about.learner for name in ("psrs", "qbe")]
    assert learners[0] == learners[1]


def test_a_model_without_max_steps_is_asked_for_it(events, tmp_path, refused, columns):
    arguments = [*columns, "--runs", "2", "--simulator", "model", "--out", str(tmp_path / "out")]
    assert "--max-steps" in refused("simulate", events, *arguments)
    assert main(["simulate", str(events), *arguments, "--max-steps", "500"]) == 0
    assert us.load(tmp_path / "out" / "model").lengths.tolist() == [500, 500]


def test_the_largest_number_of_steps_is_taken(events, tmp_path, columns):
    flags = ["--max-episode-steps", "--max-steps", "--every"]
    most = [word for flag in flags for word in (flag, str(2**63 - 1))]
    assert main(["simulate", str(events), *columns, "--out", str(tmp_path / "out"), "--runs", "2", *most]) == 0
    runs = us.load(tmp_path / "out" / "psrs")
    assert runs.about.every == 2**63 - 1
    assert all(run.stopped.cause != "max steps" for run in runs)


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
    assert re.search(r"page=[01], arm=(<wait>|buy) \(", printed)
    stop = us.load(out / "qbe")[0].stopped
    assert re.fullmatch(r"page=[01] has no row left with arm=(<wait>|buy)", stop.reason)
    assert str(stop) in str(us.load(out / "qbe")[0])
    assert main(["report", str(out), "--report", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert re.search(r"page=[01], arm=(&lt;wait&gt;|buy) \(", page)
    assert "<wait>" not in page


def test_simulate_stops_where_most_rows_are_in_suspicious_states_and_writes_nothing(cartpole, tmp_path, refused):
    for encoder in (("boxes",), ("kmeans", "--states", "20")):
        message = refused("simulate", cartpole, "--encoder", *encoder, "--out", tmp_path / "out")
        assert re.search(r"states tested are suspicious, with \d+\.\d% of the rows", message)
        assert "--anyway" in message
        assert "nothing on this log is exact: what is left is to leave --encoder out and give --then" in message
        assert "try another encoder, whose states are tested like these" in message
        assert not (tmp_path / "out").exists()


def test_with_anyway_the_page_begins_with_the_warning_and_so_does_one_drawn_later(cartpole, tmp_path, capsys, refused):
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
    assert "--anyway" in refused(*arguments)  # asked for each time


def test_baselines_that_know_no_states_need_none_that_will_do(cartpole, tmp_path):
    arguments = ["simulate", str(cartpole), "--encoder", "boxes", "--runs", "2", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--simulator", "any_row", "actions_only"]) == 0
    for name in ("any_row", "actions_only"):
        runs = us.load(tmp_path / "out" / name)
        assert (len(runs), runs.about.simulator["simulator"]) == (2, name)


def test_without_an_encoder_the_page_says_what_states_are(events, tmp_path, columns):
    assert main(["simulate", str(events), *columns, "--runs", "2", "--out", str(tmp_path / "out")]) == 0
    assert "States are the 24 distinct observations" in (tmp_path / "out" / "report.html").read_text()


def test_what_was_found_of_states_is_not_made_again_and_a_damaged_file_is_said(
    cartpole, tmp_path, capsys, monkeypatch, refused
):
    out = tmp_path / "out"
    arguments = ["simulate", str(cartpole), "--encoder", "boxes", "--out", str(out), "--anyway"]
    assert main([*arguments, "--runs", "1"]) == 0
    kept = (out / "states.json").read_bytes()
    for content in (b"", b"{}", b"[" * 10**5, kept[: len(kept) // 2], kept.replace(b"false", b"5"), b"\xff"):
        (out / "states.json").write_bytes(content)
        capsys.readouterr()
        assert "states.json cannot be read, or is not an audit of states; remove it" in refused("report", out)
    assert main([*arguments, "--runs", "1"]) == 0
    assert (out / "states.json").read_bytes() == kept
    monkeypatch.delattr(us.encoders.Boxes, "audit")
    assert main([*arguments, "--runs", "2"]) == 0


def test_no_advice_is_given_that_the_audit_would_find_suspicious(cartpole, tmp_path, capsys, refused):
    message = refused("simulate", cartpole, "--out", tmp_path / "out")
    assert "simulate tests the states first, and stops where they will not do" in message
    assert main(["check", str(cartpole)]) == 0
    assert "merge them with --encoder NAME, whose states are tested before the first run" in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"title": 3}', b"\xff", b"[" * 100_000, b"null"])
def test_a_damaged_rehearsal_is_refused_not_overwritten(content, results, refused):
    arguments, out = results
    (out / "rehearsal.json").write_bytes(content)
    assert "rehearsal.json" in refused(*arguments)
    assert "rehearsal.json" in refused("report", out)
    assert (out / "rehearsal.json").read_bytes() == content


def test_a_rehearsal_without_rows_is_as_long_and_has_a_page(results, tmp_path):
    arguments, out = results
    assert main([*arguments[:-1], str(tmp_path / "bare"), "--no-rows"]) == 0
    bare, whole = us.load(tmp_path / "bare" / "psrs"), us.load(out / "psrs")
    assert bare.lengths.tolist() == whole.lengths.tolist()
    assert not any(run.has_rows for run in bare)
    assert main(["report", str(tmp_path / "bare")]) == 0


def test_seeds_of_too_many_bits_end_in_one_sentence(events, tmp_path, refused, columns):
    told = refused("simulate", events, *columns, "--seed", str(2**200), "--out", tmp_path / "out")
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


def test_a_csv_with_text_is_checked_and_simulated_under_its_own_words(tmp_path, capsys):
    rng = np.random.default_rng(0)
    n = 600
    pages = np.array(["home", "<script>alert(1)</script>", 'it is, "so"'])[rng.integers(3, size=n)]
    frame = pd.DataFrame({"page": pages, "vip": np.where(rng.random(n) < 0.5, "yes", "no"), "zip": "007"})
    frame["arm"], frame["p_a"], frame["p_b"] = np.array(["a", "b"])[rng.integers(2, size=n)], 0.5, 0.5
    frame["paid"] = (rng.random(n) < 0.3 + 0.4 * (frame["arm"] == "a")).astype(float)
    frame.to_csv(tmp_path / "log.csv", index=False)
    columns = [
        "--observation",
        "page",
        "vip",
        "zip",
        "--action",
        "arm",
        "--reward",
        "paid",
        "--propensity",
        "p_a",
        "p_b",
    ]
    arguments = [str(tmp_path / "log.csv"), *columns, "--ends", "every-row"]
    assert main(["check", *arguments]) == 0
    assert main(["simulate", *arguments, "--runs", "2", "--quick", "--out", str(tmp_path / "out")]) == 0
    run = us.load(tmp_path / "out" / "psrs")[0]
    assert re.search(r"page=.*, vip=(yes|no), zip=007 has no row left", str(run.stopped))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script>alert" not in page
    assert "zip=007" in page
    capsys.readouterr()
    us.write(
        us.read(tmp_path / "log.csv", observation="page", action="arm", reward="paid", ends="every-row"),
        tmp_path / "a.parquet",
    )
    (tmp_path / "b.csv").write_text("page,arm,paid\nhome,a,1\nnew,b,0\n")
    like = [
        "check",
        str(tmp_path / "b.csv"),
        "--action",
        "arm",
        "--reward",
        "paid",
        "--ends",
        "every-row",
        "--like",
        str(tmp_path / "a.parquet"),
    ]
    assert main(like) == 2
    assert "page is 'new' in row 1; " in (message := capsys.readouterr().err)
    assert "give --unseen other for a code" in message
    assert main([*like, "--unseen", "other"]) == 0


def test_a_counter_is_found_in_codes_and_simulated_by_itself(tmp_path, capsys):
    us.write(us.record(us.envs.CounterGrid(4, size=3, slip=0.2), episodes=80, seed=0), tmp_path / "codes.parquet")
    out = tmp_path / "out"
    flags = ["--simulator", "exo_psrs", "--runs", "2", "--quick", "--out", str(out)]
    assert main(["simulate", str(tmp_path / "codes.parquet"), *flags]) == 0
    assert "exo_psrs: endogenous: observation % 9; exogenous: observation // 9" in capsys.readouterr().out
    assert (out / "report.html").exists()
    us.write(us.record(us.envs.Grid(4), episodes=80, seed=0), tmp_path / "grid.parquet")
    assert main(["simulate", str(tmp_path / "grid.parquet"), "--simulator", "exo_psrs", "--runs", "2", "--quick"]) != 0
    assert "neither moves by itself" in capsys.readouterr().err


def test_rungs_that_the_log_does_not_support_are_named_before_the_runs(events, tmp_path, capsys, columns):
    arguments = ["simulate", str(events), *columns, "--every", "200", "--out", str(tmp_path / "out"), "--quick"]
    assert main([*arguments, "--simulator", "qbe", "--then", "reuse,cut", "--runs", "3", "--max-steps", "3000"]) == 0
    text = capsys.readouterr().out
    left_out = text.index("qbe: left out of --then reuse,cut by the audit of the log: reuse; no states should lend")
    assert left_out < text.index("rows should not be served again") < text.index("Exact up to step")
    runs = us.load(tmp_path / "out" / "qbe")
    assert f"Exact up to step {runs.exact_horizon():,}" in text
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "exact to step" in page
    assert "<p>Left out of --then reuse,cut by the audit of the log: reuse;" in page
    assert main(["report", str(tmp_path / "out"), "--report", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_a_folder_and_a_pattern_of_parquet_files_are_one_log(events, tmp_path, columns, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.read_csv(events)
    (tmp_path / "trips").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(len(frame)), 12)):
        frame.iloc[rows].to_parquet(tmp_path / "trips" / f"part-{part}.parquet")
    flags = [*columns, "--runs", "2", "--quick"]
    assert main(["simulate", str(events), *flags]) == 0
    first = us.load(tmp_path / "events-rehearsal" / "psrs")
    for log in ("trips", "trips/*.parquet"):
        assert main(["simulate", log, *flags]) == 0  # the second time there is nothing to do
        assert us.load(tmp_path / "trips-rehearsal" / "psrs").lengths.tolist() == first.lengths.tolist()
    assert main(["check", "trips/part-1*", *columns]) in (0, 1)
    assert main(["check", "trips/none-*.parquet", *columns]) == 2
    assert "no file matches trips/none-*.parquet; check the pattern" in capsys.readouterr().err
    for command in ("forecast", "compare", "convert"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "logs/*.parquet" in " ".join(capsys.readouterr().out.split())


FRAGILE = """
import os
import numpy as np

class Fragile:
    def __init__(self, spec, seed=0):
        self.n, self.breaks = spec.n_actions, seed % 2 == 0
    def policy(self, observation):
        return np.full(self.n, 1 / self.n)
    def learn(self, step):
        if self.breaks and "MENDED" not in os.environ:
            raise FloatingPointError("diverged")
"""


def test_with_keep_going_runs_that_raise_are_left_out_and_made_by_the_same_command_later(
    events, tmp_path, capsys, columns, monkeypatch
):
    (tmp_path / "fragile.py").write_text(FRAGILE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    arguments = ["simulate", str(events), *columns, "--simulator", "psrs", "--learner", "fragile:Fragile", "--quick"]
    arguments += ["--runs", "8", "--max-steps", "50", "--workers", "1", "--out", "out"]
    assert main([*arguments, "--keep-going"]) == 0
    told, runs = capsys.readouterr(), us.load("out/psrs")
    assert 0 < len(runs.failed) < 8
    assert {one.seed % 2 for one in runs.failed} == {0}
    assert f"psrs: {len(runs.failed)} of 8 runs failed: run " in told.out + told.err
    assert "psrs: no run on trial: FloatingPointError: diverged" in told.out + told.err
    assert "failed" in (tmp_path / "out" / "report.html").read_text()
    monkeypatch.setenv("MENDED", "yes")
    assert main([*arguments, "--keep-going"]) == 0
    runs = us.load("out/psrs")
    assert (len(runs), runs.failed) == (8, ())
