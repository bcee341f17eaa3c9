"""Hashes of a log: of all that it holds, and of what does not depend on how its observations are coded."""

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from understudy.logs.repeated_rows import blocks_of

if TYPE_CHECKING:
    from understudy.logs.log import Log

OBSERVED = ("observation", "next_observation")


def fingerprint_of(log: "Log") -> str:
    """Return a hash of all columns, the labels of actions and the coding of observations."""
    coding = [] if log.spec.coding is None else [json.dumps(log.spec.coding.to_json())]
    return _digest(log, coding, log.columns)


def content_of(log: "Log") -> str:
    """Return a hash of all columns but the observations, and of the labels of actions.

    The same rows have it in common, whether their observations are codes, columns of 0 and 1, or other columns of the
    file: episodes, what was done in each row, how likely it was and what it earned. Simulators that go by states have a
    fingerprint of these beside it.
    """
    return _digest(log, [], [name for name in log.columns if name not in OBSERVED])


def _digest(log: "Log", texts: Iterable[str], columns: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for text in (json.dumps([log.spec.n_actions, log.spec.actions]), *texts):
        digest.update(text.encode())
    for name in columns:
        column = log.columns[name]
        digest.update(f"{name} {column.dtype.str} {column.shape}".encode())
        for block in blocks_of(column):
            digest.update(np.ascontiguousarray(block).data.cast("B"))
    return digest.hexdigest()
