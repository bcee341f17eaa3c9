"""Figures 9 and 10: trajectories of a simulation, and where the same actions would have led in the true grid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import understudy as us
from understudy.paper import points
from understudy.paper.items import Columns, Comparison, Finding, Item, Picture, Table
from understudy.paper.maps import bundles, pairs
from understudy.paper.stage import Stage
from understudy.runs import Run

TITLE = "Trajectories in simulation, and the same actions in the true grid (Figures 9 and 10)"


@dataclass(frozen=True)
class Settings:
    """Sizes of the item."""

    steps: int = 20_000
    drawn: int = 40  # episodes, in the pictures of many
    epsilon: float = 0.3


FULL, QUICK = Settings(), Settings(steps=2_000)
AUTHORS_EPSILON = 0.4
ENCODERS = (points.HOMER, points.FORWARD, points.ORACLE)


@dataclass(frozen=True, eq=False)
class Episode:
    """One simulated episode: the points it was served, and the cells that its actions lead to in truth."""

    served: np.ndarray  # (n + 1, 2)
    cells: np.ndarray  # (n + 1,): of the points served
    true_cells: np.ndarray  # (n + 1,): of the same actions in the true grid, which stays once it is at the goal
    possible: (
        np.ndarray
    )  # (n,): whether each step could have been taken in the true grid, from the cell it was taken in

    @property
    def parts(self) -> int | None:
        """The first step after which the two are in different cells; None if they never are."""
        apart = np.flatnonzero(self.cells != self.true_cells)
        return int(apart[0]) if len(apart) else None


Found = Mapping[str, Sequence[Episode]]


def run(stage: Stage) -> Item:
    """Let a near-optimal policy act under each encoder, and replay its actions in the true grid."""
    settings, ready = QUICK if stage.quick else FULL, points.prepare(stage)
    epsilon = AUTHORS_EPSILON if stage.authors else settings.epsilon
    policy = soft_policy(ready.env, epsilon)
    found = {name: episodes_of(stage, settings, ready, name, policy) for name in ENCODERS}
    shares = {name: parted(episodes) for name, episodes in found.items()}
    steps = {name: [e.parts for e in episodes if e.parts is not None] for name, episodes in found.items()}
    rng = np.random.default_rng(stage.seed)
    return Item(
        about=(
            f"An epsilon-soft optimal policy (epsilon {epsilon}, ties shared) for {settings.steps:,} steps of PSRS on "
            f"the log of {len(ready.log):,} rows. Its actions are replayed in the true grid, which is deterministic: a "
            "simulated episode is possible in truth if and only if the two never part."
        ),
        findings=[
            Finding(
                "“The PSRS simulation led to a different distribution of trajectories compared to rollouts in the real "
                "environment”, where learned states combine cells.",
                shares[points.HOMER] > 0.01 and shares[points.ORACLE] == 0,
                f"With Homer's states {shares[points.HOMER]:.0%} of {len(found[points.HOMER]):,} episodes part from "
                f"the true grid{at_step(steps[points.HOMER])}; with Forward's {shares[points.FORWARD]:.1%} of "
                f"{len(found[points.FORWARD]):,}{at_step(steps[points.FORWARD])}; with the true cells "
                f"{shares[points.ORACLE]:.0%} of {len(found[points.ORACLE]):,}.",
            )
        ],
        comparisons=[
            Comparison(f"{name}, episodes that part, %", None, round(100 * share, 2), interval=wilson(found[name]))
            for name, share in shares.items()
        ],
        pictures=[
            Picture(
                "many",
                f"Figure 9: {settings.drawn} simulated episodes under each encoder, and, first, where the actions of "
                "Homer's lead in the true grid. Steps that the true grid does not allow are orange.",
                many(found, settings.drawn, ready.env, rng),
                drawn_columns(found, settings.drawn),
            ),
            Picture(
                "side-by-side",
                "Figure 10: simulated episodes (orange) and the same actions in the true grid (black); a circle where "
                "they begin, a cross where they end. Above, with Homer's states: the first two that part and the first "
                "that does not, where there are such. Below, with Forward's: the first three.",
                side_by_side(found, ready.env, rng),
                chosen_columns(found),
            ),
        ],
        tables=[Table("parting", "How many episodes part from the true grid, and when.", parting_table(found))],
    )  # fmt: skip


def soft_policy(env: Any, epsilon: float) -> np.ndarray:
    """Optimal with probability 1 - epsilon, ties shared, else any action; (cells, actions)."""
    value = env.grid.optimal(points.GAMMA)
    best = np.isclose(value, value.max(axis=1, keepdims=True))
    return epsilon / env.grid.n_actions + (1 - epsilon) * best / best.sum(axis=1, keepdims=True)


def episodes_of(
    stage: Stage, settings: Settings, ready: points.Prepared, name: str, policy: np.ndarray
) -> list[Episode]:
    """The finished episodes of a simulation under one encoder."""
    simulator = us.psrs(ready.log, ready.encoders[name])
    learner = us.learners.FixedPolicy(policy, encoder=ready.encoders[points.ORACLE])
    runs = stage.experiment(
        name, simulator, lambda seed: learner, runs=1, max_steps=settings.steps, keep_rows=True, workers=1
    )
    return [episode for run in runs for episode in episodes_in(run, ready.log, ready.env)]


def episodes_in(run: Run, log: us.Log, env: Any) -> list[Episode]:
    """The finished episodes of a run, with their actions replayed in the true grid."""
    following = env.grid.tables().next_state[:, :, 0]
    episodes = []
    for opening, begin, end in zip(run.openings, [0, *run.ends], run.ends, strict=False):
        rows = run.rows[begin:end]
        served = np.concatenate([log.observation[opening][None], log.next_observation[rows]])
        true_cells = [int(env.latent(served[0]))]
        for action in log.action[rows]:
            true_cells.append(int(following[true_cells[-1], action]))
        cells = env.latent(served)
        possible = following[cells[:-1], log.action[rows]] == cells[1:]
        episodes.append(Episode(served, cells, np.array(true_cells), possible))
    return episodes


def parted(episodes: Sequence[Episode]) -> float:
    """The share of episodes that part from the true grid."""
    return float(np.mean([episode.parts is not None for episode in episodes]))


def wilson(episodes: Sequence[Episode], z: float = 1.96) -> tuple[float, float]:
    """A 95 % interval of that share, in percent (Wilson's)."""
    n, p = len(episodes), parted(episodes)
    middle, half = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return max(0.0, 100 * float(low)), 100 * float(high)


def at_step(steps: Sequence[int]) -> str:
    """When, in half of those that do."""
    return f" (half of them by step {np.median(steps):.0f})" if steps else ""


def true_path(episode: Episode, env: Any, rng: np.random.Generator) -> np.ndarray:
    """Points of the true grid: those that were served while the two agree, then any of the true cell, to the goal."""
    goal = np.flatnonzero(episode.true_cells == env.grid.n_cells - 1)
    cells = episode.true_cells[: goal[0] + 1] if len(goal) else episode.true_cells
    corner = np.stack([cells % env.size, cells // env.size], axis=-1)
    drawn = (corner + rng.uniform(0.1, 0.9, corner.shape)) / env.size
    agree = (episode.cells == episode.true_cells)[: len(cells), None]
    return np.where(agree, episode.served[: len(cells)], drawn)


def many(found: Found, drawn: int, env: Any, rng: np.random.Generator) -> Any:
    """Many episodes of each encoder, and the true ones of Homer's."""
    true_paths = [true_path(episode, env, rng) for episode in found[points.HOMER][:drawn]]
    panels = {"the true grid": [(path, np.ones(len(path) - 1, bool)) for path in true_paths]}
    panels |= {f"PSRS, {name}": [(e.served, e.possible) for e in episodes[:drawn]] for name, episodes in found.items()}
    return bundles(panels, env.size)


def chosen(found: Found) -> list[tuple[str, Episode]]:
    """The episodes drawn one by one: Homer's first two that part and the first that does not, and Forward's first."""
    homer, forward = found[points.HOMER], found[points.FORWARD]
    apart = [episode for episode in homer if episode.parts is not None]
    agree = [episode for episode in homer if episode.parts is None]
    few = apart[:2] + agree[: 3 - len(apart[:2])]
    few += apart[2 : 5 - len(few)]
    return [(points.HOMER, episode) for episode in few[:3]] + [(points.FORWARD, episode) for episode in forward[:3]]


def side_by_side(found: Found, env: Any, rng: np.random.Generator) -> Any:
    """Single episodes beside the truth."""
    return pairs(
        [
            (
                f"{name}: " + ("never part" if e.parts is None else f"part at step {e.parts}"),
                e.served,
                true_path(e, env, rng),
            )
            for name, e in chosen(found)
        ],
        env.size,
    )


def path_columns(episodes: Sequence[tuple[str, int, Episode]]) -> Columns:
    """Episodes as a table, a line for each point."""
    columns: dict[str, list[Any]] = {name: [] for name in ("encoder", "episode", "step", "x", "y", "cell", "true cell")}
    for name, number, episode in episodes:
        for step, ((x, y), cell, true) in enumerate(
            zip(episode.served.tolist(), episode.cells.tolist(), episode.true_cells.tolist(), strict=True)
        ):
            for column, value in zip(columns.values(), (name, number, step, x, y, cell, true), strict=True):
                column.append(value)
    return columns


def drawn_columns(found: Found, drawn: int) -> Columns:
    """The many."""
    return path_columns([(name, i, e) for name, episodes in found.items() for i, e in enumerate(episodes[:drawn])])


def chosen_columns(found: Found) -> Columns:
    """The few."""
    return path_columns([(name, number, e) for number, (name, e) in enumerate(chosen(found), start=1)])


def parting_table(found: Found) -> Columns:
    """Shares of episodes that had parted by some steps."""
    rows = {name: [e.parts for e in episodes] for name, episodes in found.items()}

    def by(step: int | None, parts: list[int | None]) -> float:
        return round(100 * float(np.mean([p is not None and (step is None or p <= step) for p in parts])), 2)

    columns: dict[str, list[Any]] = {"encoder": list(rows), "episodes": [len(parts) for parts in rows.values()]}
    columns["mean length"] = [float(np.mean([len(e.cells) - 1 for e in episodes])) for episodes in found.values()]
    columns |= {f"parted by step {step}, %": [by(step, parts) for parts in rows.values()] for step in (1, 2, 5, 10)}
    columns["ever, %"] = [by(None, parts) for parts in rows.values()]
    return columns
