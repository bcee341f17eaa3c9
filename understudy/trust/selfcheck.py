"""The self-check: whether a log and its states can be believed, from the log alone."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contracts import Encoder, Log
from understudy.contracts.streams import spawn
from understudy.logs.findings import counted
from understudy.settings import real, seed_of
from understudy.simulators.index import index
from understudy.tables import NONE, Column, Table, arrow_table
from understudy.trust.self_tests import SelfTest, drift_test, shapes_test, sufficiency_test
from understudy.trust.within_states import StatedLog

if TYPE_CHECKING:
    import pyarrow as pa

SHARE = 0.25
"""Each test's share of the level. A fourth part is kept in reserve: that rows may be permuted within a state and action
is not exact, since how often a state is visited depends on outcomes."""

LOWEST_LEVEL = 0.01  # a lower one would need many more permutations

BLIND_TO = (
    "wrong propensities of actions that lead to much the same, or any if shapes were not tested: us.check tests them",
    "hidden causes of both actions and outcomes (confounding): each half of the log has them alike",
    "states and actions that the logging policy never or rarely visits: a learner that goes there meets untested rows",
    "errors that all rows share, such as rewards that were logged wrongly",
    "what an encoder that was fitted on this log fitted by chance: fit it on one half of the episodes, check the other",
    "errors smaller than this log can show: nothing found is not a proof",
    "changes after the log ended: the world in which the learner will be deployed",
)
"""What no test here can see."""


@dataclass(frozen=True, repr=False)
class Selfcheck:
    """What a self-check found: three tests, and what none of them can see.

    `ok` is True where no test fires and the states could be tested; `fires` is True where a test does. Both are False
    where too little could be tested: `verdict` says why.
    """

    tests: tuple[SelfTest, ...]
    level: float  # the share of logs with true states in which some test fires
    n_rows: int
    n_episodes: int
    tested_states: bool  # True if `shapes` could be tested, or `sufficiency` in at least half of the rows
    blind_to: tuple[str, ...] = BLIND_TO

    @property
    def fires(self) -> bool:
        """True if a test found something: the simulation must not be believed."""
        return any(test.fires for test in self.tests)

    @property
    def made(self) -> bool:
        """True if any test could be made."""
        return any(test.p_value is not None for test in self.tests)

    @property
    def ok(self) -> bool:
        """True if nothing was found, and enough was tested for that to mean something."""
        return not self.fires and self.tested_states

    @property
    def verdict(self) -> str:
        """The verdict, a sentence."""
        fired = [test.found for test in self.tests if test.fires]
        if fired:
            return f"not to be believed: {'; and '.join(fired)}"
        made = _listed([test.name for test in self.tests if test.p_value is not None])
        missing: dict[str, list[str]] = {}
        for test in self.tests:
            if test.p_value is None:
                missing.setdefault(test.looked_at, []).append(test.name)
        reasons = "; ".join(f"no test of {_listed(names)}, since {reason}" for reason, names in missing.items())
        if self.tested_states:
            return f"nothing found by the tests of {made}" + f" ({reasons})" * bool(reasons)
        left = f"what is left, of {made}, found nothing" if made else "nothing is left to test; log more episodes"
        return f"could not be told: {reasons or 'most rows are in states too small to test'}; {left}"

    def to_json(self) -> dict[str, Any]:
        """Return plain types."""
        return {
            "ok": self.ok, "fires": self.fires, "verdict": self.verdict, "level": self.level, "n_rows": self.n_rows,
            "n_episodes": self.n_episodes, "tests": [vars(test) | {"fires": test.fires} for test in self.tests],
            "blind_to": list(self.blind_to),
        }  # fmt: skip

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table with a line for each test: name, statistic, p_value, level, fires, looked_at, found."""
        types = {"name": "string", "statistic": "float64", "p_value": "float64", "level": "float64", "fires": "bool"}
        types |= {"looked_at": "string", "found": "string"}
        lines = [vars(test) | {"fires": test.fires} for test in self.tests]
        return arrow_table({name: [line[name] for line in lines] for name in types}, types)

    def to_table(self) -> Table:
        """Return the tests as a table for people, with what none of them can see as notes."""
        headings = (Column("test", numeric=False), Column("p-value"), Column("level"), Column("", numeric=False))
        rows = tuple(
            (
                test.name, NONE if test.p_value is None else f"{test.p_value:.2g}",
                NONE if test.level is None else f"{test.level:.2g}",
                f"fires: {test.found}" if test.fires else test.looked_at,
            )
            for test in self.tests
        )  # fmt: skip
        counts = f"{counted(self.n_rows, 'row')}, {counted(self.n_episodes, 'episode')}"
        title = f"Self-check of {counts}: {self.verdict}"
        return Table(title, headings, rows, notes=tuple(f"It cannot see {sentence}." for sentence in self.blind_to))

    def _repr_html_(self) -> str:
        return self.to_table()._repr_html_()

    def __str__(self) -> str:
        table = self.to_table()
        lines = [f"  {name:<12} {p:>8} {level:>7}  {words}" for name, p, level, words in (table.columns, *table.rows)]
        return "\n".join([table.title, *lines, *(f"  note: {note}" for note in table.notes)])

    __repr__ = __str__


def selfcheck(log: Log, encoder: Encoder | None = None, *, seed: int = 0, level: float = 0.05) -> Selfcheck:
    """Return whether a log and its states contradict themselves, before anything is simulated on them.

    Use it where there is no true environment to compare with. Three tests share the `level`, which is at least the
    share of logs with true states in which one of them fires by chance:

    - shapes: the logging policy is simulated by QBE on one half of the episodes, and its episodes are compared with
      the other half: where they are after so many steps, lengths, returns. It finds states, or observations, that do
      not tell what follows, propensities that actions were not drawn from, and limits that are logged as `terminated`,
      and cannot tell these from each other. It needs the propensity of every action.
    - sufficiency: within each state, given the action, does the observation, or the step before, still predict what
      follows?
    - drift: given state and action, does the time of a row still predict what follows? A logger that changes its
      actions does not make it fire.

    `encoder` makes states of observations, as for a simulator; None: every observation is one. An encoder that is not
    fitted yet is fitted on the log first. `level` is from .01 to .5. What no test can see is in `blind_to`:
    confounding, above all.

    >>> import understudy as us
    >>> log = us.record(us.envs.Grid(3, slip=0.2), episodes=60, seed=0)
    >>> us.selfcheck(log).ok
    True
    >>> us.selfcheck(log, us.encoders.Function(lambda cells: cells // 2)).verdict[:18]
    'not to be believed'
    """
    seed, share = seed_of(seed), SHARE * real("level", level, LOWEST_LEVEL, 0.5)
    indexed = index(log, encoder)
    states = (indexed.state, np.ascontiguousarray(indexed.next_state))
    stated = StatedLog(log, *(np.where(codes < 0, -1, indexed.encoder_states(codes)) for codes in states))
    shapes = shapes_test(stated, share, merges=encoder is not None, seed=spawn(seed, 0))
    sufficiency, told = sufficiency_test(stated, share, merges=encoder is not None, seed=spawn(seed, 1))
    tests = (shapes, sufficiency, drift_test(stated, share, spawn(seed, 2)))
    return Selfcheck(tests, level, len(log), log.n_episodes, tested_states=told or shapes.p_value is not None)


def _listed(names: list[str]) -> str:
    """Return names as a part of a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
