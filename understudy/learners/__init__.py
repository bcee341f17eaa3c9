"""Learners: each has `policy(observation) -> probabilities` and `learn(step)`, or runs a loop of its own."""

from typing import TYPE_CHECKING, Any

from understudy.contracts.kernels import register_kernels
from understudy.deprecation import warn_of_old_name
from understudy.extras import import_extra, installed
from understudy.learners.bandits import UCB1, EpsilonGreedy, Thompson
from understudy.learners.codes import Codes
from understudy.learners.delays import Delayed, delayed
from understudy.learners.exp3 import Exp3
from understudy.learners.fixed import FixedPolicy, MonteCarlo, Uniform
from understudy.learners.incremental import IncrementalModel
from understudy.learners.linear_bandits import LinearThompson, LinUCB
from understudy.learners.schedules import Exponential, Harmonic, Linear
from understudy.learners.scripts import script
from understudy.learners.tabular import ExpectedSarsa, QLearning

if TYPE_CHECKING:  # for editors and type checkers: the names that need an extra
    from understudy.learners.ppo import PPO as PPO
    from understudy.learners.sampling import accepting as accepting
    from understudy.learners.sampling import not_accepting as not_accepting
    from understudy.learners.stable_baselines import sb3 as sb3

_EXTRAS = {
    "PPO": ("ppo", "torch"),
    "accepting": ("sampling", "torch"),
    "not_accepting": ("sampling", "torch"),
    "sb3": ("stable_baselines", "sb3"),
}
"""The module, and the extra, of each name that needs one."""

__all__ = [
    "PPO", "UCB1", "Codes", "Delayed", "EpsilonGreedy", "Exp3", "ExpectedSarsa", "Exponential", "FixedPolicy",
    "Harmonic", "IncrementalModel", "LinUCB", "Linear", "LinearThompson", "MonteCarlo", "QLearning", "Thompson",
    "Uniform", "accepting", "delayed", "not_accepting", "register_kernels", "sb3", "script",
]  # fmt: skip


if not TYPE_CHECKING:  # a type checker would accept every name, misspelled ones too

    def __getattr__(name: str) -> Any:
        """Return a name that needs an extra, which is imported only now."""
        if name == "as_ever":
            warn_of_old_name("understudy.learners.as_ever", "not_accepting")
            name = "not_accepting"
        if name in _EXTRAS:
            return import_extra(__name__, name, *_EXTRAS[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that can be used: `help` asks for each of them, and ended with the first that needs an extra."""
    return [name for name in __all__ if name not in _EXTRAS or installed(_EXTRAS[name][1])]
