"""Rules about actions: codes that are out of range, and actions that were taken never, or hardly ever twice."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from understudy.logs.blocks import distinct_values, found_rows, slices
from understudy.logs.findings import Finding, finding_in_rows

if TYPE_CHECKING:
    from understudy.logs.log import Log

MOST_LABELS = 50  # named in a sentence
FEWEST_ROWS = 100  # below which a log may have as many actions as it likes


def action_range(log: "Log") -> Iterator[Finding]:
    """Find action codes outside 0 to n_actions - 1."""
    if log.action.min() < 0 or log.action.max() >= log.spec.n_actions:
        rows = found_rows(lambda part: (log.action[part] < 0) | (log.action[part] >= log.spec.n_actions), len(log))
        values = distinct_values(log.action)
        advice = "code actions from 0 up, or say n_actions="
        if log.spec.actions is None and len(values) <= log.spec.n_actions:
            advice = f"{_advice_to_label(values)}{_advice_on_order(log)}; or code actions from 0 up"
        yield finding_in_rows(
            log, "error", "action-range", rows, f"action is outside 0 to {log.spec.n_actions - 1} {{where}}; {advice}"
        )


def action_never_logged(log: "Log") -> Iterator[Finding]:
    """Find actions that no row took."""
    taken = np.zeros(log.spec.n_actions, np.int64)
    for part in slices(len(log)):
        action = log.action[part]
        taken += np.bincount(action[(action >= 0) & (action < log.spec.n_actions)], minlength=log.spec.n_actions)
    never = np.flatnonzero(taken == 0)
    if len(never):
        names = [log.spec.actions[code] if log.spec.actions else str(code) for code in never[:5]]
        yield Finding(
            "warning",
            "action-never-logged",
            (),
            len(never),
            f"{len(never)} of {log.spec.n_actions} actions {'was' if len(never) == 1 else 'were'} never taken "
            f"({', '.join(names)}{', ...' if len(never) > 5 else ''}): a learner that chooses one ends the run"
            f"{_advice_on_gaps(log)}",
        )


def action_once(log: "Log") -> Iterator[Finding]:
    """Find that most rows took an action of their own, as where the column of actions holds times or ids."""
    if len(log) < FEWEST_ROWS or 2 * log.spec.n_actions <= len(log):
        return
    n_actions = len(distinct_values(log.action))
    if 2 * n_actions > len(log):
        yield Finding(
            "doubt",
            "action-once",
            (),
            n_actions,
            f"{n_actions:,} different actions were taken in {len(log):,} rows, so that hardly any was taken twice and "
            "nothing can be learned of it: the column may hold times, ids or amounts; name the column of the choice "
            "with action=, or group its values into few",
        )


def _advice_on_gaps(log: "Log") -> str:
    """Return advice for actions that are numbers with wide gaps between them, unless each code has a propensity."""
    values = distinct_values(log.action)
    derived = values[0] >= 0 and values[-1] == log.spec.n_actions - 1
    if log.spec.actions is not None or not derived or 2 * len(values) > log.spec.n_actions:
        return ""
    return "" if log.propensity is not None and log.propensity.ndim == 2 else f"; {_advice_to_label(values)}"


def _advice_to_label(values: np.ndarray) -> str:
    """Return the advice to give the numbers in an action column as labels."""
    if len(values) > MOST_LABELS:
        return f"the column holds {len(values):,} different numbers: give them as labels with actions="
    numbers = values.tolist()
    labels = ", ".join(f'"{number}"' for number in numbers)
    return f"the column holds {', '.join(map(str, numbers))}: if these are the actions, say actions=[{labels}]"


def _advice_on_order(log: "Log") -> str:
    """Return the advice on the order and the number of labels, where each has a propensity column."""
    if log.propensity is None or log.propensity.ndim == 1:
        return ""
    return f", all {log.spec.n_actions} of them in the order of the propensity columns"
