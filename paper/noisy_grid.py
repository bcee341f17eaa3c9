"""The grid with noise bits: its cases, the three settings in which it is learned, and the simulators."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import understudy as us
from paper import grids
from understudy.runs import Runs

GAMMA, EPSILON = 0.99, 0.2  # of settings 1 and 2
CONTROL = "states only (control)"
"""A simulator that ignores actions: the test of fidelity must reject it."""

SETTINGS = ("setting 1", "setting 2", "setting 3")
PSRS_X, PSRS_Z, QBE_X, QBE_Z = "PSRS, observations", "PSRS, states", "QBE, observations", "QBE, states"

Sets = dict[str, Runs]


class Case(NamedTuple):
    """An environment: how many noise bits, and how often an action slips."""

    bits: int
    slip: float = 0.0

    def __str__(self) -> str:
        return f"k = {self.bits}" + (f", slip {self.slip}" if self.slip else "")


def environment(case: Case) -> Any:
    """Return the grid of a case."""
    return us.envs.NoisyGrid(case.bits, slip=case.slip)


def soft_policy(env: Any) -> np.ndarray:
    """Return the near-optimal policy of setting 2."""
    return grids.soft_policy(env, GAMMA, EPSILON)


def policies(env: Any) -> dict[str, np.ndarray]:
    """Return the policies that settings 1 and 2 evaluate."""
    uniform = np.full((env.n_observations, env.n_actions), 1 / env.n_actions)
    return {"setting 1": uniform, "setting 2": soft_policy(env)}


def learner(setting: str, env: Any) -> Callable[[int], Any]:
    """Return the function seed -> learner of a setting."""
    if setting == "setting 3":
        return grids.q_learning(env)
    policy = us.learners.FixedPolicy(policies(env)[setting])
    return lambda seed: us.learners.MonteCarlo(policy, gamma=GAMMA)


def measures(setting: str, env: Any) -> dict[str, Any]:
    """Return the probes of a setting."""
    return grids.probes(env) if setting == "setting 3" else {"estimate": us.probes.estimate}


def simulators(env: Any, order: str) -> dict[str, Callable[[us.Log], Any]]:
    """Return the four simulators, each as a function of a log."""
    states = grids.states(env)
    return {
        PSRS_X: lambda log: us.psrs(log, order=order),
        PSRS_Z: lambda log: us.psrs(log, states, order=order),
        QBE_X: lambda log: us.qbe(log, stop="plain", order=order),
        QBE_Z: lambda log: us.qbe(log, states, stop="plain", order=order),
    }


def exact_values(case: Case) -> dict[str, float]:
    """Return the exact start values that settings 1 and 2 estimate."""
    env = environment(case)
    observations, weights = env.start_observations()
    return {name: float(weights @ env.values(policy, GAMMA)[observations]) for name, policy in policies(env).items()}
