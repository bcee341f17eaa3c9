"""The grid with weather: a coordinate of the observation follows an autoregression, whatever the agent does."""

from typing import Any

import gymnasium
import numpy as np

from understudy.envs.grid_tables import LEFT, MOVES, rewards
from understudy.errors import SettingError
from understudy.settings import real, steps_of


class WeatherGrid(gymnasium.Env[Any, Any]):
    """`Grid`, observed as (column, row, weather): weather is normal with mean 0 and variance 1, and never repeats.

    From one step to the next it is `persistence` times itself plus noise. A reset draws it anew, or, if `goes_on`, is
    one more step of it. A step's reward is the grid's plus `effect` times the weather it arrives in. With `wind`, the
    probability that weather above 0 moves the agent to the left in place of its action, the two are not independent.

    >>> env = WeatherGrid(size=3)
    >>> opening, _ = env.reset(seed=0)
    >>> opening[:2].tolist(), env.step(1)[0][:2].tolist()
    ([0.0, 0.0], [0.0, 1.0])
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (gymnasium's own declaration)

    def __init__(
        self,
        size: int = 5,
        *,
        slip: float = 0.0,
        persistence: float = 0.9,
        effect: float = 0.1,
        wind: float = 0.0,
        goes_on: bool = False,
        max_episode_steps: int | None = None,
    ) -> None:
        if size < 2:
            raise SettingError(f"size is {size}; a grid with a start and a goal needs at least 2")
        self.size, self.goes_on, self.effect = size, goes_on, real("effect", effect)
        self.slip, self.wind = real("slip", slip, 0, 1), real("wind", wind, 0, 1)
        self.persistence = real("persistence", persistence, 0, 1)
        self.max_episode_steps = steps_of("max_episode_steps", max_episode_steps)
        low, high = np.array([0, 0, -np.inf]), np.array([size - 1, size - 1, np.inf])
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float64)
        self.action_space = gymnasium.spaces.Discrete(len(MOVES))
        self._place, self._steps = np.zeros(2), 0
        self._weather: float | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode in the bottom left cell."""
        super().reset(seed=seed)
        if seed is not None or not self.goes_on:
            self._weather = None
        self._place, self._steps = np.zeros(2), 0
        return self._observed(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one of the actions stay, up, right, down, left (0 to 4)."""
        if self.np_random.random() < self.slip:
            action = int(self.np_random.integers(len(MOVES)))
        if self.wind and self._weather is not None and self._weather > 0 and self.np_random.random() < self.wind:
            action = LEFT
        self._place = np.clip(self._place + MOVES[action], 0, self.size - 1)
        self._steps += 1
        observation = self._observed()
        cell = int(self._place[0] + self.size * self._place[1])
        terminated = cell == self.size * self.size - 1
        reward = float(rewards(np.array(cell), self.size)) + self.effect * observation[2]
        return observation, reward, terminated, not terminated and self._steps == self.max_episode_steps, {}

    def cell(self, observations: np.ndarray) -> np.ndarray:
        """Return the cell of each observation, without its weather."""
        column, row, _ = np.moveaxis(np.asarray(observations), -1, 0)
        return (column + self.size * row).astype(np.int64)

    def _observed(self) -> np.ndarray:
        """Move the weather on, and return the observation."""
        noise = self.np_random.normal()
        if self._weather is None:
            self._weather = noise
        else:
            self._weather = self.persistence * self._weather + np.sqrt(1 - self.persistence**2) * noise
        return np.array([*self._place, self._weather])
