import argparse

import numpy as np

import understudy as us
from understudy.cli.words import as_flags, audit_of, in_flags, name_of_log, plain_name, say, show_table
from understudy.reporting.measurements import measure


def test_advice_on_actions_and_states_is_in_the_words_of_the_command_line():
    assert as_flags('say actions=["0", "5", "b c"], in order') == "say --actions 0 5 'b c', in order"
    for name in ("runs", "seed", "every", "workers", "order_by", "max_steps"):
        assert as_flags(f"say {name}= and {name}=.") == "say --{0} and --{0}.".format(name.replace("_", "-"))
    floats = np.random.default_rng(0).random(200)
    audit = us.check({"observation": floats, "action": [0] * 200, "reward": [0.0] * 200, "ends": "every-row"})
    sentence = next(finding.sentence for finding in in_flags(audit).findings if finding.rule == "distinct-observations")
    assert "encoder.audit" not in sentence
    assert "--encoder" in sentence


def test_an_audit_of_decisions_leaves_states_out(tmp_path):
    rng = np.random.default_rng(0)
    log = us.Log.from_columns(
        observation=rng.random((200, 2)), action=rng.integers(2, size=200), reward=rng.random(200),
        propensity=rng.uniform(0.4, 0.6, 200), ends="every-row",
    )  # fmt: skip
    usual, replayed = (audit_of(log, argparse.Namespace(bandit=bandit)) for bandit in (False, True))
    assert {"chosen-propensity", "distinct-observations"} <= {finding.rule for finding in usual.findings}
    assert not replayed.findings


def test_paths_and_other_words_are_left_alone():
    for text in ("data/action=3/log.csv is empty", "x=1", "reward is NaN", "actions=3", "my_order=log"):
        assert as_flags(text) == text


def test_control_characters_are_printed_written_out(capsys):
    say("red\x1b[31m\nsecond line")
    assert capsys.readouterr().out == "red\\x1b[31m\nsecond line\n"


def test_the_table_shows_each_set_of_runs_and_compares_learners(log, capsys):
    def runs_of(epsilon):
        def make(seed):
            return us.learners.QLearning(25, 5, epsilon=epsilon, alpha=0.5, gamma=0.95, seed=seed)

        return us.experiment(us.psrs(log), make, runs=3, backend="serial")

    show_table(measure({"careful": runs_of(0.1), "bold": runs_of(0.9)}))
    printed = capsys.readouterr().out
    assert "careful" in printed
    assert "bold" in printed
    assert "earn" in printed


def test_a_results_folder_is_named_after_a_file_a_folder_or_the_beginning_of_a_pattern(tmp_path, monkeypatch):
    (tmp_path / "days").mkdir()
    monkeypatch.chdir(tmp_path / "days")
    (tmp_path / "a[1].parquet").touch()
    names = {
        "events.v2.parquet": "events", "../logs/events.parquet": "events", "logs": "logs", "logs/": "logs", ".": "days",
        "logs/*.parquet": "logs", "logs/**/*.parquet": "logs", "events-*.parquet": "events", "*.parquet": "days",
        "day=*": "day", "../a[1].parquet": "a[1]", "/*": "log", ".parquet": "days",
    }  # fmt: skip
    assert {log: plain_name(log) for log in names} == names
    assert [name_of_log(log) for log in ("logs/*.parquet", "logs/", ".")] == ["*.parquet", "logs", "days"]
