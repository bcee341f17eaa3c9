"""How a command is run: what goes wrong ends in one sentence on standard error and an exit code."""

import io
import os
import sys
from collections.abc import Callable

from understudy.cli.words import as_flags
from understudy.errors import UnderstudyError, visible


def use_escapes() -> None:
    """Let output show letters that the terminal lacks, as a log may have them, as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run_command(program: str, command: Callable[[], int]) -> int:
    """Call a command and return its exit code: 2 and a sentence for bad input, 130 for Ctrl-C.

    `program` is the name that sentences begin with. Other errors are bugs, and are raised.
    """
    try:
        return command()
    except (UnderstudyError, ModuleNotFoundError) as error:
        print(f"{program}: {visible(as_flags(str(error)))}", file=sys.stderr)
        return 2
    except MemoryError:
        print(f"{program}: memory ran out; use fewer bins, states or runs at a time", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the program that reads our output has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(
            f"{program}: interrupted; finished runs are kept, and the same command goes on from there", file=sys.stderr
        )
        return 130
