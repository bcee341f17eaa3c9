"""Whether rewards and visits change over the time of the log."""

import numpy as np

from understudy.logs.findings import Answer, AuditTest, Finding
from understudy.logs.log import Log
from understudy.logs.naming import feature_name, is_category, is_date, observation_words
from understudy.logs.recurring import Recurring
from understudy.logs.statistics.groups import MOST_FEATURES, MOSTLY
from understudy.logs.statistics.tails import normal_tail, trend

BLOCKS = 30  # of rows, where there are too few episodes to compare
FEW_EPISODES, MANY_EPISODES = 20, 1000  # fewer are cut into blocks; more are grouped
SHORT_BLOCK = 10  # rows; in shorter blocks a trend cannot be seen
MOST_STATES = 200  # observations whose visits are compared
TOO_SHORT = "the log is too short"
QUESTIONS = {
    "reward-drift": "Do rewards rise or fall over the log?",
    "visit-drift": "Do visits to observations, or the lengths of episodes, rise or fall over the log?",
}


def units_of(log: Log) -> tuple[np.ndarray, str] | None:
    """Return the bounds of the units that are compared over time, and what they are; None where there are too few.

    Units are episodes, grouped where they are many, or blocks of rows where episodes are few: rows within an episode
    depend on each other, and units much less.
    """
    if log.n_episodes >= FEW_EPISODES:
        return log.starts[_cuts(log.n_episodes, MANY_EPISODES)], f"{log.n_episodes:,} episodes"
    if len(log) >= BLOCKS * SHORT_BLOCK:
        return _cuts(len(log), BLOCKS), f"{len(log):,} rows"
    return None


def reward_drift(log: Log, states: Recurring) -> Answer:
    """Find rewards that drift, by row and by episode: the logger or the world changed while the log was recorded."""
    units = units_of(log)
    series: np.ndarray | None = None
    names = ["the mean reward of a row"]
    if units is not None:
        series = _means(log.reward[:, None], units[0])
        if log.n_episodes >= FEW_EPISODES and len(log) > log.n_episodes:
            totals = np.add.reduceat(log.reward, units[0][:-1])
            series = np.column_stack([series, totals / _episodes_in(log, units[0])])
            names.append("the return of an episode")
    advice = "the logger or the world changed; read outcome-drift, and simulate the last part of the log by itself too"
    return _found(log, "reward-drift", series, names, advice)


def visit_drift(log: Log, states: Recurring) -> Answer:
    """Find observations that are visited more or less often over time, or episodes that get longer or shorter."""
    units = units_of(log)
    series: np.ndarray | None = None
    names: list[str] = []
    if units is not None:
        bounds = units[0]
        rows = np.diff(bounds)
        columns: list[np.ndarray] = []
        flat = log.observation.reshape(len(log), -1)
        dates = [entry for entry in range(flat.shape[1]) if is_date(log.spec, entry)]  # rise because time goes by
        n_states = 0 if dates else min(states.size, MOST_STATES)
        if n_states:
            unit = np.repeat(np.arange(len(rows)), rows)
            kept = states.code < n_states
            visits = np.bincount(unit[kept] * n_states + states.code[kept], minlength=len(rows) * n_states)
            columns.append(visits.reshape(-1, n_states) / rows[:, None])
            words = [observation_words(log.spec, log.observation[row]) for row in states.first_row[:n_states]]
            names += [f"the share of rows with {one}" for one in words]
        if states.share < MOSTLY or dates:
            entries = np.unique(np.linspace(0, flat.shape[1] - 1, MOST_FEATURES).astype(np.int64))
            entries = np.setdiff1d(entries, dates)
            columns.append(_means(flat[:, entries].astype(np.float64), bounds))
            means = ["the mean code of" if is_category(log.spec, int(entry)) else "the mean of" for entry in entries]
            names += [
                f"{mean} {feature_name(log.spec, int(entry))}" for mean, entry in zip(means, entries, strict=True)
            ]
        if log.n_episodes >= FEW_EPISODES and len(log) > log.n_episodes:
            columns.append((rows / _episodes_in(log, bounds))[:, None])
            names.append("the length of an episode")
        series = np.column_stack(columns) if columns else None
    advice = "the logger, the openings or the world changed; a simulation mixes the times of the log"
    return _found(log, "visit-drift", series, names, advice)


def _found(log: Log, rule: str, series: np.ndarray | None, names: list[str], advice: str) -> Answer:
    """Return the test of series, a column each, that should not rise or fall, and a warning where one does."""
    units = units_of(log)
    if series is None or units is None:
        return Answer(AuditTest(rule, QUESTIONS[rule], 0, None, TOO_SHORT))
    varying = np.flatnonzero(np.ptp(series, axis=0) > 1e-9)
    if not len(varying):
        return Answer(AuditTest(rule, QUESTIONS[rule], 0, None, "all of them are equal"))
    scores = np.array([trend(series[:, column]) for column in varying])
    worst = int(np.argmax(np.abs(scores)))
    tested = AuditTest(rule, QUESTIONS[rule], len(scores), min(1.0, len(scores) * normal_tail(scores[worst])))
    sentence = (
        f"{names[varying[worst]]} {'rises' if scores[worst] > 0 else 'falls'} over {units[1]} "
        f"(z = {scores[worst]:.1f}): {advice}"
    )
    return Answer(tested, (Finding("warning", rule, (), len(scores), sentence),) if tested.fires else ())


def _means(columns: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the mean of each column over the rows of each unit."""
    return np.add.reduceat(columns, bounds[:-1], axis=0) / np.diff(bounds)[:, None]


def _episodes_in(log: Log, bounds: np.ndarray) -> np.ndarray:
    """Return how many episodes each unit has, where units are groups of episodes."""
    return np.diff(np.searchsorted(log.starts, bounds))


def _cuts(n: int, parts: int) -> np.ndarray:
    return np.linspace(0, n, min(n, parts) + 1).astype(np.int64)
