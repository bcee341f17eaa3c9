"""The same experiment on random halves of a log's episodes, beside the whole: how lucky is this log, is it enough?

Runs on one log share what that log happens to hold. Halves of it show how much that matters: see `luck_of_one_log` for
intervals, and `trusted` for the step up to which half of the log gives the same answer as the whole.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contracts import Learner, LoopOwner, SelectsEpisodes, Simulator
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.contracts.simulating import log_of
from understudy.contracts.streams import spawn
from understudy.errors import ContractError, LogError, ResultsError, RunError, SettingError, visible
from understudy.evaluation.curves import is_scalar
from understudy.evaluation.dependence import dependence_of_episodes
from understudy.evaluation.intervals import HalvedReadings, Interval, interval_of
from understudy.evaluation.trusted import SHARE_GOING, SHARE_OF_WHOLE, Trusted, trusted_horizon
from understudy.logs import Log
from understudy.progress import progress_bar
from understudy.runs import Runs, experiment
from understudy.runs.failures import check_same_failed
from understudy.runs.folder import half_folder
from understudy.settings import real, seed_of, whole

if TYPE_CHECKING:
    import pyarrow as pa

EPISODES, RUNS = 4, 5
"""Parts of the seeds of halves: which episodes a half has, and its runs. Those of `runs.run.KINDS` are others."""

FEWEST_EPISODES = 8
"""Episodes below which halves of a log are too few and too much alike to tell anything."""

FEWEST_HALVES = 5
"""Halves below which their variance is hardly known: with three, intervals of 95% covered 78 to 95%."""

FEWEST_RUNS = 4
"""Runs on each half below which their own noise is hardly known."""

RUNS_OF_HALF = 0.2
"""Runs on each half, as a share of those on the whole log."""


@dataclass(frozen=True, eq=False, repr=False)
class Halves:
    """Runs on a whole log, and on random halves of its episodes. Made by `us.halves`.

    >>> from understudy.envs import Grid, record
    >>> from understudy.learners import QLearning
    >>> from understudy.runs.probes import start_value
    >>> from understudy.simulators import psrs
    >>> log = record(Grid(), episodes=100, seed=0)
    >>> found = halves(psrs(log), lambda seed: QLearning(25, 5, epsilon=0.9, seed=seed), runs=20, every=500,
    ...                probes={"start value": start_value(log)}, progress=False)
    >>> found
    20 runs of psrs, and 4 on each of 20 halves of the log, probes: start value
    >>> steps, mean, low, high = found.interval("start value")
    >>> bool((low < mean).all() and (mean < high).all())
    True
    """

    runs: Runs
    note: str = ""  # what speaks against the intervals, where something was found in the log

    def __post_init__(self) -> None:
        if not isinstance(self.runs, Runs) or not self.runs.halves:
            raise SettingError("these runs have no halves; make them with us.halves(simulator, make, ...)")
        counts = [len(half) for half in self.runs.halves]
        if any(len(half) + len(half.failed) < max(counts) for half in self.runs.halves) or min(counts) < 2:
            raise ResultsError(
                f"the halves of the log have {min(counts)} to {max(counts)} finished runs each, and need equally "
                "many, 2 or more; call us.halves or understudy simulate again with the same out= to finish them"
            )
        for number, half in enumerate(self.runs.halves):
            if not is_half_of(half, self.runs, number):
                raise ResultsError(
                    f"half {number} of the log is not of these runs, but of another log or seed; give the folder that "
                    "us.halves wrote, or remove the folder halves in it and make them again"
                )
        if len(self.runs) < 2:
            raise SettingError("one run tells nothing of the spread of runs; give runs= of 2 or more")

    def _repr_html_(self) -> str:
        shown = next((probe for probe in self.runs.probes if is_scalar(self.runs, probe)), None)
        try:
            curve = "" if shown is None else self.interval(shown)._repr_html_()
        except (ResultsError, SettingError):  # no run has a reading, or too few have
            curve = ""
        return f"<p>{escape(visible(str(self)))}</p>{curve}"

    @property
    def halves(self) -> tuple[Runs, ...]:
        """The runs on each half of the log: equally many, so where some failed, as many as the fewest have."""
        fewest = min(len(half) for half in self.runs.halves)
        return tuple(half if len(half) == fewest else half[:fewest] for half in self.runs.halves)

    @property
    def probes(self) -> list[str]:
        """The names of the probes."""
        return self.runs.probes

    def interval(self, probe: str | None = None, *, level: float = 0.95, share: float = 1.0) -> Interval:
        """Return the mean curve of a probe, by default the first, with an interval that includes the log's luck.

        It has the readings that at least `share` of the runs reached, and unpacks to steps, mean, low and high. Beyond
        the steps that halves reach the variance is extrapolated; `.reach` says from where on.
        """
        return interval_of(self.readings(probe, share), real("level", level, 0, 1, ends=False))

    def final(self, probe: str | None = None, *, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean, low and high of a probe at the last reading that all runs reached."""
        return self.interval(probe, level=level).final

    def trusted(self, probe: str | None = None, margin: float | None = None) -> int:
        """Return the trusted horizon: the step up to which halves of the log agree with the whole within a margin."""
        return self.trust(probe, margin).steps

    def trust(self, probe: str | None = None, margin: float | None = None) -> Trusted:
        """Return the trusted horizon with the reason why it ends there.

        `margin` is in the probe's units, by default a tenth of the range of the mean curve as far as 99 of 100 runs go;
        where that is less than half as far as nine of ten go, as far as those do.
        """
        readings = self.readings(probe, SHARE_OF_WHOLE)
        known = np.isfinite(readings.whole).any(axis=0)
        if not known.any():
            raise SettingError(f"{self._probe(probe)!r} is NaN at every reading that 99% of runs reached; give another")
        if margin is not None:
            return trusted_horizon(readings.at(known), real("margin", margin, 0))
        one_is_short = 2 * self.runs.horizon(SHARE_OF_WHOLE) < self.runs.horizon(SHARE_GOING)
        values = (self.readings(probe, SHARE_GOING) if one_is_short else readings).whole
        means = np.nanmean(values[:, np.isfinite(values).any(axis=0)], axis=0)
        found = trusted_horizon(readings.at(known), 0.1 * float(np.ptp(means)))
        return found if len(means) > 1 else replace(found, steps=0, reason="too short")

    def difference(self, other: "Halves", probe: str | None = None, *, level: float = 0.95) -> Interval:
        """Return the difference of two learners' or simulators' curves, this one less the other, with an interval.

        Both are on the same halves of one log, and their runs are taken in pairs: luck that both share cancels.
        """
        return interval_of(paired(self, other, probe), real("level", level, 0, 1, ends=False))

    def readings(self, probe: str | None = None, share: float = 1.0) -> HalvedReadings:
        """Return the readings of a probe on the whole log and on its halves, as far as a share of runs reached."""
        probe = self._probe(probe)
        horizon = self.runs.horizon(share)
        steps, whole_log = self.runs.curve(probe)
        steps, whole_log = steps[steps <= horizon], whole_log[:, steps <= horizon]
        if not len(steps) and not horizon:
            none = int((self.runs.lengths == 0).sum())
            raise SettingError(
                f"{none:,} of {len(self.runs):,} runs took no step, since the log has no answer where an episode "
                "begins; leave out observations whose values rarely recur, or merge them into states with an encoder"
            )
        if not len(steps):
            raise SettingError(
                f"not all runs reached the first reading of {probe!r}: the shortest has {horizon:,} steps; read "
                "probes more often, with every="
            )
        lengths = np.stack([half.lengths for half in self.halves])
        readings = np.full((*lengths.shape, len(steps)), np.nan)
        for number, half in enumerate(self.halves):
            if any(len(run.steps) for run in half):
                found = half.curve(probe)[1][:, : len(steps)]
                readings[number, :, : found.shape[1]] = found
        going = (lengths[:, :, None] >= steps).mean(axis=(0, 1))
        return HalvedReadings(steps, whole_log, readings, going, self.in_log_order)

    @property
    def in_log_order(self) -> bool:
        """True if all runs meet the log's episodes in the order in which they were logged."""
        return self.runs.about.simulator.get("order") == "log"

    def _probe(self, probe: str | None) -> str:
        if probe is None:
            if not self.probes:
                raise SettingError("these runs have no probe; give probes= to us.halves")
            probe = self.probes[0]
        if probe not in self.probes:
            raise SettingError(f"there is no probe {probe!r}; there is {', '.join(map(repr, self.probes)) or 'none'}")
        if not is_scalar(self.runs, probe):
            raise SettingError(f"a reading of {probe!r} is a vector, and has no interval; give a probe of one number")
        return probe

    def to_frame(self, probe: str | None = None) -> "pa.Table":
        """Return the interval of a probe as an Arrow table, a line for each reading."""
        return self.interval(probe).to_frame()

    def __repr__(self) -> str:
        name = self.runs.about.simulator_name or "simulator"
        each = len(self.halves[0])
        return (
            f"{len(self.runs)} runs of {name}, and {each} on each of {len(self.halves)} halves of the log, "
            f"probes: {', '.join(self.probes) or 'none'}" + (f". {self.note}" if self.note else "")
        )


