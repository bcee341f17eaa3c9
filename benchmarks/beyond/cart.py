"""Gymnasium's CartPole, compiled: real runs of Q-learning over boxes, and recordings.

Its observations never repeat. The learner sees boxes of them, those of Barto, Sutton and Anderson (1983); a log has the
four numbers.
"""

import numpy as np

import understudy as us
from understudy.contracts.compiling import allocating, kernel, routine
from understudy.contracts.streams import ACCEPTANCE, ENVIRONMENT, spawn, streams_of, uniform
from understudy.learners.tabular import update_value, write_epsilon_greedy

DEGREE = np.pi / 180
PLACE = np.array([-0.8, 0.8])
SPEED = np.array([-0.5, 0.5])
ANGLE = np.array([-6.0, -1.0, 0.0, 1.0, 6.0]) * DEGREE
TURNING = np.array([-50.0, 50.0]) * DEGREE
EDGES = (PLACE, SPEED, ANGLE, TURNING)
N_BOXES = 3 * 3 * 6 * 3
LIMIT = 500


def boxes() -> us.encoders.Boxes:
    """Return the learner's boxes of CartPole's observations, for observations as a log has them."""
    return us.encoders.Boxes(edges=[edges.tolist() for edges in EDGES])


@kernel
def reset(cart, streams):
    """Begin an episode: four numbers drawn uniformly from -.05 to .05."""
    for place in range(4):
        cart[place] = 0.1 * uniform(streams, ENVIRONMENT) - 0.05


@kernel
def push(cart, action):
    """Move the cart, (4,) place, speed, angle and turning, by one of Gymnasium's steps; return True where it fell."""
    force = 10.0 if action == 1 else -10.0
    sine, cosine = np.sin(cart[2]), np.cos(cart[2])
    swing = (force + 0.05 * cart[3] ** 2 * sine) / 1.1
    turning = (9.8 * sine - cosine * swing) / (0.5 * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1))
    speeding = swing - 0.05 * turning * cosine / 1.1
    cart[0] += 0.02 * cart[1]
    cart[1] += 0.02 * speeding
    cart[2] += 0.02 * cart[3]
    cart[3] += 0.02 * turning
    return abs(cart[0]) > 2.4 or abs(cart[2]) > 12 * DEGREE


@kernel
def bin_of(edges, value):
    """Return how many edges a value reaches."""
    found = 0
    for edge in edges:
        found += value >= edge
    return found


@kernel
def box_of(cart):
    """Return the learner's box of an observation, the first dimension counting fastest."""
    inner = bin_of(ANGLE, cart[2]) + 6 * bin_of(TURNING, cart[3])
    return bin_of(PLACE, cart[0]) + 3 * (bin_of(SPEED, cart[1]) + 3 * inner)


@routine
def learn_on_cart(values, streams, cart, policy, every, earned, finished):
    """Run Q-learning on CartPole; write what episodes that ended in each window earned, and how many there were."""
    reset(cart, streams)
    code, lasted = box_of(cart), 0
    for step in range(every * len(earned)):
        write_epsilon_greedy(values, code, policy)
        action = np.int64(uniform(streams, ACCEPTANCE) >= policy[0])
        fell = push(cart, action)
        then, lasted = box_of(cart), lasted + 1
        truncated = not fell and lasted == LIMIT
        update_value(values, code, action, 1.0, then, fell, truncated)
        code = then
        if fell or truncated:
            earned[step // every] += lasted
            finished[step // every] += 1
            reset(cart, streams)
            code, lasted = box_of(cart), 0


def true_curves(make, runs: int, seed: int, every: int, windows: int) -> np.ndarray:
    """Return the mean return of the episodes that ended in each window of each real run, (runs, windows)."""
    curves = np.empty((runs, windows))
    for number in range(runs):
        key = spawn(seed, number, ENVIRONMENT)
        earned, finished = np.zeros(windows), np.zeros(windows)
        learn_on_cart(make(key).arrays(), streams_of(key), np.zeros(4), np.zeros(2), every, earned, finished)
        curves[number] = earned / np.where(finished > 0, finished, np.nan)
    return curves


@allocating
def walk_cart(streams, soft, observation, following, action, terminated, truncated, lengths):
    """Fill a recording with as many episodes as `lengths` has places; return the number of rows."""
    cart, row = np.zeros(4), 0
    for episode in range(len(lengths)):
        reset(cart, streams)
        for step in range(LIMIT):
            observation[row] = cart
            right = soft / 2 + (1 - soft) * (cart[2] + 0.5 * cart[3] > 0)
            action[row] = uniform(streams, ACCEPTANCE) < right
            terminated[row] = push(cart, action[row])
            following[row] = cart
            row += 1
            if terminated[row - 1] or step + 1 == LIMIT:
                truncated[row - 1] = not terminated[row - 1]
                lengths[episode] = step + 1
                break
    return row


def record_cart(episodes: int, seed: int, soft: float) -> us.Log:
    """Return a log of the logger that pushes to the side the pole falls to, or, with probability `soft`, to any."""
    most = episodes * LIMIT
    vectors, codes, flags = np.empty((2, most, 4)), np.empty(most, np.int64), np.zeros((2, most), bool)
    lengths = np.zeros(episodes, np.int64)
    n = walk_cart(streams_of(spawn(seed, 1)), soft, *vectors, codes, *flags, lengths)
    observation, following = vectors[:, :n]
    right = soft / 2 + (1 - soft) * (observation[:, 2] + 0.5 * observation[:, 3] > 0)
    return us.Log.from_columns(
        observation=observation,
        next_observation=following,
        action=codes[:n],
        reward=np.ones(n),
        terminated=flags[0, :n],
        truncated=flags[1, :n],
        episode=np.repeat(np.arange(episodes), lengths),
        propensity=np.stack([1 - right, right], axis=1),
        n_actions=2,
    )
