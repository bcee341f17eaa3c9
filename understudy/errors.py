"""The errors and warnings of the library: one tree, so that `except UnderstudyError` catches all that we raise.

Each message names what was found, where, and the next move. Most classes are also a `ValueError` or a `TypeError`, for
code that knows only Python's own.
"""


def visible(text: str) -> str:
    r"""Text as a terminal can show it: control characters written out.

    Names, labels and notes come from files, and a terminal obeys the escape bytes in them.

    >>> print(visible("red\x1b[31m"), visible("two\nlines"))
    red\x1b[31m two\nlines
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


LONGEST = 1600
"""Characters of a message. Names and labels that it repeats come from files, and may have any length."""


class UnderstudyError(Exception):
    """Anything that the library refuses. Catch this to catch every error that we raise on purpose."""

    def __init__(self, message: str) -> None:
        text = visible(message)
        if len(text) > LONGEST:  # it begins with what was found, and ends with the next move
            text = f"{text[: 3 * LONGEST // 4]} ... {text[-LONGEST // 4 :]}"
        super().__init__(text)


class LogError(UnderstudyError, ValueError):
    """A log, or a file of one, that cannot be used. `rule` is the name under which `check` reports it."""

    def __init__(self, message: str, rule: str = "columns") -> None:
        super().__init__(message)
        self.rule = rule


class PolicyError(UnderstudyError, ValueError):
    """A policy that is not a distribution over the log's actions."""


class SettingError(UnderstudyError, ValueError):
    """An argument or option whose value cannot be used, alone or together with the others."""


class ContractError(UnderstudyError, TypeError):
    """A learner, encoder, simulator, environment or probe that does not keep a promise of `understudy.contracts`."""


class UsageError(UnderstudyError, RuntimeError):
    """A call that came at a time, or in an order, in which it cannot be answered."""


class EncoderError(UnderstudyError, ValueError):
    """An encoder that cannot be fitted, used, saved or loaded as it is, or a file of one."""


class ResultsError(UnderstudyError, ValueError):
    """A results folder that cannot be written, read, or used for these runs."""


class RunError(UnderstudyError, RuntimeError):
    """Runs that could not be made: a process that died in them again and again, or a learner that raised in all."""


class UnderstudyWarning(UserWarning):
    """Anything that the library warns of: the answer is given, but read the message before you use it."""


class CensoringWarning(UnderstudyWarning):
    """An average over the runs that were still going, which differ from those that had stopped."""


class FailedRunsWarning(UnderstudyWarning):
    """Some runs raised and were left out, as `errors="keep"` asks: what is computed is of the others alone."""


class ServedAgainWarning(UnderstudyWarning):
    """A new run was begun in an env that had served rows: a learner that goes on would meet them twice."""
