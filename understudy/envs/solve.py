"""Exact values of a finite problem, from its tables."""

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import spsolve

from understudy.contracts.tables import Tables
from understudy.errors import PolicyError
from understudy.logs.policies import numbers_of


def values(tables: Tables, policy: np.ndarray, gamma: float) -> np.ndarray:
    """What each observation is worth under a policy, (observations,); terminal ones are worth 0.

    The policy, (observations, actions), acts on observations. What follows depends on the state alone, so the linear
    system is solved on states, with the policy averaged over what a state shows.
    """
    policy = checked_policy(tables, policy)
    worth = _state_values(tables, _on_states(tables, policy), gamma)
    return (policy * _action_values(tables, worth, gamma)[states(tables)]).sum(axis=1)


def optimal(tables: Tables, gamma: float) -> np.ndarray:
    """The optimal value of each action at each observation, (observations, actions), by policy iteration."""
    n_states, n_actions = tables.reward.shape[:2]
    policy = np.full((n_states, n_actions), 1 / n_actions)  # ends wherever some policy does, as gamma = 1 requires
    total = -np.inf
    while True:
        worth = _state_values(tables, policy, gamma)
        action_worth = _action_values(tables, worth, gamma)
        if worth.sum() <= total:  # each improvement raises the sum, until rounding is all that is left
            return action_worth[states(tables)]
        total, policy = worth.sum(), np.eye(n_actions)[action_worth.argmax(axis=1)]


def start_observations(tables: Tables) -> tuple[np.ndarray, np.ndarray]:
    """The observations an episode can begin with, and their probabilities."""
    chance = probabilities(tables.start)[:, None] * probabilities(tables.emission)
    law = np.bincount(tables.observation.ravel(), weights=chance.ravel())
    codes = np.flatnonzero(law)
    return codes, law[codes]


def surely_ends(tables: Tables, policy: np.ndarray) -> bool:
    """Whether an episode under this policy, (observations, actions), ends with probability 1."""
    _, onward, ends = _chain(tables, _on_states(tables, policy))
    visited = _closure(onward, probabilities(tables.start) > 0)
    return bool(_closure(onward.T, ends)[visited].all())


def checked_policy(tables: Tables, policy: np.ndarray) -> np.ndarray:
    """The policy as float64 that sums to 1 in every row. Raises `PolicyError` where it is none."""
    try:
        policy = numbers_of(policy)
    except PolicyError as error:
        raise PolicyError(f"the policy {error}") from None
    shape = (int(tables.observation.max()) + 1, tables.reward.shape[1])
    if policy.shape != shape:
        raise PolicyError(
            f"the policy has shape {policy.shape}, not {shape}: one row an observation, one column an action"
        )
    total = policy.sum(axis=1)
    wrong = np.flatnonzero(~((policy >= 0).all(axis=1) & (np.abs(total - 1) <= 1e-5)))
    if len(wrong):
        raise PolicyError(f"the policy at observation {wrong[0]} is {policy[wrong[0]].tolist()}, not a distribution")
    return policy / total[:, None]


def states(tables: Tables) -> np.ndarray:
    """The state that shows each observation, (observations,)."""
    state = np.arange(len(tables.observation))[:, None]
    owner = np.zeros(int(tables.observation.max()) + 1, dtype=np.int64)
    owner[tables.observation] = state
    shared = owner[tables.observation] != state
    if shared.any():
        raise ValueError(
            f"observation {tables.observation[shared][0]} is shown by two states: it has no value of its own"
        )
    return owner


def probabilities(cumulated: np.ndarray) -> np.ndarray:
    """What was cumulated along the last axis.

    >>> probabilities(np.array([0.25, 0.75, 1.0, 1.0])).tolist()
    [0.25, 0.5, 0.25, 0.0]
    """
    return np.diff(cumulated, axis=-1, prepend=0.0)


def _on_states(tables: Tables, policy: np.ndarray) -> np.ndarray:
    return np.einsum("se,sea->sa", probabilities(tables.emission), policy[tables.observation])


def _chain(tables: Tables, policy: np.ndarray) -> tuple[np.ndarray, csr_array, np.ndarray]:
    """Mean reward (S,), probability of going on to each state (S, S), and whether a step may end it (S,)."""
    n_states = len(policy)
    chance = probabilities(tables.outcome) * policy[:, :, None]
    goes_on = (chance > 0) & ~tables.terminated
    onward = csr_array((chance[goes_on], (goes_on.nonzero()[0], tables.next_state[goes_on])), (n_states, n_states))
    return (chance * tables.reward).sum(axis=(1, 2)), onward, (chance * tables.terminated).any(axis=(1, 2))


def _state_values(tables: Tables, policy: np.ndarray, gamma: float) -> np.ndarray:
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma is {gamma}; it lies between 0 and 1")
    reward, onward, ends = _chain(tables, policy)
    if gamma == 1:
        endless = np.flatnonzero(~_closure(onward.T, ends))
        if len(endless):
            raise ValueError(
                f"with gamma = 1 this policy has no finite value: from {len(endless)} of {len(reward)} states, "
                f"such as {endless[0]}, it never ends; use gamma < 1"
            )
    return spsolve((eye_array(len(reward)) - gamma * onward).tocsc(), reward)


def _action_values(tables: Tables, worth: np.ndarray, gamma: float) -> np.ndarray:
    after = tables.reward + gamma * ~tables.terminated * worth[tables.next_state]
    return (probabilities(tables.outcome) * after).sum(axis=2)


def _closure(edges: csr_array, seeds: np.ndarray) -> np.ndarray:
    """The nodes that can be reached along edges, (from, to), from the seeds, which are among them."""
    reached, frontier = seeds.copy(), seeds
    while frontier.any():
        frontier = (frontier @ edges > 0) & ~reached
        reached |= frontier
    return reached
