"""Three relaxations of exact replay that know no limit, beside which ladders are shown: each is wrong somewhere.

All of them serve the oldest unused row of the own state and the drawn action, as QBE does. Where there is none:
`reuse` serves any of the own rows again, drawn with replacement, and stops where the action was never tried there;
`nearest` serves the unused row with the drawn action whose observation is the nearest; `any` serves the oldest unused
row with the drawn action, whatever its state. They are compiled with Q-learning, and are no part of the library.
"""

from typing import NamedTuple

import numpy as np

import understudy as us
from benchmarks.beyond.worlds import CartWorld, FiniteWorld, PointWorld
from understudy.contracts.compiling import kernel, routine
from understudy.contracts.streams import ACCEPTANCE, ENVIRONMENT, OPENINGS, ORDER, below, spawn, streams_of, uniform
from understudy.learners.tabular import update_value, write_epsilon_greedy
from understudy.simulators.kernels.draws import draw_action

REUSE, NEAREST, ANY = range(3)
RELAXATIONS = {"reuse": REUSE, "nearest": NEAREST, "any": ANY}
NONE = -1
NEVER = 1 << 62


class Rows(NamedTuple):
    """A log as the relaxations read it. Places are observations, in units of the spread of each number."""

    state: np.ndarray  # (N,) int64
    reward: np.ndarray  # (N,)
    terminated: np.ndarray  # (N,)
    next_state: np.ndarray  # (N,) int64; -1 where an observation has no rows of its own
    code: np.ndarray  # (N,) int32: the learner's code of the next observation
    there: np.ndarray  # (N, d): the place of the next observation
    opening_state: np.ndarray  # (episodes,) int64
    opening_code: np.ndarray  # (episodes,) int32
    opening: np.ndarray  # (episodes, d): its place
    middle: np.ndarray  # (S, d): the mean place of a state's rows
    by_first: np.ndarray  # (S,): states in the order of the first number of `middle`


class Queues(NamedTuple):
    """The rows of one run in the order of its permuted episodes, and what is left of them."""

    first: np.ndarray  # (S * A + 1,): where the queue of each state and action begins in `rows`
    rows: np.ndarray  # (N,): row numbers, queue after queue
    taken: np.ndarray  # (S * A,): how many rows of a queue were served
    begins: np.ndarray  # (A + 1,): where the rows with each action begin in `ordered`
    ordered: np.ndarray  # (N,): row numbers, action after action
    oldest: np.ndarray  # (A,): before this place in `ordered` all rows with an action were served
    used: np.ndarray  # (N,) bool


def rows_of(log: us.Log, world: FiniteWorld | PointWorld | CartWorld) -> Rows:
    """Return the rows of a log of a world."""
    codes = world.codes.encode if world.codes else np.asarray
    if isinstance(world, CartWorld):  # each observation is a state by itself
        state = np.arange(len(log))
        next_state = np.where(np.append(np.diff(log.episode), 1) == 0, state + 1, NONE)
    else:
        encode = world.encoder.encode if world.encoder else codes
        state, next_state = encode(log.observation), encode(log.next_observation)
    here, there = (np.asarray(x, float).reshape(len(log), -1) for x in (log.observation, log.next_observation))
    spread = here.std(axis=0)
    n_rows = np.bincount(state, minlength=1 + max(state.max(), next_state.max()))
    sums = np.stack([np.bincount(state, column, len(n_rows)) for column in (here / spread).T], axis=1)
    middle = sums / np.maximum(n_rows, 1)[:, None]
    starts = log.starts[:-1]
    return Rows(
        state=state.astype(np.int64),
        reward=log.reward.astype(float),
        terminated=log.terminated,
        next_state=next_state.astype(np.int64),
        code=codes(log.next_observation).astype(np.int32),
        there=there / spread,
        opening_state=state[starts].astype(np.int64),
        opening_code=codes(log.observation[starts]).astype(np.int32),
        opening=here[starts] / spread,
        middle=middle,
        by_first=middle[:, 0].argsort(),
    )


def queues_of(log: us.Log, rows: Rows, n_actions: int, seed: int) -> Queues:
    """Return the queues of one run: whole episodes are permuted, and rows are first in first out."""
    place = np.random.default_rng(spawn(seed, ORDER)).permutation(len(log.starts) - 1)
    tape = np.argsort(np.repeat(place, np.diff(log.starts)), kind="stable")
    n_queues = len(rows.middle) * n_actions
    queue = (rows.state * n_actions + log.action)[tape]
    ends, ends_of_action = np.bincount(queue, minlength=n_queues).cumsum(), np.bincount(log.action).cumsum()
    return Queues(
        first=np.concatenate([[0], ends]),
        rows=tape[np.argsort(queue, kind="stable")],
        taken=np.zeros(n_queues, np.int64),
        begins=np.concatenate([[0], ends_of_action]),
        ordered=tape[np.argsort(log.action[tape], kind="stable")],
        oldest=np.concatenate([[0], ends_of_action[:-1]]),
        used=np.zeros(len(log), bool),
    )


