"""Propensities of the chosen action that tell those of all actions: a logger that chose uniformly."""

import numpy as np

from understudy.logs.blocks import distinct_values

MOST_VALUES = 50  # distinct values; more are not a few fractions
MOST_DECIMALS = 12
ROUNDED = 0.05
"""How far from 1 the sum over all actions may be by rounding: .17 for each of 6 actions sums to 1.02."""

SEVERAL_ROUNDED = 0.005
"""The same where values differ: 1/3 and .333 are one number that was written in two ways, and .17 and .16 are two."""


def decimals_of(values: np.ndarray) -> int:
    """Return with how many decimals values were written; `MOST_DECIMALS` for floats that were never rounded.

    >>> decimals_of(np.array([0.25, 0.5])), decimals_of(np.array([1 / 3]))
    (2, 12)
    """
    with np.errstate(invalid="ignore", over="ignore"):
        for decimals in range(MOST_DECIMALS):
            if np.all(np.abs(values - np.round(values, decimals)) < 1e-12):
                return decimals
    return MOST_DECIMALS


def rounding(values: np.ndarray) -> float:
    """Return by how much values may differ from those that were meant, by the decimals they were written with.

    Floats that were never rounded to decimals may have been float32.
    """
    return max(0.5 * 10.0 ** -decimals_of(values), 1e-6) + 1e-9


def is_one_over(value: float, number: int) -> bool:
    """True if a value is 1 / number, rounded or cut off to two decimals or more, or to a smaller float.

    >>> [is_one_over(value, 3) for value in (1 / 3, 0.333, 0.33, 0.34, 0.3, float(np.float32(1 / 3)))]
    [True, True, True, False, False, True]
    """
    exact = 1 / number
    if value in (exact, float(np.float32(exact)), float(np.float16(exact))):
        return True
    decimals = decimals_of(np.array([value]))
    unit = 10.0**decimals
    written = (round(exact, decimals), int(exact * unit) / unit, int(exact * unit + 0.5) / unit)
    return decimals >= 2 and abs(value * number - 1) <= ROUNDED and value in written


def number_of_choices(value: float) -> int | None:
    """Return the whole number that a value is one over; None where it is not.

    >>> number_of_choices(0.2), number_of_choices(0.143), number_of_choices(0.3)
    (5, 7, None)
    """
    number = round(1 / value) if 1e-9 < value <= 1 else 0
    return number if number and is_one_over(value, number) else None


def is_uniform(propensity: np.ndarray, n_actions: int) -> bool:
    """True if propensities of chosen actions, (N,), all are 1 / n_actions, as far as they were written out.

    If each of A actions is taken with the same probability wherever it is chosen, that probability is 1/A; so the
    number of actions is checked along with it.
    """
    low, high = propensity.min(), propensity.max()
    if not 0.5 / n_actions < low <= high < 2 / n_actions:  # most logs are told from two numbers; NaN fails, too
        return False
    values = np.unique(propensity) if low < high else propensity[:1]
    if len(values) > MOST_VALUES or not all(is_one_over(value, n_actions) for value in values.tolist()):
        return False
    # .13 and .12 of eight actions both are 1/8, rounded and cut off; and they may be two propensities.
    return len(values) == 1 or bool((np.abs(values * n_actions - 1) <= SEVERAL_ROUNDED).all())


def uniform_table(n_rows: int, n_actions: int) -> np.ndarray:
    """Return the propensities of a uniform logger, (N, A): a read-only view of one number, whatever N and A are."""
    return np.broadcast_to(1 / n_actions, (n_rows, n_actions))


def hint(propensity: np.ndarray, n_actions: int, labeled: bool = False) -> str:
    """Return what propensities of chosen actions suggest of a logger that is not `is_uniform`; "" where nothing.

    >>> hint(np.full(9, 0.2), 4)
    'all are 0.2, as if the logger chose uniformly among 5 actions, and there are 4: say n_actions=5 if it did'
    """
    values = distinct_values(propensity, MOST_VALUES)
    if len(values) > MOST_VALUES:
        return ""
    numbers = [number_of_choices(value) for value in values.tolist()]
    known = sorted({number for number in numbers if number is not None})
    if None in numbers or known == [1]:
        return ""
    if len(known) == 1 and known[0] > n_actions:
        say = f"give all {known[0]} labels with actions=" if labeled else f"say n_actions={known[0]}"
        return (
            f"all are {values[0]:.6g}, as if the logger chose uniformly among {known[0]} actions, and there are "
            f"{n_actions}: {say} if it did"
        )
    among = f"{known[0]}" if len(known) == 1 else f"{known[0]} to {known[-1]}"
    return (
        f"each is one over a whole number, as if the logger chose uniformly among {among} of the {n_actions} actions "
        "in a row: which of them could be chosen there, the chosen one's propensity does not tell"
    )
