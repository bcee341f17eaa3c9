"""What a compiled run leaves behind, and the run that is made of it."""

from typing import Any, NamedTuple

import numpy as np

from understudy.errors import LogError
from understudy.runs.account import kept_rows, visits_of
from understudy.runs.probes import Readings
from understudy.runs.run import Run


class Ledger(NamedTuple):
    """What a run leaves behind, filled as it goes."""

    rows: np.ndarray  # int32, one for each step; empty where no row is served, or none is kept
    emissions: np.ndarray  # int32, likewise
    openings: np.ndarray  # int32, one for each episode begun
    ends: np.ndarray  # int64: the number of steps when each finished episode was over
    returns: np.ndarray  # float64: the sum of its rewards
    visits: np.ndarray  # int64: steps taken from each state; empty where nobody asks
    policy: np.ndarray  # (A,) float64: the policy of the current step
    tally: np.ndarray  # (3,) int64: steps, finished episodes, begun episodes
    earned: np.ndarray  # (1,) float64: the current episode's rewards so far


STEPS, EPISODES, BEGUN = range(3)


def empty_ledger(simulator: Any, readings: Readings, max_steps: int | None) -> Ledger:
    """An empty ledger. Room that a run does not come to use costs nothing: it is never touched."""
    served = min(max_steps or np.inf, len(simulator.log) if simulator.exhaustible else np.inf)
    n_rows = int(served) if simulator.serves_rows and readings.keep_rows else 0
    n_episodes = simulator.log.n_episodes + 1 if simulator.exhaustible else 1024
    try:
        rows = np.empty(n_rows, np.int32)
        emissions = np.empty(n_rows if simulator.serves_emissions else 0, np.int32)
    except (MemoryError, ValueError):
        raise LogError(f"the rows of {n_rows:,} steps do not fit into memory; give a smaller max_steps=") from None
    return Ledger(
        rows=rows,
        emissions=emissions,
        openings=np.empty(n_episodes, np.int32),
        ends=np.empty(n_episodes, np.int64),
        returns=np.empty(n_episodes),
        visits=visits_of(simulator, readings),
        policy=np.empty(simulator.n_actions),
        tally=np.zeros(3, np.int64),
        earned=np.zeros(1),
    )


def longer(ledger: Ledger) -> Ledger:
    """The same ledger with room for twice as many episodes."""
    more = {name: np.concatenate([column, np.empty_like(column)]) for name, column in ledger._asdict().items()
            if name in ("openings", "ends", "returns")}  # fmt: skip
    return ledger._replace(**more)


def run_of(ledger: Ledger, simulator: Any, rehearsal: Any, learner: Any, readings: Readings, seed: int) -> Run:
    """The run, now that it has stopped."""
    steps, episodes, begun = (int(count) for count in ledger.tally)
    return Run(
        seed=seed,
        **kept_rows(simulator, readings, ledger.rows, ledger.openings, ledger.emissions, steps, begun),
        ends=ledger.ends[:episodes].copy(),
        returns=ledger.returns[:episodes].copy(),
        steps=np.array(readings.steps, np.int64),
        curves=readings.curves(),
        final=readings.read(learner, steps, ledger.returns[:episodes], ledger.visits, partial_of(ledger)),
        stopped=rehearsal.stop(),
        partial=partial_of(ledger),
    )


def partial_of(ledger: Ledger) -> float | None:
    """What the episode under way has earned so far; None between episodes."""
    return float(ledger.earned[0]) if ledger.tally[BEGUN] > ledger.tally[EPISODES] else None
