"""Figure 4, left, and Figure 7: where the log has been, the true cells, and the states that encoders make of points."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paper import continuous_grid
from paper.continuous_grid import FORWARD, HOMER
from paper.items import Claim, Columns, Item, ItemTable, PaperValue, Picture
from paper.maps import state_maps
from paper.verdicts import listed
from paper.workspace import Workspace

TITLE = "What encoders make of continuous observations (Figures 4, left, and 7)"

PUBLISHED = {"capacity": 50, "states": 20, "rows in a state of their cell": 83.7}
"""The paper's network: capacity and states in use are in its text; the last number is of the published network."""

FINENESS = 60  # points of a map along the side of a cell
GOOD_PART = 0.05  # the share of a state's or a cell's rows from which a merge or a split counts


def run(workspace: Workspace) -> Item:
    """Encode the log with each encoder, and compare its states with the true cells."""
    ready = continuous_grid.prepare(workspace)
    cell = ready.env.latent(ready.log.observation)
    n_cells = ready.env.grid.n_cells
    shares = np.bincount(cell, minlength=n_cells) / len(cell)
    learned = {name: ready.encoders[name] for name in (HOMER, FORWARD)}
    counts = {
        name: counts_of(encoder.encode(ready.log.observation), cell, n_cells) for name, encoder in learned.items()
    }
    found = {name: Match.of(table) for name, table in counts.items()}
    maps = {f"{name}'s states": lattice(ready.env, encoder) for name, encoder in learned.items()}
    odd = {f"{name}'s states": one.odd for name, one in found.items()}
    return Item(
        about=(
            f"A log of {len(ready.log):,} rows of the uniform policy; each encoder is trained on it once and told "
            "nothing of cells. Homer is the paper's, "
            f"{'the best of a search' if workspace.search else 'as it chose it'}; Forward is ours. A row is right "
            "where its cell is the one that most rows of its state are in."
        ),
        claims=[
            *imperfect(found[HOMER], learned[HOMER].n_states),
            apart(found[HOMER], ready.env.size),
            Claim(
                "States that are the true cells can be learned from the log alone: Forward's.",
                found[FORWARD].right > 0.99 and not found[FORWARD].merged,
                told(FORWARD, found[FORWARD]),
                ours=True,
            ),
            concentrated(shares, ready.env.size),
        ],
        comparisons=[
            comparison
            for name, one in found.items()
            for comparison in (
                PaperValue(f"{name}, states in use", papers(name, "states"), one.n_states),
                PaperValue(f"{name}, cells that are most of some state, of {n_cells - 1}", None, one.n_cells),
                PaperValue(
                    f"{name}, rows in a state of their cell, %",
                    papers(name, "rows in a state of their cell"),
                    100 * one.right,
                    note="the paper's: of its published network, by our measure" if name == HOMER else "",
                ),
            )
        ],
        pictures=[
            Picture(
                "states",
                "Figure 7: left, the share of the log's rows in each true cell; then the states of the learned "
                "encoders, by number. Gray: one state for one cell. Outlined in color: states that combine cells, "
                "whose number stands in each of them, or that divide one. No row leaves from the goal.",
                state_maps(shares, maps, odd, ready.env.size),
                map_columns(shares, counts),
            )
        ],
        tables=[
            ItemTable("states-to-cells", "Each learned state, and the cells its rows are in.", states_table(counts)),
            *searched(learned[HOMER]),
        ],
    )  # fmt: skip


def concentrated(shares: np.ndarray, size: int) -> Claim:
    """The log has more rows of a cell the nearer it is to the start."""
    from scipy import stats

    rows, columns = np.divmod(np.arange(len(shares) - 1), size)  # no row leaves from the goal
    correlation = float(stats.spearmanr(rows + columns, shares[:-1]).statistic)
    return Claim(
        "“State visitation in the logged dataset is more concentrated towards the lower left region around the "
        "starting state, and less frequent towards the upper right region around the goal cell” (appendix B.3).",
        correlation < -0.5,
        f"The rank correlation of a cell's share of rows with its distance from the start is {correlation:.2f}; the "
        f"shares are {shares[0]:.1%} at the start and {shares[-2]:.1%} beside the goal.",
    )


def searched(homer: Any) -> list[ItemTable]:
    """Return the table of what a search tried, the best first; none without a search."""
    attempts = [attempt._asdict() for attempt in homer.searched]
    if not attempts:
        return []
    columns = {name: [attempt[name] for attempt in attempts] for name in attempts[0] if name != "seconds"}
    return [ItemTable("search", "The encoder search: loss on the rows held out, the best first.", columns)]


def papers(name: str, what: str) -> float | None:
    """Return the paper's number for Homer, and None for other encoders."""
    return PUBLISHED[what] if name == HOMER else None


def counts_of(state: np.ndarray, cell: np.ndarray, n_cells: int) -> np.ndarray:
    """Return the number of rows in each state and cell, (states, cells)."""
    counts = np.zeros((int(state.max()) + 1, n_cells), np.int64)
    np.add.at(counts, (state[state >= 0], cell[state >= 0]), 1)
    return counts


