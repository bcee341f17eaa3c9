"""Which columns of an observation the action influences, and whether the others move by themselves.

A column is *endogenous* where what it shows later tells which action was taken (a multi-step inverse model, as in
AC-State: Lamb et al. 2022), or where it follows from columns that are. The others are *exogenous*, and independent of
the endogenous ones if neither moves the other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.encoders.conditional_tests import (
    FEWEST_ROWS,
    Dependence,
    association,
    clustered,
    strongest,
    told_action,
)
from understudy.encoders.exogenous_sample import SplitSample, binned, grouped_states, paired
from understudy.errors import LogError
from understudy.logs.findings import counted

LAGS = (2, 4, 8)
"""After how many steps, besides one, an action's influence is looked for."""

NONE_EXOGENOUS = "every column follows from the action or from what it moves: none is exogenous; use psrs"

CLEARLY = 1e-4
"""The p-value of a first look below which a column clearly tells the action."""

ENOUGH = 0.5
"""The share of rows that must be in states and actions that repeat, for a test to say anything about the log."""


@dataclass(frozen=True)
class SplitTest:
    """One test of a split. Where nothing varies, `p_value` is None and nothing is found."""

    question: str
    statistic: float  # in standard deviations
    p_value: float | None  # adjusted for all that the test looked at
    level: float  # it finds a dependence where the p-value is at most this

    @property
    def finds(self) -> bool:
        """True if the answer to the question is yes."""
        return self.p_value is not None and self.p_value <= self.level

    def __str__(self) -> str:
        told = "nothing varies" if self.p_value is None else f"p = {self.p_value:.2g}"
        return f"{self.question} {'yes' if self.finds else 'no'} ({told})"


@dataclass(frozen=True)
class FoundParts:
    """Which columns are whose, the tests that say so, and why they are not to be used, where one finds it."""

    endogenous: tuple[int, ...]
    exogenous: tuple[int, ...]
    tests: tuple[SplitTest, ...]
    refusal: str | None = None


def searched(sample: SplitSample, level: float, exogenous: Sequence[int] | None = None) -> FoundParts:
    """Return the parts that a sample shows; `level` is shared by three kinds of tests.

    With `exogenous`, these columns are taken to be exogenous and tested, and none is moved.
    """
    level, columns = level / 3, range(len(sample.names))
    tests = [_influenced(sample, column, level / len(columns)) for column in columns]
    told = [column for column in columns if tests[column].finds]
    if exogenous is not None:
        return _tested(sample, [column for column in columns if column not in exogenous], told, tests, level)
    if not told:
        return FoundParts(
            (), (), tuple(tests), "no column tells which action was taken, so there is nothing to split by"
        )
    return _grown(sample, told, tests, level)


def _grown(sample: SplitSample, inner: list[int], tests: list[SplitTest], level: float) -> FoundParts:
    """Return the parts that begin with these endogenous columns, to which all are added that depend on them.

    Also a column that moves endogenous ones is added: the rest may be independent of all of them.
    """
    driven = None  # why columns that move by themselves cannot be exogenous
    while True:
        rest = [column for column in range(len(sample.names)) if column not in inner]
        found, moved = _found(_moved, sample, inner, rest, level)
        tests = tests + moved
        if rest and not found:
            seldom = _seldom(sample, inner)
            if seldom is not None:
                return FoundParts(tuple(inner), tuple(rest), tuple(tests), driven or seldom)
            found, driving = _found(_driving, sample, inner, rest, level)
            tests = tests + driving
            driven = _driven_words(sample, inner, found, driving) if found else driven
        if not found:
            break
        inner = sorted([*inner, *found])
    return FoundParts(tuple(inner), tuple(rest), tuple(tests), None if rest else driven or NONE_EXOGENOUS)


