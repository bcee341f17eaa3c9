import os
import pickle
import subprocess
import sys
import warnings

import pytest

from soak.watching import Outcome, outcome_of
from understudy.errors import LogError, UnderstudyWarning


@pytest.fixture
def end_of(tmp_path):
    (tmp_path / "case").mkdir()
    (tmp_path / "case/input").write_text("x")

    def end(read):
        return outcome_of(read, tmp_path / "case", tmp_path / "CANARY")[0].end

    return end


def refuse(message):
    raise LogError(message)


class Planted:
    def __reduce__(self):
        return os.getcwd, ()


def test_what_is_read_and_what_is_refused_in_a_sentence_is_fine(end_of):
    assert end_of(lambda: 7) == "read"
    assert end_of(lambda: refuse("row 3 is empty; fill it in")) == "refused"
    assert end_of(lambda: refuse("malloc of size 99 failed")) == "refused for memory"
    assert end_of(lambda: warnings.warn("read on", UnderstudyWarning, stacklevel=1)) == "read"
    assert all(Outcome(end).fine for end in ("read", "refused", "refused for memory"))


@pytest.mark.parametrize(
    ("read", "end"),
    [
        (lambda: 1 // 0, "raised"),
        (lambda: refuse(" "), "no sentence"),
        (lambda: warnings.warn("overflow", RuntimeWarning, stacklevel=1), "warned"),
        (lambda: exec("7"), "code run"),
        (lambda: eval("7"), "code run"),
        (lambda: pickle.loads(pickle.dumps(Planted())), "code run"),
        (lambda: os.system("true"), "code run"),
        (lambda: subprocess.run(["true"], check=False), "code run"),
        (lambda: open(os.path.join(os.environ["TMPDIR"], "new"), "w").close(), "written"),
    ],
)
def test_what_must_not_happen_is_noticed(end_of, read, end, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert end_of(read) == end
    assert not Outcome(end).fine


def test_a_canary_and_a_changed_folder_are_noticed(end_of, tmp_path, monkeypatch):
    made = tmp_path / "CANARY"
    made.mkdir()
    assert end_of(lambda: 7) == "code run"
    assert not made.exists()
    monkeypatch.setitem(sys.modules, "antigravity", object())
    assert end_of(lambda: 7) == "code run"
    monkeypatch.delitem(sys.modules, "antigravity")
    assert end_of(lambda: os.utime(tmp_path / "case/input", (0, 0))) == "written"
    assert end_of(lambda: __import__("colorsys").rgb_to_hsv(0, 0, 0)) == "read"  # a module of Python's own
