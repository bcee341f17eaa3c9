"""The file of a sweep: names, shared settings, and what it cannot say."""

import re
import tomllib
from pathlib import Path

import pytest

from understudy.cli.flags import add_log, add_simulation
from understudy.cli.settings_file import flags_added_by
from understudy.cli.sweep_file import SweepFile, vocabulary, write_sweep_file
from understudy.errors import SettingError

WHOLE = """
runs = 5
max_steps = 100
out = "results"
action = "move"
gamma = 0.9

[learners.q]
learner = "q-learning"
epsilon = 0.2
[learners.uniform]
[learners."eps 0.9"]
learner = "q-learning:epsilon=0.9"

[simulators.psrs]
[simulators.reserve]
simulator = "psrs"
reserve = true

[encoders.boxes]
bins = 3

[logs.may]
log = "may.csv"
episode = "trip"
[logs.june]
log = "june.csv"
action = "moved"

[[leave_out]]
learner = "uniform"
simulator = "reserve"
"""
LISTS = """
learners = ["q-learning", "q-learning:epsilon=0.5"]
simulators = ["psrs", "qbe"]
logs = ["may.csv", "june.csv"]
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        (tmp_path / "sweep.toml").write_text(text)
        return SweepFile.read(tmp_path / "sweep.toml")

    return read


def test_parts_are_named_and_share_what_is_at_the_top(read, tmp_path):
    (tmp_path / "may.csv").touch()
    file = read(WHOLE)
    assert file.names == {"learner": ["q", "uniform", "eps 0.9"], "simulator": ["psrs", "reserve"],
                          "encoder": ["boxes"], "log": ["may", "june"]}  # fmt: skip
    assert (file.options(log="may").action, file.options(log="june").action) == ("move", "moved")
    assert file.options(log="may").log == str(tmp_path / "may.csv")
    assert file.options(simulator="psrs").reserve is None
    assert file.options(simulator="reserve").reserve is True
    q, best = (file.learner_options(learner=name) for name in ("q", "eps 0.9"))
    assert (q.learner, q.epsilon, q.gamma) == ("q-learning", 0.2, 0.9)
    assert (best.learner, best.epsilon) == ("q-learning", 0.9)
    assert file.options(encoder="boxes").encoder == "boxes"
    assert file.options().runs == 5


def test_the_file_of_the_documentation_is_read(read):
    page = Path(__file__).parents[2] / "docs" / "sweeps.md"
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert [len(names) for names in read(text).names.values()] == [3, 2, 2, 2]


def test_lists_are_parts_by_their_own_names(read):
    file = read(LISTS)
    assert file.names == {"learner": ["q-learning", "q-learning:epsilon=0.5"], "simulator": ["psrs", "qbe"],
                          "encoder": ["identity"], "log": ["may", "june"]}  # fmt: skip
    assert file.learner_options(learner="q-learning:epsilon=0.5").epsilon == 0.5


def test_keys_are_those_of_simulate():
    """All but those that tell how far to believe a rehearsal of one learner."""
    known = {key for flags in vocabulary().values() for key in flags}
    others = set(flags_added_by(add_log, add_simulation)) - known
    assert others == {"anyway", "halves", "keep_going", "no_classics", "no_forecast", "no_halves", "no_rows",
                      "no_selfcheck", "quick", "traceback"}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "match"),
    [(("runs = 5", "rums = 5"), "no setting 'rums'; 'runs' is the nearest"),
     (("runs = 5", 'learner = "ppo"'), r"'learner' is one of several in a sweep; name it in \[learners.NAME\]"),
     (("epsilon = 0.2", "epsilom = 0.2"), r"\[learners.q\]: there is no setting 'epsilom'; 'epsilon' is the nearest"),
     (("epsilon = 0.2", "reserve = true"), r"\[learners.q\]: there is no setting 'reserve'"),
     (("epsilon = 0.2", "ridge = 1.0"), "--ridge is for linucb .* and not for q-learning"),
     (("gamma = 0.9", "ridge = 1.0"), "--ridge is for linucb"),
     (("[learners.uniform]", "[learners.mine]"), r"\[learners.mine\] says no learner; add learner = "),
     (('log = "may.csv"', ""), r"\[logs.may\] says no log"),
     (("[simulators.psrs]", "[simulators.PSRS]"), r"\[simulators.PSRS\] says no simulator"),
     (("epsilon=0.9", "epsilon=9"), "cannot be used"),
     (("bins = 3", "bins = 0"), r"\[encoders.boxes\]: bins = 0 cannot be used: 0 is less than 1")],
)  # fmt: skip
def test_what_it_cannot_say_is_refused(read, change, match):
    with pytest.raises(SettingError, match=match):
        read(WHOLE.replace(*change))


def test_a_sweep_needs_learners_simulators_and_logs(read):
    for lacking in ("learners", "simulators", "logs"):
        text = "\n".join(line for line in LISTS.splitlines() if not line.startswith(lacking))
        with pytest.raises(SettingError, match=f"{lacking} is a list of texts, or has a table"):
            read(text)


def test_the_file_in_the_folder_names_the_same_logs(read, tmp_path):
    (tmp_path / "may.csv").touch()
    (tmp_path / "june.csv").touch()
    (tmp_path / "move").mkdir()  # the name of a column is not a path
    for text in (WHOLE, LISTS):
        file = read(text)
        (tmp_path / "results").mkdir(exist_ok=True)
        write_sweep_file(file, tmp_path / "results", 7)
        again = SweepFile.read(tmp_path / "results" / "sweep.toml")
        written = tomllib.loads((tmp_path / "results" / "sweep.toml").read_text())
        assert (written["out"], written["runs"]) == (".", 7)
        assert again.names == file.names
        for name in file.names["log"]:
            assert (tmp_path / f"{name}.csv").samefile(again.options(log=name).log)
            assert again.options(log=name).action == file.options(log=name).action