@kernel
def oldest_lender(rows, queues, action):
    """Return the state of the oldest unused row with an action; -1 for none."""
    end = queues.begins[action + 1]
    while queues.oldest[action] < end and queues.used[queues.ordered[queues.oldest[action]]]:
        queues.oldest[action] += 1
    return rows.state[queues.ordered[queues.oldest[action]]] if queues.oldest[action] < end else NONE


@kernel
def nearest_lender(rows, queues, action, place):
    """Return the state nearest to a place of those that have an unused row with an action; -1 for none.

    States are looked at from the closest in the first number on, and no further than the nearest that was found.
    """
    found, least, n_actions, n_states = NONE, np.inf, len(queues.oldest), len(rows.middle)
    low, high = 0, n_states  # the first state, by the first number, that is not below the place
    while low < high:
        half = (low + high) // 2
        if rows.middle[rows.by_first[half], 0] < place[0]:
            low = half + 1
        else:
            high = half
    low -= 1
    while low >= 0 or high < n_states:
        down = place[0] - rows.middle[rows.by_first[low], 0] if low >= 0 else np.inf
        up = rows.middle[rows.by_first[high], 0] - place[0] if high < n_states else np.inf
        if min(down, up) ** 2 >= least:
            break
        if down <= up:
            state, low = rows.by_first[low], low - 1
        else:
            state, high = rows.by_first[high], high + 1
        queue = state * n_actions + action
        if queues.first[queue] + queues.taken[queue] < queues.first[queue + 1]:
            distance = 0.0
            for column in range(len(place)):
                distance += (rows.middle[state, column] - place[column]) ** 2
            if distance < least:
                found, least = state, distance
    return found


@kernel
def take(rows, queues, state, action, place, relaxation, streams):
    """Return the row to be served: the oldest of the own queue, else by the relaxation; -1 where there is none."""
    n_actions = len(queues.oldest)
    queue = state * n_actions + action
    if state == NONE or queues.first[queue] + queues.taken[queue] == queues.first[queue + 1]:
        if relaxation == REUSE:
            tried = 0 if state == NONE else queues.first[queue + 1] - queues.first[queue]
            return queues.rows[queues.first[queue] + below(streams, ENVIRONMENT, tried)] if tried else NONE
        nearest = relaxation == NEAREST
        state = nearest_lender(rows, queues, action, place) if nearest else oldest_lender(rows, queues, action)
        if state == NONE:
            return NONE
        queue = state * n_actions + action
    row = queues.rows[queues.first[queue] + queues.taken[queue]]
    queues.taken[queue] += 1
    queues.used[row] = True
    return row


@kernel
def move(place, places, line):
    """Copy one of several places."""
    for column in range(len(place)):
        place[column] = places[line, column]


@routine
def learn_relaxed(values, rows, queues, streams, place, policy, relaxation, limit, every, earned, finished):
    """Run Q-learning until no row is found or all windows are over; return the number of steps."""
    over, lasted, returned, state, code = True, 0, 0.0, np.int64(NONE), np.int32(0)
    for step in range(every * len(earned)):
        if over:  # openings are drawn with replacement, so that they end no run
            episode = below(streams, OPENINGS, len(rows.opening_state))
            state, code = rows.opening_state[episode], rows.opening_code[episode]
            move(place, rows.opening, episode)
            over, lasted, returned = False, 0, 0.0
        write_epsilon_greedy(values, code, policy)
        action = draw_action(policy, uniform(streams, ACCEPTANCE))
        row = take(rows, queues, state, action, place, relaxation, streams)
        if row == NONE:
            return step
        lasted, returned = lasted + 1, returned + rows.reward[row]
        truncated = not rows.terminated[row] and lasted == limit
        update_value(values, code, action, rows.reward[row], rows.code[row], rows.terminated[row], truncated)
        state, code = rows.next_state[row], rows.code[row]
        move(place, rows.there, row)
        over = rows.terminated[row] or truncated
        if over:
            earned[step // every] += returned
            finished[step // every] += 1
    return every * len(earned)


def relaxed_curves(
    problem, log: us.Log, relaxation: str, runs: int, seed: int, every: int, windows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the curve of each run, (runs, windows), NaN after it stopped, and how many steps each had."""
    rows = rows_of(log, problem.world)
    curves, lengths = np.full((runs, windows), np.nan), np.zeros(runs, np.int64)
    for number in range(runs):
        key = spawn(seed, number, RELAXATIONS[relaxation])
        queues = queues_of(log, rows, problem.world.n_actions, key)
        earned, finished = np.zeros(windows), np.zeros(windows)
        lengths[number] = learn_relaxed(
            problem.make(key).arrays(), rows, queues, streams_of(key), np.zeros(rows.middle.shape[1]),
            np.zeros(problem.world.n_actions), RELAXATIONS[relaxation], problem.world.limit or NEVER, every,
            earned, finished,
        )  # fmt: skip
        whole = (np.arange(1, windows + 1) * every <= lengths[number]) & (finished > 0)
        curves[number, whole] = earned[whole] / finished[whole]
    return curves, lengths
