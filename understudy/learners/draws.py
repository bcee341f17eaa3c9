"""Draws from normal and beta distributions that are functions of a key: asking again gives the same number.

A learner that acts on a random draw, such as Thompson sampling, derives a key from the number of steps it has learned.
So its policy stays the same until it learns, as every policy must, and compiled and plain Python code draw alike.
"""

import math

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.contracts.streams import GAMMA, mix, uniform_at


@kernel
def key_at(key, position):
    """Return the key of a stream of its own for each position of the stream with this key."""
    return mix(key + np.uint64(position + 1) * GAMMA)


@kernel
def normal_at(key, position):
    """Return a standard normal number, from the two numbers of a stream that begin at `position` (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform_at(key, position)))
    return radius * math.cos(2.0 * math.pi * uniform_at(key, position + 1))


@kernel
def gamma_draw(key, shape):
    """Return a number of the gamma distribution with this shape and scale 1, from a stream (Marsaglia and Tsang).

    A shape below 1 is drawn with one more, and scaled by a power of a uniform number.
    """
    scale = 1.0
    if shape < 1.0:
        scale = (1.0 - uniform_at(key, 0)) ** (1.0 / shape)
        shape += 1.0
    center = shape - 1.0 / 3.0
    spread = 1.0 / math.sqrt(9.0 * center)
    position = 1
    while True:
        normal = normal_at(key, position)
        cube = (1.0 + spread * normal) ** 3
        if cube > 0.0:
            log_uniform = math.log(1.0 - uniform_at(key, position + 2))
            if log_uniform < 0.5 * normal * normal + center * (1.0 - cube + math.log(cube)):
                return scale * center * cube
        position += 3


@kernel
def beta_draw(key, successes, failures):
    """Return a number of the beta distribution with these two parameters, both above 0."""
    one, other = gamma_draw(key_at(key, 0), successes), gamma_draw(key_at(key, 1), failures)
    total = one + other
    return one / total if total > 0.0 else 0.5  # both are 0 only where both parameters are far below 1
