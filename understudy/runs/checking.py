"""Checks of what is read from results folders: every value has its type, so that nothing fails on it later."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from understudy.contracts import Stop
from understudy.contracts.ladders import RUNGS
from understudy.runs.compact import NotKept
from understudy.runs.failures import FailedRun
from understudy.runs.run import Run

COUNT = "a count, or null"
ABOUT = {
    "simulator": "a table", "simulator_code": "a text, or null", "kind": "a text", "from_factory": "true or false",
    "log": "a text, or null", "log_content": "a text, or null",
    "log_rows": COUNT, "log_episodes": COUNT, "log_terminated": COUNT, "log_return": "a number, or null",
    "log_returns": "a table, or null", "log_return_of": COUNT,
    "log_cut_off": COUNT, "log_reward": "a number, or null", "log_reward_column": "a text, or null",
    "log_propensities": "a text, or null",
    "states": "a text, or null",
    "n_states": COUNT, "learner": "a table", "seed": "a whole number", "max_steps": COUNT, "probes": "a table",
    "every": "a count", "make": "a text", "factory": "a text, or null", "digest": "a text",
}  # fmt: skip
"""The fields of an experiment's record, and the type of each."""

TYPES = {
    "a table": lambda value: type(value) is dict,
    "a text": lambda value: type(value) is str,
    "a list": lambda value: type(value) is list,
    "true or false": lambda value: type(value) is bool,
    "a whole number": lambda value: type(value) is int,
    "a count": lambda value: type(value) is int and 0 <= value < 2**63,
    "a number": lambda value: type(value) in (int, float) and _is_finite(value),
}

ARRAYS = {"rows": np.int32, "openings": np.int32, "emissions": np.int32, "ends": np.int64, "returns": np.float64,
          "steps": np.int64, "rungs": np.uint8, "cuts": np.int64}  # fmt: skip


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:  # a whole number that is larger than any float
        return False


def expect(name: str, value: Any, kind: str) -> Any:
    """Return the value. Raise `ValueError` where it is not of this kind; callers say which file it is from."""
    optional = kind.endswith(", or null")
    if not (optional and value is None) and not TYPES[kind.removesuffix(", or null")](value):
        raise ValueError(f"{name!r} is {str(value)[:60]!r} instead of {kind}")
    return value


def check_about(about: Any) -> dict[str, Any]:
    """Return the record of an experiment. Raise `ValueError` where a field has another type than it should."""
    expect("about", about, "a table")
    for name, kind in ABOUT.items():
        if name in about:
            expect(name, about[name], kind)
    if about.get("log_returns") is not None:
        _check_returns(about["log_returns"], about)
    for name, key in (("simulator", "simulator"), ("learner", "class")):
        if key in about.get(name, {}):
            expect(f"{name} {key}", about[name][key], "a text")
    return about


