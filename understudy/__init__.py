"""Understudy lets a learning agent rehearse on your logs before it goes live."""

from importlib import import_module
from typing import Any

from understudy.registration import register

__version__ = "0.1.0"

_HOMES = {
    "contracts": ["Encoder", "Exhausted", "Learner", "LoopOwner", "Step", "Stop"],
    "envs": ["record"],
    "errors": [
        "CensoringWarning",
        "ContractError",
        "EncoderError",
        "LogError",
        "PolicyError",
        "ResultsError",
        "ServedAgainWarning",
        "SettingError",
        "UnderstudyError",
        "UnderstudyWarning",
        "UsageError",
    ],
    "evaluation": [
        "Earnings",
        "Efficiency",
        "Fidelity",
        "MeanCurve",
        "Ratio",
        "curve_table",
        "earnings",
        "efficiency",
        "fidelity",
        "luck_of_logs",
        "mean_curve",
        "on_few_logs",
        "one_log_floor",
        "ratio_of_medians",
        "ratio_of_spreads",
        "run_table",
    ],
    "logs": ["Audit", "Finding", "Log", "Spec", "check", "concatenate", "read", "write"],
    "reporting": ["report"],
    "runs": ["Run", "Runs", "experiment", "gym_env", "gym_envs", "load", "probes", "simulate", "vector_env"],
    "simulators": ["actions_only", "any_row", "exo_psrs", "model", "psrs", "qbe", "real", "states_only"],
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = ["encoders", "envs", "learners"]

__all__ = sorted([*_NAMES, *_ROOMS])


def __getattr__(name: str) -> Any:
    """Rooms are opened when they are asked for, so that importing understudy takes no time."""
    if name in _ROOMS:
        return import_module(f"understudy.{name}")
    if name in _NAMES:
        value = getattr(import_module(f"understudy.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'understudy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


register()
