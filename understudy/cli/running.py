"""How a command is run: what goes wrong ends in one sentence on standard error and an exit code."""

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable

from understudy.cli.values import is_own_learner
from understudy.errors import ContractError, SettingError, UnderstudyError, visible
from understudy.storage import NO_ROOM


def use_escapes() -> None:
    """Let output show letters that the terminal lacks, as a log may have them, as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


CLOSED_PIPE = 141
"""The exit code of a command whose output nobody read to its end, as shells give it: its work may not be done."""

OF_RUNS = ("at step ", "in run ")
"""How the notes begin that say where in a run an error was raised."""


def use_learner_folder(folder: str | None) -> None:
    """Let modules be found in the folder that --learner-folder names first, and in the current one after it.

    Raise `SettingError` where it is not a folder.
    """
    if folder is None:
        return
    if not os.path.isdir(folder):
        raise SettingError(f"--learner-folder {folder} is not a folder; give the one that the learner's module is in")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    if sys.path[0] != folder:
        sys.path.insert(0, folder)


def run_with_learner(options: argparse.Namespace) -> int:
    """Call the command of some options, and return its exit code. With --traceback, errors show where they come from.

    What a learner of the user's own raises in a run becomes `ContractError`: a sentence with the run and the step.
    """
    use_learner_folder(vars(options).get("learner_folder"))
    try:
        return options.command(options)
    except Exception as error:
        shows = vars(options).get("traceback", False)
        if shows:
            traceback.print_exception(error)
        if isinstance(error, UnderstudyError | MemoryError | BrokenPipeError):
            raise
        learners = vars(options).get("learner")
        own = [name for name in ([learners] if isinstance(learners, str) else learners or ()) if is_own_learner(name)]
        notes = [note for note in vars(error).get("__notes__", ()) if note.startswith(OF_RUNS)]
        if not own or not notes:
            raise
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        advice = "see above" if shows else "--traceback shows where in its code"
        raise ContractError(f"--learner {' or '.join(own)} raised {what} ({', '.join(notes)}); {advice}") from error


def run_command(program: str, command: Callable[[], int]) -> int:
    """Call a command and return its exit code: 2 and a sentence for bad input and a full disk, 130 for Ctrl-C.

    `program` is the name that sentences begin with. Other errors are bugs, and are raised.
    """
    try:
        code = command()
        print(end="", flush=True)  # what is still in a buffer may find the pipe closed, too
        return code
    except (UnderstudyError, ModuleNotFoundError) as error:
        from understudy.cli.words import as_flags  # takes long, and is not needed for help

        print(f"{program}: {visible(as_flags(str(error)))}", file=sys.stderr)
        return 2
    except MemoryError:
        print(f"{program}: memory ran out; use fewer bins, states or runs at a time", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the program that reads our output has closed it, as `head` does
        _write_no_more()
        return CLOSED_PIPE
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        _write_no_more()
        where = error.filename or "what this command prints"
        why = f"{error.strerror}; make room, or write elsewhere"
        print(f"{program}: {visible(str(where))} could not be written: {why}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            f"{program}: interrupted; finished runs are kept, and the same command goes on from there", file=sys.stderr
        )
        return 130


def _write_no_more() -> None:
    """Drop what cannot be printed, which Python would try to write once more when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
