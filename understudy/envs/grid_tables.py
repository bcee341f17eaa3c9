"""A grid written out as tables: its cells, where actions lead, and the rewards."""

import numpy as np

from understudy.contracts.finite_tables import Tables
from understudy.errors import SettingError

STAY, UP, RIGHT, DOWN, LEFT = range(5)
MOVES = np.array([(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)])
"""What each action adds to (column, row)."""

GOAL_REWARD, STEP_REWARD = 1.0, -0.1


def neighbors(size: int) -> np.ndarray:
    """Return the cell that each action leads to, (cells, actions); one out of bounds stays.

    A cell is `column + size * row`.

    >>> neighbors(2).tolist()
    [[0, 2, 1, 0, 0], [1, 3, 1, 1, 0], [2, 2, 3, 0, 2], [3, 3, 3, 1, 2]]
    """
    cell = np.arange(size * size)
    column = np.clip(cell[:, None] % size + MOVES[:, 0], 0, size - 1)
    row = np.clip(cell[:, None] // size + MOVES[:, 1], 0, size - 1)
    return column + size * row


def rewards(cells: np.ndarray, size: int) -> np.ndarray:
    """Return the reward of a step that reaches each of these cells."""
    return np.where(np.asarray(cells) == size * size - 1, GOAL_REWARD, STEP_REWARD)


def cumulated(probability: np.ndarray) -> np.ndarray:
    """Return probabilities cumulated along the last axis, exactly 1 from the last positive one on.

    >>> cumulated(np.array([0.7, 0.2, 0.1, 0.0]))[-2:].tolist()
    [1.0, 1.0]
    """
    total = np.cumsum(probability, axis=-1, dtype=np.float64)
    return total / total[..., -1:]


def grid_tables(size: int, slip: float, following: np.ndarray, opening: np.ndarray, n_emissions: int = 1) -> Tables:
    """Return the tables of a grid whose state is a cell and a context: `cell + cells * context`.

    `following`, (contexts, actions), is the context after each action; `opening`, (contexts,), has the probabilities
    of the first one. Every state emits `n_emissions` equally likely observations, the e-th being `state + states * e`.
    With probability `slip` an action is replaced by one drawn uniformly from all of them.
    """
    if size < 2:
        raise SettingError(f"size is {size}; a grid with a start and a goal needs at least 2")
    if not 0 <= slip <= 1:
        raise SettingError(f"slip is {slip}; it is a probability, between 0 and 1")
    carried_out, chance = _slips(slip, len(MOVES))
    n_cells, n_states = size * size, size * size * len(following)
    state = np.arange(n_states)[:, None, None]
    cell, context = state % n_cells, state // n_cells

    landing = neighbors(size)[:, carried_out]
    next_state = landing[cell[:, 0, 0]] + n_cells * following[context[:, 0, 0]][:, :, None]
    over = cell == n_cells - 1  # an episode never acts from a goal; any step there would end at once with reward 0
    start = np.zeros(n_states)
    start[::n_cells] = opening
    return Tables(
        start=cumulated(start),
        outcome=np.tile(cumulated(chance), (n_states, 1, 1)),
        next_state=np.where(over, state, next_state).astype(np.int32),
        reward=np.where(over, 0.0, rewards(next_state % n_cells, size)),
        terminated=over | (next_state % n_cells == n_cells - 1),
        emission=cumulated(np.ones((n_states, n_emissions))),
        observation=(np.arange(n_states)[:, None] + n_states * np.arange(n_emissions)).astype(np.int32),
    )


def _slips(slip: float, n_actions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the actions that may be carried out for each chosen one, and their probabilities, (actions, outcomes)."""
    if slip == 0:
        return np.arange(n_actions)[:, None], np.ones((n_actions, 1))
    carried_out = np.tile(np.arange(n_actions), (n_actions, 1))
    return carried_out, (1 - slip) * np.eye(n_actions) + slip / n_actions
