"""What page and terminal say of runs on a ladder: how far they are exact, and how far to believe them beyond that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from understudy.evaluation import RungUse
from understudy.tables import Table
from understudy.trust import Beyond

MOST_NAMED = 3
"""Sets named in a title."""

SHARED_ERRORS = (
    "Halves of the log do not show every error that lower rungs make, since half a log and a whole one share some: "
    "beyond the exact step, that halves agree is not enough to believe it. us.beyond looks at more."
)


def rung_sentences(found: Mapping[str, RungUse], *, named: bool) -> list[str]:
    """Return how far each set of runs is exact, and what served it beyond that; with its name where it is asked for."""
    return [f"“{name}”: {one.sentence}" if named else one.sentence for name, one in found.items()]


def evidence_sentences(found: Mapping[str, Beyond], *, named: bool) -> list[str]:
    """Return the evidence for each set, with its name where it is asked for, and with what follows from it.

    What follows for a single set whose lower rungs gain something is the title of what is believed, not repeated here.
    """
    if not named:
        words = [line for one in found.values() for line in (*[one.sentence] * (not one.gains), *one.evidence)]
        return [_capital(f"{line}.") for line in words]
    return [f"“{name}”: {words}." for name, one in found.items() for words in (one.sentence, *one.evidence)]


@dataclass(frozen=True)
class LadderBlock:
    """What a page shows of a set of runs on a ladder: sentences, and a table of the evidence where it was looked at."""

    sentences: list[str]
    table: Table | None


def ladder_blocks(
    names: Iterable[str], found: Mapping[str, Beyond], notes: Mapping[str, str], *, named: bool
) -> list[LadderBlock]:
    """Return a block for each set of which something was found, or noted: which rungs its log does not support."""
    blocks = []
    for name in names:
        words = [notes[name]] if name in notes else []
        words += [found[name].sentence] if name in found else []
        if words:
            sentences = [f"“{name}”: {one}." if named else f"{_capital(one)}." for one in words]
            blocks.append(LadderBlock(sentences, found[name].to_table() if name in found else None))
    return blocks


def believed(found: Mapping[str, Beyond], others: Mapping[str, int], *, named: bool) -> str:
    """Return a title for runs on a ladder that evidence speaks for; `others` are horizons of other sets."""
    if not named:
        (one,) = found.values()
        return _capital(one.sentence)
    horizons = {name: one.steps for name, one in found.items()} | dict(others)
    return f"Believable up to step {_steps(horizons, named)}"


def agreed(exact: Mapping[str, int], halves: str, *, named: bool) -> str:
    """Return a title for runs on a ladder of which halves of the log agree past the exact step, up to `halves`."""
    return f"Exact up to step {_steps(exact, named)}; halves of the log agree up to step {halves}"


def _steps(horizons: Mapping[str, int], named: bool) -> str:
    shown = [f"{step:,}" + f" (“{name}”)" * named for name, step in horizons.items() if step or not named]
    return "; ".join(shown[:MOST_NAMED] + ["..."] * (len(shown) > MOST_NAMED))


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]
