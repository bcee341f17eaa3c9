"""Logs recorded from an environment, with the propensity of every action."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.errors import LogError, PolicyError
from understudy.logs.columns import COLUMNS
from understudy.logs.log import Log
from understudy.logs.numbers import seed_of, steps_of, whole
from understudy.logs.policies import numbers_of

Policy = Callable[[Any], Any]

TOLERANCE = 1e-5


def record(
    env: Any,
    policy: Policy | None = None,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    max_episode_steps: int | None = None,
) -> Log:
    """Let a policy act in a Gymnasium environment with discrete actions, and log what happens.

    `policy` maps an observation to the probability of each action; None is uniform. Give `episodes`, or `steps`,
    which leaves the last episode unfinished. Reaching `max_episode_steps` is a truncation.

    >>> import gymnasium
    >>> log = record(gymnasium.make("FrozenLake-v1"), episodes=10, seed=1)
    >>> log.n_episodes, log.spec.n_actions, log.propensity[0]
    (10, 4, array([0.25, 0.25, 0.25, 0.25]))
    """
    if (episodes is None) == (steps is None):
        raise LogError("give either episodes= or steps=, how much to record")
    episodes, steps, seed = steps_of("episodes", episodes), steps_of("steps", steps), seed_of(seed)
    max_episode_steps = steps_of("max_episode_steps", max_episode_steps)
    n_actions = _check_spaces(env)
    chosen = policy or (lambda observation: np.full(n_actions, 1 / n_actions))
    if episodes is not None and _offers_rollout(env):
        given = _rollout(env, chosen, n_actions, episodes, seed, max_episode_steps)
    else:
        given = _loop(env, chosen, n_actions, episodes, steps, seed, max_episode_steps)
    log = Log.from_columns(**given, n_actions=n_actions)
    return replace(log, max_episode_steps=log.max_episode_steps or max_episode_steps)


def _check_spaces(env: Any) -> int:
    """The number of actions, once both spaces are such as a log can hold."""
    from gymnasium import spaces

    action, observation = env.action_space, env.observation_space
    if not isinstance(action, spaces.Discrete) or action.start != 0:
        raise LogError(f"the action space is {action}, and a log needs Discrete from 0 up; wrap the environment")
    if not isinstance(observation, spaces.Discrete | spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        raise LogError(
            f"the observation space is {type(observation).__name__}, and a log needs numbers of one shape; "
            "wrap the environment in gymnasium.wrappers.FlattenObservation"
        )
    return int(action.n)


def _loop(
    env: Any,
    policy: Policy,
    n_actions: int,
    episodes: int | None,
    steps: int | None,
    seed: int,
    max_episode_steps: int | None,
) -> dict[str, Any]:
    rng = np.random.default_rng(whole("seed", seed, least=0))
    rows: list[tuple] = []
    observation, _ = env.reset(seed=int(rng.integers(2**31)))
    episode = step = 0
    while True:
        here = np.array(observation)  # a copy: the environment may write the next one into the same array
        propensity = _distribution(policy(deepcopy(observation)), n_actions, f"at step {len(rows)}")
        action = _draw(propensity, rng)
        following, reward, terminated, truncated, _ = env.step(action)
        truncated = not terminated and (truncated or step + 1 == max_episode_steps)
        there = np.array(following)
        rows.append((here, action, float(reward), there, terminated, truncated, episode, step, propensity))
        observation, step = following, step + 1
        over = terminated or truncated
        if len(rows) == steps or (over and episode + 1 == episodes):
            break
        if over:
            (observation, _), episode, step = env.reset(), episode + 1, 0
    return dict(zip(COLUMNS, (np.array(column) for column in zip(*rows, strict=True)), strict=True))


def _offers_rollout(env: Any) -> bool:
    """Whether a finite environment can record itself: no wrapper that changes anything is around it."""
    from gymnasium import spaces, wrappers

    inner, passive = env, (wrappers.OrderEnforcing, wrappers.PassiveEnvChecker)
    while isinstance(inner, passive):
        inner = inner.env
    space = env.observation_space
    return (
        inner is env.unwrapped
        and callable(getattr(inner, "rollout", None))
        and isinstance(space, spaces.Discrete)
        and space.start == 0
    )


def _rollout(
    env: Any, policy: Policy, n_actions: int, episodes: int, seed: int, max_episode_steps: int | None
) -> dict[str, Any]:
    codes = range(int(env.observation_space.n))
    table = np.stack([_distribution(policy(code), n_actions, f"for observation {code}") for code in codes])
    given = dict(env.unwrapped.rollout(policy=table, episodes=episodes, seed=seed, max_episode_steps=max_episode_steps))
    given.setdefault("propensity", table[given["observation"]])
    return given


def _distribution(policy: Any, n_actions: int, where: str) -> np.ndarray:
    try:
        probabilities = numbers_of(policy)
    except PolicyError as error:
        raise LogError(f"the policy {where} {error}") from None
    if probabilities.shape != (n_actions,):
        raise LogError(
            f"the policy has shape {probabilities.shape} {where}; return a probability for each of {n_actions} actions"
        )
    total = probabilities.sum()
    if not (probabilities.min() >= 0 and abs(total - 1) <= TOLERANCE):  # NaN fails too
        raise LogError(f"the policy is {probabilities.tolist()} {where}; return probabilities that sum to 1")
    return probabilities / total


def _draw(probabilities: np.ndarray, rng: np.random.Generator) -> int:
    cumulative = probabilities.cumsum()
    return int(cumulative.searchsorted(rng.random() * cumulative[-1], side="right"))
