"""The finite problems of the panel, written out as tables."""

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv
from scipy.stats import poisson

from understudy.contracts.finite_tables import Tables
from understudy.envs.grid_tables import cumulated

Outcome = tuple[float, int, float, bool]
"""Probability, next state, reward, whether the episode ends: what Gymnasium's toy problems list in `env.P`."""


def tables_of(start: np.ndarray, n_actions: int, outcomes: Callable[[int, int], Iterable[Outcome]]) -> Tables:
    """Return the tables of a problem whose state is what is observed; `outcomes(state, action)` lists what may follow.

    >>> both = tables_of(np.array([1.0, 0.0]), 1, lambda state, action: [(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)])
    >>> both.outcome[0, 0].tolist(), both.next_state[0, 0].tolist(), both.reward[0, 0].tolist()
    ([0.5, 1.0], [0, 1], [0.0, 1.0])
    """
    n_states = len(start)
    listed = {(s, a): list(outcomes(s, a)) for s, a in product(range(n_states), range(n_actions))}
    shape = (n_states, n_actions, max(map(len, listed.values())))
    chance, reward = np.zeros(shape), np.zeros(shape)
    next_state, terminated = np.zeros(shape, np.int32), np.zeros(shape, bool)
    for (state, action), rows in listed.items():
        at = (state, action, slice(len(rows)))
        chance[at], next_state[at], reward[at], terminated[at] = map(np.array, zip(*rows, strict=True))
    return Tables(
        start=cumulated(np.asarray(start, dtype=np.float64)),
        outcome=cumulated(chance),
        next_state=next_state,
        reward=reward,
        terminated=terminated,
        emission=np.ones((n_states, 1)),
        observation=np.arange(n_states, dtype=np.int32)[:, None],
    )


def frozen_lake() -> Tables:
    """Gymnasium's FrozenLake of 4 x 4 cells: a move goes one of three ways, holes end the episode, the goal pays 1."""
    return of_gymnasium(FrozenLakeEnv(map_name="4x4", is_slippery=True))


def cliff_walking() -> Tables:
    """Gymnasium's CliffWalking, slippery: 4 x 12 cells, -1 a step, -100 and back to the start from the cliff."""
    return of_gymnasium(CliffWalkingEnv(is_slippery=True))


def taxi() -> Tables:
    """Gymnasium's Taxi: 500 states, 6 actions, deterministic but for where an episode begins."""
    return of_gymnasium(TaxiEnv())


def of_gymnasium(env) -> Tables:
    """Return the tables of one of Gymnasium's toy problems, by its own `P`."""
    return tables_of(env.initial_state_distrib, int(env.action_space.n), lambda state, action: env.P[state][action])


CAPACITY, DEMAND, MOST_DEMAND = 20, 3.0, 12


def inventory() -> Tables:
    """Stock from 0 to 20, of which 0 to 5 are ordered at each step, and a Poisson demand of mean 3.

    What is ordered arrives before the demand. A unit that is left costs .1, one that is asked for and missing costs 1.
    """
    chance = poisson.pmf(np.arange(MOST_DEMAND + 1), DEMAND)
    chance[-1] += 1.0 - chance.sum()

    def outcomes(stock, order):
        offered = min(stock + order, CAPACITY)
        for demand, p in enumerate(chance):
            left, missing = max(offered - demand, 0), max(demand - offered, 0)
            yield p, left, -0.1 * left - 1.0 * missing, False

    return tables_of(np.ones(CAPACITY + 1), 6, outcomes)


PLACES, ARRIVAL, SERVICE = 10, 0.5, (0.42, 0.08)


