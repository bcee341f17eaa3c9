"""Self-check, forecasts and halves by default, each of which can be skipped."""

import json
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.cli import main, trusting
from understudy.cli.trusting import (
    OF_SIMULATORS,
    asked_of_simulators,
    beyond_for,
    experiment_for,
    is_as_good,
    pre_runs_for,
    uses_propensities,
    why_no_halves,
    with_dependence,
)


def options(**given):
    default = {
        "quick": False,
        "no_halves": False,
        "halves": None,
        "runs": 100,
        "learner": "q-learning",
        "backend": None,
    }
    return SimpleNamespace(**default | given)


@pytest.fixture(scope="session")
def believed(log, tmp_path_factory):
    """The arguments of a rehearsal with all that tells how far to believe it, its folder, for all to copy."""
    folder = tmp_path_factory.mktemp("believed")
    us.write(log, folder / "log.parquet")
    arguments = ["simulate", str(folder / "log.parquet"), "--runs", "8", "--epsilon", "0.9", "--out"]
    assert main([*arguments, str(folder / "out")]) == 0
    return arguments, folder / "out"


@pytest.fixture
def results(believed, tmp_path):
    shutil.copytree(believed[1], tmp_path / "out")
    return [*believed[0], str(tmp_path / "out")], tmp_path / "out"


def files_of(folder):
    return {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("runs/*")) if path.is_file()}


def test_by_default_simulate_does_all_of_it_and_the_page_says_so(results):
    _, out = results
    runs = us.load(out / "psrs")
    assert (len(runs), len(runs.halves), {len(half) for half in runs.halves}) == (8, 8, {4})
    assert {"forecast.json", "selfcheck.json", "states.json", "rehearsal.json"} <= {path.name for path in out.iterdir()}
    page = (out / "report.html").read_text(encoding="utf-8")
    order = [
        'class="belief',
        "How it learned",
        "How long it was expected",
        "Does the log agree",
    ]
    assert [page.index(part) for part in order] == sorted(page.index(part) for part in order)
    assert "8 random halves of the log (4 runs each; 20 halves would tell more)" in page


