"""A parser whose errors are short: one line on how to get help, and what is wrong."""

import argparse
from difflib import get_close_matches
from typing import Any, NoReturn


class BriefParser(argparse.ArgumentParser):
    """A parser that says of a bad flag what is wrong with it, and not all that there is: commands have many flags."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments of a command, and refuse a flag that it does not have with the nearest that it has."""
        found, others = super().parse_known_args(args, namespace)
        flags = [text.partition("=")[0] for text in others if text.startswith("--") and text != "--"]
        if flags and not any(isinstance(one, argparse._SubParsersAction) for one in self._actions):
            names = tuple(flag.removeprefix("--") for flag in self._option_string_actions)
            meant = did_you_mean(flags[0].removeprefix("--"), names).replace("mean ", "mean --")
            self.error(f"there is no flag {flags[0]}{meant}")
        if others and not any(isinstance(one, argparse._SubParsersAction) for one in self._actions):
            self.error(
                f"nothing takes {' '.join(map(repr, others))}; a flag that takes one value is given again before "
                "each further one, as --learner A --learner B, and a value with spaces is put in quotes"
            )
        return found, others

    def error(self, message: str) -> NoReturn:
        """Print where to find the flags and what is wrong, and exit with code 2."""
        self.exit(2, f"usage: {self.prog} ...; {self.prog} --help lists its arguments\n{self.prog}: error: {message}\n")


def did_you_mean(text: str, names: tuple[str, ...]) -> str:
    """Return the name that may be meant as a question, with a space before it; empty where none is close.

    >>> did_you_mean("ucb", ("q-learning", "ucb1")), did_you_mean("Thomson", ("exp3", "thompson"))
    (' (did you mean ucb1?)', ' (did you mean thompson?)')
    >>> did_you_mean("forest", ("q-learning", "ucb1"))
    ''
    """
    close = get_close_matches(text.lower(), names, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
