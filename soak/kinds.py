"""What a kind of input offers to the part that damages inputs and reads them."""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np


class Made(NamedTuple):
    """What was done to an input, in words. A forged one is whole, so that it may be read as other values."""

    words: str
    forged: bool = True


class Kind(Protocol):
    """A kind of input: whole ones are prepared once, then each case damages one in a folder of its own and reads it."""

    name: str
    share: int
    """How many of a hundred inputs are of this kind, about."""

    sealed: bool
    """True for files with a digest of all that they hold: damage to them must be noticed."""

    def prepare(self, scratch: Path) -> None:
        """Make the whole inputs, in a folder that stays; called once, before processes are forked."""

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        """Write a damaged or forged input into an empty folder."""

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        """Read it, as a user would."""

    def same(self, value: Any) -> bool:
        """True if what was read is what the whole input holds, or where that cannot be told."""