def test_report_draws_the_same_page_from_the_folder(results, tmp_path, capsys):
    _, out = results
    assert main(["report", str(out), "--report", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text() == (out / "report.html").read_text()
    assert capsys.readouterr().out.lstrip().startswith(("Deploying", "Whether deploying", "Not "))


@pytest.mark.parametrize("flags", [["--quick"], ["--no-selfcheck", "--no-forecast", "--no-classics"]])
def test_what_a_later_command_skips_counts_where_the_folder_has_it(results, flags, tmp_path):
    """Page, report and gate go by the same: a failed self-check does not vanish from the page by --quick."""
    arguments, out = results
    known = json.loads((out / "selfcheck.json").read_text())
    assert main([*arguments, *flags]) == 0
    assert json.loads((out / "selfcheck.json").read_text()) == known
    assert main(["report", str(out), "--report", str(tmp_path / "again.html")]) == 0
    page = (out / "report.html").read_text()
    assert "Does the log agree with itself?</h2>" in page
    assert "How long it was expected to answer, and how long it did</h2>" in page
    assert (tmp_path / "again.html").read_text() == page


def test_called_again_nothing_is_made_twice(results, monkeypatch):
    arguments, out = results
    before, page = files_of(out), (out / "report.html").read_text()

    def never(*_, **__):
        raise AssertionError("made twice")

    monkeypatch.setattr(us, "selfcheck", never, raising=False)
    monkeypatch.setattr(us, "forecast", never, raising=False)
    assert main(arguments) == 0
    assert files_of(out) == before
    assert (out / "report.html").read_text() == page


def test_interrupted_among_the_halves_it_goes_on_there(results, tmp_path, capsys):
    arguments, out = results
    page = (out / "report.html").read_text()
    shutil.rmtree(out / "psrs" / "halves" / "005")
    for path in (out / "psrs" / "halves" / "003" / "runs").glob("000002.*"):
        path.unlink()
    kept = files_of(out)
    assert main(["report", str(out), "--report", str(tmp_path / "part.html")]) == 0
    unfinished = "2 of 8 halves of the log are unfinished; call understudy simulate again to go on with them"
    assert unfinished in (tmp_path / "part.html").read_text()
    assert main(arguments) == 0
    assert {path: time for path, time in files_of(out).items() if path in kept} == kept
    assert (out / "report.html").read_text() == page


def believed_of(text):
    """Return what is said of how far to believe runs, of all that a command printed."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith(("Believable", "Not ", "How far"))]
    return lines[starts[-1] :][: next(n for n, line in enumerate(lines[starts[-1] :]) if "No check sees" in line)]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--runs", "40", "--halves", "5"], "5 random halves of the log (8 runs each"),
        (["--runs", "10", "--halves", "5"], "5 random halves of the log (4 runs each"),
        (["--no-halves"], "halves of the log were not run"),
    ],
)
def test_with_other_halves_in_the_same_folder_report_agrees_with_simulate(results, flags, said, capsys):
    arguments, out = results
    capsys.readouterr()
    assert main([*arguments, *flags]) == 0
    simulated, page = believed_of(capsys.readouterr().out), (out / "report.html").read_text()
    assert said in "".join(simulated)
    for folder in (out, out / "psrs"):
        assert main(["report", str(folder)]) == 0
        assert believed_of(capsys.readouterr().out) == simulated
    assert (out / "report.html").read_text() == page


def test_a_forecast_is_made_again_where_more_pre_runs_are_asked_for(results, monkeypatch, capsys):
    arguments, out = results
    assert us.results.read_forecasts(out)["psrs"].pre_runs == 4
    assert main([*arguments, "--runs", "16", "--no-halves"]) == 0
    assert us.results.read_forecasts(out)["psrs"].pre_runs == 8
    assert main([*arguments, "--no-halves"]) == 0  # fewer are asked for
    assert us.results.read_forecasts(out)["psrs"].pre_runs == 8


def test_which_forecasts_are_as_good():
    asked = {"pre_runs": 8} | dict.fromkeys(OF_SIMULATORS)
    for there, as_good in (
        (asked, True),
        (asked | {"pre_runs": None}, True),
        (asked | {"pre_runs": 7}, False),
        (asked | {"order": "log"}, False),
        ({}, False),
    ):
        assert is_as_good(there, asked) is as_good
    assert not is_as_good(asked, asked | {"pre_runs": None})
    rungs = options(**dict.fromkeys(OF_SIMULATORS) | {"then": ("like", "cut")})
    assert is_as_good(json.loads(json.dumps(asked | {"then": ("like", "cut")})), asked | asked_of_simulators(rungs))


@pytest.fixture
def wrong(events, tmp_path):
    """A CSV in which one action's propensity is another's."""
    frame = pd.read_csv(events)
    frame["p0"], frame["p1"] = 0.05, 0.35
    frame.to_csv(tmp_path / "wrong.csv", index=False)
    return tmp_path / "wrong.csv"


def test_wrong_propensities_do_not_speak_against_qbe(wrong, columns, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = [
        "simulate",
        str(wrong),
        *columns,
        "--epsilon",
        "0.9",
        "--runs",
        "8",
        "--out",
        str(out),
        "--halves",
        "5",
    ]
    assert main([*arguments, "--simulator", "qbe"]) == 0
    simulated = believed_of(capsys.readouterr().out)
    assert simulated[0].startswith(("Believable up to step", "Not shown to be believable"))
    text = "".join(simulated)
    assert "propensity-frequency does not concern QBE, which uses no propensities: it does not speak against" in text
    assert "no test of shapes, since the audit doubts the propensities, which QBE does not use, and they were" in text
    assert "The audit of the log found" not in (out / "report.html").read_text()
    assert main(["report", str(out)]) == 0
    assert believed_of(capsys.readouterr().out) == simulated

    assert main([*arguments, "--simulator", "psrs"]) == 0
    assert "The audit of the log found" in (out / "report.html").read_text()
    assert believed_of(capsys.readouterr().out)[0].startswith("Not to be believed: the audit of the log speaks against")
    for folder in (out, out / "psrs"):
        assert main(["report", str(folder)]) == 0
        assert believed_of(capsys.readouterr().out)[0].startswith("Not to be believed: the audit")
    assert main(["report", str(out / "qbe")]) == 0
    assert believed_of(capsys.readouterr().out) == simulated


def test_qbe_and_baselines_are_not_judged_by_propensities():
    assert not uses_propensities(["qbe", "states_only"])
    assert uses_propensities(["qbe", "psrs"])
    assert uses_propensities(["model"])


def test_damaged_self_checks_and_forecasts_are_made_again(results, refused):
    arguments, out = results
    page = (out / "report.html").read_text()
    for name in ("selfcheck.json", "forecast.json", "halves.json"):
        (out / name).write_text("{}")
        assert name in refused("report", out)
        assert main(arguments) == 0
        assert (out / "report.html").read_text() == page


def test_quick_makes_runs_only_and_the_page_says_that_nothing_was_tested(believed, tmp_path):
    arguments = [*believed[0], str(tmp_path / "out"), "--quick"]
    assert main(arguments) == 0
    assert not us.load(tmp_path / "out" / "psrs").halves
    assert not {"forecast.json", "selfcheck.json"} & {path.name for path in (tmp_path / "out").iterdir()}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "How far to believe this was not tested" in page
    assert "Does the log agree" not in page
    assert "How long it was expected" not in page


@pytest.mark.parametrize(
    ("flag", "missing"),
    [("--no-halves", "psrs/halves"), ("--no-forecast", "forecast.json"), ("--no-selfcheck", "selfcheck.json")],
)
def test_each_part_can_be_skipped(believed, tmp_path, flag, missing):
    halves = [] if flag == "--no-halves" else ["--halves", "5"]
    assert main([*believed[0], str(tmp_path / "out"), flag, *halves]) == 0
    there = {name for name in ("psrs/halves", "forecast.json", "selfcheck.json") if (tmp_path / "out" / name).exists()}
    assert there == {"psrs/halves", "forecast.json", "selfcheck.json"} - {missing}
    if flag != "--no-halves":
        assert len(us.load(tmp_path / "out" / "psrs").halves) == 5


@pytest.mark.parametrize("number", ["2", "0", "-1", "x"])
def test_too_few_halves_are_refused_before_anything_is_read(number, capsys):
    with pytest.raises(SystemExit):
        main(["simulate", "nowhere.csv", "--halves", number])
    assert "--halves" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--no-halves"], ["--quick"], ["--no-halves", "--quick"]])
def test_halves_that_are_asked_for_and_skipped_are_refused(flags, refused):
    message = refused("simulate", "nowhere.csv", "--halves", "5", *flags)
    assert f"{flags[-1]} for none; leave one of them out" in message


def test_logs_of_few_episodes_or_an_endless_one_are_simulated_as_before(log, tmp_path, capsys):
    few = log.select(np.arange(4))
    endless = us.Log.from_columns(
        observation=np.arange(400) % 3, action=np.arange(400) % 2, reward=np.ones(400), ends="unfinished",
        propensity=np.full((400, 2), 0.5),
    )  # fmt: skip
    for name, each, said in (("few", few, "it has 4 episodes"), ("endless", endless, "it has 1 episode,")):
        us.write(each, tmp_path / f"{name}.parquet")
        arguments = ["simulate", str(tmp_path / f"{name}.parquet"), "--runs", "8", "--max-steps", "50", "--every", "10"]
        assert main([*arguments, "--out", str(tmp_path / name)]) == 0
        out = capsys.readouterr().out
        assert f"no halves of the log are run, so that curves leave its luck out: {said}" in out
        assert "How far to believe this was not tested" in out or "Not to be believed" in out
        assert len(us.load(next((tmp_path / name).glob("*/experiment.json")).parent)) == 8


def test_what_can_be_afforded_depends_on_runs_and_learner(log, tmp_path, monkeypatch):
    asked = {}
    monkeypatch.setattr(
        us, "halves", lambda *parts, **given: asked.update(given) or SimpleNamespace(runs=()), raising=False
    )
    simulator = us.psrs(log)
    for given, expected in (
        ({"runs": 100}, {"halves": 20, "runs_of_half": 20}),
        ({"runs": 10}, {"halves": 10, "runs_of_half": 4}),
        ({"runs": 100, "halves": 5}, {"halves": 5, "runs_of_half": 20}),
        ({"runs": 100, "learner": "ppo"}, {"halves": 8, "runs_of_half": 10}),
        ({"runs": 8, "learner": "ppo"}, {"halves": 8, "runs_of_half": 4}),
    ):
        asked.clear()
        experiment_for(options(**given), simulator, log, "psrs", tmp_path)(simulator, None)
        assert asked == expected
    for given, name in (
        ({"quick": True}, "psrs"),
        ({"no_halves": True}, "psrs"),
        ({}, "states_only"),
        ({"runs": 7}, "psrs"),
    ):
        assert experiment_for(options(**given), simulator, log, name, tmp_path) is us.experiment
    found = [pre_runs_for(options(runs=runs)) for runs in (100, 60, 20)]
    assert (found, pre_runs_for(options(learner="ppo"))) == ([None, 19, 10], 5)


def test_reasons_for_no_halves(log):
    assert why_no_halves(options(), us.psrs(log), log) is None
    assert why_no_halves(options(runs=2, halves=5), us.psrs(log), log) is None
    assert "--runs is 2, and halves need at least 8" in why_no_halves(options(runs=2), us.psrs(log), log)
    assert "at least 2" in why_no_halves(options(runs=1, halves=5), us.psrs(log), log)
    assert "cannot be had on a part" in why_no_halves(options(), us.real(us.envs.Grid()), log)


def test_a_simulator_that_never_ends_has_no_forecast(log, tmp_path):
    us.write(log, tmp_path / "log.parquet")
    arguments = ["simulate", str(tmp_path / "log.parquet"), "--simulator", "model", "--max-steps", "300", "--runs", "8"]
    assert main([*arguments, "--no-selfcheck", "--halves", "5", "--out", str(tmp_path / "out")]) == 0
    assert not (tmp_path / "out" / "forecast.json").exists()
    assert len(us.load(tmp_path / "out" / "model").halves) == 5


def test_episodes_that_are_alike_are_a_warning_of_the_audit(log, monkeypatch):
    audit = us.check(log)
    assert with_dependence(audit, log) is audit
    monkeypatch.setattr(trusting, "dependence_of_episodes", lambda log: "Episodes are alike.")
    found = with_dependence(audit, log)
    assert [finding.rule for finding in found.findings] == [*(one.rule for one in audit.findings), "episode-dependence"]
    assert found.findings[-1].sentence == "Episodes are alike"


FURTHER = ("--simulator", "qbe", "--then", "cut", "--max-cut", "0.1", "--halves", "5", "--no-selfcheck")


@pytest.fixture(scope="module")
def climbed(believed, tmp_path_factory):
    """The arguments of a rehearsal with lower rungs, and its folder, for all to copy."""
    out = tmp_path_factory.mktemp("climbed") / "out"
    assert main([*believed[0], str(out), *FURTHER]) == 0
    return believed[0], out


@pytest.fixture
def ladder(climbed, tmp_path):
    shutil.copytree(climbed[1], tmp_path / "out")
    return [*climbed[0], str(tmp_path / "out"), *FURTHER], tmp_path / "out"


def test_runs_with_lower_rungs_are_judged_by_all_evidence_once(ladder, monkeypatch, capsys, tmp_path):
    arguments, out = ladder
    found, asked = us.results.read_beyond(out)["qbe"]
    halves = us.Halves(us.load(out / "qbe"))
    assert found.margin == halves.trust().margin  # as halves are judged
    assert (found.probe, found.ladder, asked["halves"]) == ("start value", ("cut",), [5, 4])
    page = (out / "report.html").read_text(encoding="utf-8")
    trusted = found.steps if found.gains else min(found.exact, halves.trusted())
    assert f"up to step {trusted:,}" in re.search("<h2>(Believe|Believable|Exact) .*", page).group()
    assert "<h2>How far to believe what the log" in page

    def never(*_, **__):
        raise AssertionError("made twice")

    for name in ("beyond", "forecast", "off_policy_of_learner"):
        monkeypatch.setattr(us, name, never, raising=False)
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert f"qbe: lower rungs are judged by 'start value', to within {found.margin:.3g}, a tenth of the range" in said
    assert found.sentence[1:] in said
    assert (out / "report.html").read_text(encoding="utf-8") == page
    assert main(["report", str(out), "--report", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_what_cannot_go_on_is_refused_before_a_file_is_changed(ladder, refused):
    arguments, out = ladder
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert "simulator max_cut is 0.1 there and 0.05 here" in refused(*arguments, "--max-cut", "0.05")
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_damaged_evidence_is_found_again_and_without_halves_there_is_none(ladder, refused):
    arguments, out = ladder
    page = (out / "report.html").read_text(encoding="utf-8")
    (out / "beyond.json").write_text("{}")
    assert "beyond.json" in refused("report", out)
    assert main(arguments) == 0
    assert (out / "report.html").read_text(encoding="utf-8") == page
    kept = [argument for argument in arguments if argument not in ("--halves", "5")]
    for flag in ("--no-halves", "--quick"):
        assert main([*kept, flag]) == 0
        assert "How far to believe what the log" not in (out / "report.html").read_text(encoding="utf-8")
        assert main(["report", str(out)]) == 0
        assert "How far to believe what the log" not in (out / "report.html").read_text(encoding="utf-8")


def test_of_networks_fewer_runs_are_varied_and_a_flat_curve_has_no_margin(ladder, monkeypatch, capsys):
    _, out = ladder
    runs, asked = us.results.load_set(out / "qbe"), {}
    simulator = us.qbe(us.read(ladder[0][1]), then="cut", max_cut=0.1)
    found = us.results.read_beyond(out)["qbe"][0]
    monkeypatch.setattr(us, "beyond", lambda *parts, **given: asked.update(given) or found, raising=False)
    given = dict.fromkeys(OF_SIMULATORS) | {"learner": "ppo", "runs": 100, "workers": 1}
    (out / "beyond.json").unlink()
    assert beyond_for("qbe", simulator, None, runs, {"start value": None}, out, options(**given)) is found
    assert asked["runs_of_variant"] == 20
    assert "ppo trains networks, so other radii and rungs are tried in 20 runs each" in capsys.readouterr().out
    assert beyond_for("qbe", us.qbe(simulator.log), None, runs, {}, out, options(**given)) is None
    flat = us.halves(
        simulator, lambda seed: us.learners.Uniform(5), runs=8, halves=5, runs_of_half=4, every=50, progress=False,
        probes={"one": lambda learner: 1.0},
    )  # fmt: skip
    assert beyond_for("qbe", simulator, None, flat.runs, {}, out, options(**given)) is None
    assert "'one' does not change" in capsys.readouterr().out
