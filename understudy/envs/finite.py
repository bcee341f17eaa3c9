"""Problems written out as tables: stepped from Python, recorded by compiled code, and solved exactly."""

from typing import Any

import gymnasium
import numpy as np

from understudy.contracts.finite_tables import Tables, pick
from understudy.contracts.wrappers import shortest
from understudy.envs import solve
from understudy.envs.parallel import TableEpisodes
from understudy.envs.rollout import rollout
from understudy.errors import SettingError
from understudy.settings import steps_of


class FiniteEnv(gymnasium.Env[Any, Any]):
    """Any problem with finitely many states, given by its `Tables`; observations are codes from 0 up.

    Real runs and recordings of it are compiled, and its values are solved exactly. By default an episode has no time
    limit; `max_episode_steps` truncates it, which does not change the reward of its last step.

    >>> from understudy.envs.grid import Grid
    >>> env = FiniteEnv(Grid().tables())
    >>> env.reset(seed=0)[0], env.step(1)[0], env.n_observations, env.n_actions
    (0, 5, 25, 5)
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (gymnasium's own declaration)

    def __init__(self, tables: Tables, *, max_episode_steps: int | None = None) -> None:
        self.max_episode_steps = steps_of("max_episode_steps", max_episode_steps)
        self.n_observations, self.n_actions = tables.observation.size, tables.reward.shape[1]
        self.observation_space = gymnasium.spaces.Discrete(self.n_observations)
        self.action_space = gymnasium.spaces.Discrete(self.n_actions)
        self._tables, self._state, self._steps, self._over = tables, 0, 0, True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self._state = pick(self._tables.start, self.np_random.random())
        self._steps, self._over = 0, False
        return self._emit(), {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take an action, a number from 0 up."""
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset before step")
        if not self.action_space.contains(action):
            raise SettingError(f"action is {action!r}; this environment has actions 0 to {self.n_actions - 1}")
        outcome = (self._state, action, pick(self._tables.outcome[self._state, action], self.np_random.random()))
        self._state, self._steps = int(self._tables.next_state[outcome]), self._steps + 1
        terminated = bool(self._tables.terminated[outcome])
        truncated = not terminated and self._steps == self.max_episode_steps
        self._over = terminated or truncated
        return self._emit(), float(self._tables.reward[outcome]), terminated, truncated, {}

    def tables(self) -> Tables:
        """Return the whole problem as tables, from which real runs are compiled."""
        return self._tables

    def values(self, policy: np.ndarray, gamma: float) -> np.ndarray:
        """Return the exact value of each observation under a policy, (observations, actions)."""
        return solve.values(self._tables, policy, gamma)

    def optimal(self, gamma: float) -> np.ndarray:
        """Return the exact optimal value of each action at each observation, (observations, actions)."""
        return solve.optimal(self._tables, gamma)

    def start_observations(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the observations that an episode can begin with, and their probabilities."""
        return solve.start_observations(self._tables)

    def rollout(
        self,
        policy: np.ndarray,
        episodes: int | None = None,
        seed: int = 0,
        max_episode_steps: int | None = None,
        *,
        steps: int | None = None,
    ) -> dict[str, np.ndarray]:
        """Return the columns of a log of this many episodes (or steps) under a policy, (observations, actions)."""
        limit = shortest(self.max_episode_steps, max_episode_steps)
        return rollout(self._tables, policy, episodes=episodes, steps=steps, seed=seed, max_episode_steps=limit)

    def many(self, n: int, seed: int) -> TableEpisodes:
        """Return n independent episodes that are stepped together, without the time limit."""
        return TableEpisodes(self._tables, n, np.random.default_rng(seed), lambda codes: codes.astype(np.int64))

    def _emit(self) -> int:
        emission = pick(self._tables.emission[self._state], self.np_random.random())
        return int(self._tables.observation[self._state, emission])


class FiniteGrid(FiniteEnv):
    """Any grid with finitely many observations; `Grid`, `NoisyGrid` and so on differ in their tables.

    An observation's code is its cell plus a multiple of the number of cells; the goal is the last cell, and actions are
    stay, up, right, down, left (0 to 4).
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 (gymnasium's own declaration)

    def __init__(
        self, size: int, tables: Tables, *, max_episode_steps: int | None = None, render_mode: str | None = None
    ) -> None:
        super().__init__(tables, max_episode_steps=max_episode_steps)
        self.size, self.n_cells, self.render_mode = size, size * size, render_mode

    def render(self) -> str | None:
        """Return the grid as text, with an A for the agent and a G for the goal; None without a render mode."""
        if self.render_mode is None:
            return None
        marks = np.full(self.n_cells, ".")
        marks[-1] = "G"
        marks[self._state % self.n_cells] = "A"
        return "\n".join("".join(row) for row in marks.reshape(self.size, self.size)[::-1])

    def latent(self, observations: np.ndarray) -> np.ndarray:
        """Return the true cell of each observation: the oracle, for `encoders.Function(env.latent)`."""
        return np.asarray(observations, dtype=np.int64) % self.n_cells
