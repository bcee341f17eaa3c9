import argparse

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.cli import main
from understudy.cli.defaults import default_learner, for_linear_learners, labels_in_codes, with_default_learner
from understudy.cli.learners import table_bandit

FLAGS = ["--observation", "country", "age", "--action", "banner", "--reward", "click", "--propensity", "prob"]


@pytest.fixture
def visits(tmp_path):
    """A CSV of decisions: text and an amount beside each other, actions are labels, one probability."""
    rng = np.random.default_rng(2)
    n = 300
    country, age, banner = rng.choice(["DE", "FR", "IT"], n), rng.integers(18, 80, n), rng.choice(["a", "b"], n)
    click = rng.random(n) < np.where((country == "FR") == (banner == "a"), 0.7, 0.2)
    lines = (f"{c},{a},{b},{int(k)},0.5" for c, a, b, k in zip(country, age, banner, click, strict=True))
    (tmp_path / "visits.csv").write_text("\n".join(["country,age,banner,click,prob", *lines]))
    return tmp_path / "visits.csv"


def options(**given):
    settings = {"learner": None, "bandit": True, "simulator": None, "encoder": "identity", "coding": None}
    return argparse.Namespace(**settings | {"no_scaling": False} | given)


def decisions(observation, reward=None):
    n = len(observation)
    reward = np.arange(n) % 2 if reward is None else reward
    return us.Log.from_columns(
        observation=observation, action=np.arange(n) % 2, reward=reward, propensity=np.full(n, 0.5), ends="every-row"
    )


CODES, VECTORS = np.arange(40) % 3, np.linspace(0, 1, 80).reshape(40, 2)


@pytest.mark.parametrize(
    ("log", "given", "learner"),
    [
        (decisions(VECTORS), {}, "linucb"),
        (decisions(CODES), {}, "thompson"),
        (decisions(CODES, np.arange(40.0)), {}, "epsilon-greedy"),
        (decisions(VECTORS), {"encoder": "boxes"}, "thompson"),
        (decisions(VECTORS), {"bandit": False, "simulator": ["replay"]}, "linucb"),
        (decisions(VECTORS), {"bandit": False}, "q-learning"),
        (decisions(VECTORS), {"bandit": False, "simulator": ["psrs"]}, "q-learning"),
    ],
)
def test_the_learner_suits_the_log(log, given, learner):
    assert default_learner(options(**given), log)[0] == learner


def test_a_choice_is_said_and_what_was_named_is_kept(capsys):
    log = decisions(CODES)
    assert with_default_learner(options(), log).learner == "thompson"
    assert "learner: thompson, since" in capsys.readouterr().out
    assert with_default_learner(options(learner="ucb1"), log).learner == "ucb1"
    assert with_default_learner(options(json=True), log).learner == "thompson"
    assert with_default_learner(options(bandit=False), log).learner == "q-learning"
    assert capsys.readouterr().out == ""


def test_labels_become_columns_for_linear_learners_only(visits, capsys):
    log = us.read(visits, observation=["country", "age"], action="banner", reward="click", propensity="prob",
                  ends="every-row")  # fmt: skip
    assert labels_in_codes(log) == "country"
    seen = for_linear_learners(log, ["linucb"], options())
    assert seen.spec.features == ("country=DE", "country=FR", "country=IT", "age")
    assert "country: a column of 0 and 1 for each label" in (said := capsys.readouterr().out)
    assert "4 columns in all" in said
    assert "many-columns" not in said
    assert "age: linucb sees them less their mean" in said
    assert labels_in_codes(seen) == ""
    assert for_linear_learners(log, ["thompson"], options()) is log
    assert for_linear_learners(log, ["linucb"], options(coding="codes", no_scaling=True)) is log
    assert capsys.readouterr().out == ""


def test_a_single_column_of_labels_serves_linear_learners_and_tables_alike(visits, tmp_path):
    """Compared with a linear learner, a table meets what it meets alone: the same rows, with a row for each label."""
    log = us.read(visits, observation="country", action="banner", reward="click", propensity="prob", ends="every-row")
    both = for_linear_learners(log, ["linucb", "ucb1"], options())
    assert both.spec.features == ("country=DE", "country=FR", "country=IT")
    one, other = (
        table_bandit(
            seen, None, options(learner="ucb1", epsilon=0, alpha=0, initial=0, exploration=1, noise=1, given=())
        )(1)
        for seen in (log, both)
    )
    assert other.counts.shape == (3, 2)
    runs = [us.simulate(us.replay(seen), learner, 4) for seen, learner in ((log, one), (both, other))]
    assert runs[0].rows.tolist() == runs[1].rows.tolist()
    flags = [*FLAGS[:2], *FLAGS[3:], "--bandit", "--runs", "4", "--halves", "5", "--out", str(tmp_path / "out")]
    assert main(["compare", str(visits), *flags, "--learner", "linucb", "--learner", "thompson"]) == 0
    assert us.load(tmp_path / "out" / "linucb").about.learner["n_features"] == 3


def test_bandit_rehearses_a_csv_of_text_and_numbers_without_naming_a_learner(visits, tmp_path, capsys):
    arguments = ["simulate", str(visits), *FLAGS, "--bandit", "--runs", "3", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "learner: linucb" in said
    assert "chosen-propensity" not in said
    settings = us.load(tmp_path / "out" / "replay").about.learner
    assert settings["n_features"] == 4
    assert settings["scale"][:3] == [1.0, 1.0, 1.0]
    assert 15 < settings["scale"][3] < 21
    assert main(["forecast", str(visits), *FLAGS, "--bandit", "--json", "--pre-runs", "3"]) == 0
    assert capsys.readouterr().out.startswith("{")


def test_a_folder_of_scaled_features_is_not_one_of_others(visits, tmp_path, refused):
    arguments = ["simulate", visits, *FLAGS, "--bandit", "--runs", "2", "--out", tmp_path / "out"]
    assert main([str(one) for one in arguments]) == 0
    assert "no_scaling" in refused(*arguments, "--no-scaling")


def test_ids_among_the_labels_of_a_linear_learner_are_warned_of(capsys):
    """Labels that occur twice or more are taken, and each is a column: a step takes time with their square."""
    users = [f"u{number % 400}" for number in range(1200)]
    columns = {"user": users, "age": [30] * 1200, "banner": ["a", "b"] * 600, "click": [0] * 1200}
    log = us.read(columns, observation=["user", "age"], action="banner", reward="click", ends="every-row")
    for_linear_learners(log, ["linucb"], options())
    assert (
        "warning: many-columns: a step of linucb takes time with the square of 401 columns" in capsys.readouterr().out
    )


@pytest.mark.parametrize("learner", ["linucb", "thompson"])
def test_a_newline_in_the_name_of_a_column_stays_in_its_line(learner, visits, tmp_path, capsys):
    """What is said of columns for linear learners, and of the rows of a table."""
    name = "the\ncountry"
    rows = pd.read_csv(visits).rename(columns={"country": name, "age": "an\nage"})
    rows.to_csv(tmp_path / "names.csv", index=False)
    flags = ["--observation", name, "an\nage", *FLAGS[3:], "--bandit", "--learner", learner, "--runs", "1", "--quick"]
    assert main(["simulate", str(tmp_path / "names.csv"), *flags, "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out.splitlines()
    assert not [line for line in told if line.startswith(("country", "age"))], told
    assert any("the\\ncountry" in line for line in told)
