"""Figures 8 and 9: trajectories of a simulation, and where the same actions would have led in the true grid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import understudy as us
from paper import continuous_grid, grids
from paper.continuous_grid import FORWARD, GAMMA, HOMER, ORACLE
from paper.encoder import Match, counts_of
from paper.items import Claim, Columns, Item, ItemTable, PaperValue, Picture
from paper.maps import PathPair, draw_path_pairs, flows
from paper.workspace import Workspace
from understudy.runs import Run

TITLE = "Trajectories in simulation, and the same actions in the true grid (Figures 8 and 9)"


@dataclass(frozen=True)
class Settings:
    """Sizes of the item."""

    steps: int = 20_000
    epsilon: float = 0.3


FULL, QUICK = Settings(), Settings(steps=2_000)
AUTHORS_EPSILON = 0.4
ENCODERS = (HOMER, FORWARD, ORACLE)


@dataclass(frozen=True, eq=False)
class Episode:
    """A simulated episode: the observations it was served, and the cells that its actions lead to in the true grid."""

    served: np.ndarray  # (n + 1, 2)
    cells: np.ndarray  # (n + 1,): of the observations served
    true_cells: np.ndarray  # (n + 1,): of the same actions in the true grid, which stays once it is at the goal
    possible: np.ndarray  # (n,): True where the true grid allows the step, from the cell it was taken in

    @property
    def parts(self) -> int | None:
        """The first step after which the two are in different cells; None if they never are."""
        apart = np.flatnonzero(self.cells != self.true_cells)
        return int(apart[0]) if len(apart) else None


Found = Mapping[str, Sequence[Episode]]


def run(workspace: Workspace) -> Item:
    """Let a near-optimal policy act under each encoder, and replay its actions in the true grid."""
    settings, ready = QUICK if workspace.quick else FULL, continuous_grid.prepare(workspace)
    epsilon = AUTHORS_EPSILON if workspace.authors else settings.epsilon
    policy = grids.soft_policy(ready.env.grid, GAMMA, epsilon)
    found = {name: episodes_of(workspace, settings, ready, name, policy) for name in ENCODERS}
    shares = {name: parted(episodes) for name, episodes in found.items()}
    steps = {name: [e.parts for e in episodes if e.parts is not None] for name, episodes in found.items()}
    rng, merges = np.random.default_rng(workspace.seed), merges_cells(ready)
    moves = moves_of(found, ready.env.grid.n_cells)
    return Item(
        about=(
            f"An epsilon-soft optimal policy (epsilon {epsilon}, ties shared) for {settings.steps:,} steps of PSRS on "
            f"the log of {len(ready.log):,} rows. Its actions are replayed in the true grid, which is deterministic: a "
            "simulated episode is possible in truth if and only if the two never part."
        ),
        claims=[
            Claim(
                "“The PSRS simulation led to a different distribution of trajectories compared to rollouts in the real "
                "environment”, where learned states combine cells.",
                different(shares, merges),
                ("" if merges else "Homer's states combine no cells. ")
                + f"With Homer's states {shares[HOMER]:.0%} of {len(found[HOMER]):,} episodes part from "
                f"the true grid{at_step(steps[HOMER])}; with Forward's {shares[FORWARD]:.1%} of "
                f"{len(found[FORWARD]):,}{at_step(steps[FORWARD])}; with the true cells "
                f"{shares[ORACLE]:.0%} of {len(found[ORACLE]):,}.",
            )
        ],
        comparisons=[
            PaperValue(f"{name}, episodes that part, %", None, round(100 * share, 2), interval=wilson(found[name]))
            for name, share in shares.items()
        ],
        pictures=[
            Picture(
                "many",
                "Figure 8: moves from cell to cell of all simulated episodes, and, first, of the actions of Homer's in "
                "the true grid. What the true grid does not allow, from that cell by that action, is orange.",
                flows(moves, ready.env.size),
                moves_columns(moves),
            ),
            Picture(
                "side-by-side",
                "Figure 9: simulated episodes and the same actions in the true grid, three with each encoder's states. "
                "Those with Homer's are chosen so that two part and one does not, where there are such; the others are "
                "the first.",
                side_by_side(found, ready.env, rng),
                chosen_columns(found),
            ),
        ],
        tables=[ItemTable("parting", "How many episodes part from the true grid, and when.", parting_table(found))],
    )  # fmt: skip


def different(shares: Mapping[str, float], merges: bool) -> bool | None:
    """True if episodes part from the true grid with merged states and not with true cells; None if none are merged."""
    return shares[HOMER] > 0.01 and shares[ORACLE] == 0 if merges else None


def merges_cells(ready: continuous_grid.Prepared) -> bool:
    """True if some state of Homer's combines cells."""
    observation, env = ready.log.observation, ready.env
    state = ready.encoders[HOMER].encode(observation)
    return bool(Match.of(counts_of(state, env.latent(observation), env.grid.n_cells)).merged)


