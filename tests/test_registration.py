import subprocess
import sys

import pytest

from understudy.registration import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_knows_our_environments_by_name(name):
    # In a new interpreter that imports nothing of ours: Gymnasium finds the names of what is installed.
    code = f"import gymnasium; gymnasium.make('understudy/{name}-v0').reset(seed=0)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_gymnasium_does_not_load_the_environments():
    code = "import sys, gymnasium; sys.exit('understudy.envs' in sys.modules or 'numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
