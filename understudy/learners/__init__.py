"""Who is rehearsing: learners, each `policy(observation) -> probabilities` and `learn(step)`, or owner of its loop."""

from typing import TYPE_CHECKING, Any

from understudy.contracts.extras import opened
from understudy.contracts.kernels import register_kernels
from understudy.deprecation import warn_of_old_name
from understudy.learners.codes import Codes
from understudy.learners.fixed import FixedPolicy, MonteCarlo, Uniform
from understudy.learners.schedules import Exponential, Harmonic, Linear
from understudy.learners.scripts import script
from understudy.learners.tabular import ExpectedSarsa, QLearning

if TYPE_CHECKING:  # what editors and type checkers see of the parts that need an extra
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
"""Where what needs an extra is at home, and which extra."""

__all__ = [
    "PPO", "Codes", "ExpectedSarsa", "Exponential", "FixedPolicy", "Harmonic", "Linear", "MonteCarlo", "QLearning",
    "Uniform", "accepting", "not_accepting", "register_kernels", "sb3", "script",
]  # fmt: skip


if not TYPE_CHECKING:  # a type checker would take every name to be there, misspelled ones too

    def __getattr__(name: str) -> Any:
        """Return what needs an extra, which is imported only when it is asked for."""
        if name == "as_ever":
            warn_of_old_name("understudy.learners.as_ever", "not_accepting")
            name = "not_accepting"
        if name in _EXTRAS:
            return opened(__name__, name, *_EXTRAS[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
