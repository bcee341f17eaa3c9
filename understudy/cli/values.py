"""Values of flags, read from text: numbers in their ranges, and the names of learners."""

import argparse
import math
from collections.abc import Callable

from understudy.cli.parsing import did_you_mean
from understudy.errors import SettingError

BANDITS = ("epsilon-greedy", "ucb1", "thompson", "gaussian-thompson", "exp3", "linucb", "linear-thompson")
LINEAR = ("linucb", "linear-thompson")
LEARNERS = ("q-learning", "expected-sarsa", "ppo", "uniform", *BANDITS)
RUNGS = ("like", "reuse", "untried", "cut")
"""The names of lower rungs, whose module takes long to import; a test holds them equal."""


def positive(text: str) -> int:
    """Return a whole number from 1 to 2**63 - 1."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    if number >= 2**63:
        raise argparse.ArgumentTypeError(f"{text} is more than 2**63 - 1")
    return number


def halves(text: str) -> int:
    """Return a number of halves of a log."""
    from understudy.evaluation.halves import FEWEST_HALVES  # here and below: these take long, and help needs none

    number = positive(text)
    if number < FEWEST_HALVES:
        raise argparse.ArgumentTypeError(f"{text} is less than {FEWEST_HALVES}, which tell too little")
    return number


def several(text: str) -> int:
    """Return a whole number from 3 on."""
    number = positive(text)
    if number < 3:
        raise argparse.ArgumentTypeError(f"{text} is less than 3")
    return number


def bound(text: str) -> float | str:
    """Return a bound of rejection sampling: a number from 1, or the name of a rule."""
    if text in ("running", "quantile"):
        return text
    try:
        float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number, nor running, nor quantile") from None
    number = finite(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def number_of(text: str) -> float:
    """Return a number, which may be infinite."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def finite(text: str) -> float:
    """Return a finite number."""
    number = number_of(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text} is not a finite number")
    return number


def probability(text: str) -> float:
    """Return a number from 0 to 1."""
    number = number_of(text)
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


def learner_name(text: str) -> str:
    """Return the name of a learner: one of ours, or the module and class of one's own, module:Class."""
    if text not in LEARNERS and not is_own_learner(text):
        raise argparse.ArgumentTypeError(
            f"there is no learner {text!r}{did_you_mean(text, LEARNERS)}; give one of {', '.join(LEARNERS)}, or "
            "module:Class for one of your own"
        )
    return text


def is_own_learner(text: str) -> bool:
    """True if a text names a learner of the user's, by module and class.

    >>> is_own_learner("shop.learners:Greedy"), is_own_learner("q-learning:epsilon=0.1")
    (True, False)
    """
    module, _, name = text.partition(":")
    return name.isidentifier() and all(part.isidentifier() for part in module.split("."))


def not_negative(text: str) -> float:
    """Return a finite number from 0."""
    number = finite(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return number


def not_negative_whole(text: str) -> int:
    """Return a whole number from 0 to 2**63 - 1."""
    return 0 if text.strip() == "0" else positive(text)


def delay(text: str) -> int | str:
    """Return a number of decisions from 0, or "arrival": as late as in the log.

    >>> delay("20"), delay("arrival")
    (20, 'arrival')
    """
    if text == "arrival":
        return text
    try:
        int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of decisions nor arrival") from None
    return not_negative_whole(text)


def period(text: str) -> float:
    """Return a period in seconds: a number above 0, or a name, such as day."""
    from understudy.learners.delays import PERIODS, period_of

    try:
        return period_of(text if text in PERIODS else float(text))
    except (ValueError, SettingError):
        raise argparse.ArgumentTypeError(f"{text!r} is neither seconds nor one of {', '.join(PERIODS)}") from None


def share(text: str) -> float:
    """Return a number between 0 and 1, neither of them."""
    number = probability(text)
    if number in (0.0, 1.0):
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


def above_zero(text: str) -> float:
    """Return a finite number above 0."""
    number = finite(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


LEARNER_SETTINGS: dict[str, Callable[[str], float | str]] = {
    "epsilon": probability,
    "alpha": probability,
    "gamma": probability,
    "initial": finite,
    "epoch-steps": positive,
    "stack-size": positive,
    "exploration": not_negative,
    "noise": above_zero,
    "ridge": above_zero,
    "delay": delay,
    "batch": positive,
    "period": period,
}
"""The settings of learners, by the names of their flags, and what reads each from a text."""


def rungs(text: str) -> tuple[str, ...]:
    """Return lower rungs that are named with commas between them."""
    from understudy.simulators.ladder import checked_rungs

    try:
        return checked_rungs(tuple(name.strip() for name in text.split(",")))
    except SettingError as error:
        raise argparse.ArgumentTypeError(str(error).partition(") ")[2]) from None
