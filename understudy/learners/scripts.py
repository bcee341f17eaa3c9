"""Learners made of a function that trains in an environment."""

import inspect
from collections.abc import Callable
from typing import Any

from understudy.errors import ContractError


class Script:
    """A learner that is a function of an env and a seed. Made by `script`."""

    def __init__(self, function: Callable[[Any, int], Any], seed: int, **options: Any) -> None:
        self.function, self.seed, self.options = function, seed, options
        self.settings = {"function": function} | options
        self.outcome: Any = None

    def rehearse(self, env: Any) -> None:
        env.learner = self
        self.outcome = self.function(env, self.seed, **self.options)


def script(function: Callable[..., Any], **options: Any) -> Callable[[int], Script]:
    """Return a factory of learners, `seed -> learner`, from `function(env, seed, **options)` that trains in an env.

    For `experiment` and `simulate`: `us.experiment(us.psrs(log), us.learners.script(train, lr=3e-4), runs=20)`. Where
    the log has no answer, an exception ends the function. The env counts the steps and reads the probes, of
    `env.learner`, which the function may set to the object it trains; `us.vector_env(env, n)` in the function makes n
    copies of the env. Where the function returns, its result is the learner's `outcome`.
    """
    try:
        inspect.signature(function).bind(None, 0, **options)
    except TypeError as error:
        raise ContractError(f"{function!r} cannot be called as function(env, seed, ...): {error}") from None
    return lambda seed: Script(function, seed, **options)
