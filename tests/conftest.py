"""Damage to files, for tests that no file is misread: every damaged one is refused, or reads as it was."""

import numpy as np
import pytest

ODD = [b"\0", b"\xff", b"-1", b"1e400", b"null", b"[", b"{", b'"', b"\xed\xa0\x80", b"9" * 30, b"NaN", b"\n", b","]


def mutated(content, rng):
    """The bytes with one to four random changes: bits, bytes, odd words, pieces lost, doubled, moved or cut off."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        at, other = sorted(rng.integers(0, len(content) + 1, 2).tolist())
        kind = rng.integers(8)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << int(rng.integers(8))
        elif kind == 1 and at < len(content):
            content[at] = int(rng.integers(256))
        elif kind == 2:
            content[at:at] = ODD[rng.integers(len(ODD))]
        elif kind == 3:
            word = ODD[rng.integers(len(ODD))]
            content[at : at + len(word)] = word
        elif kind == 4:
            del content[at : min(other, at + 64)]
        elif kind == 5:
            content[at:at] = content[at : min(other, at + 64)]
        elif kind == 6:
            piece = content[at : min(other, at + 64)]
            del content[at : min(other, at + 64)]
            place = int(rng.integers(0, len(content) + 1))
            content[place:place] = piece
        elif kind == 7 and rng.integers(4) == 0:
            del content[other:]
    return bytes(content)


@pytest.fixture
def damage():
    """`damage(content, count, seed)`: so many damaged versions of these bytes, the same for the same seed."""

    def versions(content, count, seed=0):
        rng = np.random.default_rng(seed)
        return (mutated(content, rng) for _ in range(count))

    return versions
