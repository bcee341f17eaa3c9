"""What running an item returns: pictures, tables, numbers beside the paper's, and the paper's claims with verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Columns = Mapping[str, Sequence[Any]]
"""A table by columns, all of one length: numbers, text, or None."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, and the table it was drawn from."""

    name: str  # of its files
    caption: str
    figure: Any  # matplotlib's
    columns: Columns


@dataclass(frozen=True, eq=False)
class ItemTable:
    """A table that is shown on the page."""

    name: str  # of its file
    caption: str
    columns: Columns


@dataclass(frozen=True)
class PaperValue:
    """A number of the paper beside ours."""

    what: str
    paper: float | str | None  # None: the paper shows it without a number
    ours: float | str
    floor: float | None = None  # what an exact simulator would show
    interval: tuple[float, float] | None = None  # 95%
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim and its verdict, which is computed from the runs."""

    text: str
    holds: bool | None  # None: the runs cannot tell
    evidence: str
    ours: bool = False  # a claim that the paper does not make

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.holds is None:
            return "Undecided"
        if self.ours:
            return "Holds (ours)" if self.holds else "Does not hold (ours)"
        return "Reproduces" if self.holds else "Does not reproduce"


@dataclass(frozen=True, eq=False)
class Item:
    """The results of an item, in the order of the page."""

    about: str  # what was run, in a few sentences
    claims: Sequence[Claim] = ()
    comparisons: Sequence[PaperValue] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[ItemTable] = ()
