import json
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from understudy.cli import main
from understudy.cli.compare import settings_of
from understudy.cli.flags import build_parser
from understudy.cli.flags_runs import PROBES
from understudy.cli.learners import probes_of_rewards
from understudy.cli.simulate import run_simulate
from understudy.cli.words import as_flags

PAIR = ["--learner", "q-learning:epsilon=0.9,gamma=0.95", "--learner", "q-learning:epsilon=0.4,gamma=0.95"]
QUICK = ["--runs", "6", "--halves", "5", "--no-selfcheck"]


@pytest.fixture
def file(log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where results folders go by default
    us.write(log, tmp_path / "log.parquet")
    return str(tmp_path / "log.parquet")


def test_compare_says_which_learner_to_choose(file, capsys):
    assert main(["compare", file, *PAIR, *QUICK]) == 0
    said = capsys.readouterr().out
    assert "As far as this log can be believed (step " in said or "Choose q-learning:epsilon=0.4" in said
    assert "What an episode earns, episodes " in said
    assert "told apart" in said
    assert "expected regret of choosing q-learning:epsilon=0.4,gamma=0.95: " in said
    assert "against the logging policy" in said


def test_with_json_nothing_else_is_printed(file, capsys):
    assert main(["compare", file, *PAIR, *QUICK, "--simulator", "qbe", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["best"] == "q-learning:epsilon=0.4,gamma=0.95"
    assert len(told["learners"]) == 2


OWN = """
import numpy as np

class Sometimes:
    def __init__(self, seed):
        self.bad = seed % 4 == {rest}

    def policy(self, observation):
        if self.bad:
            raise ArithmeticError("overflow in my code")
        return np.full(5, 0.2)

    def learn(self, step):
        pass
"""


def test_with_keep_going_runs_that_a_learner_raises_in_are_left_out(file, capsys, tmp_path, monkeypatch):
    (tmp_path / "sometimes_raising.py").write_text(OWN.format(rest=0))
    monkeypatch.chdir(tmp_path)
    own = ["--learner", "sometimes_raising:Sometimes", *PAIR[:2], "--runs", "10", "--halves", "5", "--workers", "1"]
    own += ["--no-selfcheck"]
    assert main(["compare", file, *own]) == 2
    assert "overflow in my code" in capsys.readouterr().err
    assert main(["compare", file, *own, "--keep-going", "--json"]) == 0
    assert (tmp_path / "log-comparison" / "report.html").exists()
    told = json.loads(capsys.readouterr().out)["left_out"]
    assert 0 < told["runs"] < told["of"] == 10
    assert told["failed"]["q-learning:epsilon=0.9,gamma=0.95"] == 0
    assert "ArithmeticError: overflow in my code" in told["first"]


def test_a_results_folder_has_the_runs_and_a_page_that_decides(file, tmp_path, capsys):
    assert main(["compare", file, *PAIR, "--runs", "6", "--halves", "5", "--json"]) == 0
    folder = tmp_path / "log-comparison"
    assert json.loads(capsys.readouterr().out)["page"] == "log-comparison/report.html"
    assert len(us.load(folder / "q-learning:epsilon=0.9,gamma=0.95")) == 6
    content = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert content["title"] == "2 learners compared on log.parquet"
    assert content["decision"]["comparison"]["best"] == "q-learning:epsilon=0.4,gamma=0.95"
    assert [chart["kind"] for chart in content["charts"]] == ["difference", "probe", "probe", "return"]
    assert content["command"].startswith("understudy compare ")
    assert all(content[part] for part in ("selfchecks", "audit", "states"))
    page = (folder / "report.html").read_text(encoding="utf-8")
    places = [page.index(part) for part in ('class="advice', "Which learner earns more</h2>", "How it learned")]
    assert places == sorted(places)
    assert main(["report", str(folder)]) == 0  # draws the same page again
    assert content["decision"]["sentence"] in capsys.readouterr().out.splitlines()
    again = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert again["decision"]["comparison"] == content["decision"]["comparison"]


@pytest.mark.slow
def test_a_comparison_goes_on_with_further_learners_and_refuses_another_log_or_seed(file, tmp_path, capsys, refused):
    assert main(["compare", file, *PAIR, *QUICK]) == 0
    runs = tmp_path / "log-comparison" / "q-learning:epsilon=0.9,gamma=0.95" / "runs"
    written = {path: path.stat().st_mtime_ns for path in runs.iterdir()}
    assert main(["compare", file, *PAIR, "--learner", "expected-sarsa", *QUICK]) == 0
    assert {path: path.stat().st_mtime_ns for path in runs.iterdir()} == written
    content = json.loads((tmp_path / "log-comparison" / "report.json").read_text(encoding="utf-8"))
    assert set(content["sets"]) == {PAIR[1], PAIR[3], "expected-sarsa"}
    assert content["selfchecks"] == {}
    said = refused("compare", file, *PAIR, *QUICK)  # two of the three by themselves would be told apart more often
    assert "log-comparison compares 'expected-sarsa', too; give all of its learners" in said
    assert "holds another rehearsal: seed" in refused("compare", file, *PAIR, *QUICK, "--seed", "5")


def test_settings_that_are_not_named_are_as_the_flags_say():
    commands = dict.fromkeys(
        ("demo", "check", "convert", "forecast", "simulate", "compare", "sweep", "report"), run_simulate
    )
    options = build_parser(commands).parse_args(["compare", "LOG", "--learner", "ppo", "--alpha", "0.2"])
    found = settings_of("expected-sarsa:epsilon=.3,initial=-1", options)
    assert (found.learner, found.epsilon, found.initial, found.alpha, found.gamma) == (
        "expected-sarsa",
        0.3,
        -1,
        0.2,
        0.99,
    )
    assert settings_of("ppo:epoch-steps=200", options).epoch_steps == 200
    assert options.learner == ["ppo"]


def test_learners_that_cannot_be_read_are_named(file, refused):
    one = ["compare", file, "--learner", "q-learning"]
    assert "one learner only; give --learner twice" in refused(*one)
    assert "two of the learners are the same" in refused(*one, "--learner", "q-learning")
    assert "there is no learner 'sarsa'" in refused(*one, "--learner", "sarsa:epsilon=1")
    assert "'epsilon' in --learner q-learning:epsilon is not a setting" in refused(
        *one, "--learner", "q-learning:epsilon"
    )
    assert "'beta=1' in --learner q-learning:beta=1 is not" in refused(*one, "--learner", "q-learning:beta=1")
    assert "cannot be used: 7 is not between 0 and 1" in refused(*one, "--learner", "q-learning:epsilon=7")
    assert "under one simulator" in refused("compare", file, *PAIR, "--simulator", "psrs", "qbe")
    assert "with --max-steps" in refused("compare", file, *PAIR, "--simulator", "model")


@pytest.fixture
def endless(tmp_path, monkeypatch):
    """A log whose episodes are longer than what runs on it last."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    observation = rng.integers(40, size=60 * 30)
    log = us.Log.from_columns(
        observation=observation, action=rng.integers(3, size=len(observation)), reward=rng.random(len(observation)),
        propensity=np.full((len(observation), 3), 1 / 3), episode=np.arange(len(observation)) // 30, ends="unfinished",
    )  # fmt: skip
    us.write(log, tmp_path / "endless.parquet")
    return str(tmp_path / "endless.parquet")


def test_runs_that_finish_no_episode_are_refused_before_they_are_made(endless, refused, monkeypatch, tmp_path):
    monkeypatch.setattr(us, "compare", None)  # nothing is run
    message = refused("compare", endless, *PAIR, *QUICK, "--out", tmp_path / "out")
    assert "of 5 runs of q-learning:epsilon=0.9,gamma=0.95 on trial none finished an episode" in message
    assert message.endswith("or compare what was earned step by step, with --probe reward-so-far")
    assert not (tmp_path / "out").exists()


def test_what_was_earned_step_by_step_can_be_compared_without_episodes(endless, capsys):
    assert main(["compare", endless, *PAIR, *QUICK, "--probe", "reward-so-far"]) == 0
    said = capsys.readouterr().out
    assert "Probe 'reward so far', steps " in said
    assert "Over all steps that runs reached" in said
    assert "The page is " in said
    folder = Path("endless-comparison")
    content = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert content["decision"]["comparison"]["probe"] == "reward so far"
    assert content["charts"][0]["title"].startswith("how much more 'reward so far' ")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Which learner has more “reward so far”</h2>" in page
    assert "Which learner earns more" not in page
    assert main(["report", str(folder)]) == 0
    again = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert again["decision"]["comparison"] == content["decision"]["comparison"]


def test_a_probe_is_compared_where_the_log_has_whole_episodes_and_runs_finish_none(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    observation, ends = rng.integers(200, size=30 * 60), np.arange(1, 30 * 60 + 1) % 60 == 0
    log = us.Log.from_columns(
        observation=observation, action=rng.integers(3, size=len(ends)), reward=rng.random(len(ends)),
        propensity=np.full((len(ends), 3), 1 / 3), terminated=ends,
    )  # fmt: skip
    us.write(log, "long.parquet")
    asked = ["compare", "long.parquet", *PAIR, *QUICK]
    assert main([*asked, "--probe", "reward-so-far"]) == 0
    assert "Probe 'reward so far', steps " in capsys.readouterr().out
    assert main([*asked, "--probe", "reward-so-far", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["probe"] == "reward so far"
    assert told["against_log"] == []  # no episode to put beside the log's


def test_probes_of_the_flag_are_those_of_every_learner():
    assert [name.replace("-", " ") for name in PROBES] == list(probes_of_rewards())
    assert as_flags("with probe=us.probes.reward_so_far") == "with --probe reward-so-far"


def test_settings_after_a_learner_of_ones_own_are_refused_with_what_to_do(tmp_path, capsys):
    assert main(["compare", "log.csv", "--learner", "mine:Make:heat=50", "--learner", "mine:Make"]) == 2
    assert (
        "settings are of our learners only; give your module a class or a function for each" in capsys.readouterr().err
    )
