"""Rules about propensities: whether they are there, and whether they are probabilities."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from understudy.logs.findings import Finding, finding_in_rows
from understudy.logs.policies import TOLERANCE
from understudy.logs.propensities.advice import next_moves
from understudy.logs.propensities.source import HIDDEN
from understudy.logs.rules.values import rows_where

if TYPE_CHECKING:
    from understudy.logs.log import Log


def propensity_range(log: "Log") -> Iterator[Finding]:
    """Find probabilities outside 0 to 1."""
    p = log.propensity
    if p is None or (p.min() >= 0 and p.max() <= 1 + TOLERANCE):
        return
    rows = rows_where(lambda block: (block < 0) | (block > 1 + TOLERANCE), p)
    if len(rows):
        yield finding_in_rows(
            "error",
            "propensity-range",
            rows,
            f"propensity is outside 0 to 1 {{where}}; fix the column{_guessed_unit(p[rows])}, or drop it and use qbe",
        )


def _guessed_unit(p: np.ndarray) -> str:
    """Return a guess whether the values, all from rows with some outside 0 to 1, are percentages or logarithms."""
    with np.errstate(over="ignore"):
        if p.ndim == 2 and np.all(p >= 0) and np.all(np.abs(p.sum(axis=1) - 100) < 1):
            return " (are they percentages?)"
    if p.ndim == 1 and np.all(p >= 0) and p.max() <= 100:
        return " (are they percentages?)"
    return " (are they logarithms?)" if np.all(p <= 0) else ""


def propensity_sum(log: "Log") -> Iterator[Finding]:
    """Find rows whose probabilities do not sum to 1."""
    p = log.propensity
    if p is None or p.ndim == 1:
        return
    with np.errstate(invalid="ignore", over="ignore"):
        total = p @ np.ones(p.shape[1])
    rows = np.flatnonzero(np.abs(total - 1) > TOLERANCE)
    if len(rows):
        yield finding_in_rows(
            "error",
            "propensity-sum",
            rows,
            f"propensity sums to {total[rows[0]]:.6g}, not 1, in row {rows[0]}, and so {{where}} in all; "
            "fix the column, say renormalize=True to divide each row by its sum, or drop it and use qbe",
        )


def propensity_zero(log: "Log") -> Iterator[Finding]:
    """Find actions that were taken with probability 0."""
    p = log.propensity
    if p is None:
        return
    if p.ndim == 2:
        real = (log.action >= 0) & (log.action < p.shape[1])
        taken = p[np.arange(len(log)), np.where(real, log.action, 0)]
        rows = np.flatnonzero((taken == 0) & real)
    else:
        rows = np.flatnonzero(p == 0)
    if len(rows):
        yield finding_in_rows(
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
