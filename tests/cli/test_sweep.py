"""`understudy sweep` makes what its file names, goes on, and says what failed."""

import json
import shutil
import sys

import numpy as np
import pytest

import understudy as us
from understudy.cli import main

FILE = """
runs = 3
max_steps = 80
out = "out"

[learners.small]
learner = "q-learning"
epsilon = 0.1
[learners.large]
learner = "q-learning:epsilon=0.9"

[simulators.psrs]
[simulators.qbe]

[logs.may]
log = "may.parquet"

[[leave_out]]
learner = "large"
simulator = "qbe"
"""


@pytest.fixture(scope="module")
def swept(log, tmp_path_factory):
    folder = tmp_path_factory.mktemp("swept")
    us.write(log, folder / "may.parquet")
    (folder / "sweep.toml").write_text(FILE)
    assert main(["sweep", str(folder / "sweep.toml")]) == 0
    return folder


@pytest.fixture
def folder(swept, tmp_path):
    shutil.copytree(swept, tmp_path / "swept")
    return tmp_path / "swept"


def test_all_combinations_are_run_but_those_left_out(swept):
    found = us.load_sweep(swept / "out")
    assert {one[:2] for one in found.combinations} == {("small", "psrs"), ("large", "psrs"), ("small", "qbe")}
    assert {count["runs"] for count in found.counts.values()} == {3}
    assert found.about(learner="large").learner["epsilon"] == 0.9
    assert found.probes(learner="large") == ["reward so far", "start value"]


