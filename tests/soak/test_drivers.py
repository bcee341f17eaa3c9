import pytest

from soak.drivers import _complaints, run_drivers
from soak.processes import Ended


@pytest.mark.slow
def test_two_drivers_on_one_folder_do_not_disturb_each_other(tmp_path):
    found = run_drivers(2, tmp_path, report=lambda *_: None, pairs=("halves",))
    assert [one.wrong for one in found] == [[], []]
    assert sorted(found[1].codes) == [0, 2]


def test_what_is_wrong_is_said():
    fine = Ended(0, "", 1.0, [], [])
    assert _complaints([fine, fine], {0}) == []
    assert "no end" in _complaints([None, fine], {0})[0]
    assert "exit code 1" in _complaints([fine._replace(code=1)], {0, 2})[0]
    assert "it left ['x']" in _complaints([fine._replace(left=["x"])], {0})[0]
