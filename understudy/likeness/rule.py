"""The rule by which a radius is chosen and rungs are offered: margins that were set before any result was seen."""

from collections.abc import Iterable

VALUE_SHARE = 0.05
"""A like row's value may differ from the row's own by so much of the range of values, as a root mean square."""

LEADS_SHARE = 0.25
"""The same for values of rewards drawn at random: those of a learner that is still learning may be any."""

NOISE_SHARE = 0.05
"""Outcomes of one state and action may vary by so much of the range of values, as a standard deviation, for reuse."""

LEAST_LIKE = 0.1
"""The share of rows that must have a like row: with fewer, runs would hardly get longer."""

LEAST_REPEATED = 0.1
"""The share of rows that must have another of the same state and action, for their noise to be known."""

LEVEL = 0.95
"""Of the one-sided intervals whose ends count: of a margin, and of whether two states differ."""


def chosen_radius(lines: Iterable[tuple[float, float, float, float]]) -> float | None:
    """Return the largest radius that keeps all margins, as all smaller ones do; None where the smallest does not.

    Given are radius, share of rows with a like row, and the upper ends of the differences of the value and of values of
    random rewards, in increasing order of the radius. A test of one radius after the other until one fails needs no
    correction for their number. And where the nearest states differ, states further away that happen to be worth the
    same are not alike.

    >>> chosen_radius([(0.1, 0.5, 0.03, 0.1), (0.2, 0.6, 0.04, 0.1), (0.4, 0.7, 0.06, 0.1), (0.8, 0.9, 0.04, 0.1)])
    0.2
    """
    chosen = None
    for radius, like_share, value_upper, leads_upper in lines:
        if not (like_share >= LEAST_LIKE and value_upper < VALUE_SHARE and leads_upper < LEADS_SHARE):  # NaN fails
            break
        chosen = radius
    return chosen


def offers_reuse(noise_upper: float, repeated_share: float) -> bool:
    """True if outcomes of one state and action hardly vary, and enough rows tell it."""
    return repeated_share >= LEAST_REPEATED and noise_upper < NOISE_SHARE
