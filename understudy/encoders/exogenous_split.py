"""Observations split into what the action influences and what moves by itself, learned from a log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contracts import Log
from understudy.encoders.exogenous_playing import QUEUES, Playing, played, repeats
from understudy.encoders.exogenous_rewards import ColumnEffect, reward_parts, shares
from understudy.encoders.exogenous_sample import SplitSample, sampled
from understudy.encoders.exogenous_search import NONE_EXOGENOUS, FoundParts, SplitTest, clearly_told, searched
from understudy.errors import ContractError, LogError, SettingError
from understudy.logs.naming import feature_name
from understudy.settings import real, seed_of
from understudy.tables import NONE, Column, Table, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

FEWEST_ROWS, FEWEST_EPISODES = 500, 20
"""Of a log; with fewer, a test that finds nothing says nothing."""

MOST_COLUMNS = 64
MOST_BASES, GLANCE_ROWS = 1024, 4000

TYPES = {"question": "string", "statistic": "float64", "p_value": "float64", "level": "float64", "found": "bool"}
PLAYED = {
    "queues": "from a queue for each of its values",
    "episodes": "forward, as one logged episode has it for each episode",
    "onward": "forward, as the whole log has it, from one episode to the next",
}


@dataclass(frozen=True, repr=False, eq=False)
class ExogenousSplit:
    """Which columns of an observation are endogenous, which exogenous, and the tests that say so.

    `ok` is False where the parts are not independent; `refusal` says why, and `exo_psrs` takes no such split.
    """

    names: tuple[str, ...]
    endogenous: tuple[int, ...]
    exogenous: tuple[int, ...]
    tests: tuple[SplitTest, ...]
    refusal: str | None
    playing: Playing | None  # how the exogenous part is played; None where the split is refused
    reward_form: str | None  # "own", "additive" or "table"; None where the split is refused
    effects: tuple[ColumnEffect, ...]  # of exogenous columns on the reward; none unless it is additive
    base: int | None  # of codes: the columns are code % base and code // base; None where observations have columns
    fitted_on: str  # the fingerprint of the log

    @property
    def ok(self) -> bool:
        """True if the parts are independent as far as the log can tell."""
        return self.refusal is None

    def columns(self, observations: np.ndarray) -> np.ndarray:
        """Return observations as rows of columns, (n, columns)."""
        return as_columns(observations, self.base)

    def parts(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the endogenous and the exogenous columns of observations."""
        columns = self.columns(observations)
        if columns.shape[1] != len(self.names):
            raise ContractError(f"the split has {len(self.names)} columns, and these observations {columns.shape[1]}")
        return columns[:, list(self.endogenous)], columns[:, list(self.exogenous)]

    def joined(self, endogenous: np.ndarray, exogenous: np.ndarray) -> np.ndarray:
        """Return observations with the endogenous part of the first and the exogenous part of the second."""
        columns = self.columns(endogenous).copy()
        columns[:, list(self.exogenous)] = self.columns(exogenous)[:, list(self.exogenous)]
        if self.base is None:
            return columns.reshape(endogenous.shape).astype(endogenous.dtype, copy=False)
        return (columns[:, 0] + self.base * columns[:, 1]).astype(endogenous.dtype)

    def reward_shares(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what exogenous parts add to the reward of a step that leaves them, and of one that arrives."""
        return shares(self.effects, self.columns(observations), self.names)

    def _named(self, columns: Sequence[int]) -> str:
        return ", ".join(self.names[column] for column in columns) or "none"

    def __str__(self) -> str:
        if self.refusal is not None:
            return f"no split: {self.refusal}"
        lines = [f"endogenous: {self._named(self.endogenous)}; exogenous: {self._named(self.exogenous)}"]
        if self.playing is not None:
            lines.append(f"  the exogenous part is played {PLAYED[self.playing.how]}: {self.playing.why}")
        lines.append(f"  the reward is {REWARDS[str(self.reward_form)]}")
        return "\n".join([*lines, *(f"  {test}" for test in self.tests)])

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values."""
        return dict(vars(self)) | {
            "names": list(self.names), "endogenous": list(self.endogenous), "exogenous": list(self.exogenous),
            "tests": [dict(vars(test)) | {"found": test.finds} for test in self.tests],
            "playing": None if self.playing is None else self.playing._asdict(),
            "effects": [effect.to_json() for effect in self.effects],
        }  # fmt: skip

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table with a line for each test."""
        lines = [dict(vars(test)) | {"found": test.finds} for test in self.tests]
        return arrow_table({name: [line[name] for line in lines] for name in TYPES}, TYPES)

    def _repr_html_(self) -> str:
        headings = (Column("question", numeric=False), Column("p"), Column("answer", numeric=False))
        rows = tuple(
            (test.question, NONE if test.p_value is None else f"{test.p_value:.2g}", "yes" if test.finds else "no")
            for test in self.tests
        )
        return Table(str(self).split("\n", 1)[0], headings, rows)._repr_html_()


REWARDS = {
    "own": "the endogenous row's own",
    "additive": "the endogenous row's own, with what the exogenous part adds exchanged",
    "table": "read from a table, by where a step arrives",
}


def exogenous_split(
    log: Log, *, exogenous: Sequence[str | int] | None = None, seed: int = 0, level: float = 0.05
) -> ExogenousSplit:
    """Return a split of observations into what the action influences and what moves by itself, for `exo_psrs`.

    Use it where observations hold a clock, a price or the weather: things that go their own way, and that would make
    every observation a state of its own. It needs the propensities of all actions. Columns are endogenous where what
    they show later tells which action was taken, or where they follow from columns that are; the others are exogenous,
    or are the columns named in `exogenous`, by name or number. Observations that are codes are read as two numbers,
    code % base and code // base, for the base that makes the endogenous part smallest.

    The split is refused, which `ok` and `refusal` tell, where no column is exogenous, where the exogenous part moves
    the endogenous one, or where the reward follows from both in a way that cannot be read from the log. `level` is at
    least the share of logs of independent parts that are refused by chance. Logs of more than 60,000 rows are tested
    on episodes drawn by `seed`.

    >>> import understudy as us
    >>> log = us.record(us.envs.CounterGrid(8, size=3), episodes=200, seed=0)
    >>> print(str(us.exogenous_split(log)).split("\\n")[0])
    endogenous: observation % 9; exogenous: observation // 9
    """
    if not isinstance(log, Log):
        raise ContractError(f"a {type(log).__name__} is not a log; make one with us.read or us.Log.from_columns")
    seed, level = seed_of(seed), real("level", level, 1e-6, 0.5)
    log.require_no_errors()
    if len(log) < FEWEST_ROWS or log.n_episodes < FEWEST_EPISODES:
        raise LogError(
            f"the log has {len(log):,} rows of {log.n_episodes:,} episodes, too few to find a split by; record "
            f"{FEWEST_ROWS} rows of {FEWEST_EPISODES} episodes or more, or give split, merge and reward to exo_psrs"
        )
    if "next_observation" in log.derived and log.terminated.any():
        raise LogError("this log does not say where terminated rows arrived; give next_observation=")
    if log.spec.n_observations is not None:
        return _split_of_codes(log, exogenous, seed, level)
    before = as_columns(log.observation, None)
    if not 2 <= before.shape[1] <= MOST_COLUMNS:
        raise LogError(
            f"observations have {before.shape[1]} columns, and a split needs 2 to {MOST_COLUMNS}; choose columns with "
            "read(..., observation=[...])"
        )
    names = tuple(feature_name(log.spec, column) for column in range(before.shape[1]))
    return _split(log, None, names, None if exogenous is None else column_numbers(exogenous, names), seed, level)


def as_columns(observations: np.ndarray, base: int | None) -> np.ndarray:
    """Return observations as rows of columns; codes as their two digits in a base."""
    if base is None:
        columns = observations.reshape(len(observations), -1)
        return columns.astype(np.int64) if columns.dtype.kind in "ub" else columns  # differences may be negative
    return np.column_stack([observations % base, observations // base])


def column_numbers(given: Sequence[str | int], names: Sequence[str]) -> list[int]:
    """Return the numbers of columns that are given by name or number. Raise `SettingError` for one that is not there.

    >>> column_numbers(["clock", 0], ("x", "y", "clock"))
    [0, 2]
    """
    given = [given] if isinstance(given, str | int) else list(given)
    found = [names.index(one) if one in names else one for one in given]
    wrong = [one for one in found if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one < len(names)]
    if wrong or not 0 < len(set(found)) < len(names):
        raise SettingError(f"exogenous={given!r} are not some of the columns {', '.join(names)}; name some of them")
    return sorted({int(one) for one in found})


def _split(
    log: Log, base: int | None, names: tuple[str, ...], exogenous: Sequence[int] | None, seed: int, level: float
) -> ExogenousSplit:
    """Return the split of a log by its columns. A quarter of the level is for rewards, the rest for the parts."""
    whole = SplitSample(log, as_columns(log.observation, base), as_columns(log.next_observation, base), names)
    sample = sampled(log, whole.before, whole.after, names, seed)
    parts: FoundParts = searched(sample, 0.75 * level, exogenous)
    about: dict[str, Any] = {"names": names, "base": base, "fitted_on": log.fingerprint}
    refused: dict[str, Any] = {"playing": None, "reward_form": None, "effects": ()}
    if parts.refusal is not None:
        return ExogenousSplit(
            endogenous=parts.endogenous, exogenous=parts.exogenous, tests=parts.tests, refusal=parts.refusal,
            **about, **refused,
        )  # fmt: skip
    inner, rest = parts.endogenous, parts.exogenous
    playing = played(whole, inner, rest)
    table = playing.how == QUEUES and repeats(whole, rest)
    rewards = reward_parts(sample, inner, rest, level / 8, repeats=table)
    about |= {"endogenous": inner, "exogenous": rest, "tests": parts.tests + rewards.tests, "refusal": rewards.refusal}
    if rewards.refusal is not None:
        return ExogenousSplit(**about, **refused)
    return ExogenousSplit(**about, playing=playing, reward_form=rewards.form, effects=rewards.effects)


def _split_of_codes(log: Log, exogenous: Any, seed: int, level: float) -> ExogenousSplit:
    """Return the split of codes as two numbers, in the base with the fewest endogenous values of those that hold."""
    if exogenous is not None:
        raise SettingError("exogenous= names columns, and observations of this log are codes; leave it out")
    n = int(log.spec.n_observations or 0)
    glance = sampled(log, log.observation, log.next_observation, (), seed, GLANCE_ROWS)
    found: list[tuple[int, int]] = []  # the number of endogenous values, and the base
    for base in range(2, min(n // 2, MOST_BASES) + 1):
        digits = as_columns(glance.before, base), as_columns(glance.after, base)
        told = clearly_told(SplitSample(glance.log, digits[0], digits[1], ("", "")))
        if told.sum() == 1:
            found.append((base if told[0] else -(-n // base), base))
    refused = []
    for _, base in sorted(found):
        split = _split(log, base, (f"observation % {base}", f"observation // {base}"), None, seed, level)
        if split.ok:
            return split
        refused.append(split)
    for split in refused:
        if split.refusal != NONE_EXOGENOUS:  # it says more than that there is no base
            return split
    return ExogenousSplit(
        ("observation",), (0,), (), refused[0].tests if refused else (),
        "observations are codes, and read as two numbers (code % base and code // base), neither moves by itself in "
        "any base; give split, merge and reward to exo_psrs, or log the columns that make up the code",
        None, None, (), None, log.fingerprint,
    )  # fmt: skip
