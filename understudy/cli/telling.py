"""`--json` and `--quiet`, which every command has: what is printed in place of sentences and tables."""

import argparse
import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from understudy.progress import silenced

EXIT_CODES = (
    "exit codes: 0 fine; 1 log not believed (check), or a condition fails (gate); 2 bad input or "
    "a full disk; 70 a bug; 130 interrupted; 141 output cut off"
)


def add_telling(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the two flags to all commands; a command that has its own --json prints that itself."""
    for command in commands.choices.values():
        if not any("--json" in action.option_strings for action in command._actions):
            command.add_argument("--json", action="store_true", help="print what was found as JSON, and nothing else")
            command.set_defaults(json_of_page=True)
        command.add_argument("--quiet", action="store_true", help="print nothing but errors, and show no progress")


def told(options: argparse.Namespace, run: Callable[[], int]) -> int:
    """Call a command and return its exit code, with as much output as was asked for.

    A command that prints no JSON itself has told `keep_for_json` what it found, or which page it wrote: beside that is
    the JSON file of all that the page shows.
    """
    options.outcome = {}
    quiet, as_json = (vars(options).get(name, False) for name in ("quiet", "json"))
    of_page = as_json and vars(options).get("json_of_page", False)
    if not quiet and not of_page:
        return run()
    with silenced(), redirect_stdout(io.StringIO()):
        code = run()
    if of_page and not quiet:
        print(json_of(options.outcome))
    return code


def keep_for_json(options: argparse.Namespace, **found: Any) -> None:
    """Keep what a command found: a `page`, or anything else that JSON can hold. Copies of options keep it, too."""
    vars(options).setdefault("outcome", {}).update(found)


def json_of(found: dict[str, Any]) -> str:
    """Return what a command found as JSON."""
    if "page" in found:
        return Path(found["page"]).with_suffix(".json").read_text(encoding="utf-8")
    return json.dumps(found, indent=1)
