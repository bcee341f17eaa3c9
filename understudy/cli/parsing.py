"""A parser whose errors are short: one line on how to get help, and what is wrong."""

import argparse
from difflib import get_close_matches
from typing import NoReturn


class BriefParser(argparse.ArgumentParser):
    """A parser that says of a bad flag what is wrong with it, and not all that there is: commands have many flags."""

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