def _tested(
    sample: SplitSample, inner: list[int], told: Sequence[int], tests: list[SplitTest], level: float
) -> FoundParts:
    """Return the parts as they are given, and why they are not independent."""
    rest = [column for column in range(len(sample.names)) if column not in inner]
    wrong = [column for column in rest if column in told]
    found, moved = _found(_moved, sample, inner, rest, level)
    drivers, driving = _found(_driving, sample, inner, rest, level)
    refusal = None
    if wrong:
        refusal = f"the action influences {_named(sample, wrong)} ({tests[wrong[0]]}), so it is not exogenous"
    elif found:
        refusal = f"{_named(sample, found)} does not move by itself ({next(test for test in moved if test.finds)})"
    elif (seldom := _seldom(sample, inner)) is not None:
        refusal = seldom
    elif drivers:
        refusal = _driven_words(sample, inner, drivers, driving)
    return FoundParts(tuple(inner), tuple(rest), (*tests, *moved, *driving), refusal)


def _found(
    test: Callable[..., SplitTest], sample: SplitSample, inner: Sequence[int], rest: Sequence[int], level: float
) -> tuple[list[int], list[SplitTest]]:
    """Return the columns of `rest` for which a test finds a dependence, and the tests of all of them."""
    tests = [test(sample, inner, rest, column, level / len(rest)) for column in rest]
    return [column for column, result in zip(rest, tests, strict=True) if result.finds], tests


def _driven_words(sample: SplitSample, inner: Sequence[int], drivers: Sequence[int], tests: Sequence[SplitTest]) -> str:
    """Return the sentence that says that columns move the endogenous part."""
    p_value = min(test.p_value or 0.0 for test in tests if test.finds)
    return (
        f"the exogenous part ({_named(sample, drivers)}) moves the endogenous one ({_named(sample, inner)}): given "
        f"state and action, it predicts what follows (p = {p_value:.2g}); use psrs on whole observations"
    )


def clearly_told(sample: SplitSample) -> np.ndarray:
    """Return, of each column, True if its change in one step clearly tells which action was taken; a first look."""
    results = [_told(sample, column, binned(values)) for column, values in enumerate(sample.before.T)]
    return np.array([result.p_value is not None and result.p_value < CLEARLY for result in results])


def _named(sample: SplitSample, columns: Sequence[int]) -> str:
    return ", ".join(sample.names[column] for column in columns)


def _influenced(sample: SplitSample, column: int, level: float) -> SplitTest:
    """Return the test whether a column, some steps later, tells which action was taken: an inverse model."""
    results = [_told(sample, column, binned(sample.before[:, column])), *_told_later(sample, column)]
    place, result = strongest(results)
    lag = (1, *LAGS)[place]
    question = f"Does {sample.names[column]}, {counted(lag, 'step')} later, tell which action was taken?"
    return SplitTest(question, result.statistic, result.p_value, level)


def _told(sample: SplitSample, column: int, known: np.ndarray) -> Dependence:
    """Return the test whether a column's change in one step tells the action, given what was known before it."""
    change = sample.after[:, column] - sample.before[:, column]
    return told_action(paired(known, binned(change)), sample.log.action, propensities(sample))


def _told_later(sample: SplitSample, column: int) -> list[Dependence]:
    """Return, of each lag, the test whether a column's change over so many steps tells the action at their start.

    An action may end the episode, so actions of rows whose episodes go on are compared with each other, by whole
    episodes. There is no such test where the logger looked at this column: going on then depends on both.
    """
    propensity, episode = propensities(sample), sample.log.episode
    now = binned(sample.before[:, column], parts=4, few=8)
    looked = [clustered(share, now, episode) for share in propensity.T if np.ptp(share) > 0]
    if (strongest(looked)[1].p_value or 1.0) < 0.01:
        return []
    taken, found = np.eye(propensity.shape[1])[sample.log.action] - propensity, []
    for lag in LAGS:
        rows = sample.rows_with(lag)
        change = sample.after[rows + lag - 1, column] - sample.before[rows, column]
        group = paired(now[rows], binned(change, parts=4, few=8)) if len(rows) else rows
        found.append(strongest([clustered(score[rows], group, episode[rows]) for score in taken.T])[1])
    return found


def propensities(sample: SplitSample) -> np.ndarray:
    """Return the propensity of every action in each row."""
    if sample.log.propensity is None or sample.log.propensity.ndim == 1:
        raise LogError("a split is found by comparing actions with their propensities; log those of all actions")
    return sample.log.propensity


