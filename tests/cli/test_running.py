import pytest

import understudy as us
from understudy.cli.running import run_command


def failing(error):
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (us.LogError("give order_by=\x1b"), 2, "tool: give --order-by\\x1b\n"),
        (us.ResultsError("give another folder with out="), 2, "tool: give another folder with --out\n"),
        (ModuleNotFoundError("PPO needs torch"), 2, "tool: PPO needs torch\n"),
        (MemoryError(), 2, "tool: memory ran out; use fewer bins, states or runs at a time\n"),
        (
            KeyboardInterrupt(),
            130,
            "tool: interrupted; finished runs are kept, and the same command goes on from there\n",
        ),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_an_exit_code(capsys, error, code, said):
    assert run_command("tool", failing(error)) == code
    assert capsys.readouterr().err == said


def test_what_a_command_returns_is_the_exit_code():
    assert run_command("tool", lambda: 1) == 1


def test_a_bug_is_raised():
    with pytest.raises(ZeroDivisionError):
        run_command("tool", failing(ZeroDivisionError()))
