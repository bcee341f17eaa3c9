"""Bandit learners by their flags, and learners of one's own by module and class."""

import sys

import numpy as np
import pytest

import understudy as us
from tests.cli.test_choices import options_of
from understudy.cli import main
from understudy.cli.choices import learner_for, shared_options
from understudy.cli.learners import can_be_called, own_class
from understudy.cli.values import BANDITS, is_own_learner

ENV = us.envs.LinearBandit(3, 4, seed=1)
FLOATS = us.record(ENV, episodes=300, seed=0)
CLICKS = us.record(us.envs.BernoulliBandit([0.2, 0.6, 0.4]), episodes=300, seed=0)

MINE = '''
import functools

import numpy as np

class Even:
    """Takes every action alike."""
    def __init__(self, spec, seed=0):
        self.n, self.seed = spec.n_actions, seed
    def policy(self, observation):
        return np.full(self.n, 1 / self.n)
    def learn(self, step):
        pass

class OfSeed(Even):
    def __init__(self, seed):
        self.n, self.seed = 3, seed

class Valuing(Even):
    def value(self, observation):
        return 1.0

class NeedsMore:
    def __init__(self, spec, seed, color):
        pass

class Fails:
    def __init__(self, spec, seed):
        raise KeyError("color")

class RaisesLater(Even):
    """Works for ten steps, and then looks for something that it does not have."""
    steps = 0
    def policy(self, observation):
        if self.steps == 10:
            return self.prices["red"]
        return super().policy(observation)
    def learn(self, step):
        self.steps += 1

class FailsToLearn(Even):
    def learn(self, step):
        raise ValueError

number = 3
strict = functools.partial(NeedsMore, 1)
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder with a module of learners, which is the current one; nothing of it is left behind."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("import no_such_module_at_all")
    (tmp_path / "raising.py").write_text("1 / 0")
    us.write(CLICKS, tmp_path / "clicks.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("mine", "broken", "raising"):
        sys.modules.pop(name, None)


def made(log, *flags, encoder=None):
    make, probes = learner_for(log, encoder, options_of(*flags))
    assert list(probes) == ["reward so far", "reward per step"]
    return make(3)


@pytest.mark.parametrize("name", BANDITS)
def test_every_bandit_learner_rehearses(name, tmp_path):
    us.write(FLOATS if "lin" in name else CLICKS, tmp_path / "log.parquet")
    flags = ["--encoder", "boxes", "--bins", "1", "--anyway"] if "lin" in name else []
    arguments = ["simulate", str(tmp_path / "log.parquet"), "--learner", name, "--runs", "2", "--quick", *flags]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    kind = us.load(tmp_path / "out" / "psrs").about.learner["class"]
    assert kind in ("EpsilonGreedy", "UCB1", "Thompson", "Exp3", "LinUCB", "LinearThompson")
    assert f"{name} rehearsed on log.parquet" in (tmp_path / "out" / "report.html").read_text()


def test_settings_are_those_of_the_flags():
    greedy = made(CLICKS, "--learner", "epsilon-greedy", "--epsilon", "0.3", "--initial", "2")
    assert (greedy.epsilon, greedy.initial, greedy.alpha) == (0.3, 2.0, None)
    assert made(CLICKS, "--learner", "ucb1", "--exploration", "0.5").exploration == 0.5
    gaussian = made(FLOATS, "--learner", "gaussian-thompson", "--noise", "0.4", "--initial", "1")
    assert (gaussian.reward, gaussian.noise, gaussian.prior) == ("gaussian", 0.4, (1.0, 0.4))
    linear = made(FLOATS, "--learner", "linucb", "--exploration", "0.2", "--ridge", "3")
    assert (linear.exploration, linear.ridge, linear.n_features) == (0.2, 3.0, 3)
    for flags in (["--ridge", "2"], ["--noise", "2"], ["--exploration", "2"]):
        one, other = (shared_options(options_of("--learner", "linucb", *more), FLOATS) for more in (flags, []))
        assert one != other
        assert shared_options(options_of(*flags), CLICKS) == shared_options(options_of(), CLICKS)


def test_a_table_has_a_row_for_each_code_or_state_and_else_one_for_all():
    codes = us.record(us.envs.Grid(), episodes=30, seed=0)
    assert made(codes, "--learner", "ucb1").counts.shape == (25, 5)
    assert made(FLOATS, "--learner", "ucb1").counts.shape == (1, 4)
    boxes = us.encoders.Boxes(bins=2).fit(FLOATS)
    assert made(FLOATS, "--learner", "ucb1", encoder=boxes).counts.shape == (boxes.n_states, 4)
    ids = us.Log.from_columns(observation=[10**12, 3], action=[0, 1], reward=[0, 1], ends="every-row")
    assert made(ids, "--learner", "thompson").counts.shape == (1, 2)


def test_exp3_scales_by_the_rewards_of_the_log_and_thompson_names_another_learner():
    assert made(CLICKS, "--learner", "exp3").reward_range == (0.0, 1.0)
    low, high = made(FLOATS, "--learner", "exp3").reward_range
    assert (low, high) == (FLOATS.reward.min(), max(1.0, FLOATS.reward.max()))
    with pytest.raises(us.SettingError, match=r"thompson takes rewards from 0 to 1, .* choose gaussian-thompson, with"):
        made(FLOATS, "--learner", "thompson")


def test_a_number_that_cannot_be_used_is_refused_before_anything_is_written(mine, refused):
    command = ["simulate", "clicks.parquet", "--learner", "gaussian-thompson", "--noise", "1e-300", "--out", "out"]
    assert "noise is 1e-300; give --noise, a number from 1e-50 to 1e+50" in refused(*command)
    assert not (mine / "out").exists()


def test_a_linear_learner_needs_numbers():
    with pytest.raises(us.SettingError, match="these observations are single codes; name several columns"):
        made(CLICKS, "--learner", "linear-thompson")


@pytest.mark.parametrize(("name", "kind"), [("mine:Even", "Even"), ("mine:OfSeed", "OfSeed")])
def test_a_learner_of_ones_own_rehearses(mine, name, kind):
    workers = "2" if kind == "Even" else "1"  # processes find the module, too
    arguments = ["simulate", "clicks.parquet", "--learner", name, "--workers", workers, "--runs", "2", "--quick"]
    assert main([*arguments, "--out", "out"]) == 0
    runs = us.load(mine / "out" / "psrs")
    assert runs.about.learner["class"] == kind
    assert min(runs.lengths) == 300
    assert runs.probes == ["reward so far", "reward per step"]


def test_its_value_is_read_where_it_has_one_and_it_is_given_spec_and_seed(mine):
    make, probes = learner_for(CLICKS, None, options_of("--learner", "mine:Valuing"))
    assert list(probes) == ["start value", "reward so far", "reward per step"]
    assert (make(7).seed, make(7).n) == (7, 3)


@pytest.mark.slow
def test_it_is_compared_with_others(mine, capsys):
    learners = ["--learner", "mine:Even", "--learner", "thompson", "--learner", "ucb1:exploration=0.3"]
    assert main(["compare", "clicks.parquet", *learners, "--runs", "5", "--halves", "5"]) == 0
    assert "mine:Even" in capsys.readouterr().out


REFUSED = {
    "nowhere:Even": "there is no module 'nowhere', neither in this folder nor among installed packages",
    "mine:Odd": "mine has no class Odd; it has Even, Fails, FailsToLearn, NeedsMore, OfSeed, RaisesLater, Valuing",
    "mine:number": "mine has no class number",
    "mine:NeedsMore": r"is called as NeedsMore\(spec, seed=seed\), .* or as NeedsMore\(seed\), and takes neither",
    "mine:strict": r"is called as strict\(spec, seed=seed\), .* or as strict\(seed\), and takes neither",
    "mine:Fails": "could not be made: KeyError: 'color'",
    "broken:Even": "broken needs the module 'no_such_module_at_all', which is not there",
    "raising:Even": "raising could not be imported: ZeroDivisionError: division by zero",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_made_is_said_in_a_sentence(mine, name, refused):
    with pytest.raises(us.SettingError, match=REFUSED[name]):
        learner_for(CLICKS, None, options_of("--learner", name))
    assert f"--learner {name}" in refused("simulate", "clicks.parquet", "--learner", name, "--out", "out")
    assert not (mine / "out").exists()


def test_an_error_of_ones_own_learner_is_said_in_a_sentence_with_its_step(mine, capsys):
    command = ["--learner", "mine:RaisesLater", "--workers", "1"]
    simulate = ["simulate", "clicks.parquet", *command, "--runs", "2", "--quick", "--out", "out"]

    def refused(*arguments):  # others than the last line may say how far it came
        assert main(list(arguments)) == 2
        return capsys.readouterr().err.strip().splitlines()[-1]

    said = refused(*simulate, "--every", "5")
    assert "--learner mine:RaisesLater raised AttributeError: 'RaisesLater' object has no attribute 'prices'" in said
    assert "(at step 11 of RaisesLater, in run 0 (seed " in said
    assert said.endswith("--traceback shows where in its code")
    assert "(at step 11 of RaisesLater)" in refused(*simulate[:-1], "other")  # in a run on trial
    assert "at step 13 of Delayed" in refused(*simulate[:-1], "late", "--delay", "2")
    assert "raised ValueError (at step 1 of FailsToLearn, in run 0" in refused(
        "compare", "clicks.parquet", "--learner", "thompson", "--learner", "mine:FailsToLearn", "--halves", "5",
        "--runs", "3", "--workers", "1",
    )  # fmt: skip
    assert main([*simulate, "--traceback", "--every", "5"]) == 2
    told = capsys.readouterr().err
    assert 'return self.prices["red"]' in told
    assert told.strip().endswith("; see above")


def test_in_python_the_error_stays_what_it_was_and_says_its_step(mine):
    pairs = us.Log.from_columns(
        observation=np.zeros(80, int), action=np.arange(80) // 3% 2, reward=np.zeros(80),
        propensity=np.full((80, 2), 0.5), episode=np.arange(80) // 2, ends="terminated",
    )  # fmt: skip
    for simulator in (us.psrs(CLICKS), us.replay(CLICKS), us.pers(pairs)):
        make = own_class("mine:FailsToLearn")
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - it has no message
            us.simulate(simulator, make(simulator.log.spec))
        assert caught.value.__notes__ == ["at step 1 of FailsToLearn"]


def test_names_of_ones_own_learners():
    assert all(map(is_own_learner, ("a:B", "a.b:C", "_a:_b")))
    assert not any(map(is_own_learner, ("q-learning", "ucb1:exploration=1", "a:", ":B", "a-b:C", "a:B:C", "a b:C")))


def test_a_function_that_makes_learners_will_do_and_the_current_folder_comes_first(mine):
    (mine / "mine.py").write_text(MINE + "\ndef make(seed):\n    return OfSeed(seed)\n")
    assert own_class("mine:make")(5).seed == 5
    assert sys.path[0] == str(mine)
    assert not can_be_called(int, 1, seed=2)
    assert np.isfinite(own_class("numpy:float64")(1))
