"""A run that raises is marked with its reason, the others go on, and the same call makes what is missing."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from understudy.contracts.offering import offers
from understudy.errors import FailedRunsWarning, ResultsError, RunError, SettingError
from understudy.evaluation import Halves, halves
from understudy.evaluation.ratios import ratio_of_medians
from understudy.learners import PPO, QLearning
from understudy.reporting.cautions import cautions
from understudy.runs import experiment, load, probes
from understudy.runs.failures import FailedRun, check_same_failed, failures_sentence
from understudy.runs.folder import Folder
from understudy.simulators import psrs

BACKENDS = ["serial", "threads", "processes"]
RUNS = 6


def seeds_of(log, make):
    """Return the seeds of the first runs of an experiment."""
    return [run.seed for run in experiment(psrs(log), make, runs=RUNS, max_steps=1, backend="serial")]


class Doomed(QLearning):
    """Q-learning that raises at its second step in runs of some seeds, as long as a file is not there."""

    def __init__(self, *, doomed=(), mended="", how="raise", **options):
        super().__init__(18, 5, **options)
        self.bad, self.mended, self.how, self.n = options["seed"] in doomed, mended, how, 0

    def learn(self, step):
        self.n += 1
        if self.bad and self.n == 2 and not Path(self.mended).is_file():
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise FloatingPointError("diverged,\nsadly")
        super().learn(step)


def maker(doomed, mended="nowhere", how="raise"):
    return lambda seed: Doomed(doomed=tuple(doomed), mended=str(mended), how=how, epsilon=0.9, seed=seed)


@pytest.mark.parametrize("backend", BACKENDS)
def test_others_go_on_and_the_same_call_completes_the_folder(backend, log, tmp_path, assert_same_runs):
    seeds = seeds_of(log, maker(()))
    make, out = maker([seeds[1], seeds[4]], tmp_path / "mended"), tmp_path / "results"
    options = {"runs": RUNS, "max_steps": 30, "backend": backend, "workers": 2, "out": out, "errors": "keep"}
    with pytest.warns(FailedRunsWarning, match=r"2 of 6 runs failed: run 1 \(seed .*diverged, sadly.*; run 4"):
        runs = experiment(psrs(log), make, **options)
    assert [run.seed for run in runs] == [seeds[number] for number in (0, 2, 3, 5)]
    assert [(one.number, one.seed) for one in runs.failed] == [(1, seeds[1]), (4, seeds[4])]
    assert runs.failed[0].reason == "FloatingPointError: diverged, sadly (at step 2 of Doomed)"
    assert "in learn" in runs.failed[0].traceback
    assert "2 of 6 runs failed" in repr(runs)
    assert load(out).failed == runs.failed
    assert json.loads((out / "runs" / "000001.failed.json").read_text())["traceback"] == runs.failed[0].traceback

    (tmp_path / "mended").touch()
    complete = experiment(psrs(log), make, **options)
    assert (len(complete), complete.failed, load(out).failed) == (RUNS, (), ())
    assert not list(out.glob("runs/*.failed.json"))
    assert_same_runs(complete, experiment(psrs(log), maker(()), runs=RUNS, max_steps=30, backend="serial"))


def test_an_error_that_comes_again_does_not_keep_later_runs_from_being_made(log, tmp_path):
    seeds = seeds_of(log, maker(()))
    make, out = maker(seeds[1:2]), tmp_path / "results"
    for finished in ([0], [0, 2, 3, 4, 5], [0, 2, 3, 4, 5]):
        with pytest.raises(FloatingPointError):
            experiment(psrs(log), make, runs=RUNS, max_steps=30, backend="serial", out=out)
        assert Folder(out).numbers() == finished
    assert [one.number for one in load(out).failed] == [1]


def test_where_all_runs_fail_there_is_one_error_that_says_why(log):
    with pytest.raises(RunError, match=r"6 of 6 runs failed: run 0 .*diverged.*; and 3 more; mend"):
        experiment(psrs(log), maker(seeds_of(log, maker(()))), runs=RUNS, max_steps=30, backend="serial", errors="keep")


def test_a_word_for_errors_that_is_not_known_is_refused(log):
    with pytest.raises(SettingError, match="errors='ignore' is not one of 'raise', 'keep'"):
        experiment(psrs(log), maker(()), runs=1, errors="ignore")


@pytest.mark.filterwarnings("ignore:A worker stopped")
@pytest.mark.slow  # test_processes has the same without an experiment
@pytest.mark.parametrize("errors", ["raise", "keep"])
def test_a_run_that_kills_its_process_is_named_and_the_others_are_kept(log, tmp_path, errors, assert_same_runs):
    seeds = seeds_of(log, maker(()))
    make, out = maker(seeds[2:3], how="kill"), tmp_path / "results"
    options = {"runs": 4, "max_steps": 30, "backend": "processes", "workers": 2, "out": out, "errors": errors}
    if errors == "raise":
        with pytest.raises(RunError, match=rf"run 2 \(seed {seeds[2]}\) could not be made: .* died 3 times"):
            experiment(psrs(log), make, **options)
    else:
        with pytest.warns(FailedRunsWarning, match="1 of 4 runs failed: run 2"):
            experiment(psrs(log), make, **options)
    kept = load(out)
    assert [run.seed for run in kept] == [seeds[number] for number in (0, 1, 3)]
    assert [(one.number, one.traceback) for one in kept.failed] == [(2, "")]


class DoomedPPO(PPO):
    """PPO that raises in a run of one seed: where it takes in steps, or where stacked learners are trained together."""

    doomed, where = -1, "collect"

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.own_seed = options["seed"]

    def collect(self, steps):
        if self.where == "collect" and self.own_seed == self.doomed:
            raise FloatingPointError("diverged")
        super().collect(steps)

    @staticmethod
    def update_all(learners):
        if any(learner.where == "update" and learner.own_seed == learner.doomed for learner in learners):
            raise FloatingPointError("diverged")
        PPO.update_all(learners)

    def update(self):
        self.update_all([self])


@pytest.mark.parametrize("where", ["collect", "update"])
def test_of_stacked_runs_only_the_one_that_raises_fails(where, log, monkeypatch, assert_same_runs):
    pytest.importorskip("torch")

    def make(seed):
        return DoomedPPO(log.spec, hidden=(4,), epoch_steps=20, seed=seed)

    options = {"runs": 3, "max_steps": 50, "backend": "serial"}
    whole = experiment(psrs(log), make, **options)
    monkeypatch.setattr(DoomedPPO, "doomed", whole[1].seed)
    monkeypatch.setattr(DoomedPPO, "where", where)
    with pytest.warns(FailedRunsWarning, match="1 of 3 runs failed: run 1"):
        found = experiment(psrs(log), make, errors="keep", **options)
    assert_same_runs(found, whole[::2])
    with pytest.raises(FloatingPointError, match="diverged"):
        experiment(psrs(log), make, **options)


def test_halves_of_which_runs_failed_are_cut_to_equally_many(log, tmp_path):
    out, value = tmp_path / "results", {"value": probes.start_value([0])}
    options = {
        "runs": 5,
        "halves": 5,
        "runs_of_half": 4,
        "every": 5,
        "max_steps": 30,
        "out": out,
        "progress": False,
        "backend": "serial",
    }
    whole = halves(psrs(log), maker(()), probes=value, **options | {"out": None})
    doomed = [whole.runs[0].seed, whole.halves[2][1].seed]
    with pytest.warns(FailedRunsWarning):
        found = halves(psrs(log), maker(doomed), probes=value, errors="keep", **options)
    assert [len(half) for half in found.runs.halves] == [4, 4, 3, 4, 4]
    assert [len(half) for half in found.halves] == [3] * 5
    assert np.isfinite(found.final()).all()
    assert len(Halves(load(out)).runs) == 4
    with pytest.raises(SettingError, match="run 0 failed in one set and not in the other"):
        found.difference(whole)


def test_pairs_of_runs_need_the_same_ones_to_have_failed(log):
    runs = experiment(psrs(log), maker(()), runs=3, max_steps=5, backend="serial")
    failed = FailedRun(0, 7, "ValueError")
    with pytest.raises(SettingError, match="cannot be paired: run 0 failed"):
        ratio_of_medians(runs, type(runs)(runs.runs, runs.about, failed=(failed,)))
    check_same_failed([failed], [failed])


def test_a_page_says_which_runs_failed(log):
    runs = experiment(psrs(log), maker(()), runs=3, max_steps=5, backend="serial")
    with_failed = type(runs)(runs.runs, runs.about, failed=(FailedRun(9, 7, "ValueError: odd"),))
    (said,) = [sentence for sentence in cautions({"psrs": with_failed}) if "failed" in sentence]
    assert said.startswith("In “psrs”, 1 of 4 runs failed: run 9 (seed 7): ValueError: odd.")
    assert not [sentence for sentence in cautions({"psrs": runs}) if "failed" in sentence]


@pytest.mark.parametrize("content", ["", "{}", "[]", "\x00"])
def test_a_damaged_file_of_a_failed_run_is_as_if_not_there(log, tmp_path, content):
    experiment(psrs(log), maker(()), runs=1, max_steps=5, backend="serial", out=tmp_path / "r")
    (tmp_path / "r" / "runs" / "000007.failed.json").write_text(content)
    assert load(tmp_path / "r").failed == ()


def test_many_failed_runs_are_counted_and_the_first_named():
    failed = [FailedRun(number, 100 + number, "ValueError: x") for number in range(5)]
    sentence = failures_sentence(failed, 20)
    assert sentence.startswith("5 of 20 runs failed: run 0 (seed 100): ValueError: x; run 1")
    assert sentence.endswith("; and 2 more")


def test_escape_bytes_of_an_error_do_not_reach_a_terminal():
    assert "\x1b" not in str(FailedRun.of(0, 1, ValueError("\x1b[31mred")))


def test_plans_can_give_blocks_up(log):
    from understudy.contracts import GivesUp
    from understudy.runs.plan import Plan

    plan = Plan(psrs(log), maker(()), 0, 5, {}, 1, None)
    assert offers(plan, GivesUp)
    with pytest.raises(RunError, match=r"runs 3 to 4 \(seed .*, \.\.\.\) could not be made: no machine"):
        plan.give_up((3, 4), "no machine")


def test_a_folder_that_cannot_be_written_is_an_error_also_with_keep(log, tmp_path, monkeypatch):
    def full(self, number, run):
        raise ResultsError("cannot write: disk full")

    monkeypatch.setattr(Folder, "save", full)
    with pytest.raises(ResultsError, match="disk full"):
        experiment(psrs(log), maker(()), runs=2, max_steps=5, backend="serial", out=tmp_path / "r", errors="keep")
