"""Who is rehearsing: learners, each `policy(observation) -> probabilities` and `learn(step)`, or owner of its loop."""

from typing import Any

from understudy.contracts.extras import opened
from understudy.contracts.kernels import register_kernels
from understudy.deprecation import warn_of_old_name
from understudy.learners.codes import Codes
from understudy.learners.fixed import FixedPolicy, MonteCarlo, Uniform
from understudy.learners.schedules import Exponential, Harmonic, Linear
from understudy.learners.scripts import script
from understudy.learners.tabular import ExpectedSarsa, QLearning

_EXTRAS = {
    "PPO": ("ppo", "torch"),
    "accepting": ("sampling", "torch"),
    "not_accepting": ("sampling", "torch"),
    "sb3": ("stable_baselines", "sb3"),
}
"""Where what needs an extra is at home, and which extra."""

__all__ = [
    "PPO", "Codes", "ExpectedSarsa", "Exponential", "FixedPolicy", "Harmonic", "Linear", "MonteCarlo", "QLearning",
    "Uniform", "accepting", "not_accepting", "register_kernels", "sb3", "script",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Open what needs an extra when it is asked for."""
    if name == "as_ever":
        warn_of_old_name("understudy.learners.as_ever", "not_accepting")
        name = "not_accepting"
    if name in _EXTRAS:
        return opened(__name__, name, *_EXTRAS[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
