"""Rules about propensities: whether they are there, and whether they are probabilities."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from understudy.logs.blocks import any_entry, found_rows, slices, width_of
from understudy.logs.findings import Finding, finding_in_rows
from understudy.logs.policies import TOLERANCE
from understudy.logs.propensities.advice import next_moves
from understudy.logs.propensities.source import HIDDEN

if TYPE_CHECKING:
    from understudy.logs.log import Log


MANY_OUTSIDE = 0.1
"""A share of rows outside 0 to 1, from which on the whole column seems to be in another unit."""


def propensity_range(log: "Log") -> Iterator[Finding]:
    """Find probabilities outside 0 to 1."""
    p = log.propensity
    if p is None or (p.min() >= 0 and p.max() <= 1 + TOLERANCE):
        return
    rows = found_rows(lambda part: _is_outside(p[part]), len(p), width_of(p))
    if rows.count:
        unit = _guessed_unit(p) if rows.count >= MANY_OUTSIDE * len(p) else ""
        yield finding_in_rows(
            log,
            "error",
            "propensity-range",
            rows,
            f"propensity is outside 0 to 1 {{where}}; fix the column{unit}, or drop it and use qbe",
        )


def _is_outside(p: np.ndarray) -> np.ndarray:
    return (p < 0) | (p > 1 + TOLERANCE)


def _guessed_unit(p: np.ndarray) -> str:
    """Return a guess whether propensities, in rows with some outside 0 to 1, are percentages or logarithms."""
    percentages = logarithms = True
    for part in slices(len(p), width_of(p)):
        outside = p[part][any_entry(_is_outside(p[part]))]
        with np.errstate(over="ignore"):
            sums = np.abs(outside.sum(axis=1) - 100) < 1 if p.ndim == 2 else outside <= 100
        percentages &= bool(np.all(outside >= 0) and np.all(sums))
        logarithms &= bool(np.all(outside <= 0))
    return " (are they percentages?)" if percentages else " (are they logarithms?)" if logarithms else ""


def propensity_sum(log: "Log") -> Iterator[Finding]:
    """Find rows whose probabilities do not sum to 1."""
    p = log.propensity
    if p is None or p.ndim == 1:
        return
    with np.errstate(invalid="ignore", over="ignore"):
        rows = found_rows(lambda part: np.abs(_sums(p[part]) - 1) > TOLERANCE, len(p), width_of(p))
        if rows.count:
            row = rows.first[0]
            yield finding_in_rows(
                log,
                "error",
                "propensity-sum",
                rows,
                f"propensity sums to {_sums(p[row : row + 1])[0]:.6g}, not 1, in row {{first}}, and so {{where}} in "
                "all; fix the column, say renormalize=True to divide each row by its sum, or drop it and use qbe",
            )


def _sums(p: np.ndarray) -> np.ndarray:
    return p @ np.ones(p.shape[1])


def propensity_zero(log: "Log") -> Iterator[Finding]:
    """Find actions that were taken with probability 0."""
    p = log.propensity
    if p is None:
        return

    def is_zero(part: slice) -> np.ndarray:
        if p.ndim == 1:
            return p[part] == 0
        action = log.action[part]
        real = (action >= 0) & (action < p.shape[1])
        return (p[part][np.arange(len(action)), np.where(real, action, 0)] == 0) & real

    rows = found_rows(is_zero, len(log))
    if rows.count:
        yield finding_in_rows(
            log,
            "error",
            "propensity-zero",
            rows,
            "the action taken has propensity 0 {where}; fix the column (are its actions in another order?), say "
            "n_samples= if it holds shares of draws, or drop it and use qbe",
        )


def propensity_kind(log: "Log") -> Iterator[Finding]:
    """Find that propensities are missing, or known for the chosen action only."""
    if log.propensity is None:
        rule, what = "no-propensity", "there are no propensities"
    elif log.propensity.ndim == 1:
        rule, what = "chosen-propensity", "only the chosen action's propensity was logged"
    else:
        return
    sentence = f"{what}, which rules out psrs, actions_only and exo_psrs: {next_moves(log)}"
    yield Finding("warning", rule, (), len(log), sentence)


def propensity_source(log: "Log") -> Iterator[Finding]:
    """Find that propensities are not those that were logged. What was recognized or smoothed is in the log's notes."""
    source = log.propensity_source
    if source is None:
        return
    if source.is_estimated:
        sentence = (
            f"propensities are {source}: {HIDDEN}; if anyone can tell those of the policy that acted, give them with "
            "log.with_propensities(...)"
        )
        yield Finding("warning", "propensity-source", (), len(log), sentence)
    elif source.kind in ("table", "function", "several"):
        yield Finding("note", "propensity-source", (), len(log), f"propensities are {source}")
