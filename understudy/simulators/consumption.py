"""How much of its log a rehearsal has used, and what it used most of compared with what was logged."""

from typing import Any

import numpy as np

from understudy.contracts import LogUse, Stop
from understudy.logs.naming import action_column, action_label
from understudy.simulators.index import Index
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.exogenous import TwoTapes
from understudy.simulators.kernels.reserve import ReserveTape
from understudy.simulators.kernels.tape import END, HEAD, START, Tape
from understudy.simulators.kernels.trajectories import ONWARD, TapeAndPath


def use_of(source: Any, index: Index | None, exogenous_index: Index | None = None) -> LogUse | None:
    """Return how much of its log a source has used; None for one whose rows are never used up."""
    if isinstance(source, Tape) and index is not None:
        return tape_use(source, index)
    if isinstance(source, ReserveTape) and index is not None:
        return tape_use(source.tape, index)  # a run can only end where a state's queue did
    if isinstance(source, TwoTapes) and index is not None and exogenous_index is not None:
        endogenous = tape_use(source.endogenous, index)
        exogenous = tape_use(source.exogenous, exogenous_index, "exogenous queue empty")
        scarcer = max(endogenous, exogenous, key=lambda use: use.share)
        return LogUse(max(endogenous.episodes, exogenous.episodes), scarcer.scarcest, scarcer.rows, scarcer.logged)
    if isinstance(source, TapeAndPath) and index is not None:
        endogenous = tape_use(source.endogenous, index)
        if source.opens[0] < ONWARD:  # an episode's sequence is used up with its opening, which is counted
            return endogenous
        played, logged = int(source.cursor[layout.LATENT]), len(source.following)
        exogenous = LogUse(endogenous.episodes, Stop("exogenous part ended"), played, logged)
        return max(endogenous, exogenous, key=lambda use: use.share)
    return None


def tape_use(tape: Tape, index: Index, cause: str = "queue empty") -> LogUse:
    """Return how much of a tape was used; `cause` is that of a stop where a queue of a state is empty."""
    rules, cursor = tape.rules, tape.cursor
    opened = 0 if rules[layout.REPLACE_OPENINGS] else int(cursor[layout.EPISODES_OPENED])
    read = cursor[layout.TAPE_READ] / len(tape.order) * len(tape.opening)  # by rows: as many episodes' worth
    episodes = max(opened, int(np.ceil(read - 1e-9)))
    filled = tape.filled[: cursor[layout.QUEUES_FILLED]]
    taken = tape.queues[filled, HEAD] - tape.queues[filled, START]
    logged = tape.queues[filled, END] - tape.queues[filled, START]
    most = int((taken / logged).argmax()) if len(filled) else -1
    if most < 0 or opened / len(tape.opening) >= taken[most] / logged[most]:
        return LogUse(episodes, Stop("no opening"), opened, len(tape.opening))
    stop = queue_stop(int(filled[most]), rules, index, cause)
    return LogUse(episodes, stop, int(taken[most]), int(logged[most]))


def queue_stop(queue: int, rules: np.ndarray, index: Index, cause: str) -> Stop:
    """Return the stop of a run that finds a queue empty."""
    if not rules[layout.BY_STATE]:
        return Stop("no row")
    if rules[layout.ACCEPT] != layout.DRAWN_ACTION:
        return Stop(cause, **index.stop_fields(queue))
    state, action = divmod(queue, index.log.spec.n_actions)
    spec = index.log.spec
    acted: dict[str, Any] = {"action": action, "label": action_label(spec, action), "column": action_column(spec)}
    return Stop("queue empty for action", **acted, **index.stop_fields(state))
