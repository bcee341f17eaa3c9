import numpy as np
import pytest

import understudy as us
from paper.workspace import Workspace


@pytest.fixture(scope="module")
def simulator():
    return us.psrs(us.record(us.envs.Grid(), episodes=30, seed=0))


def make(seed):
    return us.learners.QLearning(25, 5, seed=seed)


def test_a_finished_set_is_kept_without_its_rows_and_goes_on(simulator, tmp_path):
    workspace = Workspace(tmp_path)
    first = workspace.experiment("case/psrs", simulator, make, runs=3)
    more = workspace.experiment("case/psrs", simulator, make, runs=5)
    whole = us.experiment(simulator, make, runs=5)
    assert not any(run.has_rows for run in more)
    assert first.lengths.tolist() == more.lengths.tolist()[:3]
    assert [run.seed for run in more] == [run.seed for run in whole]
    assert more.lengths.tolist() == whole.lengths.tolist()
    assert us.load(tmp_path / "runs" / "case" / "psrs").lengths.tolist() == whole.lengths.tolist()


def test_rows_are_kept_where_they_are_asked_for(simulator, tmp_path):
    runs = Workspace(tmp_path).experiment("psrs", simulator, make, runs=2, keep_rows=True)
    assert all((run.rows >= 0).all() for run in runs)
    assert all(
        np.array_equal(run.rows, kept.rows) for run, kept in zip(runs, us.load(tmp_path / "runs" / "psrs"), strict=True)
    )


def test_finished_runs_of_all_sets_are_counted(simulator, tmp_path):
    workspace = Workspace(tmp_path, quick=True)
    assert workspace.n_finished == 0
    workspace.experiment("case/psrs", simulator, make, runs=2)
    workspace.experiment("4 more", simulator, make, runs=3)
    assert workspace.n_finished == 5
