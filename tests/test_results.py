"""A results folder of the command line: written whole, created once, and refused where it is damaged."""

import json
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.encoders import Identity
from understudy.envs import Grid
from understudy.errors import ResultsError
from understudy.evaluation import LearnedPolicy
from understudy.evaluation.off_policy import Estimate, OffPolicy
from understudy.logs import Audit, AuditTest, Finding, Log
from understudy.results import (
    AskedComparison,
    ResultsFolder,
    read_beyond,
    read_beyond_of_runs,
    read_compared,
    read_forecasts,
    read_of_folders,
    read_off_policy,
    read_replayed,
    read_rungs,
    read_selfcheck,
    read_state_audit,
    write_beyond,
    write_compared,
    write_forecasts,
    write_halves,
    write_off_policy,
    write_replayed,
    write_rungs,
    write_selfcheck,
    write_state_audit,
)
from understudy.runs.folder import FORMAT, seal
from understudy.trust import Beyond, Forecast, selfcheck
from understudy.trust.evidence import Evidence

AUDIT = Audit(
    (Finding("warning", "rule", (1, 2), 2, "a sentence"),), n_rows=20, n_episodes=2, n_actions=4,
    tests=(AuditTest("rule", "is it?", 3, 0.5), AuditTest("other", "was it?", 0, None, "there is none")),
)  # fmt: skip

LOG = Log.from_columns(**Grid(3).rollout(np.full((9, 5), 0.2), 20, seed=0))

FINDING = {"severity": "note", "rule": "", "rows": [], "count": 1, "sentence": ""}


def results(folder, **asked):
    return ResultsFolder(folder, "a title", {"learner": "q-learning", "columns": ["a", "b"]} | asked, AUDIT)


def test_what_was_asked_comes_back_as_it_was(tmp_path):
    results(tmp_path / "r").create()
    kept = ResultsFolder.read(tmp_path / "r")
    assert (kept.title, kept.audit) == ("a title", AUDIT)
    assert kept.settings == {"learner": "q-learning", "columns": ["a", "b"]}
    assert results(tmp_path / "r").check()
    assert ResultsFolder.read(tmp_path / "nowhere") is None


def test_the_command_comes_back_and_folders_without_one_are_read(tmp_path):
    results = ResultsFolder(tmp_path / "a", "A title", {"seed": 3}, Audit((), 1, 1, 1), "understudy simulate a.csv")
    results.create()
    assert ResultsFolder.read(tmp_path / "a").command == "understudy simulate a.csv"
    other = replace(results, command="understudy simulate ./a.csv")
    assert other.check()  # the same settings, typed in another way
    path = tmp_path / "a" / "rehearsal.json"
    content = json.loads(path.read_text())
    for name in ("command", "digest"):
        del content[name]
    path.write_text(json.dumps(seal(content)))
    assert ResultsFolder.read(tmp_path / "a").command is None


def test_a_folder_in_which_something_else_was_asked_is_refused(tmp_path):
    results(tmp_path / "r", gamma=0.9).create()
    for refuse in (results(tmp_path / "r", gamma=0.5).check, results(tmp_path / "r", gamma=0.5).create):
        with pytest.raises(ResultsError, match=r"gamma is 0\.9 there and 0\.5 here; give another folder with --out"):
            refuse()


