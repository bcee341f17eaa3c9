"""A file of settings says what the flags would say, by the flags' own definitions."""

import argparse
import json
import os
import sys
import tomllib

import pytest

from understudy.cli import main
from understudy.cli.flags import add_log, add_simulation, build_parser
from understudy.cli.settings_file import flags_added_by, flags_of, read_toml, settings_in, write_settings
from understudy.cli.toml_text import toml_text
from understudy.errors import SettingError

COMMANDS = dict.fromkeys(
    ("demo", "check", "convert", "forecast", "simulate", "compare", "sweep", "report"), lambda options: 0
)
FLAGS = flags_added_by(add_log, add_simulation)


def options_of(*arguments):
    return build_parser(COMMANDS).parse_args(["simulate", "events.csv", *arguments])


def from_file(folder, **table):
    return settings_in(table, FLAGS, "run.toml", folder)


def test_every_flag_of_simulate_has_a_key():
    keys = flags_of(options_of().own_parser)
    assert keys.keys() == FLAGS.keys()
    assert {"log", "max_steps", "no_halves", "reserve", "propensity_samples", "then"} <= keys.keys()
    assert "help" not in keys
    assert "no_reserve" not in keys


def test_values_are_what_the_flags_make_of_them(tmp_path):
    flags = options_of(
        "--epsilon", "0.3", "--runs", "7", "--propensity", "p0", "p1", "--observation", "page", "--quick",
        "--no-reserve", "--mean-propensity", "--then", "like,cut", "--delay", "20", "--period", "day",
        "--max-steps", "9", "--bound", "2", "--simulator", "psrs", "qbe", "--propensity-samples", "5",
    )  # fmt: skip
    found = from_file(
        tmp_path, epsilon=0.3, runs=7, propensity=["p0", "p1"], observation="page", quick=True, reserve=False,
        mean_propensity=True, then=["like", "cut"], delay=20, period="day", **{"max-steps": 9}, bound=2,
        simulator=["psrs", "qbe"], propensity_samples=5,
    )  # fmt: skip
    assert {name: vars(flags)[name] for name in found} | {"given": set(flags.given)} == found | {
        "given": set(found["given"])
    }


def test_false_is_a_switch_that_is_not_given(tmp_path):
    assert from_file(tmp_path, quick=False, mean_propensity=False) == {
        "quick": False, "mean_propensity": None, "given": ()
    }  # fmt: skip


@pytest.mark.parametrize(
    ("table", "match"),
    [({"epsilom": 0.1}, "no setting 'epsilom'; 'epsilon' is the nearest"), ({"xyzzy": 1}, "give one of action, "),
     ({"epsilon": 7}, "epsilon = 7 cannot be used: 7 is not between 0 and 1"), ({"runs": "many"}, "runs = 'many'"),
     ({"runs": True}, "give a text or a number"), ({"runs": 2.5}, "runs = 2.5 cannot be used"),
     ({"quick": 1}, "give true or false"), ({"order": "random"}, "give one of episodes, rows, log"),
     ({"simulator": ["psrs", "magic"]}, "give one of psrs, qbe"), ({"propensity": []}, "give one or more"),
     ({"runs": {"a": 1}}, "give a text or a number"), ({"learner": "q"}, "there is no learner 'q'"),
     ({"max_steps": 1, "max-steps": 2}, "given twice"), ({"then": ["like", "magic"]}, "then = ")],
)  # fmt: skip
def test_what_a_flag_would_refuse_is_refused(tmp_path, table, match):
    with pytest.raises(SettingError, match=match) as error:
        settings_in(table, FLAGS, "run.toml", tmp_path)
    assert str(error.value).startswith("run.toml: ")


