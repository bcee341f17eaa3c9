import subprocess
import sys

import pytest

from understudy.registration import NAMES


def ends_well(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_knows_our_environments_by_name(name):
    ends_well(f"import understudy, gymnasium; gymnasium.make('understudy/{name}-v0').reset(seed=0)")


def test_knowing_the_names_loads_no_environment():
    ends_well("import sys, understudy; assert not {'understudy.envs', 'numba'} & set(sys.modules)")