def test_the_same_command_goes_on_and_prints_json(folder, capsys):
    assert main(["sweep", str(folder / "sweep.toml"), "--runs", "4", "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["combinations"]
    assert [line["runs"] for line in lines] == [4, 4, 4]


def test_the_folder_holds_the_file_that_goes_on(folder, capsys):
    assert main(["sweep", str(folder / "out" / "sweep.toml"), "--runs", "5"]) == 0
    assert len(us.load_sweep(folder / "out").to_frame()) == 15


def test_a_changed_part_is_refused_by_what_changed(folder, capsys):
    (folder / "sweep.toml").write_text(FILE.replace("epsilon = 0.1", "epsilon = 0.2"))
    assert main(["sweep", str(folder / "sweep.toml")]) == 2
    told = capsys.readouterr().err
    assert "learner 'small' is not what it was" in told
    assert "epsilon is 0.1 there and 0.2 here" in told
    assert "another name" in told


def test_a_sweep_without_a_folder_is_refused(folder, capsys):
    (folder / "sweep.toml").write_text(FILE.replace('out = "out"', ""))
    assert main(["sweep", str(folder / "sweep.toml")]) == 2
    assert "names no results folder" in capsys.readouterr().err


def test_failing_runs_are_said_and_the_exit_code_is_1(folder, capsys, monkeypatch):
    (folder / "failing_learner.py").write_text(
        "import understudy as us\n\n\nclass Failing(us.learners.QLearning):\n"
        "    def __init__(self, spec, seed):\n        super().__init__(25, spec.n_actions, seed=seed)\n"
        "        if seed == 5876733520225071:\n            raise ValueError('no')\n"
    )
    (folder / "sweep.toml").write_text(FILE + '[learners.mine]\nlearner = "failing_learner:Failing"\n')
    assert main(["sweep", str(folder / "sweep.toml")]) == 1
    assert "6 of 6 runs of the sweep failed: learner 'mine'" in capsys.readouterr().out
    assert us.load_sweep(folder / "out").failed()["failed"][0].as_py() == "ValueError: no"


def test_report_draws_the_page_of_a_sweep(folder, capsys):
    assert main(["report", str(folder / "out")]) == 0
    assert "Which learner is ahead" in (folder / "out" / "report.html").read_text()
    assert main(["report", str(folder / "out"), str(folder / "out")]) == 2
    assert "one folder" in capsys.readouterr().err


def test_states_that_the_audit_doubts_are_said(cartpole, tmp_path, capsys):
    (tmp_path / "sweep.toml").write_text(
        f"runs = 1\nmax_steps = 20\nlogs = ['{cartpole}']\nsimulators = ['psrs']\nlearners = ['q-learning']\n"
        "encoders = ['boxes']\nbins = 2\n"
    )
    assert main(["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out")]) == 0
    assert "encoder boxes:" in capsys.readouterr().out


OWN = """
import understudy as us


def make(spec, seed):
    return us.learners.QLearning(25, spec.n_actions, seed=seed)
"""


@pytest.mark.parametrize("where", ["beside", "table", "list"])
def test_the_folder_says_where_a_learner_of_ones_own_is(log, where, tmp_path, capsys, monkeypatch):
    """And `learner_folder` says so in the file, at its top or in the learner's table."""
    name = f"learner_of_sweep_{where}"
    code = tmp_path if where == "beside" else tmp_path / "code"
    code.mkdir(exist_ok=True)
    (code / f"{name}.py").write_text(OWN)
    us.write(log, tmp_path / "may.parquet")
    head = 'runs = 2\nmax_steps = 50\nout = "out"\nsimulators = ["psrs"]\nlogs = ["may.parquet"]\n'
    learners = {
        "beside": f'[learners.q]\nlearner = "q-learning"\n[learners.mine]\nlearner = "{name}:make"\n',
        "table": f'[learners.mine]\nlearner = "{name}:make"\nlearner-folder = "code"\n',
        "list": f'learners = ["q-learning:epsilon=0.3", "{name}:make"]\nlearner_folder = "code"\n',
    }
    (tmp_path / "sweep.toml").write_text(head + learners[where])
    path = sys.path[:]
    for file, more in (("sweep.toml", []), ("out/sweep.toml", ["--runs", "3"]), ("out/sweep.toml", ["--runs", "4"])):
        monkeypatch.setattr("sys.path", path[:])
        sys.modules.pop(name, None)
        monkeypatch.chdir("/" if more else tmp_path)
        assert main(["sweep", str(tmp_path / file), *more]) == 0, capsys.readouterr().err
    found = us.load_sweep(tmp_path / "out")
    assert {count["runs"] for count in found.counts.values()} == {4}
    assert len(found.counts) == (1 if where == "table" else 2)


def test_two_modules_of_one_name_are_refused(log, tmp_path, capsys):
    """Python would take the first for both."""
    learners = ""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "twice_there.py").write_text(OWN)
        learners += f'[learners.{name}]\nlearner = "twice_there:make"\nlearner_folder = "{name}"\n'
    us.write(log, tmp_path / "may.parquet")
    (tmp_path / "sweep.toml").write_text(f'out = "out"\nsimulators = ["psrs"]\nlogs = ["may.parquet"]\n{learners}')
    assert main(["sweep", str(tmp_path / "sweep.toml")]) == 2
    assert "learners 'one' and 'two' are of a module twice_there in two folders" in capsys.readouterr().err


@pytest.mark.parametrize("as_list", [True, False])
def test_the_folder_keeps_the_encoder_of_a_file(floats, tmp_path, capsys, monkeypatch, as_list):
    encoder = tmp_path / "mine.npz"
    us.encoders.Boxes(bins=2).fit(us.read(floats)).save(encoder)
    encoders = 'encoders = ["mine.npz"]' if as_list else '[encoders.mine]\nencoder = "mine.npz"'
    head = f'max_steps = 50\nruns = 1\nlearners = ["q-learning"]\nsimulators = ["psrs"]\nlogs = ["{floats}"]\n'
    (tmp_path / "sweep.toml").write_text(head + encoders)
    assert main(["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out")]) == 0
    encoder.unlink()
    kept = str(tmp_path / "out" / "sweep.toml")
    monkeypatch.chdir("/")
    for out, runs in (("out", "2"), ("again", "2")):
        assert main(["sweep", kept, "--out", str(tmp_path / out), "--runs", runs]) == 0, capsys.readouterr().err
    one, two = (us.load_sweep(tmp_path / out) for out in ("out", "again"))
    assert one.combinations == two.combinations
    for mine, theirs in zip(one.readings("start value"), two.readings("start value"), strict=True):
        np.testing.assert_array_equal(mine, theirs)
