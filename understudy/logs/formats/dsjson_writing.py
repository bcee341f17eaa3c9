"""Logs of one-step decisions written as Vowpal Wabbit's dsjson."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import first_true
from understudy.logs.formats.decisions import labels_of

if TYPE_CHECKING:
    from understudy.logs.log import Log

CHUNK = 10_000  # rows written together


def write_dsjson(log: "Log", file: Any) -> None:
    """Write a log to an open file: a line for each row, with the cost as the negative reward.

    `p` has the probabilities of all actions where the log has them. Raise `LogError` for logs without propensities, and
    for episodes of several steps, which dsjson cannot hold.
    """
    if log.n_episodes < len(log):
        long = first_true(np.diff(log.starts) > 1)
        raise LogError(
            f"the episode that begins in row {log.starts[long]} has several steps, and dsjson holds decisions of one "
            "step; write Parquet or Minari instead"
        )
    if log.propensity is None:
        raise LogError("dsjson needs the probability of the chosen action, and the log has no propensities; add them")
    actions = _actions(log)
    for at in range(0, len(log), CHUNK):
        contexts = _contexts(log, log.observation[at : at + CHUNK])
        lines = (_line(log, row, context, actions) for row, context in enumerate(contexts, at))
        file.write("".join(lines).encode())


def _contexts(log: "Log", observations: np.ndarray) -> list[dict[str, Any]]:
    """Return observations as features by name; what was coded as it was logged, dates as text."""
    if log.spec.coding is None:
        names = _names(log)
        flat = observations.reshape(len(observations), -1).tolist()
        return [dict(zip(names, values, strict=True)) for values in flat]
    rows = log.spec.decode(observations).to_pylist()
    return [{name: v if isinstance(v, str | int | float) else str(v) for name, v in row.items()} for row in rows]


def _names(log: "Log") -> list[str]:
    """Return a name for each entry of an observation."""
    shape = log.observation.shape[1:]
    given = log.spec.features or ("observation",)
    if len(given) == log.observation[0].size:
        return list(given)
    return ["_".join(["observation", *map(str, index)]) for index in np.ndindex(shape)]


def _actions(log: "Log") -> list[dict[str, Any]]:
    """Return the features of each action, with its label or number among them where `read` would not find it."""
    features, n_actions = log.spec.action_features, log.spec.n_actions
    labels = list(log.spec.actions or map(str, range(n_actions)))
    known: list[dict[str, Any]] = [{} for _ in labels]
    if features is not None:
        known = [dict(zip(features.names, action, strict=True)) for action in features.values]
    if features is not None and labels_of(features, n_actions) == labels:
        return known
    return [{"action": label} | action for label, action in zip(labels, known, strict=True)]


def _line(log: "Log", row: int, context: dict[str, Any], actions: list[dict[str, Any]]) -> str:
    chosen, propensity = int(log.action[row]), log.propensity
    assert propensity is not None
    if not 0 <= chosen < len(actions):
        raise LogError(f"action {chosen} in row {row} is none of the {len(actions)}; fix the column before writing")
    full = propensity.ndim == 2
    order = [chosen, *(action for action in range(len(actions)) if full and action != chosen)]
    p = propensity[row, order].tolist() if full else [float(propensity[row])]
    numbers = [float(log.reward[row]), *p, *(value for value in context.values() if isinstance(value, float))]
    if not np.isfinite(numbers).all():
        raise LogError(f"row {row} holds NaN or infinity, which JSON has no number for; fill them in first")
    line = {
        "_label_cost": 0.0 - float(log.reward[row]),
        "_label_probability": p[0],
        "_label_Action": chosen + 1,
        "_labelIndex": chosen,
        "Version": "1",
        "EventId": str(row),
        "a": [action + 1 for action in order],
        "c": {**context, "_multi": actions},
        "p": p,
    }
    return json.dumps(line, separators=(",", ":")) + "\n"
