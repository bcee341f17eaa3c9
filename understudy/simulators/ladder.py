"""A log replayed past the first state without an answer: rows of states alike, rows served before, or a cut episode."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.contracts import HasSettings, Likeness, Rehearsal
from understudy.contracts.ladders import RUNGS
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.errors import ContractError, SettingError
from understudy.likeness import LikenessAudit, suited
from understudy.likeness.auditing import audit_of_states
from understudy.likeness.held_out import States
from understudy.settings import real, whole
from understudy.simulators.index import Index, grouped
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.ladder import Ladder
from understudy.simulators.kernels.reserve import ReserveTape
from understudy.simulators.queues import queue_numbers
from understudy.simulators.read_only import read_only
from understudy.simulators.rehearsal import KernelRehearsal
from understudy.simulators.replay import Replay
from understudy.simulators.sharing import shared_rehearsals

CHOICES = (*RUNGS, "cut")
MOST_WINDOW = 1_000_000
MAX_CUT, CUT_WINDOW = 0.02, 100
"""The largest share of episodes in a row that may be cut, and of how many, by default."""


class LadderReplay:
    """A log replayed with lower rungs. Made by `qbe` and `psrs` where `then=` is given.

    `ladder` has the lower rungs, in the order in which they are tried, and "cut" last.
    """

    kind = "simulated"
    compilable = serves_rows = foreseeable = True
    serves_emissions = False

    def __init__(
        self,
        name: str,
        index: Index,
        *,
        then: Sequence[str],
        likeness: Likeness | None,
        radius: float | None,
        max_cut: float | None = None,
        cut_window: int | None = None,
        audit: LikenessAudit | None = None,
        **options: Any,
    ) -> None:
        """`audit` is what chose among the rungs, where one did: it is kept for pages, and changes nothing."""
        self.audit = audit
        self.ladder = checked_rungs(then) if then else ()
        self.exhaustible = not {"reuse", "untried"} & set(self.ladder)
        replay = self._replay = Replay(name, index, **options)
        self.log, self.index = replay.log, index
        self.n_actions, self.n_states = replay.n_actions, replay.n_states
        max_cut = MAX_CUT if max_cut is None else real("max_cut", max_cut, 0, 1)
        cut_window = CUT_WINDOW if cut_window is None else whole("cut_window", cut_window, most=MOST_WINDOW)
        self._options: dict[str, Any] = {"then": self.ladder, "likeness": likeness, "radius": radius}
        self._options |= {"max_cut": max_cut, "cut_window": cut_window} | options
        self.settings = {name: value for name, value in replay.settings.items() if name != "stop" or not self.ladder}
        self.settings |= {"then": self.ladder}
        if "cut" in self.ladder:
            self.settings |= {"max_cut": max_cut, "cut_window": cut_window}
        self._most_cut = int(np.floor(max_cut * cut_window + 1e-9))  # of a window

        rules = replay.rules.copy()
        rules[layout.CUT_EPISODES], rules[layout.CUT_WINDOW] = "cut" in self.ladder, cut_window
        if not self.exhaustible and rules[layout.REPLACE_OPENINGS] == layout.FROM_QUEUE:
            rules[layout.REPLACE_OPENINGS] = layout.QUEUE_THEN_REPLACEMENT
        replay.rules = read_only(rules)
        self._rungs = read_only(np.array([1 + RUNGS.index(rung) for rung in self.ladder if rung != "cut"], np.int64))
        self._first_alike, self._alike = map(read_only, self._states_alike(likeness, radius))
        self._grouped_rows = read_only(grouped(*queue_numbers(index, layout.DRAWN_ACTION, by_state=True))[1])
        by_rows = rules[layout.READ_ORDER] == layout.BY_ROWS
        lengths = np.ones(len(self.log), int) if by_rows else np.diff(self.log.starts)
        self._tape_entry = read_only(np.repeat(np.arange(len(lengths), dtype=np.int32), lengths))

    def _states_alike(self, likeness: Any, radius: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the states alike of each state, as `Likeness.neighbors` gives them; none where no rung needs them."""
        if not {"like", "untried"} & set(self.ladder):
            return np.zeros(self.n_states + 1, np.int64), np.empty(0, np.int32)
        if not offers(likeness, Likeness) or radius is None:
            raise SettingError(
                f"likeness={likeness!r} and radius={radius!r}: the rungs 'like' and 'untried' need to know which "
                "states are alike; give likeness=us.likeness.observations() or another of its kinds, and radius="
            )
        radius = real("radius", radius, 0)
        next_state = self.index.next_state
        alike = likeness.neighbors(self.log, self.index.state, next_state, self.n_states, radius)
        told = dict(likeness.settings) if offers(likeness, HasSettings) else name_of(likeness)
        self.settings |= {"likeness": told, "radius": radius}  # read now: units may be those of the first log
        return checked_neighbors(alike, self.n_states, name_of(likeness))

    def start(self, seed: int, codes: Any = None) -> KernelRehearsal:
        """Return a new rehearsal; `codes` are those of a learner with a table of its own."""
        rehearsal = self._replay.start(seed, codes)
        if not self.ladder:  # the log supports none of the rungs
            return rehearsal
        source = rehearsal.source
        tape, queues = (source.tape, source.reserves) if isinstance(source, ReserveTape) else (source, source.queues)
        rehearsal.source = Ladder(
            source, tape, queues, tape.rules, tape.cursor, self._rungs, self._first_alike, self._alike,
            self._grouped_rows, self._tape_entry, np.empty(len(tape.order), np.int32),
            np.zeros(self._most_cut + 1, np.int64),
        )  # fmt: skip
        return rehearsal

    def start_shared(self, seed: int, n: int) -> list[Rehearsal]:
        return shared_rehearsals(self.start(seed), n)

    @property
    def radius(self) -> float | None:
        """The radius within which states are alike; None where no rung needs it."""
        return self._options["radius"] if {"like", "untried"} & set(self.ladder) else None

    def varied(self, **options: Any) -> "LadderReplay":
        """Return the same simulator with other options of its rungs, such as `radius` or `then`."""
        return LadderReplay(self.settings["simulator"], self.index, audit=self.audit, **(self._options | options))

    def select(self, episodes: np.ndarray) -> "LadderReplay":
        """Return the same simulator on the log of these episodes; which states are alike is found anew."""
        return LadderReplay(self.settings["simulator"], self.index.select(episodes), audit=self.audit, **self._options)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.settings.items() if name != "simulator")
        return f"{self.settings['simulator']}({len(self.log):,} rows, {self.n_states:,} states, {options})"