def paired(one: Halves, other: Halves, probe: str | None) -> HalvedReadings:
    """Return the differences of readings of two sets of runs, run by run.

    Raise `SettingError` where they are not of the same log, halves, seed and readings.
    """
    check_paired(one, other)
    ours, theirs = one.readings(probe), other.readings(probe)
    n = min(len(ours.steps), len(theirs.steps))
    return ours.first(n).less(theirs.first(n))


def check_paired(one: Halves, other: Halves) -> None:
    """Raise `SettingError` where two sets of runs are not of the same log, halves, seed and steps between readings."""
    for name, field in (("log", "rows_of_log"), ("seed", "seed"), ("every", "every")):
        ours, theirs = (getattr(found.runs.about, field) for found in (one, other))
        if ours != theirs:
            raise SettingError(
                f"these runs cannot be paired: {name} is {ours!r} in one and {theirs!r} in the other; make both with "
                "the same log, seed= and every="
            )
    check_same_failed(one.runs.failed, other.runs.failed)
    for ours, theirs in zip(one.runs.halves, other.runs.halves, strict=False):
        check_same_failed(ours.failed, theirs.failed)
    shapes = [(len(found.runs), len(found.halves), len(found.halves[0])) for found in (one, other)]
    if shapes[0] != shapes[1]:
        raise SettingError(
            "these runs cannot be paired: one has {} runs, {} halves and {} runs on each, the other {}, {} and {}; "
            "give both the same runs= and halves=".format(*shapes[0], *shapes[1])
        )