def test_a_file_that_is_not_toml_is_refused(tmp_path):
    (tmp_path / "run.toml").write_text("runs = = 3")
    with pytest.raises(SettingError, match=r"is not TOML: .*line 1"):
        read_toml(tmp_path / "run.toml")
    (tmp_path / "run.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingError, match="is not TOML"):
        read_toml(tmp_path / "run.toml")
    with pytest.raises(SettingError, match="cannot be read: No such file"):
        read_toml(tmp_path / "none.toml")


def test_a_file_without_end_is_refused(tmp_path):
    path = tmp_path / "run.toml"
    for text in ("a = " + "[" * 5000, "a = " + "{b = " * 5000):
        path.write_text(text)
        with pytest.raises(SettingError, match=r"lists or tables in each other without end|is not TOML"):
            read_toml(path)
    path.unlink()
    os.mkfifo(path)  # which would be waited for
    with pytest.raises(SettingError, match="it is not a plain file"):
        read_toml(path)


def test_paths_are_relative_to_the_file(tmp_path):
    (tmp_path / "may.parquet").touch()
    found = from_file(tmp_path, log="may.parquet", out="results", encoder="boxes")
    assert found["log"] == str(tmp_path / "may.parquet")
    assert found["out"] == str(tmp_path / "results")
    assert found["encoder"] == "boxes"
    assert from_file(tmp_path, log="D4RL/door/human-v2")["log"] == "D4RL/door/human-v2"  # a Minari id
    assert from_file(tmp_path, log="logs/*.parquet")["log"] == str(tmp_path / "logs/*.parquet")


@pytest.fixture
def run_file(events, columns, tmp_path):
    """A file that says what the flags of `events` say."""
    flags = build_parser(COMMANDS).parse_args(["simulate", "events.csv", *columns])
    table = {
        key: vars(flags)[action.dest] for key, action in FLAGS.items() if vars(flags)[action.dest] != action.default
    }
    table |= {"log": "events.csv", "runs": 2, "max_steps": 200, "quick": True, "epsilon": 0.3, "out": "out"}
    (tmp_path / "run.toml").write_text(toml_text(table))
    return tmp_path / "run.toml"


def test_simulate_takes_its_settings_from_a_file(run_file, capsys, monkeypatch):
    monkeypatch.chdir("/")
    assert main(["simulate", str(run_file), "--runs", "3"]) == 0  # flags come first
    about = json.loads((run_file.parent / "out" / "psrs" / "experiment.json").read_text())["about"]
    assert (about["learner"]["epsilon"], about["max_steps"]) == (0.3, 200)
    assert len(list((run_file.parent / "out" / "psrs" / "runs").glob("*.parquet"))) == 3


def test_a_results_folder_holds_the_file_that_makes_it_again(run_file, capsys, tmp_path):
    assert main(["simulate", str(run_file)]) == 0
    kept = tmp_path / "out" / "run.toml"
    assert tomllib.loads(kept.read_text())["log"] == "../events.csv"
    assert main(["simulate", str(kept), "--out", str(tmp_path / "again")]) == 0
    one, two = (
        json.loads((folder / "psrs" / "experiment.json").read_text())
        for folder in (tmp_path / "out", tmp_path / "again")
    )
    assert one == two
    assert main(["simulate", str(kept)]) == 0
    assert "2 of 2 runs were there already" in capsys.readouterr().out


def test_what_was_given_is_written_though_it_is_usual(tmp_path):
    """Epsilon-greedy's alpha, say: given or not makes another learner, whatever its value."""
    options = argparse.Namespace(**vars(options_of("--alpha", "0.5", "--no-reserve", "--then", "cut")))
    write_settings(tmp_path / "run.toml", options)
    found = tomllib.loads((tmp_path / "run.toml").read_text())
    assert found == {"log": "events.csv", "alpha": 0.5, "reserve": False, "then": ["cut"]}


def test_a_learner_of_ones_own_lies_beside_the_file(run_file, capsys, tmp_path):
    (tmp_path / "learner_beside_file.py").write_text(
        "import understudy as us\n\n\ndef make(spec, seed):\n"
        "    return us.learners.QLearning(25, spec.n_actions, seed=seed)\n"
    )
    text = run_file.read_text().replace("epsilon = 0.3", 'learner = "learner_beside_file:make"')
    run_file.write_text(text)
    assert main(["simulate", str(run_file)]) == 0


def test_a_file_without_a_log_is_refused(tmp_path, capsys):
    (tmp_path / "run.toml").write_text("runs = 3\n")
    assert main(["simulate", str(tmp_path / "run.toml")]) == 2
    assert 'names no log; add log = "FILE"' in capsys.readouterr().err


def test_compare_takes_its_settings_from_a_file_and_its_folder_holds_one(run_file, capsys, tmp_path):
    table = tomllib.loads(run_file.read_text())
    for key in ("quick", "epsilon", "max_steps"):
        table.pop(key, None)
    table |= {"learner": ["q-learning:epsilon=0.9", "q-learning:epsilon=0.5"], "runs": 20, "halves": 5}
    run_file.write_text(toml_text(table))
    assert main(["compare", str(run_file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    kept = tmp_path / "out" / "run.toml"
    assert kept.read_text().startswith("# understudy")
    assert "json" not in tomllib.loads(kept.read_text())
    assert "understudy compare run.toml makes these runs" in kept.read_text()
    assert main(["compare", str(kept), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    run_file.write_text(toml_text(table | {"learner": ["uniform"]}))
    assert main(["compare", str(run_file)]) == 2
    assert "there is one learner only" in capsys.readouterr().err


def test_with_json_a_file_prints_what_flags_print(run_file, capsys):
    assert main(["simulate", str(run_file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sets"]


def test_the_page_of_a_run_in_a_file_has_the_command_that_was_typed(run_file):
    assert main(["simulate", str(run_file)]) == 0
    content = json.loads((run_file.parent / "out" / "report.json").read_text())
    assert content["command"] == f"understudy simulate {run_file}"


@pytest.mark.parametrize("package", ["", "shop"])
def test_a_results_folder_finds_a_learner_of_ones_own_from_anywhere(run_file, tmp_path, monkeypatch, package):
    """Its file says in which folder the module was, also where the module is in a package."""
    folder = tmp_path / "code" / package
    folder.mkdir(parents=True)
    name = f"learner_of_{package or 'ours'}"
    (folder / f"{name}.py").write_text(
        "import understudy as us\n\n\ndef make(spec, seed):\n"
        "    return us.learners.QLearning(25, spec.n_actions, seed=seed)\n"
    )
    module = f"{package}.{name}" if package else name
    text = run_file.read_text().replace("epsilon = 0.3", f'learner = "{module}:make"\nlearner_folder = "code"')
    run_file.write_text(text)
    assert main(["simulate", str(run_file)]) == 0
    kept = tmp_path / "out" / "run.toml"
    assert tomllib.loads(kept.read_text())["learner_folder"] == "../code"
    monkeypatch.chdir("/")
    monkeypatch.setattr("sys.path", [path for path in sys.path if path != str(tmp_path / "code")])
    sys.modules.pop(module)
    sys.modules.pop("shop", None)
    assert main(["simulate", str(kept), "--out", str(tmp_path / "again")]) == 0
    runs = [(tmp_path / out / "psrs" / "runs" / "000000.parquet").read_bytes() for out in ("out", "again")]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("key", ["json", "quiet"])
def test_what_is_printed_is_not_a_setting_of_the_runs(run_file, capsys, key):
    run_file.write_text(f"{run_file.read_text()}\n{key} = true\n")
    assert main(["simulate", str(run_file)]) == 2
    assert f"there is no setting {key!r}" in capsys.readouterr().err


def test_a_path_that_is_not_utf8_is_refused_in_a_sentence(tmp_path):
    options = argparse.Namespace(**vars(options_of()) | {"log": os.fsdecode(b"clicks\xff.csv")})
    with pytest.raises(SettingError, match="is not UTF-8, which the file of settings of the results"):
        write_settings(tmp_path / "run.toml", options)


FILES = {
    "simulate": {"log": "events.csv", "learner": "uniform", "quick": True},
    "compare": {"log": "events.csv", "learner": ["uniform", "q-learning"]},
    "sweep": {"logs": ["events.csv"], "learners": ["uniform"], "simulators": ["psrs"]},
}


@pytest.mark.parametrize(("command", "kind"), [(one, two) for one in FILES for two in FILES if one != two])
def test_a_file_of_another_command_is_refused_with_that_command(events, command, kind, tmp_path, capsys):
    path = tmp_path / "a file.toml"
    path.write_text(toml_text(FILES[kind]))
    assert main([command, str(path)]) == 2
    told = f"{path} is a file of understudy {kind}; give understudy {kind} '{path}'"
    assert told in capsys.readouterr().err


def test_a_file_of_one_learner_will_do_to_compare_it_with_others(events, tmp_path, capsys):
    path = tmp_path / "run.toml"
    path.write_text(toml_text({"log": "events.csv", "learner": "uniform"}))
    assert main(["compare", str(path)]) == 2
    assert "there is one learner only; give --learner twice or more" in capsys.readouterr().err