def supported_rungs(
    index: Index, then: Sequence[str], likeness: Likeness | None, radius: float | None, seed: int = 0
) -> dict[str, Any]:
    """Return the options of a ladder with those of its rungs that the log supports, by `likeness.audit`.

    Like rows are served where a radius is given, or else where the audit finds one; rows are served again where it
    finds that outcomes of a state and action hardly vary.
    """
    rungs = checked_rungs(then)
    needs_states, audit = {"like", "untried"} & set(rungs), None
    if needs_states and likeness is None:
        likeness = suited(index.log)
    if (needs_states and radius is None) or "reuse" in rungs:
        states = States(index.state, index.next_state, index.n_states)
        audit = audit_of_states(index.log, states, likeness=likeness, seed=seed)
        radius = audit.radius if radius is None else radius
        left_out = (set() if audit.reuse else {"reuse"}) | (needs_states if radius is None else set())
        rungs = tuple(rung for rung in rungs if rung not in left_out)
    return {"then": rungs, "likeness": likeness, "radius": radius, "audit": audit}


def checked_neighbors(found: Any, n_states: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what `Likeness.neighbors` gave, as kernels take it. Raise `ContractError` where it is something else."""
    try:
        first, members = (np.asarray(part) for part in found)
        sizes = np.diff(first)
        kept = (
            first.shape == (n_states + 1,) and first.dtype.kind in "iu" and members.ndim == 1
            and (members.dtype.kind in "iu" or not len(members))
            and first[0] == 0 and (sizes >= 0).all() and first[-1] == len(members)
            and (not len(members) or (members.min() >= 0 and members.max() < n_states))
        )  # fmt: skip
    except (TypeError, ValueError):
        kept = False
    if not kept:
        raise ContractError(
            f"neighbors of {name} has to return first, ({n_states + 1:,},), and members, states from 0 to "
            f"{n_states - 1:,}, with those of state z at first[z] to first[z + 1]; see understudy.contracts.Likeness"
        )
    return np.ascontiguousarray(first, np.int64), np.ascontiguousarray(members, np.int32)


def checked_rungs(then: Any) -> tuple[str, ...]:
    """Return the lower rungs as a tuple. Raise `SettingError` where one is unknown, or given twice, or follows "cut".

    >>> checked_rungs(["like", "cut"])
    ('like', 'cut')
    """
    rungs = (then,) if isinstance(then, str) else tuple(then)
    unknown = [rung for rung in rungs if rung not in CHOICES]
    if unknown or not rungs:
        what = f"holds {unknown[0]!r}" if unknown else "names no rung"
        raise SettingError(f"then={then!r} {what}; give some of {', '.join(map(repr, CHOICES))}, in the order to try")
    if len(set(rungs)) < len(rungs):
        raise SettingError(f"then={then!r} names a rung twice; name each once")
    if "cut" in rungs[:-1]:
        raise SettingError(f"then={then!r} names rungs after 'cut', which would never be tried; put 'cut' last")
    return rungs
