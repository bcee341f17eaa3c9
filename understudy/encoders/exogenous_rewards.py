"""How the reward of a step is made up of the endogenous and the exogenous part: read from the log, or refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.encoders.conditional_tests import association, strongest
from understudy.encoders.exogenous_sample import SplitSample, binned, paired
from understudy.encoders.exogenous_search import SplitTest
from understudy.errors import LogError

OWN, ADDITIVE, TABLE = "own", "additive", "table"
"""The row's own reward; that, with the exogenous part's share of it exchanged; a table by where a step arrives."""

MOST_VALUES = 64
"""The most values of a column that have an effect each; with more, the effect is a cubic of the value."""

ROUNDS = 5
"""Rounds of weighing strata by their noise."""

ROUNDING = 1e-9
"""Differences of rewards below this share of the largest reward are rounding."""


@dataclass(frozen=True, eq=False)
class ColumnEffect:
    """What one exogenous column adds to rewards: an effect of each value, or a cubic of it."""

    column: int
    after: bool  # of the next observation, not of the observation
    values: tuple[float, ...] | None  # None for a cubic
    effects: tuple[float, ...]  # of each value; of the value, its square and its cube, once it was scaled
    center: float = 0.0
    scale: float = 1.0

    def of(self, given: np.ndarray, name: str) -> np.ndarray:
        """Return what the values of the column add. Raise `LogError` for one that was never seen."""
        if self.values is None:
            return powers(given, self.center, self.scale) @ np.array(self.effects)
        place = np.searchsorted(self.values, given).clip(0, len(self.values) - 1)
        unknown = np.array(self.values)[place] != given
        if unknown.any():
            raise LogError(f"{name} is {given[unknown][0]}, which the split never saw; learn the split on this log too")
        return np.array(self.effects)[place]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values."""
        return dict(vars(self)) | {
            "values": None if self.values is None else list(self.values),
            "effects": list(self.effects),
        }


@dataclass(frozen=True)
class RewardParts:
    """How rewards are formed, what exogenous columns add, the tests that say so, and why not, where none fits."""

    form: str | None  # OWN, ADDITIVE or TABLE; None where it is refused
    effects: tuple[ColumnEffect, ...]
    tests: tuple[SplitTest, ...]
    refusal: str | None = None


def reward_parts(
    sample: SplitSample, inner: Sequence[int], rest: Sequence[int], level: float, *, repeats: bool
) -> RewardParts:
    """Return how rewards follow from the two parts; a table is looked for only if the exogenous part `repeats`.

    In this order: rewards do not depend on the exogenous part; they are a sum of what the endogenous row gives and of
    effects of exogenous columns, before and after the step; they are the same wherever a step arrives at the same
    observation.
    """
    log, outside = sample.log, ", ".join(sample.names[column] for column in rest)
    arrival = paired(paired(sample.state(inner), log.action), paired(sample.state(inner, "after"), log.terminated))
    stratum = np.unique(arrival, return_inverse=True)[1]
    question = f"Given the endogenous part, does the reward depend on {outside}?"
    alone = _tested(sample, rest, stratum, log.reward, question, level)
    if not alone.finds:
        return RewardParts(OWN, (), (alone,))
    effects = _effects(sample, rest, stratum)
    share = shares(effects, sample.before, sample.names)[0] + shares(effects, sample.after, sample.names)[1]
    question = f"Given the endogenous part, does the reward less the effects of {outside} still depend on them?"
    sums = _tested(sample, rest, stratum, log.reward - share, question, level)
    if not sums.finds:
        return RewardParts(ADDITIVE, effects, (alone, sums))
    where = paired(sample.code(inner, "after"), sample.code(rest, "after"))
    if repeats and _is_constant(log.reward, where):
        return RewardParts(TABLE, (), (alone, sums))
    return RewardParts(
        None, (), (alone, sums),
        f"the reward depends on {outside} together with the endogenous part (p = {sums.p_value:.2g} beyond a sum of "
        "both), and not on where a step arrives alone; use psrs on whole observations",
    )  # fmt: skip


