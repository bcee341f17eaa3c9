"""Who is rehearsing: learners, each `policy(observation) -> probabilities` and `learn(step)`."""

from typing import Any

from understudy.contracts.extras import opened
from understudy.learners.fixed import FixedPolicy, MonteCarlo, Uniform
from understudy.learners.schedules import Exponential, Harmonic, Linear
from understudy.learners.tabular import ExpectedSarsa, QLearning

_OPENED = {"PPO": ("ppo", "torch")}
"""Where what needs an extra is at home, and which extra."""

__all__ = [
    "PPO", "ExpectedSarsa", "Exponential", "FixedPolicy", "Harmonic", "Linear", "MonteCarlo", "QLearning", "Uniform",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _OPENED:
        return opened(__name__, name, *_OPENED[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
