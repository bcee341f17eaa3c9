"""Runs of backends with remote workers are saved by the experiment, and what failed there is noted by it."""

import pickle

import cloudpickle
import numpy as np
import pytest

import understudy as us
from understudy.runs.failures import FailedRun
from understudy.runs.folder import Folder
from understudy.runs.plan import Plan
from understudy.runs.remote import RemoteError, RemoteRuns, code_observations
from understudy.simulators.coding import LOG_POSITIONS


def elsewhere(run_block, blocks, workers):
    """A backend that makes runs as on other machines: what it is given and what it returns are pickled."""
    sent = cloudpickle.dumps(run_block)
    for block in blocks:
        try:
            runs = cloudpickle.loads(sent)(block, lambda: True)
        except Exception as error:
            raise pickle.loads(pickle.dumps(error)) from None
        yield block, pickle.loads(pickle.dumps(runs))


elsewhere.n_workers = 3


@pytest.fixture(scope="module")
def log():
    return us.record(us.envs.Grid(size=3), episodes=60, seed=0)


def make(seed):
    return us.learners.QLearning(9, 5, epsilon=0.9, seed=seed)


def test_runs_are_written_here_one_by_one(log, tmp_path):
    seen = []

    def watched(run_block, blocks, workers):
        assert workers == 3
        for result in elsewhere(run_block, blocks, workers):
            seen.append(len(list((tmp_path / "out" / "runs").glob("*.json"))))
            yield result

    watched.n_workers = 3
    found = us.experiment(us.psrs(log), make, runs=4, max_steps=50, backend=watched, out=tmp_path / "out")
    assert seen == [0, 1, 2, 3]
    kept = us.load(tmp_path / "out")
    for one, other in zip(found, kept, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)


def test_workers_do_not_get_the_folder(log, tmp_path):
    plan = Plan(us.psrs(log), make, 0, 50, {}, 1000, None)
    plan.folder = Folder(tmp_path / "nowhere")
    sent = cloudpickle.loads(cloudpickle.dumps(RemoteRuns(plan)))
    assert sent.plan.folder is None
    assert plan.folder is not None


def test_an_error_comes_back_as_it_is_and_its_runs_are_noted(log, tmp_path):
    bad = us.experiment(us.psrs(log), make, runs=3, max_steps=5, backend="serial")[1].seed

    def raising(seed):
        if seed == bad:
            raise ZeroDivisionError("mine")
        return make(seed)

    options = {"runs": 3, "max_steps": 50, "backend": elsewhere, "out": tmp_path / "out"}
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        us.experiment(us.psrs(log), raising, **options)
    assert isinstance(caught.value.__cause__, RemoteError)
    assert "in raising" in str(caught.value.__cause__)
    (failed,) = us.load(tmp_path / "out").failed
    assert (failed.number, failed.seed) == (1, bad)
    with pytest.warns(us.FailedRunsWarning, match="1 of 3 runs failed"):
        found = us.experiment(us.psrs(log), raising, errors="keep", **options)
    assert len(found) == len(us.load(tmp_path / "out")) == 2
    assert [one.number for one in us.load(tmp_path / "out").failed] == [1]


def test_a_run_that_is_made_later_is_no_longer_noted(log, tmp_path):
    bad = us.experiment(us.psrs(log), make, runs=2, max_steps=5, backend="serial")[1].seed

    def raising(seed):
        if seed == bad and not (tmp_path / "mended").exists():
            raise ZeroDivisionError("mine")
        return make(seed)

    options = {"runs": 2, "max_steps": 50, "backend": elsewhere, "out": tmp_path / "out", "errors": "keep"}
    with pytest.warns(us.FailedRunsWarning):
        us.experiment(us.psrs(log), raising, **options)
    assert len(us.load(tmp_path / "out").failed) == 1
    (tmp_path / "mended").touch()
    assert len(us.experiment(us.psrs(log), raising, **options)) == 2
    assert us.load(tmp_path / "out").failed == ()
    assert not list((tmp_path / "out" / "runs").glob("*.failed.json"))


def test_a_remote_error_travels_by_plain_pickle():
    raised = RemoteError(KeyError("a"), [FailedRun(1, 2, "KeyError: 'a'")], "the traceback")
    back = pickle.loads(pickle.dumps(raised))
    assert isinstance(back.error, KeyError)
    assert back.failed == raised.failed
    assert str(back) == "the traceback"


def test_codes_of_a_learner_travel_with_the_simulator(log):
    """A worker does not code observations anew: the arrays that it uses are those that came along."""
    coded = []

    class Cells:
        fits = 0

        def encode(self, observations):
            coded.append(len(observations))
            return observations

    cells = Cells()
    simulator = us.psrs(log)
    plan = Plan(simulator, lambda seed: us.learners.QLearning(9, 5, encoder=cells, seed=seed), 0, 50, {}, 1000, None)
    code_observations(plan)
    here = len(coded)
    assert here
    arrived = cloudpickle.loads(cloudpickle.dumps(RemoteRuns(plan))).plan
    learner = arrived.make(0)
    assert learner.codes.encoder is arrived.simulator._arrays._last[0]


def test_positions_in_the_log_are_the_same_object_in_every_process():
    assert pickle.loads(pickle.dumps(LOG_POSITIONS)) is LOG_POSITIONS