def test_of_processes_that_start_together_one_takes_the_folder(tmp_path):
    for attempt in range(40):
        folder, barrier, taken, told = tmp_path / str(attempt), threading.Barrier(4), [], []

        def create(number, folder=folder, barrier=barrier, taken=taken, told=told):
            barrier.wait()
            try:
                results(folder, seed=number % 2).create()
                taken.append(number % 2)
            except ResultsError as refused:
                told.append(str(refused))

        threads = [threading.Thread(target=create, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(taken) == len(told) == 2
        assert all("another rehearsal: seed is" in message for message in told)
        assert {ResultsFolder.read(folder).settings["seed"]} == set(taken)
        assert [path.name for path in folder.iterdir()] == ["rehearsal.json"]


def damaged_results(tmp_path, damage, count):
    results(tmp_path).create()
    path = tmp_path / "rehearsal.json"
    whole, content = ResultsFolder.read(tmp_path), path.read_bytes()
    for version in damage(content, count):
        path.write_bytes(version)
        with suppress(ResultsError):
            assert ResultsFolder.read(tmp_path) == whole


def test_a_damaged_file_is_refused_or_reads_as_it_was(tmp_path, damage):
    damaged_results(tmp_path, damage, 300)


@pytest.mark.slow
def test_ten_thousand_damaged_files_are_refused_or_read_as_they_were(tmp_path, damage):
    damaged_results(tmp_path, damage, 10_000)


@pytest.mark.parametrize(
    "changed",
    [
        {"title": 3}, {"asked": []}, {"audit": None}, {"audit": {}}, {"audit": {"findings": 3}},
        {"audit": {"findings": [3], "n_rows": 1, "n_episodes": 1, "n_actions": 1}},
        {"audit": {"findings": [], "n_rows": "x", "n_episodes": 1, "n_actions": 1}},
        *(
            {"audit": AUDIT.to_json() | {"findings": [FINDING | wrong]}}
            for wrong in ({"severity": "fatal"}, {"rows": ["x"]}, {"rows": 3}, {"rule": 3}, {"count": "x"}, {"more": 1})
        ),
    ],
)  # fmt: skip
def test_values_of_another_type_are_refused_even_where_the_digest_is_right(tmp_path, changed):
    whole = {"format": FORMAT, "title": "t", "asked": {}, "audit": AUDIT.to_json()}
    (tmp_path / "rehearsal.json").write_text(json.dumps(seal(whole | changed)))
    for read in (lambda: ResultsFolder.read(tmp_path), results(tmp_path).check, results(tmp_path).create):
        with pytest.raises(ResultsError, match=r"rehearsal\.json does not say what was asked"):
            read()


def test_a_file_of_an_earlier_version_or_a_folder_in_its_place_is_refused(tmp_path):
    path = tmp_path / "rehearsal.json"
    path.write_text(json.dumps({"title": "t", "asked": {}, "audit": AUDIT.to_json()}))
    with pytest.raises(ResultsError, match=r"rehearsal\.json has format None, of an earlier version"):
        ResultsFolder.read(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ResultsError, match="Is a directory"):
        ResultsFolder.read(tmp_path)


def test_odd_names_do_not_count_as_finished_runs(tmp_path):
    (tmp_path / "psrs" / "runs").mkdir(parents=True)
    for name in ("000000", "0", "notes", "\u00b2"):
        (tmp_path / "psrs" / "runs" / f"{name}.json").write_text("{}")
    assert results(tmp_path).n_finished("psrs") == 1
    assert results(tmp_path).n_finished("qbe") == 0


STATES = Identity().fit(LOG).audit(LOG)


def test_an_audit_of_states_comes_back_as_it_was(tmp_path):
    results(tmp_path).create()
    write_state_audit(tmp_path, STATES)
    assert read_state_audit(tmp_path).to_json() == STATES.to_json()


def test_an_audit_of_states_of_another_rehearsal_is_refused(tmp_path):
    for name, gamma in (("one", 0.9), ("other", 0.5)):
        results(tmp_path / name, gamma=gamma).create()
        write_state_audit(tmp_path / name, STATES)
    (tmp_path / "one" / "states.json").write_bytes((tmp_path / "other" / "states.json").read_bytes())
    with pytest.raises(ResultsError, match=r"states\.json is of another rehearsal .*; remove it, and call"):
        read_state_audit(tmp_path / "one")


def damaged_states(tmp_path, damage, count):
    results(tmp_path).create()
    write_state_audit(tmp_path, STATES)
    path = tmp_path / "states.json"
    for content in damage(path.read_bytes(), count, seed=3):
        path.write_bytes(content)
        with suppress(ResultsError):
            assert read_state_audit(tmp_path).to_json() == STATES.to_json()


def test_a_damaged_audit_of_states_is_refused_or_reads_as_it_was(tmp_path, damage):
    damaged_states(tmp_path, damage, 300)


@pytest.mark.slow
def test_ten_thousand_damaged_audits_of_states_are_refused_or_read_as_they_were(tmp_path, damage):
    damaged_states(tmp_path, damage, 10_000)


def test_states_are_found_from_within_a_folder_and_named_by_it(tmp_path, monkeypatch):
    for name in ("one", "other"):
        results(tmp_path / name, title=name).create()
        write_state_audit(tmp_path / name, STATES)
        (tmp_path / name / "psrs").mkdir()
    monkeypatch.chdir(tmp_path / "one" / "psrs")
    assert list(read_of_folders([Path(".")], read_state_audit)) == ["psrs"]
    assert list(read_of_folders([Path("."), Path("../../other/psrs")], read_state_audit)) == ["one, other"]
    assert read_of_folders([], read_state_audit) == {}


SELFCHECK = selfcheck(LOG)
FORECASTS = {"psrs": Forecast(40, (30, 60), 0.9, 5, {"state 3 has no row left": 0.6, "<openings>": 0.4}, 19, 0)}
ESTIMATES = {
    "replay": (
        LearnedPolicy(
            OffPolicy(
                (Estimate("DM", 0.2, 0.1, 0.3, 0.05), Estimate("DR", 0.3, 0.1, 0.5, 0.1, 80.0)), 90, 0.95, ("<note>",)
            ),
            0.25,
            0.02,
            400.0,
        ),
        {"runs": 4, "bound": None},
    )
}
EVIDENCE = (Evidence("less log", 60, "then <nothing>"), Evidence("half the radius", 40, "and then", limits=False))
BEYOND = {
    "qbe": (Beyond(60, 40, 100, 0.3, "g", EVIDENCE, None, ("like", "cut")), {"then": ["like", "cut"], "halves": [5, 4]})
}
NOTES = {"qbe": "left out of --then like,reuse by the audit of the log: reuse; <because>"}
COMPARED = AskedComparison(("ucb1", "<thompson>"), "reward so far")
BESIDE = {
    "compared.json": (lambda folder: write_compared(folder, COMPARED), read_compared, COMPARED),
    "replayed.json": (lambda folder: write_replayed(folder, {"qbe": "sha256:1"}), read_replayed, {"qbe": "sha256:1"}),
    "rungs.json": (lambda folder: write_rungs(folder, NOTES), read_rungs, NOTES),
    "beyond.json": (lambda folder: write_beyond(folder, BEYOND), read_beyond, BEYOND),
    "selfcheck.json": (lambda folder: write_selfcheck(folder, SELFCHECK), read_selfcheck, SELFCHECK),
    "off-policy.json": (lambda folder: write_off_policy(folder, ESTIMATES), read_off_policy, ESTIMATES),
    "forecast.json": (lambda folder: write_forecasts(folder, FORECASTS), read_forecasts, FORECASTS),
}


@pytest.mark.parametrize("name", BESIDE)
def test_self_check_and_forecasts_come_back_as_they_were(tmp_path, name):
    write, read, found = BESIDE[name]
    assert not read(tmp_path)
    results(tmp_path).create()
    assert not read(tmp_path)
    write(tmp_path)
    assert read(tmp_path) == found


@pytest.mark.parametrize("name", BESIDE)
def test_those_of_another_rehearsal_are_refused(tmp_path, name):
    write, read, _ = BESIDE[name]
    for folder, gamma in (("one", 0.9), ("other", 0.5)):
        results(tmp_path / folder, gamma=gamma).create()
        write(tmp_path / folder)
    (tmp_path / "one" / name).write_bytes((tmp_path / "other" / name).read_bytes())
    with pytest.raises(ResultsError, match=rf"{name} is of another rehearsal .*; remove it, and call"):
        read(tmp_path / "one")


@pytest.mark.parametrize("name", BESIDE)
def test_damaged_ones_are_refused_or_read_as_they_were(tmp_path, name, damage):
    write, read, found = BESIDE[name]
    results(tmp_path).create()
    write(tmp_path)
    for content in damage((tmp_path / name).read_bytes(), 200, seed=5):
        (tmp_path / name).write_bytes(content)
        with suppress(ResultsError):
            assert read(tmp_path) == found


@pytest.mark.parametrize(
    "wrong",
    [
        {"rehearsed": "x"}, {"steps": None}, {"estimates": {}}, {"estimates": {"estimates": []}},
        {"estimates": {"estimates": [{"name": "IPS"}]}},
    ],
)  # fmt: skip
def test_off_policy_estimates_with_values_of_another_type_are_refused(wrong):
    with pytest.raises((ValueError, KeyError, TypeError)):
        LearnedPolicy.from_json(ESTIMATES["replay"][0].to_json() | wrong)


def test_evidence_for_other_halves_of_the_log_than_were_asked_for_last_is_not_that_of_the_runs(tmp_path):
    results(tmp_path).create()
    write_beyond(tmp_path, BEYOND)
    for asked, found in (((5, 4), {"qbe": BEYOND["qbe"][0]}), ((0, 0), {}), ((20, 4), {})):
        write_halves(tmp_path, {"qbe": asked})
        assert read_beyond_of_runs(tmp_path) == found