def episodes_of(
    workspace: Workspace, settings: Settings, ready: continuous_grid.Prepared, name: str, policy: np.ndarray
) -> list[Episode]:
    """Return the finished episodes of a simulation under one encoder."""
    simulator = us.psrs(ready.log, ready.encoders[name], order=grids.conventions(workspace).order)
    learner = us.learners.FixedPolicy(policy, encoder=ready.encoders[ORACLE])
    runs = workspace.experiment(
        name, simulator, lambda seed: learner, runs=1, max_steps=settings.steps, keep_rows=True, workers=1
    )
    return [episode for run in runs for episode in episodes_in(run, ready.log, ready.env)]


def episodes_in(run: Run, log: us.Log, env: Any) -> list[Episode]:
    """Return the finished episodes of a run, with their actions replayed in the true grid."""
    following = env.grid.tables().next_state[:, :, 0]
    episodes, served_rows = [], run.rows
    for opening, begin, end in zip(run.openings, [0, *run.ends], run.ends, strict=False):
        rows = served_rows[begin:end]
        served = np.concatenate([log.observation[opening][None], log.next_observation[rows]])
        true_cells = [int(env.latent(served[0]))]
        for action in log.action[rows]:
            true_cells.append(int(following[true_cells[-1], action]))
        cells = env.latent(served)
        possible = following[cells[:-1], log.action[rows]] == cells[1:]
        episodes.append(Episode(served, cells, np.array(true_cells), possible))
    return episodes


def parted(episodes: Sequence[Episode]) -> float:
    """Return the share of episodes that part from the true grid."""
    return float(np.mean([episode.parts is not None for episode in episodes]))


def wilson(episodes: Sequence[Episode], z: float = 1.96) -> tuple[float, float]:
    """Return a 95% interval of that share, in percent (Wilson's)."""
    n, p = len(episodes), parted(episodes)
    middle, half = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return max(0.0, 100 * float(low)), 100 * float(high)


def at_step(steps: Sequence[int]) -> str:
    """Return the median step of parting in words; nothing where no episode parts."""
    return f" (half of them by step {np.median(steps):.0f})" if steps else ""


def until_goal(cells: np.ndarray, n_cells: int) -> np.ndarray:
    """Return the cells of a path up to the goal, which is the last cell of the grid."""
    goal = np.flatnonzero(cells == n_cells - 1)
    return cells[: goal[0] + 1] if len(goal) else cells


