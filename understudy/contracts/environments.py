"""What an environment may offer beyond Gymnasium's own interface, and what is gained by it. All of it is optional."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from understudy.contracts.finite_tables import Tables


@runtime_checkable
class Environment(Protocol):
    """Gymnasium's interface, as far as the library uses it."""

    action_space: Any
    observation_space: Any
    unwrapped: Any

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, and return its first observation and a dict."""

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act, and return the next observation, the reward, terminated, truncated and a dict."""


@runtime_checkable
class HasRollout(Protocol):
    """An environment with `Discrete` observations that records whole episodes by itself.

    Gained: `record` calls this once instead of stepping the environment from Python.
    """

    def rollout(
        self, policy: np.ndarray, episodes: int, seed: int, max_episode_steps: int | None
    ) -> Mapping[str, np.ndarray]:
        """Return the columns of a log of this many episodes, by name, as `Log.from_columns` takes them.

        `policy`, (observations, actions), has the probabilities that actions are drawn with. An episode that reaches
        `max_episode_steps` is truncated; None is no limit. The same seed gives the same columns. Without a column
        `propensity`, the policy at each row's observation is taken.
        """


@runtime_checkable
class HasTables(Protocol):
    """A finite environment that can be written out as tables.

    Gained: with a learner that has a compiled form, runs in this environment (`us.real`) are compiled.
    """

    def tables(self) -> Tables:
        """Return every state, outcome, reward and observation of the environment; its time limit is not among them."""


@runtime_checkable
class HasTimeLimit(Protocol):
    """An environment that truncates its own episodes.

    Gained: the limit also holds where the environment is not stepped: in rollouts, by its tables, in validation.
    """

    max_episode_steps: int | None
    """The number of steps at which an episode is truncated; None for no limit."""


@runtime_checkable
class HasStartObservations(Protocol):
    """An environment that knows the distribution of first observations.

    Gained: `probes.start_value(env)` is the exact mean over it.
    """

    def start_observations(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the observations that an episode can begin with, (n, ...), and their probabilities, (n,)."""


@runtime_checkable
class HasBestValue(Protocol):
    """An environment that knows what the best policy earns.

    Gained: `probes.regret(env)` measures how far a learner is behind it.
    """

    def best_value(self, steps: int) -> float:
        """Return the mean reward a step of the best policy, over the first `steps` steps of the environment."""


@runtime_checkable
class HasParallelEpisodes(Protocol):
    """An environment that can step many independent episodes with one call.

    Gained: validation episodes take one call a step for all of them, instead of one for each.
    """

    def many(self, n: int, seed: int) -> "ParallelEpisodes":
        """Return n independent episodes that have not begun. The same seed and actions give the same episodes."""


class ParallelEpisodes(Protocol):
    """Independent episodes of one environment, stepped together and without a time limit."""

    def reset(self) -> np.ndarray:
        """Begin all episodes, and return their first observations, (n, ...)."""

    def step(self, running: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step the episodes for which `running`, (n,) bool, is True; `actions` has one action for each of these.

        Return the current observations of all n episodes, and, of the running ones only, the rewards and whether each
        of them is over.
        """


def is_discrete(space: Any) -> bool:
    """True for Gymnasium's `Discrete` space whose values are 0, 1, 2, ...

    >>> from gymnasium.spaces import Discrete
    >>> is_discrete(Discrete(4)), is_discrete(Discrete(4, start=1)), is_discrete(None)
    (True, False, False)
    """
    from gymnasium.spaces import Discrete

    return isinstance(space, Discrete) and int(space.start) == 0
