"""The kernels of every source and learner, interpreted, do what they do compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import understudy


@pytest.fixture(scope="module")
def interpreted(trajectories):
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(understudy.__file__).parents[1])}
    # 64-bit streams wrap around: NumPy's scalars warn where machine words do not
    command = [sys.executable, "-W", "ignore::RuntimeWarning", trajectories.__file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_compiled_and_interpreted_runs_are_equal_row_for_row(interpreted, trajectories):
    compiled = trajectories.trajectories()
    assert compiled.keys() == interpreted.keys()
    for name, run in compiled.items():
        assert len(run["told"]) > 30, name
        known = interpreted[name].pop("known")
        assert run.pop("known") == pytest.approx(known, rel=1e-12, abs=0), name  # a compiled power rounds its own way
        assert run == interpreted[name], name
