"""The example of a backend on Dask gives the runs that ours give, and survives a worker that is killed."""

import importlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import understudy as us

pytest.importorskip("distributed", reason="the example needs Dask: pip install distributed")
pytestmark = pytest.mark.filterwarnings("default")  # Dask's own warnings are not ours

PATH = Path(__file__).parents[2] / "examples" / "dask_backend.py"


@pytest.fixture(scope="module")
def log():
    return us.record(us.envs.Grid(size=3), episodes=60, seed=0)


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def on_dask(client):
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(PATH.parent)
        module = importlib.import_module("dask_backend")
        client.upload_file(str(PATH))
        yield module.on_dask
        del sys.modules["dask_backend"]


def same(ours, theirs):
    return all(np.array_equal(one.rows, other.rows) for one, other in zip(ours, theirs, strict=True))


def test_runs_are_the_same_as_in_this_process(log, client, on_dask):
    def make(seed):
        return us.learners.QLearning(9, 5, epsilon=0.9, seed=seed)

    options = {"runs": 5, "max_steps": 200}
    ours = us.experiment(us.psrs(log), make, backend="serial", **options)
    assert same(ours, us.experiment(us.psrs(log), make, backend=on_dask(client), **options))


def test_a_worker_that_dies_once_loses_nothing(log, client, on_dask, tmp_path):
    marker = str(tmp_path / "killed")

    def make(seed):
        here = os.getpid()
        if here != driver and not os.path.exists(marker):
            Path(marker).touch()
            os._exit(1)
        return us.learners.QLearning(9, 5, epsilon=0.9, seed=seed)

    driver = os.getpid()
    options = {"runs": 5, "max_steps": 200}
    theirs = us.experiment(us.psrs(log), make, backend=on_dask(client), out=tmp_path / "out", **options)
    assert Path(marker).exists()
    ours = us.experiment(us.psrs(log), make, backend="serial", **options)
    assert same(ours, theirs)
    assert same(ours, us.load(tmp_path / "out"))