def _check_returns(told: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Raise `ValueError` where this is not what `runs.logged.spread_of_returns` tells."""
    for name in ("error", "skew", "single", "low", "high"):
        expect(f"{name} of the log's returns", told.get(name), "a number")
    lists: list[Any] = [told.get(name) for name in ("rows", "episodes", "earned")]
    for values in lists:
        for value in expect("a part of the log's returns", values, "a list"):
            expect("a part of the log's returns", value, "a number")
    if len({len(values) for values in lists}) != 1 or not lists[0]:
        raise ValueError("parts of the log's returns are not of one length")
    for places, most in zip(lists, (about.get("log_rows"), about.get("log_episodes")), strict=False):
        if places[0] <= 0 or (np.diff(places) <= 0).any() or places[-1] > (most or places[-1]):
            raise ValueError("parts of the log's returns are not in their order, or beyond the log")
    shares = (told["single"], abs(told["skew"]))  # of a sum of squares, with an error of rounding
    if told["error"] < 0 or told["high"] < told["low"] or not all(0 <= share <= 1 + 1e-9 for share in shares):
        raise ValueError("what is told of how the log's returns vary contradicts itself")


def failed_run_of(content: Mapping[str, Any]) -> FailedRun:
    """Return what `FailedRun.to_json` wrote. Raise `ValueError` or `KeyError` for anything else."""
    kinds = {"number": "a count", "seed": "a whole number", "reason": "a text", "traceback": "a text"}
    return FailedRun(**{name: expect(name, content[name], kind) for name, kind in kinds.items()})


def run_of(summary: Mapping[str, Any], lists: Mapping[str, np.ndarray]) -> Run:
    """Return the run that two files hold. Raise `ValueError` or `KeyError` where they do not fit together."""
    length = expect("length", summary["length"], "a count")
    for name, dtype in ARRAYS.items():
        if name in lists and lists[name].dtype != dtype:
            raise ValueError(f"{name} are {lists[name].dtype} instead of {np.dtype(dtype)}")
    not_kept = {name: NotKept(expect(name, n, "a count")) for name, n in summary["not_kept"].items()}
    served: dict[str, Any] = {name: not_kept.get(name, lists.get(name)) for name in ("rows", "openings", "emissions")}
    ends, returns, steps = lists["ends"], lists["returns"], lists["steps"]
    if served["rows"] is None or served["openings"] is None or len(ends) != len(returns):
        raise ValueError("its columns are not those of a run")
    served |= {name: lists.get(name) for name in ("rungs", "cuts")}
    if (served["rungs"] is None) != (served["cuts"] is None):
        raise ValueError("its columns are not those of a run")
    for name in ("rows", "emissions", "rungs"):
        if served[name] is not None and len(served[name]) != length:
            raise ValueError(f"there are {len(served[name]):,} {name} for {length:,} steps")
    if served["rungs"] is not None and len(served["rungs"]) and served["rungs"].max() > len(RUNGS):
        raise ValueError(f"rungs are up to {served['rungs'].max()} instead of {len(RUNGS)}")
    cuts = served["cuts"]
    if cuts is not None and len(cuts) and not (cuts[0] >= 0 and (np.diff(cuts) >= 0).all() and cuts[-1] <= length):
        raise ValueError("cuts are not steps of the run, in order")
    for name, counts in (("ends", ends), ("steps", steps)):
        if len(counts) and not (counts[0] > 0 and (np.diff(counts) > 0).all() and counts[-1] <= length):
            raise ValueError(f"{name} are not steps of the run, in order")
    curves, final = {}, {}
    for name, (shape, last) in summary["shapes"].items():
        curves[name] = _floats(lists[f"curve {name}"]).reshape(shape)
        final[name] = _floats(lists[f"final {name}"]).reshape(last)[()]
        if len(curves[name]) != len(steps):
            raise ValueError(f"curve {name!r} has {len(curves[name]):,} readings at {len(steps):,} steps")
    return Run(
        seed=expect("seed", summary["seed"], "a whole number"),
        **served,
        ends=ends,
        returns=returns,
        steps=steps,
        curves=curves,
        final=final,
        stopped=_stop_of(summary["stopped"]),
        log=expect("log", summary["log"], "a text, or null"),
        partial=expect("partial", summary["partial"], "a number, or null"),
    )


def _stop_of(content: Mapping[str, Any]) -> Stop:
    stop = Stop(**content)
    for name, kind in (("state", "a whole number, or null"), ("action", "a whole number, or null"),
                       ("mass", "a number, or null"), ("counts", "a table"), ("place", "a text, or null"),
                       ("example", "a text, or null"), ("label", "a text, or null"),
                       ("column", "a text, or null"), ("others", "a count, or null"),
                       ("bias", "a number, or null")):  # fmt: skip
        expect(name, getattr(stop, name), kind)
    for name, count in stop.counts.items():
        expect(name, count, "a count")
    return stop


def _floats(values: np.ndarray) -> np.ndarray:
    if values.dtype != np.float64:
        raise ValueError(f"readings are {values.dtype} instead of float64")
    return values
