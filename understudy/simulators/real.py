"""A true environment with the interface of a simulator: simulations are compared with its runs."""

from copy import deepcopy
from hashlib import blake2b
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from understudy.contracts import Encoder, Rehearsal, Step, Stop, owned
from understudy.contracts.encoding import states_of
from understudy.contracts.environments import Environment, HasTables, is_discrete
from understudy.contracts.finite_tables import Tables
from understudy.contracts.offering import offers
from understudy.contracts.simulating import n_states_of
from understudy.contracts.streams import ACCEPTANCE, ENVIRONMENT, Stream, spawn, streams_of
from understudy.contracts.wrappers import changing_wrappers, shortest, time_limit
from understudy.errors import ContractError, SettingError, UsageError
from understudy.logs.policies import as_policy
from understudy.settings import steps_of
from understudy.simulators.coding import CodedArrays
from understudy.simulators.index import dense
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.draws import draw_action
from understudy.simulators.kernels.real import TableWalk
from understudy.simulators.read_only import read_only
from understudy.simulators.rehearsal import KernelRehearsal
from understudy.simulators.sharing import independent_rehearsals


class RealTables:
    """A finite environment walked by its tables, so that real runs are compiled. Made by `real`."""

    kind = "real"
    compilable = True
    exhaustible = foreseeable = serves_rows = serves_emissions = False
    log = None

    def __init__(self, env: Any, encoder: Encoder | None, limit: int | None) -> None:
        self.env, self._tables = env, Tables(*map(read_only, env.tables()))
        observations = np.arange(int(self._tables.observation.max()) + 1)
        state = observations if encoder is None else states_of(encoder, observations)
        self._state_of = read_only(dense(state, state)[1])
        self.n_actions, self.n_states = self._tables.reward.shape[1], 1 + int(self._state_of.max())
        digest = blake2b(b"".join(np.ascontiguousarray(table).tobytes() for table in self._tables), digest_size=8)
        self.settings = {
            "simulator": "real",
            "env": env_in_words(env),
            "tables": digest.hexdigest(),
            "max_episode_steps": limit,
        }
        rules = np.zeros(layout.N_RULES, np.int64)
        rules[layout.TIME_LIMIT] = min(limit or 0, 2**63 - 1)  # an environment's own may be larger
        self._rules = read_only(rules)
        self._arrays = CodedArrays(
            lambda codes: ((observations if codes is None else codes.batch(observations)).astype(np.int32),),
            observations[-1:],
        )

    def start(self, seed: int, codes: Any = None) -> KernelRehearsal:
        """Return a new rehearsal; `codes` are those of a learner with a table of its own."""
        (code_of,) = self._arrays(codes)
        cursor = np.zeros(layout.N_CURSOR, np.int64)
        cursor[layout.EPISODE_OVER] = 1
        # The action stream is of another seed: the same number must not couple a real with a simulated run.
        source = TableWalk(self._tables, self._state_of, code_of, self._rules, streams_of(spawn(seed, REAL)), cursor)
        return KernelRehearsal(
            source,
            n_actions=self.n_actions,
            first_observation=int,
            next_observation=lambda row, observation: observation,
        )

    def start_shared(self, seed: int, n: int) -> list[Rehearsal]:
        return independent_rehearsals(self, seed, n)

    def __repr__(self) -> str:
        return f"real({self.settings['env']})"


class RealEnv:
    """Any other Gymnasium environment, stepped from Python; each rehearsal has a copy of its own. Made by `real`."""

    kind = "real"
    compilable = False
    exhaustible = foreseeable = serves_rows = serves_emissions = False
    log = None

    def __init__(self, env: Any, encoder: Encoder | None, limit: int | None) -> None:
        self.env, self.encoder, self._limit = env, encoder, limit
        self.n_actions = int(env.action_space.n)
        self.n_states = n_states(env.observation_space, encoder)
        self.settings = {"simulator": "real", "env": env_in_words(env), "max_episode_steps": limit}

    def start(self, seed: int) -> "EnvRehearsal":
        """Return a new rehearsal, in a copy of the environment."""
        return EnvRehearsal(deepcopy(self.env), self.encoder, self._limit, spawn(seed, REAL))

    def start_shared(self, seed: int, n: int) -> list[Rehearsal]:
        return independent_rehearsals(self, seed, n)

    def __repr__(self) -> str:
        return f"real({self.settings['env']})"


