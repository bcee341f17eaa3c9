import argparse
import errno
import io
import os
import subprocess
import sys

import pytest

from understudy.cli.running import run_command, run_with_learner, use_escapes
from understudy.errors import ContractError, LogError, SettingError


def raising(error):
    def command():
        raise error

    return command


@pytest.mark.parametrize("code", [0, 1])
def test_the_exit_code_of_a_command_is_returned(code, capsys):
    assert run_command("tool", lambda: code) == code
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (LogError("row 3 is odd\x1b[31m; drop it"), 2, "tool: row 3 is odd\\x1b[31m; drop it\n"),
        (SettingError("say max_steps="), 2, "tool: say --max-steps\n"),
        (ModuleNotFoundError("PPO needs torch"), 2, "tool: PPO needs torch\n"),
        (MemoryError(), 2, "tool: memory ran out; use fewer bins, states or runs at a time\n"),
        (
            KeyboardInterrupt(),
            130,
            "tool: interrupted; finished runs are kept, and the same command goes on from there\n",
        ),
    ],
)
def test_what_goes_wrong_is_one_sentence_and_an_exit_code(error, code, message, capsys):
    assert run_command("tool", raising(error)) == code
    assert capsys.readouterr().err == message


@pytest.mark.parametrize("error", [ValueError("a bug"), TypeError("a bug")])
def test_bugs_are_raised(error):
    with pytest.raises(type(error), match="a bug"):
        run_command("tool", raising(error))


def test_letters_that_a_terminal_lacks_are_written_as_escapes(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    use_escapes()
    print("café", flush=True)
    assert written.getvalue() == b"caf\\xe9\n"


def options_raising(error, learner, **given):
    return argparse.Namespace(command=lambda options: raising(error)(), learner=learner, **given)


def test_errors_of_ones_own_learner_are_sentences_and_others_are_bugs(capsys):
    noted = KeyError("red")
    noted.add_note("at step 3 of Mine")
    noted.add_note("in run 7 (seed 8)")
    for learner in ("mine:Mine", ["thompson", "mine:Mine"]):
        with pytest.raises(
            ContractError, match=r"--learner mine:Mine raised KeyError: 'red' \(at step 3 of Mine, in run 7"
        ) as caught:
            run_with_learner(options_raising(noted, learner))
        assert caught.value.__cause__ is noted
    for error, learner in ((noted, "thompson"), (KeyError("blue"), "mine:Mine"), (SettingError("say so"), "mine:Mine")):
        with pytest.raises(type(error)) as caught:
            run_with_learner(options_raising(error, learner))
        assert caught.value is error
    assert run_with_learner(argparse.Namespace(command=lambda options: 5)) == 5
    assert capsys.readouterr().err == ""
    with pytest.raises(SettingError):
        run_with_learner(options_raising(SettingError("say so"), None, traceback=True))
    assert "in command" in capsys.readouterr().err


def test_a_pipe_that_is_closed_early_is_no_success():
    """`understudy check LOG | head -1` ended with 0 whatever the log was."""
    code = (
        "import sys\nfrom understudy.cli.running import run_command\n\ndef much():\n"
        "    for _ in range(9999):\n        print('x' * 99)\n    return 0\n\nsys.exit(run_command('tool', much))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait() == 141


def test_a_folder_of_learners_that_is_not_there_is_named():
    options = argparse.Namespace(learner="mine:Make", learner_folder="nowhere", command=lambda options: 0)
    with pytest.raises(SettingError, match="--learner-folder nowhere is not a folder"):
        run_with_learner(options)


@pytest.mark.parametrize("lines", ["print('x' * 99)", "print_table(Table('', (Column('a'),), (('1',),) * 999))"])
def test_a_pipe_that_is_closed_before_the_first_line_is_no_success(lines):
    """A table printed to a closed pipe ended `understudy check LOG | head -3` with 1: a log not to be believed."""
    code = (
        "import sys\nfrom understudy.cli.running import run_command\nfrom understudy.cli.words import print_table\n"
        "from understudy.tables import Column, Table\nsys.stdin.readline()\n"
        f"sys.exit(run_command('tool', lambda: {lines} or 0))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.close()
    process.stdin.close()
    assert process.wait() == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is always full")
@pytest.mark.parametrize("lines", ["print('x' * 99)", "print_table(Table('', (Column('a'),), (('1',),) * 999))"])
def test_a_full_disk_is_said_and_is_not_the_log_s_fault(lines):
    """`understudy check LOG > FILE` ended with 1 where the file's disk was full: a log not to be believed."""
    code = (
        "import sys\nfrom understudy.cli.running import run_command\nfrom understudy.cli.words import print_table\n"
        f"from understudy.tables import Column, Table\nsys.exit(run_command('tool', lambda: {lines} or 0))"
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "tool: what this command prints could not be written: No space left on device; make room, or write elsewhere\n"
    )


def test_a_full_disk_of_a_file_is_named_and_other_errors_of_the_system_are_bugs(capsys):
    assert run_command("tool", raising(OSError(errno.EDQUOT, "Disk quota exceeded", "out/page.html"))) == 2
    told = "tool: out/page.html could not be written: Disk quota exceeded; make room, or write elsewhere\n"
    assert capsys.readouterr().err == told
    with pytest.raises(OSError, match="odd"):
        run_command("tool", raising(OSError(errno.EIO, "odd")))
