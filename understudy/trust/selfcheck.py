"""The self-check: whether the states of a log can be believed, from the log alone."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contracts import Encoder, Log
from understudy.contracts.encoding import check_encodes
from understudy.contracts.streams import spawn
from understudy.encoders.auditing import merging_states
from understudy.encoders.state_audit import ENOUGH
from understudy.encoders.sufficiency import FEWEST_ROWS
from understudy.errors import ContractError
from understudy.logs.findings import counted
from understudy.settings import real, seed_of
from understudy.simulators.index import states_of_log
from understudy.tables import NONE, Column, Table, arrow_table
from understudy.trust import within_states
from understudy.trust.logging_policy import LoggingPolicy
from understudy.trust.shapes import difference, labels_of_observations, labels_of_states
from understudy.trust.within_states import StatedLog

if TYPE_CHECKING:
    import pyarrow as pa

SHAPES, SUFFICIENCY, DRIFT = "shapes", "sufficiency", "drift"
"""The names of the three tests."""

SHARE = 0.25
"""Each test's share of the level. A fourth part is kept in reserve: that rows may be permuted within a state and action
is not exact, since how often a state is visited depends on outcomes."""

FEWEST_EPISODES = 20  # of a log, to compare one half of them with the other
FEWEST_SIMULATED = 5
MOST_SIMULATED, MOST_LOGGED = 200, 400  # episodes on the two sides of a comparison
SHAPE_PERMUTATIONS = 499  # at least
MOST_STEPS = 512  # of an episode that are compared
FEW = 0.02  # share of episodes without an end of their own that are left out of the comparison
NO_ROWS = f"no state has {FEWEST_ROWS} rows of one action"

BLIND_TO = (
    "wrong propensities, where they are wrong in all rows alike: us.check tests them",
    "hidden causes of both actions and outcomes (confounding): each half of the log has them alike",
    "states and actions that the logging policy never or rarely visits: a learner that goes there meets untested rows",
    "errors smaller than this log can show: nothing found is not a proof",
    "changes after the log ended: the world in which the learner will be deployed",
)
"""What no test here can see."""


@dataclass(frozen=True)
class SelfTest:
    """One test of a self-check. Where it could not be made, `p_value` is None and `looked_at` says why."""

    name: str
    looked_at: str
    statistic: float | None = None
    p_value: float | None = None  # adjusted for all that the test looked at
    found: str = ""  # what is wrong, where it fires
    level: float | None = None  # it fires where the p-value is at most this

    @property
    def fires(self) -> bool:
        """True if the test found that the log, or its states, must not be believed."""
        return self.p_value is not None and self.level is not None and self.p_value <= self.level


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
    def ok(self) -> bool:
        """True if nothing was found, and enough was tested for that to mean something."""
        return not self.fires and self.tested_states

    @property
    def verdict(self) -> str:
        """The verdict, a sentence."""
        fired = [test for test in self.tests if test.fires]
        left_out = [test for test in self.tests if test.p_value is None]
        if fired:
            return "not to be believed: " + "; and ".join(test.found for test in fired)
        made = [test.name for test in self.tests if test.p_value is not None]
        without = "; ".join(f"no test of {test.name}, since {test.looked_at}" for test in left_out)
        if not self.tested_states:
            left = f"what is left, the test of {' and of '.join(made)}, found nothing" if made else "nothing is left"
            return f"could not be told: {without or 'too few rows are in states that could be tested'}; {left}"
        return f"nothing found by the test{'s' * (len(made) > 1)} of {' and of '.join(made)}" + (
            f" ({without})" if without else ""
        )

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

    def _table(self) -> Table:
        headings = (Column("test", numeric=False), Column("p-value"), Column("level"), Column("", numeric=False))
        rows = tuple(
            (
                test.name, NONE if test.p_value is None else f"{test.p_value:.2g}",
                NONE if test.level is None else f"{test.level:.2g}",
                f"fires: {test.found}" if test.fires else test.looked_at,
            )
            for test in self.tests
        )  # fmt: skip
        title = f"Self-check of {self.n_rows:,} rows, {self.n_episodes:,} episodes: {self.verdict}"
        return Table(title, headings, rows, notes=tuple(f"It cannot see {sentence}." for sentence in self.blind_to))

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def __str__(self) -> str:
        table = self._table()
        lines = [f"  {name:<12} {p:>8} {level:>7}  {words}" for name, p, level, words in (table.columns, *table.rows)]
        return "\n".join([table.title, *lines, *(f"  note: {note}" for note in table.notes)])

    __repr__ = __str__


def selfcheck(log: Log, encoder: Encoder | None = None, *, seed: int = 0, level: float = 0.05) -> Selfcheck:
    """Return whether a log and its states contradict themselves, before anything is simulated on them.

    Use it where there is no true environment to compare with. Three tests share the `level`, which is at least the
    share of logs with true states in which one of them fires by chance:

    - shapes: the logging policy is simulated by QBE on one half of the episodes, and its episodes are compared with
      the other half: where they are after so many steps, lengths, returns. It finds states, or observations, that do
      not tell what follows. It needs the propensity of every action.
    - sufficiency: within each state, given the action, does the observation, or the step before, still predict what
      follows?
    - drift: given state and action, does the time of a row still predict what follows? A logger that changes its
      actions does not make it fire.

    `encoder` makes states of observations, as for a simulator; None: every observation is one. An encoder that is not
    fitted yet is fitted on the log first. What no test can see is in `blind_to`: wrong propensities and confounding,
    above all.

    >>> import understudy as us
    >>> log = us.record(us.envs.Grid(3, slip=0.2), episodes=60, seed=0)
    >>> us.selfcheck(log).ok
    True
    >>> print(us.selfcheck(log, us.encoders.Function(lambda cells: cells // 2)).verdict[:40])
    not to be believed: within some states (
    """
    if not isinstance(log, Log):
        raise ContractError(f"a {type(log).__name__} is not a log; make one with us.read or us.Log.from_columns")
    if encoder is not None:
        check_encodes(encoder)
    seed, level = seed_of(seed), real("level", level, 0, 1, ends=False)
    log.require_no_errors()
    stated, share = StatedLog(log, *states_of_log(log, encoder)), SHARE * level
    shapes = _shapes(stated, share, merges=encoder is not None, seed=spawn(seed, 0))
    sufficiency, told = _sufficiency(stated, share, merges=encoder is not None, seed=spawn(seed, 1))
    tests = (shapes, sufficiency, _drift(stated, share, spawn(seed, 2)))
    return Selfcheck(tests, level, len(log), log.n_episodes, tested_states=told or shapes.p_value is not None)


def _shapes(stated: StatedLog, level: float, *, merges: bool, seed: int) -> SelfTest:
    """Return the test of simulated episodes against logged ones; each half of the episodes is simulated once."""
    log = stated.log
    episodes, horizon = _comparable(log)
    reason = ""
    if log.propensity is None:
        reason = "the log has no propensities"
    elif log.propensity.ndim == 1:
        reason = "only the chosen action's propensity was logged, and the policy has one for every action"
    elif len(episodes) < FEWEST_EPISODES:
        reason = f"{len(episodes):,} episodes can be compared, and halves need {FEWEST_EPISODES}"
    if reason:
        return SelfTest(SHAPES, reason)
    rng, policy = np.random.default_rng(seed), LoggingPolicy(log, stated.state, stated.next_state)
    labels = {"observations": labels_of_observations(log, rng)}
    if merges:
        labels["states"] = labels_of_states(log, stated.state, stated.next_state)
    halves, found, n_simulated = np.array_split(rng.permutation(episodes), 2), [], 0
    permutations = max(SHAPE_PERMUTATIONS, _enough(level / 2))
    for number, (half, other) in enumerate((halves, halves[::-1])):
        supply = policy.supply(half)
        n = policy.affordable(supply, other, min(len(half) // 2, MOST_SIMULATED))
        if n < FEWEST_SIMULATED:
            return SelfTest(SHAPES, "too few rows of each state and action are there to simulate on half of them")
        simulated = policy.simulated(half, n, horizon, spawn(seed, number))
        logged = policy.logged(other[:MOST_LOGGED], supply, horizon)
        found.append(difference(log, simulated, logged, labels, rng, permutations))
        n_simulated += n
    worst = min(found, key=lambda one: (one.p_value, -one.statistic))
    return SelfTest(
        SHAPES,
        f"{n_simulated:,} episodes of the logging policy, simulated on one half of the log, against the other half",
        worst.statistic,
        min(1.0, len(found) * worst.p_value),
        f"the logging policy, simulated on half of the log, differs from the other half, most in {worst.shape}: the "
        "states do not tell what follows",
        level,
    )


def _comparable(log: Log) -> tuple[np.ndarray, int]:
    """Return the episodes that can be compared, and how many steps of each.

    An episode that the recording cut off, or a limit that not all have in common, has no length of its own. Where such
    episodes are few they are left out; else all are compared up to the length of the shortest of them.
    """
    lengths = np.diff(log.starts)
    truncated = log.truncated[log.starts[1:] - 1] & (log.max_episode_steps is None)
    cut = log.unfinished | truncated
    if cut.mean() <= FEW:
        return np.flatnonzero(~cut), min(int(lengths.max()), MOST_STEPS)
    return np.arange(log.n_episodes), min(int(lengths[cut].min()), MOST_STEPS)


def _sufficiency(stated: StatedLog, level: float, *, merges: bool, seed: int) -> tuple[SelfTest, bool]:
    """Return the test of what is known beside state and action, and whether at least half of the rows were tested."""
    rng, n = np.random.default_rng(seed), _enough(level)
    before = within_states.predictions(stated, stated.history, stated.states, rng, n)
    if not len(before.state):
        return SelfTest(SUFFICIENCY, NO_ROWS), False
    merging = merging_states(stated.log.observation, stated.state) if merges else stated.states[:0]
    here = within_states.predictions(stated, stated.observation, merging[merging >= 0], rng, n)
    worst, statistic = _worst(here, before)
    of_merging = f", and in {counted(len(here.state), 'state')} that merge observations by the observation"
    return SelfTest(
        SUFFICIENCY,
        f"whether outcomes are predicted, given the action, in {counted(len(before.state), 'state')} by the step before"
        + of_merging * bool(len(here.state)),
        statistic,
        within_states.p_value(here, before),
        f"in some states (most clearly in {worst}) the observation or the step before it still predicts what follows: "
        "their rows cannot stand in for each other",
        level,
    ), before.n_rows >= ENOUGH * len(stated.log)


def _drift(stated: StatedLog, level: float, seed: int) -> SelfTest:
    """Return the test whether outcomes, given state and action, change over the log."""
    rng = np.random.default_rng(seed)
    found = within_states.predictions(stated, stated.time, stated.states, rng, _enough(level))
    if not len(found.state):
        return SelfTest(DRIFT, NO_ROWS)
    worst, statistic = _worst(found)
    return SelfTest(
        DRIFT,
        f"whether outcomes change over the log, given the action, in {counted(len(found.state), 'state')}",
        statistic,
        within_states.p_value(found),
        f"outcomes given state and action change over the log (most clearly in state {worst}): early and late rows "
        "cannot stand in for each other",
        level,
    )


def _enough(level: float) -> int:
    """Return a number of permutations with which the p-value of a test can fall to half of its level."""
    return math.ceil(2 / level) - 1


def _worst(*found: within_states.Predictions) -> tuple[int, float]:
    """Return the state in which outcomes are predicted best, and the statistic there."""
    states = np.concatenate([one.state for one in found])
    statistics = np.concatenate([one.statistic[:, :, 0].max(axis=1) for one in found])
    place = int(statistics.argmax())
    return int(states[place]), float(statistics[place])
