"""A simulator as a Gymnasium environment, for learners that own their loop."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from understudy.contracts import Exhausted, HasEnv, HasObservations, Simulator, owned
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.contracts.simulating import is_real, log_of
from understudy.errors import SettingError, UsageError
from understudy.logs import once
from understudy.runs.env_run import EnvRun
from understudy.runs.prerequisites import check_acts_for_good, check_limits
from understudy.runs.probes import Probes, named_probes
from understudy.runs.run import Run
from understudy.settings import whole


class GymEnv(gymnasium.Env[Any, Any]):
    """One rehearsal as an environment. Made by `gym_env`; `copies` share its run."""

    metadata = {"render_modes": []}  # noqa: RUF012 (gymnasium's own declaration)

    def __init__(
        self,
        simulator: Any,
        seed: int | None = None,
        max_steps: int | None = None,
        probes: Probes | None = None,
        every: int = 1000,
        *,
        observation_space: spaces.Space | None = None,
        learner: Any = None,
        one_run: bool = False,
        check_cancelled: Callable[[], None] = lambda: None,
        keep_rows: bool = True,
    ) -> None:
        check_limits(simulator, max_steps, every)
        check_acts_for_good(simulator)
        limit = None if max_steps is None else int(max_steps)
        self.shared_run = EnvRun(
            simulator, seed, limit, named_probes(probes), int(every), learner=learner, one_run=one_run,
            check_cancelled=check_cancelled, keep_rows=keep_rows,
        )  # fmt: skip
        # A copy: learners seed spaces and wrappers change them, and the next run must find this space unchanged.
        self.observation_space = deepcopy(
            observation_space_of(simulator) if observation_space is None else observation_space
        )
        if observation_space is not None and log_of(simulator) is not None:
            self._check_space()
        self.action_space = spaces.Discrete(self.shared_run.n_actions)
        self._number = 0
        self.spec = EnvSpec(  # gymnasium's checker makes another env with it
            "understudy/GymEnv-v0",
            entry_point=lambda **_: GymEnv(
                simulator, seed, max_steps, probes, every, observation_space=observation_space
            ),
        )

    @property
    def learner(self) -> Any:
        """The object that probes read. Set it to what you train."""
        return self.shared_run.learner

    @learner.setter
    def learner(self, learner: Any) -> None:
        self.shared_run.learner = learner

    def copies(self, n: int) -> list["GymEnv"]:
        """Return this env and n - 1 others that share its run: each has its own episode, and no row is served twice."""
        n = whole("n", n)
        if self.shared_run.begun or self._number or self.shared_run.n_copies > 1:
            raise UsageError("copies of an env are made once, and before its first reset")
        self.shared_run.n_copies = n
        return [self, *(self._copy(number) for number in range(1, n))]

    def _copy(self, number: int) -> "GymEnv":
        copy = object.__new__(type(self))
        copy.shared_run, copy.observation_space, copy._number = self.shared_run, self.observation_space, number
        copy.action_space = spaces.Discrete(self.shared_run.n_actions)  # a generator of its own
        return copy

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode; with a seed, a new run.

        In mid-episode this abandons the episode and takes the next opening. Where no opening is left, the last
        observation stands in for one, `info["stopped"]` says so, and the next step ends the run: so code that
        resets right after the last step still gets that step.
        """
        super().reset(seed=seed)
        observation, stopped = self.shared_run.begin(self._number, seed)
        return self._as_in_space(observation), {} if stopped is None else {"stopped": str(stopped)}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act; `info["row"]` is the logged row served. Raise `Exhausted` when the log has no answer."""
        if not self.action_space.contains(action):
            raise SettingError(
                f"action is {action!r}; this environment has actions 0 to {self.shared_run.n_actions - 1}"
            )
        step = self.shared_run.step(self._number, int(action))
        observation = self._as_in_space(step.next_observation)
        return observation, float(step.reward), bool(step.terminated), bool(step.truncated), {"row": int(step.row)}

    def run(self) -> Run:
        """Return the run so far: rows, episodes, curves, and in `stopped` why it ended."""
        return self.shared_run.run()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        """Close the env. `Exhausted` of this env's own run is not an error: the block ends without it."""
        self.close()
        return is_end_of(self.shared_run, error)

    def _as_in_space(self, observation: Any) -> Any:
        """Return an observation with the type and shape of the space, as a copy that the learner may write on."""
        if isinstance(self.observation_space, spaces.Discrete):
            return int(observation)
        if isinstance(self.observation_space, spaces.Box):
            return np.array(observation, dtype=self.observation_space.dtype).reshape(self.observation_space.shape)
        return owned(observation)

    def _check_space(self) -> None:
        """Raise `SettingError` where the space given does not hold the log's observations."""
        try:
            ends = observation_range(self.shared_run.simulator)
            fits = all(self.observation_space.contains(self._as_in_space(end)) for end in ends)
        except (TypeError, ValueError):  # another shape
            fits = False
        if not fits:
            spec = self.shared_run.simulator.log.spec
            raise SettingError(
                f"observation_space={self.observation_space} does not hold the log's observations, "
                f"{spec.observation_dtype} of shape {spec.observation_shape}; give one that does, or leave it out"
            )

    def __repr__(self) -> str:
        return f"gym_env({self.shared_run.simulator})"


