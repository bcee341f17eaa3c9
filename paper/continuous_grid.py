"""What the items on the grid of continuous points share: the log, encoders trained on it once, and an exact probe."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

import understudy as us
from paper import grids
from paper.workspace import Workspace

GAMMA = 0.99
POLICY_VALUE = "value of the policy"
CAP = 1000
"""The largest number of steps of an episode in the published code, and of one that validates."""

HOMER, FORWARD, ORACLE = "Homer", "Forward", "oracle"


@dataclass(frozen=True)
class Size:
    """Rows of the log, and options of the encoders."""

    rows: int = 1_000_000
    homer: Mapping[str, Any] = field(default_factory=dict)
    forward: Mapping[str, Any] = field(default_factory=dict)


# As many steps as 200 epochs of the whole log have: what docs/paper.md shows was trained without a bound on steps.
FULL = Size(homer={"max_steps": 25_000})
QUICK = Size(30_000, {"annealing": 400, "max_epochs": 12}, {"steps": 400})

SEARCH: dict[str, Any] = {"latents": (25, 50), "widths": (32, 64), "learning_rates": (1e-3, 3e-3), "seeds": (0, 1)}
"""The settings that the encoder search tries, of the four kinds that the paper names."""


def record(env: Any, rows: int, seed: int, cap: int | None = None) -> us.Log:
    """Return a log of the uniform policy; with a cap, episodes end as in the published code."""
    uniform = np.full((env.grid.n_cells, env.grid.n_actions), 1 / env.grid.n_actions)
    columns = env.rollout_cells(uniform, steps=rows, seed=seed, max_episode_steps=cap)
    log = us.Log.from_columns(**columns, n_actions=env.grid.n_actions)
    return log if cap is None else grids.capped(log)


class Capped(gymnasium.Wrapper):
    """An environment whose episodes end as the published code ends them: at the cap, terminal, and the reward lost."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step; one that would be truncated is terminal, with reward 0."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, 0.0 if truncated else reward, terminated or truncated, False, info


def real(env: Any, cap: int | None = None) -> Any:
    """Return the true grid as a simulator, with a cap as in the published code."""
    return us.real(env if cap is None else Capped(type(env)(env.size, env.slip, cap)))


class Encoders(dict[str, Any]):
    """The encoders by name. When one is first asked for, it is read from the results folder if another item has
    trained it, else trained on the log."""

    def __init__(self, workspace: Workspace, env: Any, log: us.Log) -> None:
        super().__init__({ORACLE: grids.states(env)})
        self.workspace, self.log = workspace, log
        self.trained: list[str] = []  # in this process, and not read from the folder

    def __missing__(self, name: str) -> Any:
        searched = "-searched" if self.workspace.search and name == HOMER else ""
        file = self.workspace.folder.parent / "encoders" / f"{name.lower()}{searched}-{self.log.fingerprint}.npz"
        if file.exists():
            self[name] = us.encoders.load(file)
            return self[name]
        self[name] = self.train(name)
        self.trained.append(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        self[name].save(file)
        return self[name]

    def train(self, name: str) -> Any:
        """Train an encoder, in one thread: with more, states would depend on how many there are."""
        from understudy.contracts.devices import one_thread

        size = QUICK if self.workspace.quick else FULL
        with one_thread():
            if name == FORWARD:
                return us.encoders.Forward(**size.forward).fit(self.log)
            if self.workspace.search:
                return us.encoders.Homer.search(self.log, **SEARCH, **size.homer)
            return us.encoders.Homer(**size.homer).fit(self.log)


@dataclass(frozen=True, eq=False)
class Prepared:
    """The grid, the log, and the encoders trained on it."""

    env: Any
    log: us.Log
    encoders: Mapping[str, Any]


def prepare(workspace: Workspace) -> Prepared:
    """Record the log, and return it with its encoders, which are trained when first used."""
    env = us.envs.ContinuousGrid()
    log = record(env, (QUICK if workspace.quick else FULL).rows, workspace.seed, CAP if workspace.authors else None)
    return Prepared(env, log, Encoders(workspace, env, log))


def policy_value(env: Any, fineness: int = 8, gamma: float = GAMMA) -> Callable[[Any], float]:
    """Return a probe of the discounted return that the learner's policy is expected to earn in the true grid.

    No episode is played: what follows an observation depends on its cell alone, so linear equations give the value of
    the policy averaged over each cell. The average is taken over `fineness` x `fineness` points of a cell, the middles
    of as many squares, and is exact up to how the policy varies within one.
    """
    cells, within = np.arange(env.grid.n_cells), (np.arange(fineness) + 0.5) / fineness
    inner = np.stack(np.meshgrid(within, within), axis=-1).reshape(-1, 2)
    corner = np.stack([cells % env.size, cells // env.size], axis=-1)
    points = ((corner[:, None] + inner) / env.size).reshape(-1, 2)
    first, weights = env.grid.start_observations()

    def probe(learner: Any) -> float:
        policies = learner.policies(points).reshape(len(cells), len(inner), -1).mean(axis=1)
        return float(weights @ env.grid.values(policies, gamma)[first])

    return probe