def halves(
    simulator: Simulator,
    make: Callable[[int], Learner | LoopOwner],
    *,
    runs: int = 100,
    halves: int = 20,
    runs_of_half: int | None = None,
    seed: int = 0,
    out: Any = None,
    progress: bool | None = None,
    title: str | None = None,
    **options: Any,
) -> Halves:
    """Return an experiment on a log and on random halves of its episodes, which tell how far to believe it.

    `simulator` is on one log, and `make(seed)` makes a learner, as for `experiment`, whose other options are taken,
    too: `max_steps`, `probes`, `every`, `workers`, `backend`, `compiled`, `keep_rows`, `errors`. Each half has
    `runs_of_half` runs, by default a fifth of `runs`. With the defaults the halves take two to three times as long as
    the runs on the whole log; for learners that train networks, give fewer, such as `halves=8, runs_of_half=10`.

    The same seed gives the same halves, whatever the learner. With `out`, runs are kept in that folder and its folder
    "halves", and go on where they stopped; `us.Halves(us.load(out))` reads them.
    """
    found = halves_of_each(
        simulator, {"": make}, outs={"": out}, runs=runs, halves=halves, runs_of_half=runs_of_half, seed=seed,
        progress=progress, title=title, **options,
    )  # fmt: skip
    return found[""]


