"""Environments that wrap other environments: one walk from the outermost to the innermost."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from understudy.contracts.environments import HasTimeLimit
from understudy.contracts.offering import offers


def layers(env: Any) -> Iterator[Any]:
    """Yield an environment and, one after another, what it wraps, outermost first.

    Of a vector environment the first of its copies is followed, since they are alike.

    >>> import gymnasium
    >>> [type(layer).__name__ for layer in layers(gymnasium.make("FrozenLake-v1"))]
    ['TimeLimit', 'OrderEnforcing', 'PassiveEnvChecker', 'FrozenLakeEnv']
    """
    while env is not None:
        yield env
        env = _wrapped(env)


def _wrapped(env: Any) -> Any:
    """Return the environment that is wrapped directly by this one; None for one that wraps nothing.

    These are public attributes of others: `venv` of Stable-Baselines3's VecEnvWrapper, which hands on all other names
    of what it wraps and is therefore looked for first; `env` of Gymnasium's Wrapper and VectorWrapper; `envs` of
    Gymnasium's SyncVectorEnv and Stable-Baselines3's DummyVecEnv.
    """
    for name in ("venv", "env"):
        inner = getattr(env, name, None)
        if inner is not None:
            return inner
    copies = getattr(env, "envs", None)
    return copies[0] if copies else None


def changing_wrappers(env: Any) -> list[Any]:
    """Return the wrappers of an environment, outermost first, that may change what a learner meets.

    All may, except the two of Gymnasium that only check how an environment is called.

    >>> import gymnasium
    >>> [type(layer).__name__ for layer in changing_wrappers(gymnasium.make("FrozenLake-v1"))]
    ['TimeLimit']
    """
    from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

    around = takewhile(lambda layer: layer is not env.unwrapped, layers(env))
    return [layer for layer in around if type(layer) not in (OrderEnforcing, PassiveEnvChecker)]


def time_limit(env: Any) -> int | None:
    """Return the smallest time limit of an environment and its wrappers; None where none of them has one."""
    limits = []
    for layer in layers(env):
        limits.append(getattr(layer, "_max_episode_steps", None))  # Gymnasium's TimeLimit has it under this name only
        limits.append(layer.max_episode_steps if offers(layer, HasTimeLimit) else None)
    return shortest(*limits)


def shortest(*limits: int | None) -> int | None:
    """Return the smallest of some time limits; None stands for no limit.

    >>> shortest(None, 30, 10), shortest(None)
    (10, None)
    """
    return min((limit for limit in limits if limit is not None), default=None)