def true_path(episode: Episode, env: Any, rng: np.random.Generator) -> np.ndarray:
    """Return the path in the true grid: observations served while both agree, then random points of the true cells."""
    cells = until_goal(episode.true_cells, env.grid.n_cells)
    corner = np.stack([cells % env.size, cells // env.size], axis=-1)
    drawn = (corner + rng.uniform(0.1, 0.9, corner.shape)) / env.size
    agree = (episode.cells == episode.true_cells)[: len(cells), None]
    return np.where(agree, episode.served[: len(cells)], drawn)


def moves_of(found: Found, n_cells: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return counts of moves from cell to cell, (cells, cells), of possible and of impossible ones, by panel."""
    true = [until_goal(episode.true_cells, n_cells) for episode in found[HOMER]]
    moves = {"the true grid, actions of Homer's": tally(true, n_cells)}
    for name, episodes in found.items():
        both = tally([e.cells for e in episodes], n_cells, [e.possible for e in episodes])
        moves[f"PSRS, {name}: {100 * both[1].sum() / sum(map(np.sum, both)):.1f}% of moves impossible"] = both
    return moves


def tally(
    paths: Sequence[np.ndarray], n_cells: int, possible: Sequence[np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of the moves of all paths, of possible and of impossible ones; by default all are possible."""
    begin, end = (np.concatenate([path[part] for path in paths]) for part in (slice(-1), slice(1, None)))
    allowed = np.ones(len(begin), bool) if possible is None else np.concatenate(possible)
    counts = np.zeros((2, n_cells, n_cells), np.int64)
    np.add.at(counts, ((~allowed).astype(int), begin, end), 1)
    return counts[0], counts[1]


def moves_columns(moves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Columns:
    """Return the moves as a table."""
    rows = [
        (panel, int(begin), int(end), possible, int(counts[begin, end]))
        for panel, both in moves.items()
        for possible, counts in zip((True, False), both, strict=True)
        for begin, end in np.argwhere(counts)
    ]
    names = ("panel", "from cell", "to cell", "possible", "moves")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def chosen(found: Found) -> list[tuple[str, Episode]]:
    """Return the episodes that are drawn: Homer's first two that part and one that does not, others' first three."""
    apart = [episode for episode in found[HOMER] if episode.parts is not None]
    agree = [episode for episode in found[HOMER] if episode.parts is None]
    few = apart[:2] + agree[: 3 - len(apart[:2])]
    few += apart[2 : 5 - len(few)]
    return [(HOMER, episode) for episode in few[:3]] + [
        (name, episode) for name in (FORWARD, ORACLE) for episode in found[name][:3]
    ]


def side_by_side(found: Found, env: Any, rng: np.random.Generator) -> Any:
    """Draw single episodes beside the true paths, a row for each encoder."""
    rows: dict[str, list[PathPair]] = {name: [] for name in found}
    for name, e in chosen(found):
        title = "never part" if e.parts is None else f"part at step {e.parts}"
        rows[name].append(PathPair(title, e.served, true_path(e, env, rng), e.parts))
    return draw_path_pairs({row_title(name, found[name], row): row for name, row in rows.items()}, env.size)


def row_title(name: str, episodes: Sequence[Episode], shown: Sequence[PathPair]) -> str:
    """Return the title of a row: how often episodes part, which the few shown do not tell."""
    apart = sum(pair.parts is not None for pair in shown)
    which = f"the first {len(shown)}"
    if name == HOMER:
        which = f"the first {apart} that do and the first {len(shown) - apart} that do not"
    return f"{name}: {100 * parted(episodes):.1f}% of {len(episodes):,} episodes part. Shown: {which}"


def path_columns(episodes: Sequence[tuple[str, int, Episode]]) -> Columns:
    """Return episodes as a table, a line for each observation."""
    columns: dict[str, list[Any]] = {name: [] for name in ("encoder", "episode", "step", "x", "y", "cell", "true cell")}
    for name, number, episode in episodes:
        for step, ((x, y), cell, true) in enumerate(
            zip(episode.served.tolist(), episode.cells.tolist(), episode.true_cells.tolist(), strict=True)
        ):
            for column, value in zip(columns.values(), (name, number, step, x, y, cell, true), strict=True):
                column.append(value)
    return columns


def chosen_columns(found: Found) -> Columns:
    """Return the episodes that are drawn as a table."""
    return path_columns([(name, number, e) for number, (name, e) in enumerate(chosen(found), start=1)])


def parting_table(found: Found) -> Columns:
    """Return the shares of episodes that had parted by some steps."""
    rows = {name: [e.parts for e in episodes] for name, episodes in found.items()}

    def by(step: int | None, parts: list[int | None]) -> float:
        return round(100 * float(np.mean([p is not None and (step is None or p <= step) for p in parts])), 2)

    columns: dict[str, list[Any]] = {"encoder": list(rows), "episodes": [len(parts) for parts in rows.values()]}
    columns["mean length"] = [float(np.mean([len(e.cells) - 1 for e in episodes])) for episodes in found.values()]
    columns |= {f"parted by step {step}, %": [by(step, parts) for parts in rows.values()] for step in (1, 2, 5, 10)}
    columns["ever, %"] = [by(None, parts) for parts in rows.values()]
    return columns
