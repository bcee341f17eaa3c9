"""Off-policy estimates of final policies, beside what the rehearsal earned."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from understudy.digits import between, digits
from understudy.evaluation import LearnedPolicy
from understudy.reporting.measurements import Measurements
from understudy.tables import Table


@dataclass(frozen=True)
class Block:
    """What a page shows of the off-policy estimates of one set of runs."""

    sentence: str
    table: Table


def blocks_of(measured: Measurements, found: Mapping[str, LearnedPolicy] | None) -> list[Block]:
    """Return a block for each set of runs that has estimates, in the order of the sets."""
    finished, given = measured.finished, {str(name): one for name, one in (found or {}).items()}
    blocks = []
    for name in finished:
        if (one := given.get(name)) is not None:
            whose = f"“{name}”: " if len(finished) > 1 else ""
            sentence = f"{whose}{one.sentence}." if whose else f"{one.sentence[0].upper()}{one.sentence[1:]}."
            blocks.append(Block(sentence, with_rehearsal(one)))
    return blocks


def with_rehearsal(found: LearnedPolicy) -> Table:
    """Return the table of estimates with a last line for what an episode earned at the end of the rehearsals."""
    table = found.estimates.table()
    if found.rehearsed != found.rehearsed:  # NaN: no rehearsal had an end
        return table
    width = 1.96 * found.error
    interval = between(found.rehearsed - width, found.rehearsed + width, 4)
    return replace(table, rows=(*table.rows, ("rehearsal, at its end", digits(found.rehearsed, 4), interval, "")))
