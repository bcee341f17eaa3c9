"""Figures 4 and 8: where the log has been, the true cells, and the states that encoders make of points."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from understudy.paper import points
from understudy.paper.items import Columns, Comparison, Finding, Item, Picture, Table
from understudy.paper.maps import state_maps
from understudy.paper.measuring import listed
from understudy.paper.stage import Stage

TITLE = "What encoders make of continuous observations (Figures 4 and 8)"

PUBLISHED = {"states": 20, "rows in a state of their cell": 83.7}
"""The paper's network: its text tells the first; the second is of the network published with it."""

FINENESS = 60  # points along a cell's side, of which maps are made
GOOD_PART = 0.05  # of a state's rows, or of a cell's, for a merge or a split to be worth telling


def run(stage: Stage) -> Item:
    """Encode the log with each encoder, and set states against true cells."""
    ready = points.prepare(stage)
    cell = ready.env.latent(ready.log.observation)
    n_cells = ready.env.grid.n_cells
    shares = np.bincount(cell, minlength=n_cells) / len(cell)
    learned = {name: ready.encoders[name] for name in (points.HOMER, points.FORWARD)}
    counts = {
        name: counts_of(encoder.encode(ready.log.observation), cell, n_cells) for name, encoder in learned.items()
    }
    found = {name: Found.of(table) for name, table in counts.items()}
    maps = {f"{name}'s states": lattice(ready.env, encoder) for name, encoder in learned.items()}
    return Item(
        about=(
            f"A log of {len(ready.log):,} rows of the uniform policy; each encoder is trained on it once and told "
            f"nothing of cells. Homer is the paper's, {'the best of a search' if stage.search else 'as it chose it'}; "
            "Forward is ours. A row is right where its cell is the one that most rows of its state are in."
        ),
        findings=[
            Finding(
                "The learned states do not use the capacity given, and are “not a perfect match”: some combine cells, "
                "others divide one.",
                found[points.HOMER].n_states < learned[points.HOMER].n_states and found[points.HOMER].right < 0.99,
                told(points.HOMER, found[points.HOMER]),
            ),
            Finding(
                "States that fit replay can be learned from the log alone (the paper's outlook).",
                found[points.FORWARD].right > 0.99 and not found[points.FORWARD].merged,
                told(points.FORWARD, found[points.FORWARD]),
            ),
        ],
        comparisons=[
            comparison
            for name, one in found.items()
            for comparison in (
                Comparison(f"{name}, states in use", papers(name, "states"), one.n_states),
                Comparison(f"{name}, cells that are most of some state, of {n_cells - 1}", None, one.n_cells),
                Comparison(
                    f"{name}, rows in a state of their cell, %",
                    papers(name, "rows in a state of their cell"),
                    100 * one.right,
                ),
            )
        ],
        pictures=[
            Picture(
                "states",
                "Left: the share of the log's rows in each true cell. Then the states of the learned encoders, by "
                "number; a number that stands in two cells is a state that combines them. No row leaves from the goal.",
                state_maps(shares, maps, ready.env.size),
                map_columns(shares, counts),
            )
        ],
        tables=[Table("states-to-cells", "Each learned state, and the cells its rows are in.", states_table(counts))],
    )  # fmt: skip


def papers(name: str, what: str) -> float | None:
    """The paper's number, which is of Homer."""
    return PUBLISHED[what] if name == points.HOMER else None


def counts_of(state: np.ndarray, cell: np.ndarray, n_cells: int) -> np.ndarray:
    """Rows by state and cell, (states, cells)."""
    counts = np.zeros((int(state.max()) + 1, n_cells), np.int64)
    np.add.at(counts, (state[state >= 0], cell[state >= 0]), 1)
    return counts


class Found:
    """How states match cells, from counts of rows."""

    def __init__(self, n_states: int, n_cells: int, right: float, merged: list[Any], split: list[Any]) -> None:
        self.n_states, self.n_cells, self.right, self.merged, self.split = n_states, n_cells, right, merged, split

    @classmethod
    def of(cls, counts: np.ndarray) -> "Found":
        """Count; a merge or a split is told where each part is good enough."""
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


def told(name: str, found: Found) -> str:
    """In a sentence."""
    merged = [f"state {state} combines cells {listed(map(str, cells))}" for state, cells in found.merged]
    split = [f"cell {cell} is divided into states {listed(map(str, states))}" for cell, states in found.split]
    return (
        f"{name} uses {found.n_states} states; {found.right:.1%} of the rows are in a state of their cell. "
        + ("; ".join(merged + split) or "No state combines cells, and none is divided")
        + "."
    )


def lattice(env: Any, encoder: Any) -> np.ndarray:
    """The state of each point of a fine lattice, rows from the bottom up; -1 in the goal, which no row leaves from."""
    along = (np.arange(FINENESS * env.size) + 0.5) / (FINENESS * env.size)
    lattice = np.stack(np.meshgrid(along, along), axis=-1).reshape(-1, 2)
    state = np.where(env.latent(lattice) == env.grid.n_cells - 1, -1, encoder.encode(lattice))
    return state.reshape(len(along), len(along))


def places(counts: Mapping[str, np.ndarray]) -> list[tuple[str, int, int, int]]:
    """Encoder, state, cell and rows, wherever there are any."""
    return [
        (name, int(state), int(cell), int(table[state, cell]))
        for name, table in counts.items()
        for state, cell in np.argwhere(table)
    ]


def map_columns(shares: np.ndarray, counts: Mapping[str, np.ndarray]) -> Columns:
    """What the maps tell, in numbers."""
    rows = [("true cells", cell, cell, share) for cell, share in enumerate(shares.tolist())]
    total = {name: table.sum() for name, table in counts.items()}
    rows += [(name, state, cell, float(n / total[name])) for name, state, cell, n in places(counts)]
    return dict(zip(("encoder", "state", "cell", "share of rows"), map(list, zip(*rows, strict=True)), strict=True))


def states_table(counts: Mapping[str, np.ndarray]) -> Columns:
    """A line for each state in use, the largest first."""
    columns: dict[str, list[Any]] = {"encoder": [], "state": [], "rows, %": [], "cells (of its rows)": [], "": []}
    for name, table in counts.items():
        found = Found.of(table)
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