def two_servers() -> Tables:
    """Customers join one of two lines of at most 9, or are sent away; the first server is five times as fast.

    At each step one thing happens: a customer comes and is sent where the action says (first line, second line, away),
    or a server is done with one, if it has any. Each customer in a line costs .05 a step, and one sent away, by choice
    or because the line is full, costs 1. State: first line + 10 * second line.
    """

    def outcomes(state, action):
        first, second = state % PLACES, state // PLACES
        cost = -0.05 * (first + second)
        joined = (first + (action == 0), second + (action == 1))
        full = action == 2 or max(joined) >= PLACES
        yield ARRIVAL, state if full else joined[0] + PLACES * joined[1], cost - full, False
        yield SERVICE[0], max(first - 1, 0) + PLACES * second, cost, False
        yield SERVICE[1], first + PLACES * max(second - 1, 0), cost, False

    start = np.zeros(PLACES * PLACES)
    start[0] = 1.0
    return tables_of(start, 3, outcomes)


SIDE, GAP = 20, (9, 10)
COMPASS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def navigation() -> Tables:
    """A square of 20 x 20 cells that a wall divides, but for a gap of two; from anywhere on the left to the top right.

    A move goes astray, to one of the four directions, in three of ten steps. Each step costs .01, and the goal, the
    2 x 2 cells at the top right, pays 1. Cell: column + 20 * row; the wall stands between columns 9 and 10.
    """

    def landing(cell, move):
        column, row = cell % SIDE + move[0], cell // SIDE + move[1]
        crosses = {cell % SIDE, column} == {9, 10} and row not in GAP
        outside = not (0 <= column < SIDE and 0 <= row < SIDE)
        return cell if crosses or outside else column + SIDE * row

    def outcomes(cell, action):
        for direction, move in enumerate(COMPASS):
            there = landing(cell, move)
            goal = min(there % SIDE, there // SIDE) >= SIDE - 2
            yield 0.7 * (direction == action) + 0.3 / 4, there, 1.0 if goal else -0.01, goal

    start = np.zeros((SIDE, SIDE))
    start[:, : SIDE // 2] = 1.0
    return tables_of(start.ravel(), 4, outcomes)


def position(n_cells: int = SIDE * SIDE) -> np.ndarray:
    """Return the middle of each cell of a square of the unit length, (cells, 2)."""
    side = round(n_cells**0.5)
    row, column = np.divmod(np.arange(n_cells), side)
    return (np.stack([column, row], axis=1) + 0.5) / side


LEVELS, KINDS, DOSES = 14, 50, 5


def treatment() -> Tables:
    """Patients of 700 states, 14 levels of illness by 50 kinds, and 25 actions, 5 doses of each of two medicines.

    At each step the level falls or rises by one or two, or stays, and the kind changes to one of four that follow it;
    the farther doses are from those that suit the kind, the likelier the level rises. An episode ends alive (reward 1)
    below the lowest level, dead (reward 0) above the highest, and in one of twelve steps either way, by a chance that
    depends on the level. So outcomes are noisy, each state and action is rare, and learning takes longer than a run.
    """
    rng = np.random.default_rng(7)
    suits = rng.integers(DOSES, size=(KINDS, 2))
    follows = rng.integers(KINDS, size=(KINDS, 4))
    likely = rng.dirichlet(np.full(4, 2.0), size=KINDS)

    def outcomes(state, action):
        level, kind = divmod(state, KINDS)
        away = np.abs(suits[kind] - np.divmod(action, DOSES)).sum() / (2 * (DOSES - 1))
        falls = 0.5 - 0.25 * away
        moves = {-2: 0.3 * falls, -1: 0.5 * falls, 0: 0.25 - 0.05 * falls, 1: 0.5 * (0.75 - falls)}
        moves[2] = 1.0 - sum(moves.values())
        alive = 1.0 - ((level + 1) / (LEVELS + 1)) ** 2
        yield alive / 12, state, 1.0, True
        yield (1.0 - alive) / 12, state, 0.0, True
        for move, p in moves.items():
            reached = level + move
            if not 0 <= reached < LEVELS:
                yield 11 / 12 * p, state, float(reached < 0), True
                continue
            for place, q in zip(follows[kind], likely[kind], strict=True):
                yield 11 / 12 * p * q, reached * KINDS + int(place), 0.0, False

    start = np.zeros((LEVELS, KINDS))
    start[4:9] = 1.0
    return tables_of(start.ravel(), DOSES * DOSES, outcomes)


WEAR, LOADS = 30, (0.5, 1.0, 2.0)


def maintenance() -> Tables:
    """A machine of 30 levels of wear under three loads: run on, service it (earns nothing), or replace it (costs 10).

    Running earns 1 and wears by a Poisson number whose mean is the load; the load stays in nine of ten steps. A machine
    fails with a probability that grows with its wear: that costs 60, and a new one is there at the next step. Service
    takes 8 levels off. State: wear + 30 * load.
    """
    wears = [poisson.pmf(np.arange(7), load) for load in LOADS]

    def outcomes(state, action):
        load, wear = divmod(state, WEAR)
        for then in range(len(LOADS)):
            stays = 0.85 * (then == load) + 0.05
            if action > 0:
                yield (
                    stays,
                    then * WEAR + (max(wear - 8, 0) if action == 1 else 0),
                    0.0 if action == 1 else -10.0,
                    False,
                )
                continue
            failing = 0.3 * wear / WEAR
            yield stays * failing, then * WEAR, -60.0, False
            for more, p in enumerate(wears[load] / wears[load].sum()):
                yield stays * (1.0 - failing) * p, then * WEAR + min(wear + more, WEAR - 1), 1.0, False

    start = np.zeros((len(LOADS), WEAR))
    start[:, 0] = 1.0
    return tables_of(start.ravel(), 3, outcomes)


PLACES_OF_CAR, SPEEDS_OF_CAR = np.linspace(-1.2, 0.6, 31), np.linspace(-0.07, 0.07, 17)


def hill_car() -> Tables:
    """A car too weak for the hill before it, as Gymnasium's MountainCar, on 31 places by 17 speeds; -1 a step.

    An action, back, idle or forth, is held for four of Gymnasium's steps; the place and speed that follow are rounded
    to one of the four points around them at random, so that their mean is kept. State: place + 31 * speed.
    """
    n_places, n_speeds = len(PLACES_OF_CAR), len(SPEEDS_OF_CAR)

    def around(points, value):
        at = (value - points[0]) / (points[1] - points[0])
        low = min(int(at), len(points) - 2)
        return (low, 1.0 - (at - low)), (low + 1, at - low)

    def outcomes(state, action):
        place, speed = PLACES_OF_CAR[state % n_places], SPEEDS_OF_CAR[state // n_places]
        for _ in range(4):
            speed = np.clip(speed + 0.001 * (action - 1) - 0.0025 * np.cos(3 * place), -0.07, 0.07)
            place = np.clip(place + speed, -1.2, 0.6)
            speed = 0.0 if place == -1.2 and speed < 0 else speed
            if place >= 0.5:
                return [(1.0, state, -1.0, True)]
        corners = product(around(PLACES_OF_CAR, place), around(SPEEDS_OF_CAR, speed))
        return [(p * q, x + n_places * v, -1.0, False) for (x, p), (v, q) in corners]

    start = np.zeros((n_speeds, n_places))
    start[n_speeds // 2] = np.abs(PLACES_OF_CAR + 0.5) < 0.11
    return tables_of(start.ravel(), 3, outcomes)


def place_and_speed() -> np.ndarray:
    """Return what is shown of each state of `hill_car`, each number from 0 to 1."""
    speed, place = np.divmod(np.arange(len(PLACES_OF_CAR) * len(SPEEDS_OF_CAR)), len(PLACES_OF_CAR))
    return np.stack([place / (len(PLACES_OF_CAR) - 1), speed / (len(SPEEDS_OF_CAR) - 1)], axis=1)


def stock() -> np.ndarray:
    """Return what is shown of each state of `inventory`."""
    return np.arange(CAPACITY + 1.0)[:, None]


def lines() -> np.ndarray:
    """Return what is shown of each state of `two_servers`: how long both lines are."""
    second, first = np.divmod(np.arange(PLACES * PLACES), PLACES)
    return np.stack([first, second], axis=1).astype(float)


def wear_and_load() -> np.ndarray:
    """Return what is shown of each state of `maintenance`."""
    load, wear = np.divmod(np.arange(len(LOADS) * WEAR), WEAR)
    return np.stack([wear, load], axis=1).astype(float)
