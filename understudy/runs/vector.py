"""n copies of a simulated environment as one Gymnasium vector environment."""

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from understudy.contracts import Simulator
from understudy.errors import SettingError
from understudy.runs.env import GymEnv, gym_envs, is_end_of
from understudy.runs.env_run import one_hot
from understudy.runs.run import Run


class VectorEnv(SyncVectorEnv):
    """Copies of an env that step together: the rows of a vector step are all accepted before any is delivered."""

    def __init__(self, copies: list[GymEnv], autoreset_mode: str | AutoresetMode) -> None:
        self.shared_run = copies[0].shared_run
        super().__init__([lambda copy=copy: copy for copy in copies], autoreset_mode=autoreset_mode)  # type: ignore[misc]

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act in all copies; an episode that is over is reset as the autoreset mode says."""
        wrong = [action for action in actions if not self.single_action_space.contains(action)]
        if wrong or len(actions) != self.num_envs:
            raise SettingError(
                f"actions are {actions!r}; give {self.num_envs}, each from 0 to {self.shared_run.n_actions - 1}"
            )
        if self.shared_run.waiting.any() and not self.shared_run.has_pending:
            self.shared_run.accept(
                np.array([one_hot(action, self.shared_run.n_actions) for action in actions]), sampled=False
            )
        return super().step(actions)

    def run(self) -> Run:
        """Return the run so far: steps of all copies, in the order of delivery."""
        return self.shared_run.run()

    def __enter__(self) -> "VectorEnv":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        self.close()
        return is_end_of(self.shared_run, error)


def vector_env(
    simulator: Simulator | GymEnv,
    n: int,
    seed: int | None = None,
    *,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    **options: Any,
) -> VectorEnv:
    """Return n simulated copies that share one log, as a Gymnasium vector environment; options are those of `gym_env`.

    A vector step is delivered whole or not at all. Instead of a simulator, a `gym_env` can be given: the env that a
    learner with its own loop is handed, for example.
    """
    copies = simulator.copies(n) if isinstance(simulator, GymEnv) else gym_envs(simulator, n, seed, **options)
    return VectorEnv(copies, autoreset_mode)
