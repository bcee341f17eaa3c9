import inspect

import pytest

import understudy as us
from understudy.cli import main
from understudy.cli.flags import SIMULATORS, build_parser
from understudy.cli.values import LEARNERS


@pytest.mark.parametrize("flag", [("--epsilon", "2"), ("--runs", "0"), ("--simulator", "magic"), ("--every", "x")])
def test_options_out_of_range_are_refused(events, flag, capsys, columns):
    with pytest.raises(SystemExit) as stop:
        main(["simulate", str(events), *columns, *flag])
    assert stop.value.code == 2
    assert flag[0] in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--max-episode-steps", "--max-steps", "--every"])
@pytest.mark.parametrize("number", ["0", str(2**63), "9" * 400])
def test_a_number_of_steps_that_cannot_be_counted_to_is_refused_in_a_sentence(
    events, tmp_path, capsys, flag, number, columns
):
    with pytest.raises(SystemExit) as caught:
        main(["simulate", str(events), *columns, "--out", str(tmp_path / "out"), flag, number])
    assert caught.value.code == 2
    assert f"error: argument {flag}: {number} is " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "x"])
def test_values_to_start_from_are_finite(value, events, capsys, columns):
    with pytest.raises(SystemExit) as ended:
        main(["simulate", str(events), *columns, f"--initial={value}"])
    assert ended.value.code == 2
    assert "--initial" in capsys.readouterr().err


COMMANDS = {
    name: name.upper for name in ("demo", "check", "convert", "forecast", "simulate", "compare", "sweep", "report")
}


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["demo"], "demo"),
        (["check", "log.csv"], "check"),
        (["forecast", "log.csv"], "forecast"),
        (["simulate", "log.csv"], "simulate"),
        (["compare", "log.csv", "--learner", "ppo"], "compare"),
        (["sweep", "s.toml"], "sweep"),
        (["report", "d"], "report"),
        (["convert", "log.csv", "log.parquet"], "convert"),
    ],
)
def test_each_command_calls_its_own_function(arguments, command):
    assert build_parser(COMMANDS).parse_args(arguments).command is COMMANDS[command]


def test_every_argument_of_read_has_a_flag():
    options = vars(build_parser(COMMANDS).parse_args(["check", "log.csv"]))
    assert set(inspect.signature(us.read).parameters) - {"source", "progress"} <= set(options)


@pytest.mark.parametrize(
    ("flag", "text", "value"),
    [
        ("--epsilon", "0", 0.0),
        ("--gamma", "1", 1.0),
        ("--initial", "-2.5", -2.5),
        ("--max-steps", str(2**63 - 1), 2**63 - 1),
    ],
)
def test_values_at_the_ends_of_their_ranges_are_taken(flag, text, value):
    options = build_parser(COMMANDS).parse_args(["simulate", "log.csv", f"{flag}={text}"])
    assert getattr(options, flag[2:].replace("-", "_")) == value


def test_what_can_be_named_can_be_made(log):
    for name in SIMULATORS:
        assert callable(getattr(us, name))
    with pytest.raises(SystemExit):
        build_parser(COMMANDS).parse_args(["simulate", "log.csv", "--learner", "magic"])
    for name in LEARNERS:
        assert build_parser(COMMANDS).parse_args(["simulate", "log.csv", "--learner", name]).learner == name