def is_end_of(run: EnvRun, error: BaseException | None) -> bool:
    """True if an exception says that this run is over, or if a library raised its own exception from that one."""
    while error is not None:
        if isinstance(error, Exhausted):
            return error.stop is run.stopped
        error = error.__cause__
    return False


def gym_env(
    simulator: Simulator,
    seed: int | None = None,
    max_steps: int | None = None,
    probes: Probes | None = None,
    every: int = 1000,
    *,
    observation_space: spaces.Space | None = None,
) -> GymEnv:
    """Return a simulator as a Gymnasium environment, for anything that acts.

        with us.gym_env(us.qbe(log), seed=0) as env:
            model.learn(10**9)  # ends without an error when the log has no further answer
        run = env.run()

    An action is a policy that gives it probability 1: QBE takes the oldest row that has it, PSRS holds it while
    scanning the queue. `reset(seed=...)` begins a new run, `reset()` the next episode. Probes are read every so many
    steps; set `env.learner` to the object they read. The observation space is the range of the log's observations,
    unless you give one.
    """
    return GymEnv(simulator, seed, max_steps, probes, every, observation_space=observation_space)


def gym_envs(simulator: Simulator, n: int, seed: int | None = None, **options: Any) -> list[GymEnv]:
    """Return n environments that share one log without serving a row twice, for vector environments of any library.

    They are copies of one `gym_env`, with its options, and share its run: steps count in the order of delivery,
    openings are in the order in which episodes began, ends and returns in the order in which they ended. The run has
    the seed that the first of them is reset with. When the log has no answer for one of them, the run is over for all.
    """
    return gym_env(simulator, seed, **options).copies(n)


def observation_space_of(simulator: Any) -> spaces.Space:
    """Return the space of a simulator's observations: an environment's own, or the range of the log's."""
    if is_real(simulator) and offers(simulator, HasEnv):
        return simulator.env.observation_space
    log = log_of(simulator)
    if log is None:
        raise SettingError(
            f"{name_of(simulator)} has no log that shows what observations look like; give observation_space="
        )
    shape, dtype = log.spec.observation_shape, log.spec.observation_dtype
    low, high = observation_range(simulator)
    if not shape and dtype.kind in "iu" and low >= 0:
        return spaces.Discrete(int(high) + 1)
    if dtype == np.uint8:  # images
        return spaces.Box(0, 255, shape or (1,), np.uint8)
    high = np.where(high > low, high, low + 1)  # a space needs a range, also where the observation is constant
    return spaces.Box(
        low.reshape(shape or (1,)).astype(dtype), high.reshape(shape or (1,)).astype(dtype), dtype=dtype.type
    )


def observation_range(simulator: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest value of each entry of an observation."""
    if offers(simulator, HasObservations):
        return once.range_of(*simulator.observations)
    return once.observation_range(simulator.log)
