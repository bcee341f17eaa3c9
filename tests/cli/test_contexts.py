"""Bandit learners with a table look at observations of several columns where these are few, and else it is said."""

import argparse
import json

import numpy as np
import pytest

import understudy as us
from understudy.cli import main
from understudy.cli.contexts import RULE, blind_words, contexts_of, most_contexts, table_rows, with_contexts

FLAGS = ["--bandit", "--action", "mail", "--reward", "click", "--propensity", "prob"]


def read(mails, *observation, **given):
    columns = {"action": "mail", "reward": "click", "propensity": "prob", "ends": "every-row"}
    return us.read(mails, observation=list(observation), **columns, **given)


def of_learner(name, encoder="identity"):
    return argparse.Namespace(learner=name, encoder=encoder)


@pytest.mark.parametrize("learner", ["thompson", "exp3"])
def test_simulate_gives_a_table_a_row_for_each_context_and_says_so(mails, learner, tmp_path, capsys):
    flags = [*FLAGS, "--observation", "segment", "device", "--learner", learner, "--runs", "2", "--quick"]
    assert main(["simulate", str(mails), *flags, "--out", str(tmp_path / "out")]) == 0
    assert f"{learner}: its table has a row for each of 4 distinct observations (segment, device)" in (
        capsys.readouterr().out
    )
    assert us.load(tmp_path / "out" / "replay").about.learner["n_observations"] == 4
    assert RULE not in (tmp_path / "out" / "report.json").read_text()


def test_a_learner_that_sees_the_contexts_earns_what_they_are_worth(mails):
    """No mail is better than the other over all contexts (0.5 a mail); within each, one earns 0.9 and the other 0.1.

    The mean of 20 runs of about 300 steps has a standard error below 0.02 around what the second half of steps earns.
    """
    for observation, coding, low, high in ((("segment", "device"), None, 0.8, 1.0), (("segment",), None, 0.3, 0.6)):
        for form in (coding, "one-hot"):  # as it is coded beside a linear learner
            log = read(mails, *observation, coding=form)
            n_rows, encoder = table_rows(log, None)
            made = lambda seed, n=n_rows, e=encoder: us.learners.Thompson(2, n_observations=n, encoder=e, seed=seed)  # noqa: E731
            runs = [us.simulate(us.replay(log), made(seed), seed) for seed in range(20)]
            earned = np.mean([log.reward[run.rows[len(run.rows) // 2 :]].mean() for run in runs])
            assert low < earned < high


def test_where_there_are_too_many_it_is_said_in_terminal_page_and_json(mails, tmp_path, capsys):
    flags = [*FLAGS, "--observation", "segment", "customer", "--categories", "customer", "--runs", "2", "--quick"]
    command = ["simulate", str(mails), *flags, "--learner", "thompson", "--out", str(tmp_path / "out")]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert "warning: blind-learner: thompson does not look at what is observed (segment, customer)" in told
    assert "these 600 rows allow 30 distinct ones" in told
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<h1>thompson, which does not look at what is observed, rehearsed on mails.csv</h1>" in page
    assert RULE in page
    assert main([*command, "--json"]) == 0
    assert "thompson does not look at what is observed" in capsys.readouterr().out


@pytest.mark.slow
def test_compare_gives_all_tables_the_contexts_and_names_the_blind(mails, tmp_path, capsys):
    learners = ["--learner", "thompson", "--learner", "linucb", "--learner", "ucb1"]
    few = [*FLAGS, *learners, "--runs", "4", "--halves", "5", "--json"]
    out = tmp_path / "few"
    assert main(["compare", str(mails), *few, "--observation", "segment", "device", "--out", str(out)]) == 0
    assert [one for one in json.loads(capsys.readouterr().out)["findings"] if one["rule"] == RULE] == []
    assert {us.load(out / name).about.learner["n_observations"] for name in ("thompson", "ucb1")} == {4}
    many = ["--observation", "segment", "customer", "--categories", "customer", "--out", str(tmp_path / "many")]
    assert main(["compare", str(mails), *few, *many]) == 0
    found = [one["sentence"] for one in json.loads(capsys.readouterr().out)["findings"] if one["rule"] == RULE]
    assert [sentence.split(" does not look")[0] for sentence in found] == ["thompson", "ucb1"]
    assert RULE in (tmp_path / "many" / "report.html").read_text()


def test_a_sweep_warns_of_the_blind_once_for_each_learner_and_log(mails, tmp_path, capsys):
    shared = 'action = "mail"\nreward = "click"\npropensity = "prob"\nends = "every-row"'
    (tmp_path / "sweep.toml").write_text(
        'learners = ["thompson", "linucb"]\nsimulators = ["replay"]\nruns = 2\nout = "out"\n'
        f'[logs.many]\nlog = "mails.csv"\nobservation = ["segment", "customer"]\ncategories = ["customer"]\n{shared}\n'
        f'[logs.few]\nlog = "mails.csv"\nobservation = ["segment", "device"]\n{shared}\n'
    )
    assert main(["sweep", str(tmp_path / "sweep.toml"), "--json"]) == 0
    (warned,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warned.startswith("log many, learner thompson: thompson does not look at what is observed")


def test_the_limit_is_ten_rows_for_each_action_of_a_context():
    def log_of(n_contexts, n=400):
        vectors = np.stack([np.arange(n) % n_contexts, np.zeros(n)], axis=1)
        return us.Log.from_columns(observation=vectors, action=np.arange(n) % 2, reward=np.zeros(n), ends="every-row")

    assert most_contexts(log_of(5)) == 20
    assert contexts_of(log_of(20)).n_states == 20
    assert contexts_of(log_of(21)) is None
    late = log_of(3)  # too many, but not among the first rows
    late = us.Log.from_columns(
        observation=np.concatenate([late.observation, log_of(40).observation]), action=np.arange(800) % 2,
        reward=np.zeros(800), ends="every-row",
    )  # fmt: skip
    assert contexts_of(late).n_states == 40 == most_contexts(late)
    assert contexts_of(late.select(np.r_[0:500, 762:800])) is None


def test_codes_encoders_and_linear_learners_are_left_as_they_are(mails):
    codes, several = read(mails, "segment"), read(mails, "segment", "customer", categories=["customer"])
    assert table_rows(codes, None) == (2, None)
    boxes = us.encoders.Boxes(bins=2).fit(several)
    assert table_rows(several, boxes) == (boxes.n_states, boxes)
    audit, told = us.Audit(()), []
    assert with_contexts(audit, codes, [of_learner("thompson")], told.append) is audit
    others = [of_learner("linucb"), of_learner("q-learning"), of_learner("thompson", "boxes"), of_learner("my:Own")]
    assert with_contexts(audit, several, others, told.append) is audit
    assert told == []
    assert [blind_words(several, one) for one in others] == [""] * 4
    assert blind_words(several, of_learner("ucb1")) == ", which does not look at what is observed,"