def halves_of_each(
    simulator: Simulator,
    learners: Mapping[str, Callable[[int], Learner | LoopOwner]],
    *,
    outs: Mapping[str, Any],
    runs: int,
    halves: int,
    runs_of_half: int | None,
    seed: int,
    progress: bool | None,
    title: str | None,
    **options: Any,
) -> dict[str, Halves]:
    """Return what `halves` does, for several learners by name. Each half of the log is made once, for all of them."""
    log = log_to_halve(simulator)
    n_halves, runs, seed = whole("halves", halves, least=FEWEST_HALVES), whole("runs", runs, least=2), seed_of(seed)
    if runs_of_half is None:
        runs_of_half = max(FEWEST_RUNS, round(RUNS_OF_HALF * runs))
    runs_of_half = whole("runs_of_half", runs_of_half, least=2)
    on_whole: dict[str, Runs] = {}
    for name, make in learners.items():
        own_title = title if len(learners) == 1 else name
        given = {**options, "seed": seed, "out": outs[name], "progress": progress, "title": own_title}
        with _naming(name):
            on_whole[name] = experiment(simulator, make, runs=runs, **given)
    on_halves: dict[str, list[Runs]] = {name: [] for name in learners}
    shown = title or next(iter(on_whole.values())).about.simulator_name or "runs"
    with progress_bar(f"{shown}: halves", n_halves, progress) as report:
        for number in range(n_halves):
            half = simulator.select(episodes_of_half(log, seed, number))  # type: ignore[attr-defined]
            for name, make in learners.items():
                folder = None if outs[name] is None else half_folder(outs[name], number)
                given = {
                    **options,
                    "seed": seed_of_half(log.fingerprint, seed, number),
                    "out": folder,
                    "progress": False,
                }
                with _naming(name):
                    on_halves[name].append(experiment(half, make, runs=runs_of_half, **given | {"keep_rows": False}))
            report(number + 1)
    depends = dependence_of_episodes(log) or ""
    return {name: Halves(replace(on_whole[name], halves=tuple(on_halves[name])), depends) for name in learners}


@contextmanager
def _naming(learner: str) -> Iterator[None]:
    """Context manager: where no run can be made, the error says of which of several learners."""
    try:
        yield
    except RunError as error:
        raise (RunError(f"{learner}: {error}") if learner else error) from error


def log_to_halve(simulator: Any) -> Log:
    """Return the log of a simulator. Raise an error where halves of it cannot be made or would tell nothing."""
    log = log_of(simulator)
    if not offers(simulator, SelectsEpisodes) or log is None:
        raise ContractError(
            f"{name_of(simulator)} cannot be had on half of a log: give a simulator on one log, with select(episodes)"
        )
    if log.n_episodes < FEWEST_EPISODES:
        raise LogError(
            f"the log has {log.n_episodes:,} episode{'s' * (log.n_episodes != 1)}, and halves need at least "
            f"{FEWEST_EPISODES}: what remains is us.experiment, whose intervals leave the luck of this log out",
            "halves",
        )
    return log


def seed_of_half(log: str, seed: int, number: int) -> int:
    """Return the seed of the experiment on a half: by it, halves of logs with other fingerprints are told apart."""
    return spawn(seed, number, RUNS, int(log[:12], 16))


def is_half_of(half: Runs, whole: Runs, number: int) -> bool:
    """True if runs are on half `number` of the log of others, or nothing is known of that."""
    seed, log = whole.about.seed, whole.about.log
    return seed is None or log is None or half.about.seed in (None, seed_of_half(log, seed, number))


def episodes_of_half(log: Log, seed: int, number: int) -> np.ndarray:
    """Return the episodes of a random half of a log, ascending. It depends on the seed and its number alone."""
    drawn = np.random.default_rng(spawn(seed, number, EPISODES)).permutation(log.n_episodes)
    return np.sort(drawn[: log.n_episodes // 2])
