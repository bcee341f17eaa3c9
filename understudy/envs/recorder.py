"""Logs recorded from any Gymnasium environment, with the propensity of every action."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.contracts.environments import HasRollout, is_discrete
from understudy.contracts.offering import offers
from understudy.contracts.wrappers import changing_wrappers
from understudy.errors import ContractError, PolicyError, SettingError
from understudy.logs import Log
from understudy.logs.columns import COLUMNS
from understudy.logs.policies import fault_of, numbers_of
from understudy.settings import seed_of, steps_of, whole

Policy = Callable[[Any], Any]


def record(
    env: Any,
    policy: Policy | None = None,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    max_episode_steps: int | None = None,
) -> Log:
    """Let a policy act in a Gymnasium environment with discrete actions, and return a log of what happened.

    `policy` maps an observation to the probability of each action; None is uniform. Give `episodes`, or `steps`,
    which leaves the last episode unfinished. Reaching `max_episode_steps` is a truncation.

    >>> import gymnasium
    >>> log = record(gymnasium.make("FrozenLake-v1"), episodes=10, seed=1)
    >>> log.n_episodes, log.spec.n_actions, log.propensity[0]
    (10, 4, array([0.25, 0.25, 0.25, 0.25]))
    """
    if (episodes is None) == (steps is None):
        raise SettingError("give either episodes= or steps=, how much to record")
    episodes, steps, seed = steps_of("episodes", episodes), steps_of("steps", steps), seed_of(seed)
    max_episode_steps = steps_of("max_episode_steps", max_episode_steps)
    n_actions = _count_actions(env)
    policy = policy or (lambda observation: np.full(n_actions, 1 / n_actions))
    if episodes is not None and _records_itself(env):
        columns = _rollout(env, policy, n_actions, episodes, seed, max_episode_steps)
    else:
        columns = _step_by_step(env, policy, n_actions, episodes, steps, seed, max_episode_steps)
    log = Log.from_columns(**columns, n_actions=n_actions)
    return replace(log, max_episode_steps=log.max_episode_steps or max_episode_steps)


def _count_actions(env: Any) -> int:
    """Return the number of actions. Raise `ContractError` where a log cannot hold the actions or the observations."""
    from gymnasium import spaces

    action, observation = env.action_space, env.observation_space
    if not is_discrete(action):
        raise ContractError(f"the action space is {action}, and a log needs Discrete from 0 up; wrap the environment")
    if not isinstance(observation, spaces.Discrete | spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        raise ContractError(
            f"the observation space is {type(observation).__name__}, and a log needs numbers of one shape; "
            "wrap the environment in gymnasium.wrappers.FlattenObservation"
        )
    return int(action.n)


def _step_by_step(
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


def _records_itself(env: Any) -> bool:
    """True if the environment has `rollout`, and no wrapper changes its observations, rewards or ends."""
    return offers(env.unwrapped, HasRollout) and not changing_wrappers(env) and is_discrete(env.observation_space)


def _rollout(
    env: Any, policy: Policy, n_actions: int, episodes: int, seed: int, max_episode_steps: int | None
) -> dict[str, Any]:
    codes = range(int(env.observation_space.n))
    table = np.stack([_distribution(policy(code), n_actions, f"for observation {code}") for code in codes])
    columns = dict(
        env.unwrapped.rollout(policy=table, episodes=episodes, seed=seed, max_episode_steps=max_episode_steps)
    )
    columns.setdefault("propensity", table[columns["observation"]])
    return columns


def _distribution(policy: Any, n_actions: int, where: str) -> np.ndarray:
    """Return what the policy function returned as probabilities that sum to 1. Raise `PolicyError` where it cannot."""
    try:
        probabilities = numbers_of(policy)
    except PolicyError as error:
        raise PolicyError(f"the policy {where} {error}") from None
    fault = fault_of(probabilities, n_actions)
    if fault is not None:
        raise PolicyError(f"the policy {where}, {probabilities.tolist()}, {fault}")
    return probabilities / probabilities.sum()


def _draw(probabilities: np.ndarray, rng: np.random.Generator) -> int:
    cumulative = probabilities.cumsum()
    return int(cumulative.searchsorted(rng.random() * cumulative[-1], side="right"))
