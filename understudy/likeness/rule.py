"""The rule by which a radius is chosen and rungs are offered: margins that were set before any result was seen."""

VALUE_SHARE = 0.05
"""A like row's value may differ from the row's own by so much of the range of values, as a root mean square."""

NOISE_SHARE = 0.05
"""Outcomes of one state and action may vary by so much of the range of values, as a standard deviation, for reuse."""

LEAST_LIKE = 0.1
"""The share of rows that must have a like row: with fewer, runs would hardly get longer."""

LEVEL = 0.95
"""Of the one-sided interval whose upper end is compared with the margins."""
