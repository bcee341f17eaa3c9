"""Vowpal Wabbit's dsjson: a JSON object for each decision, as Azure Personalizer and `--dsjson` log them."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from understudy.errors import LogError
from understudy.logs.compression import lines_of
from understudy.logs.formats.decisions import Decisions
from understudy.logs.formats.feature_columns import Value
from understudy.logs.formats.loaded import LoadedTable

LABELS = ("_label_cost", "_label_probability", "_label_Action")
SLATES = ("_outcomes", "_slates", "_slot", "_slots")
CONTINUOUS = ("_label_ca",)
LARGEST = sys.float_info.max
DEEPEST = 16  # features within features


def is_dsjson(head: bytes) -> bool:
    """True if a file that begins so is dsjson.

    >>> is_dsjson(b'{"_label_cost": -1, "_label_probability": 0.5, "_label_Action": 1'), is_dsjson(b'{"action": 1}')
    (True, False)
    """
    return head.lstrip().startswith(b"{") and any(
        f'"{name}"'.encode() in head for name in (*LABELS, *SLATES, *CONTINUOUS)
    )


def load_dsjson(path: Path, progress: bool | None = None) -> LoadedTable:
    """Return the decisions in a dsjson file.

    The reward is the negative `_label_cost`. Propensities are `p`, by the actions in `a`, where every line has them
    all, else `_label_probability`. Features of the context are those in `c`, features of actions those in `c._multi`.
    Lines without a label (observations that no decision was found for) and lines with `_skipLearn` (decisions that
    were never shown) are left out, and a note says how many.
    """
    decisions, left_out, sampled = Decisions(), Counter[str](), 0
    for number, text in lines_of(path, progress):
        if not text.strip():
            continue
        line = _parsed(number, text)
        _refuse_other_decisions(number, line)
        if line.get("_skipLearn"):
            left_out["of decisions that were never shown (_skipLearn)"] += 1
        elif not any(label in line for label in LABELS):
            left_out["without a label"] += 1
        else:
            _add(decisions, number, line)
            sampled += bool(line.get("pdrop"))
    notes = [f"left-out: {count:,} lines {which} are not rows of the log" for which, count in left_out.items()]
    if sampled:
        notes.append(
            f"sampled: in {sampled:,} rows pdrop says that some decisions were left out of the file at random; where "
            "that depends on what was earned, rewards here are not those of all decisions"
        )
    return decisions.to_table(notes)


def _parsed(number: int, text: str) -> dict[str, Any]:
    try:
        line = json.loads(text)
        if "\\ud" in text.lower():  # half of a surrogate pair is no text that a file or a column could hold
            json.dumps(line, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise LogError(f"line {number} holds half of a surrogate pair, not a letter; fix the line", "file") from None
    except (ValueError, RecursionError) as error:
        reason = str(error).split(":")[0]
        raise LogError(
            f"line {number} is not JSON ({reason}); if it is the last line, the file was cut off, so get it again, "
            "or delete the line",
            "file",
        ) from None
    if not isinstance(line, dict):
        raise LogError(f"line {number} is JSON but not an object; check which file it is", "file")
    return line


def _refuse_other_decisions(number: int, line: Mapping[str, Any]) -> None:
    """Raise `LogError` for decisions about slates, and about actions that are numbers on a line."""
    context = line.get("c")
    if any(name in line or (isinstance(context, dict) and name in context) for name in SLATES):
        raise LogError(
            f"line {number} is a decision about several slots (a slate), and a row of a log takes one action; write a "
            "line for each slot with _label_cost, _label_probability and _label_Action of its own, and the slot as a "
            "feature of c"
        )
    if any(name in line for name in CONTINUOUS):
        raise LogError(
            f"line {number} has an action that is a number on a line (continuous); bin them, and log the number of the "
            "bin with the probability of the whole bin"
        )


def _add(decisions: Decisions, number: int, line: Mapping[str, Any]) -> None:
    cost, probability, action = (_number(number, line, name) for name in LABELS)
    context = line.get("c", {})
    if not isinstance(context, dict):
        raise LogError(f"c is not an object in line {number}; fix the line")
    multi = context.get("_multi")
    if not isinstance(multi, list | None) or not all(isinstance(one, dict) for one in multi or ()):
        raise LogError(f"c._multi is not a list of objects in line {number}; fix the line")
    if not action.is_integer():
        raise LogError(f"_label_Action is {action} in line {number}; give the number of the action, from 1 up")
    actions, policy = line.get("a"), line.get("p")
    listed = len(actions) if isinstance(actions, list) else 0
    offered = None if not multi else tuple(tuple(_features(number, one)) for one in multi)
    n_actions = len(offered) if offered is not None else max(int(action), listed)
    decisions.add(
        number,
        _features(number, context),
        int(action) - 1,
        cost,
        probability,
        offered=offered,
        policy=_policy(number, actions, policy, n_actions),
        n_actions=n_actions,
    )


def _number(number: int, line: Mapping[str, Any], name: str) -> float:
    value: Any = line.get(name)
    if not _is_number(value):
        raise LogError(f"{name} is {json.dumps(value)[:60]} in line {number}, not a number; fix the line")
    return float(value)


def _is_number(value: Any) -> bool:
    """True for a number that a float can hold."""
    return not isinstance(value, bool) and isinstance(value, int | float) and not abs(value) > LARGEST


def _policy(number: int, actions: Any, policy: Any, n_actions: int) -> list[float] | None:
    """Return the probability of each action in the order of their numbers; None where the line has not all of them."""
    if not isinstance(actions, list) or not isinstance(policy, list):
        return None
    if len(actions) != len(policy):
        raise LogError(f"line {number} has {len(actions)} actions in a and {len(policy)} in p; fix the line")
    if not all(map(_is_number, [*actions, *policy])):
        raise LogError(f"line {number} has something else than numbers in a or p; fix the line")
    if sorted(actions) != list(range(1, n_actions + 1)):
        return None
    return [p for _, p in sorted(zip(actions, policy, strict=True))]


def _features(
    number: int, features: Mapping[str, Any], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, Value]]:
    """Yield features by name, those of objects within objects as `user.age`; names that begin with _ are not ours."""
    if depth > DEEPEST:
        raise LogError(f"line {number} has features more than {DEEPEST} levels deep; flatten them")
    for name, value in features.items():
        if name.startswith("_"):
            continue
        title = prefix + name
        if isinstance(value, dict):
            yield from _features(number, value, f"{title}.", depth + 1)
        elif isinstance(value, list):
            for at, item in enumerate(value):
                within = item if isinstance(item, dict) else {f"{at}": item}
                yield from _features(number, within, f"{title}.", depth + 1)
        elif isinstance(value, bool):
            yield title, int(value)
        elif isinstance(value, str):
            if value:
                yield title, value
        elif value is not None:
            yield title, value if _is_number(value) else str(value)
