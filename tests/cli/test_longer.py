import argparse
import json

import numpy as np
import pytest

import understudy as us
from tests.cli.test_contexts import FLAGS
from understudy.cli import main
from understudy.cli.longer import LARGEST, alternatives
from understudy.results import read_forecasts

OBSERVED = [*FLAGS, "--observation", "segment", "device", "--learner", "thompson"]


@pytest.fixture
def often(tmp_path):
    """A CSV of 1,000 mails, of which nine in ten were the better one of their segment."""
    rng, n = np.random.default_rng(5), 1000
    segment, is_better = rng.choice(["new", "old"], n), rng.random(n) < 0.9
    mail = np.where(is_better == (segment == "new"), "a", "b")
    click = (rng.random(n) < np.where(is_better, 0.8, 0.2)).astype(int)
    columns = zip(segment, mail, click, np.where(is_better, 0.9, 0.1), strict=True)
    lines = [f"{s},phone,{m},{c},{p}" for s, m, c, p in columns]
    (tmp_path / "mails.csv").write_text("\n".join(["segment,device,mail,click,prob", *lines]))
    return tmp_path / "mails.csv"


def test_page_terminal_and_json_say_that_qbe_would_answer_for_longer(often, tmp_path, capsys):
    """Replay accepts one row in ten here, by the smallest propensity; QBE serves all rows of the better mail."""
    command = ["simulate", str(often), *OBSERVED, "--runs", "8", "--no-halves", "--no-classics"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "; --simulator qbe would answer for about " in told
    found = read_forecasts(tmp_path / "out")["replay"]
    assert found.longer["--simulator qbe"] > 1.5 * found.steps
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"would answer for about {found.longer['--simulator qbe']:,} steps (instead of {found.steps:,}) with" in page
    assert main([*command, "--out", str(tmp_path / "out"), "--json"]) == 0  # the forecast of the folder
    assert "with --simulator qbe" in str(json.loads(capsys.readouterr().out))


def test_a_forecast_names_it_and_one_of_qbe_does_not(often, capsys):
    assert main(["forecast", str(often), *OBSERVED, "--pre-runs", "5", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["replay"]["longer"]) == ["--simulator qbe"]
    assert main(["forecast", str(often), *OBSERVED, "--pre-runs", "5", "--json", "--simulator", "qbe"]) == 0
    assert json.loads(capsys.readouterr().out)["qbe"]["longer"] == {}


def options(**given):
    usual = {"learner": "thompson", "simulator": None, "then": None, "order": None, "reserve": None}
    return argparse.Namespace(**usual | {"mean_propensity": None} | given)


LOG = us.record(us.envs.BernoulliBandit([0.2, 0.6]), episodes=100, seed=0)


@pytest.mark.parametrize(
    ("name", "given", "flags"),
    [
        ("replay", {}, ["--simulator qbe"]),
        ("psrs", {}, ["--reserve", "--simulator qbe"]),
        ("psrs", {"reserve": False}, ["--simulator qbe"]),
        ("qbe", {}, []),
        ("replay", {"simulator": ["replay"]}, []),
        ("replay", {"order": "log"}, []),
        ("psrs", {"then": ("like",)}, []),
        ("psrs", {"learner": "ppo"}, []),
        ("psrs", {"learner": "mine:Own"}, []),
    ],
)
def test_only_what_is_cheap_and_was_not_chosen_is_tried(name, given, flags):
    assert list(alternatives(name, LOG, None, options(**given))) == flags


def test_neither_large_logs_nor_contexts_that_do_not_recur_are_tried(monkeypatch):
    floats = us.record(us.envs.LinearBandit(3, 4, seed=1), episodes=300, seed=0)
    assert alternatives("replay", floats, None, options()) == {}
    boxes = us.encoders.Boxes(bins=2).fit(floats)
    assert list(alternatives("replay", floats, boxes, options())) == ["--simulator qbe"]
    assert len(LOG) < LARGEST
    monkeypatch.setattr("understudy.cli.longer.LARGEST", 99)
    assert alternatives("replay", LOG, None, options()) == {}