def _moved(sample: SplitSample, inner: Sequence[int], rest: Sequence[int], column: int, level: float) -> SplitTest:
    """Return the test whether a column, given its own past and that of `rest`, follows from action or state."""
    state = grouped_states(sample.state(inner))
    known = paired(state, binned(sample.before[:, column], parts=4, few=8))
    _, result = strongest([_told(sample, column, known), *_following(sample, rest, column, state)])
    inside = _named(sample, inner)
    question = f"Given its own past, does {sample.names[column]} follow from the action or from {inside}?"
    return SplitTest(question, result.statistic, result.p_value, level)


def _following(sample: SplitSample, rest: Sequence[int], column: int, state: np.ndarray) -> list[Dependence]:
    """Return the tests whether the next value of a column depends on the state, given the past of all of `rest`.

    Where that past repeats, it is held fixed. Else the value is predicted by a cubic of it, and the error of that, and
    its size, are compared between states by whole episodes.
    """
    past = paired(sample.code(rest), sample.code(rest, "previous"))
    if share_repeating(past) >= ENOUGH:
        return [association(past, sample.after[:, column], state)]
    error = sample.after[:, column] - predicted(sample, rest, column)
    scale = error.std()
    if scale <= 1e-9 * (1 + np.abs(sample.after[:, column]).max()):
        return []
    return [
        clustered(score, state, sample.log.episode) for score in (error / scale, np.minimum((error / scale) ** 2, 9))
    ]


def predicted(sample: SplitSample, columns: Sequence[int], column: int) -> np.ndarray:
    """Return the next value of a column as a cubic of the present values of some columns and of their last change."""
    now = sample.before[:, list(columns)].astype(np.float64)
    change = np.where(sample.is_first[:, None], 0.0, now - np.roll(now, 1, axis=0))
    design = [np.ones(len(now)), sample.is_first.astype(np.float64)]
    for values in (*now.T, *change.T):
        scaled = (values - values.mean()) / (values.std() or 1.0)
        design += [scaled, scaled**2, scaled**3]
    matrix = np.column_stack(design)
    return matrix @ np.linalg.lstsq(matrix, sample.after[:, column].astype(np.float64), rcond=None)[0]


def share_repeating(code: np.ndarray, among: np.ndarray | None = None) -> float:
    """Return the share of rows, of all or `among` some, whose code at least `FEWEST_ROWS` rows have."""
    place, rows = np.unique(code, return_inverse=True, return_counts=True)[1:]
    often = (rows >= FEWEST_ROWS)[place]
    return float(often.mean() if among is None else often[among].mean())


def _seldom(sample: SplitSample, inner: Sequence[int]) -> str | None:
    """Return why the log has too few rows of states and actions to tell what they lead to, or None."""
    repeated, ended = paired(sample.state(inner), sample.log.action), sample.log.terminated
    if share_repeating(repeated) < ENOUGH:
        return (
            f"the endogenous part ({_named(sample, inner)}) rarely repeats, so nothing can be said of what it follows "
            "from; round it, or make states of it and log these"
        )
    if ended.any() and share_repeating(repeated, ended) < ENOUGH:
        return (
            f"most ends of episodes came from states ({_named(sample, inner)}) and actions of less than {FEWEST_ROWS} "
            "rows, so what ends an episode cannot be told; log more, or give split, merge and reward to exo_psrs"
        )
    return None


def _driving(sample: SplitSample, inner: Sequence[int], rest: Sequence[int], column: int, level: float) -> SplitTest:
    """Return the test whether the next state or the end depends on a column of `rest`, given state and action."""
    stratum = paired(sample.state(inner), sample.log.action)
    outcome = paired(sample.state(inner, "after"), sample.log.terminated)
    values = sample.before[:, column], sample.after[:, column]
    _, result = strongest([association(stratum, outcome, binned(value, parts=4)) for value in values])
    question = f"Given {_named(sample, inner)} and the action, do they follow from {sample.names[column]}?"
    return SplitTest(question, result.statistic, result.p_value, level)
