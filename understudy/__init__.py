"""Understudy lets a learning agent rehearse on your logs before it goes live."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from understudy.registration import register

if TYPE_CHECKING:  # what editors and type checkers see; the same names as in _HOMES, which a test holds
    from understudy import contracts as contracts
    from understudy import encoders as encoders
    from understudy import envs as envs
    from understudy import learners as learners
    from understudy import likeness as likeness
    from understudy import testing as testing
    from understudy.contracts import Encoder as Encoder
    from understudy.contracts import Exhausted as Exhausted
    from understudy.contracts import Learner as Learner
    from understudy.contracts import LoopOwner as LoopOwner
    from understudy.contracts import Rehearsal as Rehearsal
    from understudy.contracts import Simulator as Simulator
    from understudy.contracts import Step as Step
    from understudy.contracts import Steps as Steps
    from understudy.contracts import Stop as Stop
    from understudy.encoders import ExogenousSplit as ExogenousSplit
    from understudy.encoders import StateAudit as StateAudit
    from understudy.encoders import exogenous_split as exogenous_split
    from understudy.envs import record as record
    from understudy.errors import CensoringWarning as CensoringWarning
    from understudy.errors import ContractError as ContractError
    from understudy.errors import EncoderError as EncoderError
    from understudy.errors import FailedRunsWarning as FailedRunsWarning
    from understudy.errors import LogError as LogError
    from understudy.errors import PolicyError as PolicyError
    from understudy.errors import ResultsError as ResultsError
    from understudy.errors import RunError as RunError
    from understudy.errors import ServedAgainWarning as ServedAgainWarning
    from understudy.errors import SettingError as SettingError
    from understudy.errors import UnderstudyError as UnderstudyError
    from understudy.errors import UnderstudyWarning as UnderstudyWarning
    from understudy.errors import UsageError as UsageError
    from understudy.evaluation import Earnings as Earnings
    from understudy.evaluation import Efficiency as Efficiency
    from understudy.evaluation import Fidelity as Fidelity
    from understudy.evaluation import Halves as Halves
    from understudy.evaluation import Interval as Interval
    from understudy.evaluation import LearnedPolicy as LearnedPolicy
    from understudy.evaluation import MeanCurve as MeanCurve
    from understudy.evaluation import OffPolicy as OffPolicy
    from understudy.evaluation import Ratio as Ratio
    from understudy.evaluation import RungUse as RungUse
    from understudy.evaluation import Trusted as Trusted
    from understudy.evaluation import curve_table as curve_table
    from understudy.evaluation import earnings as earnings
    from understudy.evaluation import efficiency as efficiency
    from understudy.evaluation import fidelity as fidelity
    from understudy.evaluation import halves as halves
    from understudy.evaluation import luck_of_logs as luck_of_logs
    from understudy.evaluation import mean_curve as mean_curve
    from understudy.evaluation import off_policy as off_policy
    from understudy.evaluation import off_policy_of_learner as off_policy_of_learner
    from understudy.evaluation import on_few_logs as on_few_logs
    from understudy.evaluation import one_log_floor as one_log_floor
    from understudy.evaluation import ratio_of_medians as ratio_of_medians
    from understudy.evaluation import ratio_of_spreads as ratio_of_spreads
    from understudy.evaluation import run_table as run_table
    from understudy.evaluation import rung_use as rung_use
    from understudy.logs import ActionFeatures as ActionFeatures
    from understudy.logs import Audit as Audit
    from understudy.logs import AuditTest as AuditTest
    from understudy.logs import Coding as Coding
    from understudy.logs import ColumnCoding as ColumnCoding
    from understudy.logs import Finding as Finding
    from understudy.logs import Log as Log
    from understudy.logs import PropensityReport as PropensityReport
    from understudy.logs import PropensitySource as PropensitySource
    from understudy.logs import Spec as Spec
    from understudy.logs import check as check
    from understudy.logs import concatenate as concatenate
    from understudy.logs import estimate_propensities as estimate_propensities
    from understudy.logs import read as read
    from understudy.logs import write as write
    from understudy.reporting import plots as plots
    from understudy.reporting import report as report
    from understudy.runs import About as About
    from understudy.runs import Cancelled as Cancelled
    from understudy.runs import EncodedLog as EncodedLog
    from understudy.runs import Run as Run
    from understudy.runs import Runs as Runs
    from understudy.runs import backends as backends
    from understudy.runs import encode as encode
    from understudy.runs import experiment as experiment
    from understudy.runs import gym_env as gym_env
    from understudy.runs import gym_envs as gym_envs
    from understudy.runs import load as load
    from understudy.runs import probes as probes
    from understudy.runs import simulate as simulate
    from understudy.runs import vector_env as vector_env
    from understudy.runs import warm_start as warm_start
    from understudy.simulators import actions_only as actions_only
    from understudy.simulators import any_row as any_row
    from understudy.simulators import exo_psrs as exo_psrs
    from understudy.simulators import model as model
    from understudy.simulators import pers as pers
    from understudy.simulators import psrs as psrs
    from understudy.simulators import qbe as qbe
    from understudy.simulators import real as real
    from understudy.simulators import replay as replay
    from understudy.simulators import states_only as states_only
    from understudy.sweeps import Sweep as Sweep
    from understudy.sweeps import SweepComparison as SweepComparison
    from understudy.sweeps import load_sweep as load_sweep
    from understudy.sweeps import sweep as sweep
    from understudy.trust import AgainstLog as AgainstLog
    from understudy.trust import Beyond as Beyond
    from understudy.trust import Comparison as Comparison
    from understudy.trust import Forecast as Forecast
    from understudy.trust import Selfcheck as Selfcheck
    from understudy.trust import beyond as beyond
    from understudy.trust import compare as compare
    from understudy.trust import forecast as forecast
    from understudy.trust import selfcheck as selfcheck

__version__ = "0.1.0"

_HOMES = {
    "contracts": [
        "Encoder", "Exhausted", "Learner", "LoopOwner", "Rehearsal", "Simulator", "Step", "Steps", "Stop",
    ],
    "encoders": ["ExogenousSplit", "StateAudit", "exogenous_split"],
    "envs": ["record"],
    "errors": [
        "CensoringWarning", "ContractError", "EncoderError", "FailedRunsWarning", "LogError", "PolicyError",
        "ResultsError", "RunError", "ServedAgainWarning", "SettingError", "UnderstudyError", "UnderstudyWarning",
        "UsageError",
    ],
    "evaluation": [
        "Earnings", "Efficiency", "Fidelity", "Halves", "Interval", "LearnedPolicy", "MeanCurve", "OffPolicy", "Ratio",
        "RungUse", "Trusted", "curve_table", "earnings", "efficiency", "fidelity", "halves", "luck_of_logs",
        "mean_curve", "off_policy", "off_policy_of_learner", "on_few_logs", "one_log_floor", "ratio_of_medians",
        "ratio_of_spreads", "run_table", "rung_use",
    ],
    "logs": [
        "ActionFeatures", "Audit", "AuditTest", "Coding", "ColumnCoding", "Finding", "Log", "PropensityReport",
        "PropensitySource", "Spec", "check", "concatenate", "estimate_propensities", "read", "write",
    ],
    "reporting": ["plots", "report"],
    "runs": [
        "About", "Cancelled", "EncodedLog", "Run", "Runs", "backends", "encode", "experiment", "gym_env", "gym_envs",
        "load", "probes", "simulate", "vector_env", "warm_start",
    ],
    "simulators": [
        "actions_only", "any_row", "exo_psrs", "model", "pers", "psrs", "qbe", "real", "replay", "states_only",
    ],
    "sweeps": ["Sweep", "SweepComparison", "load_sweep", "sweep"],
    "trust": [
        "AgainstLog", "Beyond", "Comparison", "Forecast", "Selfcheck", "beyond", "compare", "forecast", "selfcheck",
    ],
}  # fmt: skip
"""The public names of each room. To add one, write it here and import it above."""

_NAMES = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = ["contracts", "encoders", "envs", "learners", "likeness", "testing"]

__all__ = sorted([*_NAMES, *_ROOMS])

if not TYPE_CHECKING:  # a type checker would take every name to be there, misspelled ones too

    def __getattr__(name: str) -> Any:
        """Import a room when a name of it is first used, so that importing understudy takes no time."""
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