class EnvRehearsal:
    """Episodes of a Gymnasium environment.

    Observations are copied twice: when the environment returns them, since it may write on them later, and for the
    learner, which may write on its own copy.
    """

    def __init__(self, env: Any, encoder: Encoder | None, limit: int | None, seed: int) -> None:
        self._env, self._encoder, self._limit = env, encoder, limit
        self._actions = Stream(seed, ACCEPTANCE)
        self._reset_seed: int | None = spawn(seed, ENVIRONMENT) % 2**31
        self._observation: Any = None
        self._steps = self._episodes = self._episode_steps = 0
        self._over = True
        self.opening = layout.EMPTY

    @property
    def state(self) -> int:
        """The encoder's state of the current observation; -1 for none."""
        if self._encoder is not None:
            return int(self._encoder.encode(np.array(self._observation)[None])[0])
        return int(self._observation) if np.ndim(self._observation) == 0 else layout.EMPTY

    def begin(self) -> Any:
        opening, _ = self._env.reset(seed=self._reset_seed)
        self._observation = owned(opening)
        self._reset_seed = None  # only the first reset is seeded
        self._episodes, self._episode_steps, self._over = self._episodes + 1, 0, False
        return owned(self._observation)

    def step(self, policy: np.ndarray) -> Step:
        if self._over:
            raise UsageError("the episode is over, or none has begun; call begin before step")
        policy = as_policy(policy, int(self._env.action_space.n), self._observation)
        action = int(draw_action(policy, self._actions.uniform()))
        following, reward, terminated, truncated, _ = self._env.step(action)
        self._steps, self._episode_steps = self._steps + 1, self._episode_steps + 1
        terminated = bool(terminated)
        truncated = not terminated and (bool(truncated) or self._episode_steps == self._limit)
        self._over = terminated or truncated
        before, self._observation = self._observation, owned(following)
        return Step(before, action, float(reward), owned(self._observation), terminated, truncated)

    def stop(self) -> Stop:
        """Return the counts, with cause "max steps": a true environment can always go on."""
        return Stop("max steps", counts={"steps": self._steps, "openings": self._episodes})


def n_states(space: Any, encoder: Encoder | None) -> int | None:
    """Return the number of states of an environment: an encoder's, or that of Discrete observations; else None."""
    if encoder is not None:
        return n_states_of(encoder)
    return int(space.n) if isinstance(space, Discrete) else None


REAL = 1
"""The tag of the streams of real runs."""


def env_in_words(env: Any) -> str:
    """Return an environment in words: its id and arguments, or its class and plain attributes."""
    inner = env.unwrapped
    if isinstance(inner, gymnasium.Env) and inner.spec is not None:  # it may not keep all of its arguments itself
        return f"{inner.spec.id}({', '.join(f'{name}={value}' for name, value in sorted(inner.spec.kwargs.items()))})"
    plain = {
        name: value
        for name, value in sorted(vars(inner).items())
        if not name.startswith("_") and isinstance(value, bool | int | float | str)
    }
    return f"{type(inner).__name__}({', '.join(f'{name}={value}' for name, value in plain.items())})"


def real(env: Any, encoder: Encoder | None = None, *, max_episode_steps: int | None = None) -> RealTables | RealEnv:
    """Return a simulator that runs a Gymnasium environment, or the one a function makes; it serves no logged rows.

    An environment that offers `tables()` is walked by them, compiled; any other is stepped from Python, each run in a
    copy of its own. The encoder only names the states whose visits probes count.
    """
    env = env() if callable(env) and not offers(env, Environment) else env
    if not offers(env, Environment):
        raise ContractError(f"{env!r} is not a Gymnasium environment: it needs reset, step, spaces and unwrapped")
    if not is_discrete(env.action_space):
        raise SettingError(
            f"the environment's actions are {env.action_space}; a learner's policy needs Discrete ones from 0 up"
        )
    from gymnasium.wrappers import TimeLimit  # here, since importing all wrappers takes long

    limit = steps_of("max_episode_steps", max_episode_steps)
    changed = [layer for layer in changing_wrappers(env) if not isinstance(layer, TimeLimit)]
    if not changed and offers(env.unwrapped, HasTables):
        return RealTables(env.unwrapped, encoder, shortest(limit, time_limit(env)))
    return RealEnv(env, encoder, limit)