class Match:
    """How states match cells, from counts of rows."""

    def __init__(self, n_states: int, n_cells: int, right: float, merged: list[Any], split: list[Any]) -> None:
        self.n_states, self.n_cells, self.right, self.merged, self.split = n_states, n_cells, right, merged, split

    @classmethod
    def of(cls, counts: np.ndarray) -> "Match":
        """Return the match of counts of rows; parts below `GOOD_PART` do not count as merged or split."""
        used = counts[counts.any(axis=1)]
        of_state = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
        of_cell = counts / np.maximum(1, counts.sum(axis=0))
        good = (of_state >= GOOD_PART) & (of_cell >= GOOD_PART)
        return cls(
            n_states=len(used),
            n_cells=len(np.unique(used.argmax(axis=1))),
            right=float(used.max(axis=1).sum() / used.sum()),
            merged=[(state, np.flatnonzero(row).tolist()) for state, row in enumerate(good) if row.sum() > 1],
            split=[(cell, np.flatnonzero(row).tolist()) for cell, row in enumerate(good.T) if row.sum() > 1],
        )

    @property
    def odd(self) -> set[int]:
        """The states that combine cells, or are part of one."""
        return {state for state, _ in self.merged} | {state for _, states in self.split for state in states}


def imperfect(found: Match, capacity: int) -> list[Claim]:
    """Homer's states are fewer than its capacity, some combine cells, and some divide one."""
    divided = [f"cell {cell} is divided into states {listed(map(str, states))}" for cell, states in found.split]
    return [
        Claim(
            "The learned states “did not use the full capacity given and are not a perfect match with the ground-truth "
            "latent states”; some “combine the true latent states” (appendix B.3).",
            found.n_states < capacity and bool(found.merged),
            f"It was given {capacity} states; the paper's, given {PUBLISHED['capacity']}, used {PUBLISHED['states']}. "
            + told(HOMER, found),
        ),
        Claim(
            "Other learned states are “sub-dividing one latent state into multiple” (appendix B.3).",
            bool(found.split),
            f"Homer's: {'; '.join(divided) or 'no cell is divided'}.",
        ),
    ]


def apart(found: Match, size: int) -> Claim:
    """Homer combines cells that are not contiguous."""
    scattered = [(state, cells) for state, cells in found.merged if not touching(cells, size)]
    combined = listed(f"state {state} of cells {listed(map(str, cells))}" for state, cells in scattered or found.merged)
    return Claim(
        "Of cells that one state combines: “the states being combined are not necessarily contiguous” (appendix B.3).",
        bool(scattered) if found.merged else None,
        f"{'Not contiguous' if scattered else 'All are contiguous'}: {combined}." if found.merged else "None combined.",
    )


def touching(cells: Sequence[int], size: int) -> bool:
    """True if cells are one piece, joined by sides or corners.

    >>> touching([4, 9], 5), touching([0, 3], 5)
    (True, False)
    """
    from scipy.ndimage import label

    held = np.isin(np.arange(size * size), cells).reshape(size, size)
    return bool(label(held, np.ones((3, 3)))[1] == 1)


def told(name: str, found: Match) -> str:
    """Return how states match cells in a sentence."""
    merged = [f"state {state} combines cells {listed(map(str, cells))}" for state, cells in found.merged]
    split = [f"cell {cell} is divided into states {listed(map(str, states))}" for cell, states in found.split]
    return (
        f"{name} uses {found.n_states} states; {found.right:.1%} of the rows are in a state of their cell. "
        + ("; ".join(merged + split) or "No state combines cells, and none is divided")
        + "."
    )


def lattice(env: Any, encoder: Any) -> np.ndarray:
    """Return the state of each point of a fine lattice, from the bottom up; -1 in the goal, where no row begins."""
    along = (np.arange(FINENESS * env.size) + 0.5) / (FINENESS * env.size)
    lattice = np.stack(np.meshgrid(along, along), axis=-1).reshape(-1, 2)
    state = np.where(env.latent(lattice) == env.grid.n_cells - 1, -1, encoder.encode(lattice))
    return state.reshape(len(along), len(along))


def places(counts: Mapping[str, np.ndarray]) -> list[tuple[str, int, int, int]]:
    """Return (encoder, state, cell, number of rows), where there are rows."""
    return [
        (name, int(state), int(cell), int(table[state, cell]))
        for name, table in counts.items()
        for state, cell in np.argwhere(table)
    ]


def map_columns(shares: np.ndarray, counts: Mapping[str, np.ndarray]) -> Columns:
    """Return the maps as a table: the share of rows of each state in each cell."""
    rows = [("true cells", cell, cell, share) for cell, share in enumerate(shares.tolist())]
    total = {name: table.sum() for name, table in counts.items()}
    rows += [(name, state, cell, float(n / total[name])) for name, state, cell, n in places(counts)]
    return dict(zip(("encoder", "state", "cell", "share of rows"), map(list, zip(*rows, strict=True)), strict=True))


def states_table(counts: Mapping[str, np.ndarray]) -> Columns:
    """Return a table with a line for each state in use, the largest first."""
    columns: dict[str, list[Any]] = {"encoder": [], "state": [], "rows, %": [], "cells (of its rows)": [], "": []}
    for name, table in counts.items():
        found = Match.of(table)
        merged = {state for state, _ in found.merged}
        divided = {state for _, states in found.split for state in states}
        for state in np.argsort(-table.sum(axis=1), kind="stable"):
            total = table[state].sum()
            if not total:
                continue
            order = [cell for cell in np.argsort(-table[state]) if table[state, cell] >= 0.005 * total]
            values = (
                name,
                int(state),
                round(100 * float(total / table.sum()), 2),
                ", ".join(f"{cell} ({table[state, cell] / total:.0%})" for cell in order),
                " and ".join(["combines cells"] * (state in merged) + ["part of a cell"] * (state in divided)),
            )
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
    return columns