def shares(effects: Sequence[ColumnEffect], columns: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return what the columns of observations, (n, columns), add to rewards of steps that leave them, and arrive."""
    leaving, arriving = np.zeros(len(columns)), np.zeros(len(columns))
    for effect in effects:
        share = arriving if effect.after else leaving
        share += effect.of(columns[:, effect.column], names[effect.column])
    return leaving, arriving


def powers(values: np.ndarray, center: float, scale: float) -> np.ndarray:
    """Return scaled values, their squares and cubes, (n, 3)."""
    scaled = (np.asarray(values, np.float64) - center) / scale
    return np.column_stack([scaled, scaled**2, scaled**3])


def _tested(
    sample: SplitSample, rest: Sequence[int], stratum: np.ndarray, reward: np.ndarray, question: str, level: float
) -> SplitTest:
    """Return the test whether rewards of one stratum depend on a column of `rest`, before or after the step."""
    error = _centered(reward, stratum)
    error[np.abs(error) < ROUNDING * (np.abs(reward).max() + np.abs(sample.log.reward).max())] = 0.0
    outcome = binned(error, parts=4, few=32)
    columns = [values[:, column] for column in rest for values in (sample.before, sample.after)]
    _, result = strongest([association(stratum, outcome, binned(values, parts=4)) for values in columns])
    return SplitTest(question, result.statistic, result.p_value, level)


def _effects(sample: SplitSample, rest: Sequence[int], stratum: np.ndarray) -> tuple[ColumnEffect, ...]:
    """Return the effects of columns on rewards within strata, by least squares weighted by the noise of each stratum.

    Rewards of some strata may have no noise: these decide then, and what is left of them is nothing but rounding.
    """
    blocks: list[tuple[np.ndarray, dict[str, Any]]] = []
    for column in rest:
        for after, table in ((False, sample.before), (True, sample.after)):
            values, distinct = table[:, column], np.unique(np.concatenate([sample.before, sample.after])[:, column])
            about: dict[str, Any] = {"column": column, "after": after, "values": None}
            if len(distinct) <= MOST_VALUES:
                design = (values[:, None] == distinct).astype(np.float64)
                about["values"] = tuple(distinct.tolist())
            else:
                about |= {"center": float(distinct.mean()), "scale": float(distinct.std() or 1.0)}
                design = powers(values, about["center"], about["scale"])
            blocks.append((design, about))
    matrix = np.column_stack([_centered(column, stratum) for design, _ in blocks for column in design.T])
    reward, weight = _centered(sample.log.reward, stratum), np.ones(len(stratum))
    least = (ROUNDING * (1 + np.abs(sample.log.reward).max())) ** 2
    for _ in range(ROUNDS):
        solution = np.linalg.lstsq(matrix * weight[:, None], reward * weight, rcond=1e-9)[0]
        noise = np.bincount(stratum, (reward - matrix @ solution) ** 2) / np.bincount(stratum)
        weight = 1 / np.sqrt(np.maximum(noise, least))[stratum]
        weight /= weight.max()
    ends = np.cumsum([design.shape[1] for design, _ in blocks])
    pieces = np.split(solution, ends[:-1])
    return tuple(
        ColumnEffect(**about, effects=tuple(piece.tolist())) for (_, about), piece in zip(blocks, pieces, strict=True)
    )


def _centered(values: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """Return values less the mean of their stratum."""
    return values - (np.bincount(stratum, values) / np.bincount(stratum))[stratum]


def _is_constant(reward: np.ndarray, group: np.ndarray) -> bool:
    """True if rewards of one group are equal but for rounding."""
    order = np.argsort(group, kind="stable")
    first = np.flatnonzero(np.diff(group[order], prepend=group.min() - 1))
    spread = np.maximum.reduceat(reward[order], first) - np.minimum.reduceat(reward[order], first)
    return bool(spread.max() <= ROUNDING * (1 + np.abs(reward).max()))
