"""The self-check: whether the states of a log can be believed, from the log alone."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contracts import Encoder, Log
from understudy.contracts.encoding import check_encodes
from understudy.contracts.streams import spawn
from understudy.encoders.auditing import audit
from understudy.encoders.state_audit import ENOUGH
from understudy.encoders.sufficiency import holm
from understudy.errors import ContractError
from understudy.settings import real, seed_of
from understudy.simulators.index import states_of_log
from understudy.tables import NONE, Column, Table, arrow_table
from understudy.trust.drift import drifts
from understudy.trust.logging_policy import LoggingPolicy
from understudy.trust.shapes import difference, labels_of_observations, labels_of_states

if TYPE_CHECKING:
    import pyarrow as pa

SHAPES, SUFFICIENCY, DRIFT = "shapes", "sufficiency", "drift"
"""The names of the three tests."""

FEWEST_EPISODES = 20  # of a log, to compare one half of them with the other
FEWEST_SIMULATED = 5
MOST_SIMULATED, MOST_LOGGED = 200, 400  # episodes on the two sides of a comparison
MOST_STEPS = 512  # of an episode that are compared
FEW = 0.02  # share of episodes without an end of their own that are left out of the comparison
SAMPLED_ROWS, PERMUTATIONS = 400, 99  # of the test of sufficiency: fewer than an audit's, to be quick

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
    tested_states: bool  # True if `shapes`, or `sufficiency` in at least half of the rows, could be tested
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

    Use it where there is no true environment to compare with. Three tests share the `level`, the share of logs with
    true states in which one of them fires by chance:

    - shapes: the logging policy is simulated by QBE on one half of the episodes, and its episodes are compared with
      the other half: where they are after so many steps, lengths, returns. It finds states, or observations, that do
      not tell what follows. It needs the propensity of every action.
    - sufficiency: within each state, given the action, does the observation still predict what follows?
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
    states = states_of_log(log, encoder)
    shapes = _shapes(log, states, merges=encoder is not None, seed=spawn(seed, 0))
    sufficiency, told = _sufficiency(log, encoder, spawn(seed, 1))
    tests: tuple[SelfTest, ...] = (shapes, sufficiency, _drift(log, states[0], spawn(seed, 2)))
    share = level / max(1, sum(test.p_value is not None for test in tests))
    tests = tuple(test if test.p_value is None else replace(test, level=share) for test in tests)
    return Selfcheck(tests, level, len(log), log.n_episodes, tested_states=told or shapes.p_value is not None)


def _shapes(log: Log, states: tuple[np.ndarray, np.ndarray], *, merges: bool, seed: int) -> SelfTest:
    """Return the test of simulated episodes against logged ones; each half of the episodes is simulated once."""
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
    rng, policy = np.random.default_rng(seed), LoggingPolicy(log, states)
    labels = {"observations": labels_of_observations(log, rng)}
    if merges:
        labels["states"] = labels_of_states(log, *states)
    halves, found, n_simulated = np.array_split(rng.permutation(episodes), 2), [], 0
    for number, (half, other) in enumerate((halves, halves[::-1])):
        supply = policy.supply(half)
        n = policy.affordable(supply, other, min(len(half) // 2, MOST_SIMULATED))
        if n < FEWEST_SIMULATED:
            return SelfTest(SHAPES, "too few rows of each state and action are there to simulate on half of them")
        simulated = policy.simulated(half, n, horizon, spawn(seed, number))
        logged = policy.logged(other[:MOST_LOGGED], supply, horizon)
        found.append(difference(log, simulated, logged, labels, rng))
        n_simulated += n
    worst = min(found, key=lambda one: (one.p_value, -one.statistic))
    return SelfTest(
        SHAPES,
        f"{n_simulated:,} episodes of the logging policy, simulated on one half of the log, against the other half",
        worst.statistic,
        min(1.0, len(found) * worst.p_value),
        f"the logging policy, simulated on half of the log, differs from the other half, most in {worst.shape}: the "
        "states do not tell what follows",
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


def _sufficiency(log: Log, encoder: Encoder | None, seed: int) -> tuple[SelfTest, bool]:
    """Return the test of states that merge observations, and whether at least half of the rows could be tested."""
    if encoder is None:
        return SelfTest(SUFFICIENCY, "every observation is a state of its own, so nothing is merged"), False
    found = audit(encoder, log, seed=seed, permutations=PERMUTATIONS, most_rows=SAMPLED_ROWS)
    if not found.tested.any():
        return SelfTest(SUFFICIENCY, found.sentence), False
    p_values = holm(found.p_value)
    worst = int(np.nanargmin(p_values))
    test = SelfTest(
        SUFFICIENCY,
        f"{found.tested.sum():,} states that merge observations, with {found.tested_share:.0%} of the rows of such",
        float(found.explained[worst]),
        float(p_values[worst]),
        f"within some states (most clearly in {found.state[worst]}) the observation still predicts what follows: they "
        "merge what replay must tell apart",
    )
    return test, found.tested_share >= ENOUGH


def _drift(log: Log, states: np.ndarray, seed: int) -> SelfTest:
    """Return the test whether outcomes, given state and action, change over the log."""
    tested, p_values = drifts(log, states, seed)
    if not len(tested):
        return SelfTest(DRIFT, "no state has enough rows of one action")
    worst = int(np.argmin(p_values))
    return SelfTest(
        DRIFT,
        f"outcomes in {len(tested):,} states over the time of the log, given the action",
        p_value=float(p_values[worst]),
        found=f"outcomes given state and action change over the log, most clearly in state {tested[worst]}: early and "
        "late rows cannot stand in for each other",
    )
