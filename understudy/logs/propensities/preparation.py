"""Propensities as simulators use them: shares smoothed, sums made 1 when asked, uniform ones filled in."""

from typing import NamedTuple

import numpy as np

from understudy.errors import SettingError
from understudy.logs.policies import TOLERANCE
from understudy.logs.propensities.recognition import is_uniform, uniform_table
from understudy.logs.propensities.sampling import checked_samples, from_shares
from understudy.logs.propensities.source import PropensitySource


class PropensityOptions(NamedTuple):
    """What a user, or the metadata of a file, says of propensities."""

    n_samples: int | None = None  # each is a share of so many draws
    renormalize: bool = False  # divide the propensities of a row by their sum
    stored: PropensitySource | None = None  # the source that a file of ours names


class PreparedPropensities(NamedTuple):
    """Propensities, where they came from, and what was done to them, each note as "rule: sentence"."""

    propensity: np.ndarray | None
    source: PropensitySource | None
    notes: tuple[str, ...] = ()


def prepare(
    propensity: np.ndarray | None, n_actions: int, options: PropensityOptions, source_row: np.ndarray | None = None
) -> PreparedPropensities:
    """Return propensities as simulators use them. Raise `SettingError` where an option does not fit them.

    `source_row` are the numbers by which rows are named, where they are not 0, 1, ...
    """
    asked = "n_samples=" if options.n_samples is not None else "renormalize=True" if options.renormalize else None
    if propensity is None:
        if asked:
            raise SettingError(f"{asked} is about propensities, and the log has none; name their columns")
        return PreparedPropensities(None, None)
    if options.stored not in (None, PropensitySource(), PropensitySource("uniform")):
        if asked:
            raise SettingError(f"{asked} came too late: the file says that propensities are {options.stored}")
        return PreparedPropensities(propensity, options.stored)
    if options.n_samples is not None:
        if options.renormalize:
            raise SettingError("shares of n_samples= draws sum to 1 by themselves; leave renormalize=True out")
        return _sampled(propensity, checked_samples(options.n_samples), source_row)
    if propensity.ndim == 2:
        return (
            _renormalized(propensity) if options.renormalize else PreparedPropensities(propensity, PropensitySource())
        )
    if options.renormalize:
        raise SettingError("renormalize=True needs the propensities of all actions, and only the chosen one's are here")
    if not is_uniform(propensity, n_actions):
        return PreparedPropensities(propensity, PropensitySource())
    kind = "uniform"
    if options.stored is not None and options.stored.kind == kind:  # its note is in the file already
        return PreparedPropensities(uniform_table(len(propensity), n_actions), options.stored)
    note = (
        f"propensity-uniform: every logged propensity is {propensity[0]:.6g}, one over the {n_actions} actions: the "
        "logger is taken to have chosen uniformly among all of them, so that the propensities of all actions are known"
    )
    return PreparedPropensities(uniform_table(len(propensity), n_actions), PropensitySource(kind), (note,))


def _sampled(shares: np.ndarray, n_samples: int, source_row: np.ndarray | None) -> PreparedPropensities:
    propensity = from_shares(shares, n_samples, source_row)
    source = PropensitySource("monte carlo", n_samples=n_samples)
    taken = "x of n draws are taken as (x + 1) / (n + 1), whose inverse is right on average"
    if shares.ndim == 2:
        taken = "an action that none of them took counts as a tenth of a draw"
    largest = float(source.standard_error(propensity).max())
    note = (
        f"propensity-samples: propensities are shares of {n_samples:,} draws of the policy, with a standard error of "
        f"up to {largest:.2g}; {taken}"
    )
    return PreparedPropensities(propensity, source, (note,))


def _renormalized(propensity: np.ndarray) -> PreparedPropensities:
    """Return rows divided by their sums; rows with a negative number, a NaN or a sum of 0 stay as they are."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = propensity.sum(axis=1)
    off = (np.abs(total - 1) > TOLERANCE) & np.isfinite(total) & (total > 0) & (propensity.min(axis=1) >= 0)
    if not off.any():
        return PreparedPropensities(propensity, PropensitySource())
    divided = np.array(propensity)
    divided[off] /= total[off, None]
    sums = f"{total[off].min():.6g} to {total[off].max():.6g}"
    rows = f"{int(off.sum()):,} of {len(total):,} rows"
    note = f"propensity-renormalized: propensities summed to {sums} in {rows}, and were divided by their sum there"
    return PreparedPropensities(divided, PropensitySource(detail=f"divided by their sum in {rows}"), (note,))
