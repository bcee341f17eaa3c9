"""Exact values of a finite problem, computed from its tables."""

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import spsolve

from understudy.contracts.finite_tables import Tables
from understudy.errors import PolicyError, SettingError
from understudy.logs.policies import fault_of, first_fault, numbers_of, refusal


def values(tables: Tables, policy: np.ndarray, gamma: float) -> np.ndarray:
    """Return the value of each observation under a policy, (observations,); terminal ones have value 0.

    The policy, (observations, actions), acts on observations. The rest depends on the state alone, so the linear
    system is solved for states, with the policy averaged over the observations of a state.
    """
    policy = checked_policy(tables, policy)
    worth = _state_values(tables, _on_states(tables, policy), gamma)
    return (policy * _action_values(tables, worth, gamma)[states(tables)]).sum(axis=1)


def optimal(tables: Tables, gamma: float) -> np.ndarray:
    """Return the optimal value of each action at each observation, (observations, actions), by policy iteration."""
    n_states, n_actions = tables.reward.shape[:2]
    policy = np.full((n_states, n_actions), 1 / n_actions)  # it ends wherever some policy ends, as gamma = 1 requires
    total = -np.inf
    while True:
        worth = _state_values(tables, policy, gamma)
        action_worth = _action_values(tables, worth, gamma)
        if worth.sum() <= total:  # every improvement raises the sum; what does not is rounding
            return action_worth[states(tables)]
        total, policy = worth.sum(), np.eye(n_actions)[action_worth.argmax(axis=1)]


def start_observations(tables: Tables) -> tuple[np.ndarray, np.ndarray]:
    """Return the observations that an episode can begin with, and their probabilities."""
    chance = probabilities(tables.start)[:, None] * probabilities(tables.emission)
    law = np.bincount(tables.observation.ravel(), weights=chance.ravel())
    codes = np.flatnonzero(law)
    return codes, law[codes]


def surely_ends(tables: Tables, policy: np.ndarray) -> bool:
    """True if an episode under this policy, (observations, actions), ends with probability 1."""
    _, onward, ends = _chain(tables, _on_states(tables, policy))
    visited = _closure(onward, probabilities(tables.start) > 0)
    return bool(_closure(onward.T, ends)[visited].all())


def checked_policy(tables: Tables, policy: np.ndarray) -> np.ndarray:
    """Return the policy, (observations, actions), with rows that sum to 1. Raise `PolicyError` where it is not one."""
    try:
        policy = numbers_of(policy)
    except PolicyError as error:
        raise PolicyError(f"the policy {error}") from None
    shape = (int(tables.observation.max()) + 1, tables.reward.shape[1])
    if policy.shape != shape:
        raise PolicyError(
            f"the policy has shape {policy.shape}, not {shape}: one row an observation, one column an action"
        )
    row = first_fault(policy)
    if row is not None:
        raise refusal(policy[row], row, fault_of(policy[row], shape[1]))
    return policy / policy.sum(axis=1)[:, None]


def states(tables: Tables) -> np.ndarray:
    """Return the state that emits each observation, (observations,). Raise `SettingError` if two states emit one."""
    state = np.arange(len(tables.observation))[:, None]
    owner = np.zeros(int(tables.observation.max()) + 1, dtype=np.int64)
    owner[tables.observation] = state
    shared = owner[tables.observation] != state
    if shared.any():
        raise SettingError(
            f"observation {tables.observation[shared][0]} is emitted by two states: it has no value of its own"
        )
    return owner


def probabilities(cumulated: np.ndarray) -> np.ndarray:
    """Return the probabilities that were cumulated along the last axis.

    >>> probabilities(np.array([0.25, 0.75, 1.0, 1.0])).tolist()
    [0.25, 0.5, 0.25, 0.0]
    """
    return np.diff(cumulated, axis=-1, prepend=0.0)


def _on_states(tables: Tables, policy: np.ndarray) -> np.ndarray:
    return np.einsum("se,sea->sa", probabilities(tables.emission), policy[tables.observation])


def _chain(tables: Tables, policy: np.ndarray) -> tuple[np.ndarray, csr_array, np.ndarray]:
    """Return mean rewards (S,), probabilities of going on to each state (S, S), and whether a step may end (S,)."""
    n_states = len(policy)
    chance = probabilities(tables.outcome) * policy[:, :, None]
    goes_on = (chance > 0) & ~tables.terminated
    onward = csr_array((chance[goes_on], (goes_on.nonzero()[0], tables.next_state[goes_on])), (n_states, n_states))
    return (chance * tables.reward).sum(axis=(1, 2)), onward, (chance * tables.terminated).any(axis=(1, 2))


def _state_values(tables: Tables, policy: np.ndarray, gamma: float) -> np.ndarray:
    if not 0 <= gamma <= 1:
        raise SettingError(f"gamma is {gamma}; it lies between 0 and 1")
    reward, onward, ends = _chain(tables, policy)
    if gamma == 1:
        endless = np.flatnonzero(~_closure(onward.T, ends))
        if len(endless):
            raise SettingError(
                f"with gamma = 1 this policy has no finite value: from {len(endless)} of {len(reward)} states, "
                f"such as {endless[0]}, it never ends; use gamma < 1"
            )
    return spsolve((eye_array(len(reward)) - gamma * onward).tocsc(), reward)


def _action_values(tables: Tables, worth: np.ndarray, gamma: float) -> np.ndarray:
    after = tables.reward + gamma * ~tables.terminated * worth[tables.next_state]
    return (probabilities(tables.outcome) * after).sum(axis=2)


def _closure(edges: csr_array, seeds: np.ndarray) -> np.ndarray:
    """Return a mask of the nodes that can be reached along edges, (from, to), from the seeds, seeds included."""
    reached, frontier = seeds.copy(), seeds
    while frontier.any():
        frontier = (frontier @ edges > 0) & ~reached
        reached |= frontier
    return reached
