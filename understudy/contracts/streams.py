"""Random streams: one small counter-based generator that compiled and plain Python code read alike.

The generator is SplitMix64: the n-th number of a stream is `mix(key + n * GAMMA)`. Its whole state is one `uint64`, so
kernels hold all streams of a seed in one array, and any number can be computed from its position.
"""

import operator

import numpy as np

from understudy.contracts.compiling import kernel

ORDER, ACCEPTANCE, LEARNER, ENVIRONMENT, OPENINGS = range(5)
"""The purposes of streams. Streams of one seed with different purposes are independent."""

MASK = (1 << 64) - 1
GAMMA = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
UNIT = 2.0**-53


@kernel
def mix(z):
    """Return 64 bits scrambled; different inputs give different outputs."""
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


@kernel
def uniform(streams, purpose):
    """Return the next number of a stream, in [0, 1)."""
    streams[purpose] += GAMMA
    return (mix(streams[purpose]) >> S11) * UNIT


@kernel
def uniform_at(key, position):
    """Return the number at a position of the stream with this key, in [0, 1); no stream changes."""
    return (mix(key + np.uint64(position + 1) * GAMMA) >> S11) * UNIT


@kernel
def below(streams, purpose, n):
    """Return the next number of a stream as an integer in [0, n)."""
    return np.int64(uniform(streams, purpose) * n)


def stream_key(seed: int, *tags: int) -> int:
    """Return the key of the stream of a seed and some tags: its state before the first number.

    >>> stream_key(0, ORDER) != stream_key(0, ACCEPTANCE) != stream_key(1, ACCEPTANCE)
    True
    """
    seed = operator.index(seed)  # NumPy's integers would overflow
    key, rest = _mix(seed & MASK), seed >> 64
    if rest:
        key = _mix((key + (rest & MASK) * int(GAMMA)) & MASK)
    for tag in tags:
        key = _mix((key + (tag + 1) * int(GAMMA)) & MASK)
    return key


def spawn(seed: int, *tags: int) -> int:
    """Return a seed for each combination of a seed and tags: 53 bits, which JSON holds exactly.

    >>> spawn(0, 1) == spawn(0, 1), spawn(0, 1) == spawn(0, 2)
    (True, False)
    """
    return stream_key(seed, *tags) >> 11


def streams_of(seed: int) -> np.ndarray:
    """Return the streams of a seed as kernels take them: one `uint64` for each purpose."""
    return np.array([stream_key(seed, purpose) for purpose in range(5)], dtype=np.uint64)


class Stream:
    """One stream, read from plain Python.

    >>> streams, plain = streams_of(3), Stream(3, ORDER)
    >>> [uniform(streams, ORDER) == plain.uniform() for _ in range(3)]
    [True, True, True]
    """

    def __init__(self, seed: int, *tags: int) -> None:
        self.cell = stream_key(seed, *tags)

    def uniform(self) -> float:
        """Return the next number, in [0, 1)."""
        self.cell = (self.cell + int(GAMMA)) & MASK
        return (_mix(self.cell) >> 11) * UNIT

    def below(self, n: int) -> int:
        """Return the next number as an integer in [0, n)."""
        return int(self.uniform() * n)


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * int(FIRST)) & MASK
    z = ((z ^ (z >> 27)) * int(SECOND)) & MASK
    return z ^ (z >> 31)
