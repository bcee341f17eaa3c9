"""A log replayed past the first state without an answer: rows of states alike, rows served before, or a cut episode."""

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.contracts import Likeness, Rehearsal
from understudy.contracts.ladders import RUNGS
from understudy.contracts.offering import offers
from understudy.errors import ContractError, SettingError
from understudy.settings import real, whole
from understudy.simulators.index import Index, grouped
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.ladder import Ladder
from understudy.simulators.rehearsal import KernelRehearsal
from understudy.simulators.replay import Replay
from understudy.simulators.sharing import shared_rehearsals

CHOICES = (*RUNGS, "cut")
CUT_WINDOW = 100
"""The number of episodes over which the share of cut ones is counted, by default."""


class LadderReplay(Replay):
    """A log replayed with lower rungs. Made by `qbe` and `psrs` where `then=` is given.

    `ladder` has the lower rungs, in the order in which they are tried, and "cut" last.
    """

    def __init__(
        self,
        name: str,
        index: Index,
        *,
        then: Sequence[str],
        likeness: Likeness | None,
        radius: float | None,
        max_cut: float,
        cut_window: int,
        **options: Any,
    ) -> None:
        super().__init__(name, index, **options)
        self.ladder = checked_rungs(then)
        self.exhaustible = not {"reuse", "untried"} & set(self.ladder)
        self._likeness, self._radius = likeness, radius
        self._max_cut, self._cut_window = real("max_cut", max_cut, 0, 1), whole("cut_window", cut_window)
        self.settings |= {"then": self.ladder}
        if "cut" in self.ladder:
            self.settings |= {"max_cut": self._max_cut, "cut_window": self._cut_window}
        self._rules[layout.CUT_EPISODES], self._rules[layout.CUT_WINDOW] = "cut" in self.ladder, self._cut_window
        if not self.exhaustible and self._rules[layout.REPLACE_OPENINGS] == layout.FROM_QUEUE:
            self._rules[layout.REPLACE_OPENINGS] = layout.QUEUE_THEN_REPLACEMENT
        self._rungs = np.array([1 + RUNGS.index(rung) for rung in self.ladder if rung != "cut"], np.int64)
        self._first_alike, self._alike = self._states_alike()
        self._grouped_rows = grouped(self._queue_of, len(self._end))[1]
        by_rows = self._rules[layout.READ_ORDER] == layout.BY_ROWS
        lengths = np.ones(len(self.log), int) if by_rows else np.diff(self.log.starts)
        entries = np.repeat(np.arange(len(lengths)), lengths)
        self._tape_entry = entries.astype(np.int32)
        self._spare_notes: list[np.ndarray] = []

    def _states_alike(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the states alike of each state, as `Likeness.neighbors` gives them; none where no rung needs them."""
        if not {"like", "untried"} & set(self.ladder):
            return np.zeros(self.n_states + 1, np.int64), np.empty(0, np.int32)
        if not offers(self._likeness, Likeness) or self._radius is None:
            raise ContractError(
                f"likeness={self._likeness!r} and radius={self._radius!r}: the rungs 'like' and 'untried' need to know "
                "which states are alike; give likeness=us.likeness.observations() or another of its kinds, and radius="
            )
        self._radius = real("radius", self._radius, 0)
        self.settings |= {"likeness": dict(self._likeness.settings), "radius": self._radius}
        next_state = self.index.records["next_state"]
        return self._likeness.neighbors(self.log, self.index.state, next_state, self.n_states, self._radius)

    def start(self, seed: int, codes: Any = None) -> KernelRehearsal:
        """Return a new rehearsal; `codes` are those of a learner with a table of its own."""
        rehearsal = super().start(seed, codes)
        tape = rehearsal.source
        try:
            place = self._spare_notes.pop()
        except IndexError:
            place = np.empty(len(tape.order), np.int32)
        most = int(np.floor(self._max_cut * self._cut_window + 1e-9))
        rehearsal.source = Ladder(
            tape, tape.rules, tape.cursor, self._rungs, self._first_alike, self._alike, self._grouped_rows,
            self._tape_entry, place, np.zeros(most + 1, np.int64),
        )  # fmt: skip
        weakref.finalize(rehearsal, self._spare_notes.append, place).atexit = False
        return rehearsal

    def start_shared(self, seed: int, n: int) -> list[Rehearsal]:
        return shared_rehearsals(self.start(seed), n)

    def select(self, episodes: np.ndarray) -> "LadderReplay":
        """Return the same simulator on the log of these episodes; which states are alike is found anew."""
        return LadderReplay(
            self.settings["simulator"], self.index.select(episodes), then=self.ladder, likeness=self._likeness,
            radius=self._radius, max_cut=self._max_cut, cut_window=self._cut_window, **self._options,
        )  # fmt: skip

    def repeated(self, copies: int) -> "LadderReplay":
        raise SettingError(
            "how much more log a ladder would need is not known: where its states run out, it goes on by other rungs; "
            "ask it of the same simulator without then="
        )

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_spare_notes": []}


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
