"""What halves of the log say of each set of runs: intervals with the log's luck, and trusted horizons."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from understudy.errors import UnderstudyError
from understudy.evaluation import Halves, Interval, MeanCurve, Trusted
from understudy.evaluation.curves import has_readings, is_scalar
from understudy.evaluation.halves import FEWEST_EPISODES
from understudy.evaluation.intervals import HalvedReadings, interval_of
from understudy.runs import Runs
from understudy.trust.windows import returns_by_window

USUAL_RUNS = 100
"""Runs below which more of them are advised first: they take seconds, and a log takes months."""

BASELINES = ("states_only", "actions_only", "any_row")
"""Simulators that leave a part of the log out. Halves of the log share that error, so they have no trusted horizon."""

NOT_RUN = "halves of the log were not run"
NOT_REACHED = "halves of the log stopped before the first reading that all runs have"


@dataclass(frozen=True, eq=False)
class LuckOfSet:
    """The interval and the trusted horizon of each probe of a set of runs, the first probe first."""

    halves: Halves
    intervals: dict[str, Interval]
    trusted: dict[str, Trusted]  # empty for a baseline

    @property
    def probe(self) -> str:
        """The first probe, by which the set is judged."""
        return next(iter(self.intervals))

    @property
    def horizon(self) -> int | None:
        """The trusted horizon of the first probe, in steps; None for a baseline."""
        return self.trusted[self.probe].steps if self.trusted else None

    @property
    def give_or_take(self) -> float:
        """The largest half width of the first probe's interval up to the trusted horizon; NaN where there is none."""
        interval = self.intervals[self.probe]
        half_width = ((interval.high - interval.low) / 2)[interval.steps <= (self.horizon or 0)]
        return float(np.nanmax(half_width)) if np.isfinite(half_width).any() else float("nan")

    @property
    def what_helps(self) -> str:
        """What makes the first probe's interval narrower, in words."""
        interval, n = self.intervals[self.probe], len(self.halves.runs)
        upto = interval.steps <= (self.horizon or 0)
        if n < USUAL_RUNS or (interval.from_runs[upto] > interval.from_log[upto]).any():
            return f"more runs may make it less (--runs {max(USUAL_RUNS, 2 * n)}), and so does more log"
        told = "since they tell the luck of the log better"
        return f"more log makes it less, and more runs (--runs {2 * n}) may, too, {told}"


def is_baseline(runs: Runs) -> bool:
    """True if the simulator of runs leaves a part of the log out."""
    return runs.about.simulator_name in BASELINES


def are_qbe(sets: Iterable[Runs]) -> bool:
    """True if all sets of runs on one log that can be judged are of QBE, which uses no propensities."""
    judged = [runs for runs in sets if shares_a_log(runs) and not is_baseline(runs)]
    return bool(judged) and all(runs.about.simulator_name == "qbe" for runs in judged)


def use_no_states(sets: Iterable[Runs]) -> bool:
    """True if all sets of runs on one log that can be judged replay rows with their own observations."""
    judged = [runs for runs in sets if shares_a_log(runs) and not is_baseline(runs)]
    return bool(judged) and all(runs.about.simulator_name in ("replay", "pers") for runs in judged)


def luck_of_set(runs: Runs, margin: float | None = None) -> LuckOfSet | str:
    """Return what halves of the log say of runs on it, or the reason why they say nothing."""
    found = halves_of(runs)
    if isinstance(found, str):
        return found
    intervals: dict[str, Interval] = {}
    trusted: dict[str, Trusted] = {}
    for probe in (probe for probe in runs.probes if is_scalar(runs, probe) and has_readings(runs, probe)):
        try:
            interval = found.interval(probe)
            if interval.reach:
                intervals[probe] = interval
                trusted |= {} if is_baseline(runs) else {probe: found.trust(probe, margin)}
        except UnderstudyError as error:  # not all runs reached the first reading of this probe
            return str(error)
    return LuckOfSet(found, intervals, trusted) if intervals else NOT_REACHED


def halves_of(runs: Runs) -> Halves | str:
    """Return runs with those on halves of their log, or the reason why there are none that can be used."""
    if not runs.halves:
        n = runs.about.log_episodes
        if n is not None and n < FEWEST_EPISODES:
            return f"the log has {n:,} episode{'s' * (n != 1)}, and halves of it need at least {FEWEST_EPISODES}"
        return NOT_RUN
    counts = [len(half) for half in runs.halves]
    unfinished = sum(len(half) + len(half.failed) < max(2, *counts) for half in runs.halves)
    if unfinished:
        return (
            f"{unfinished} of {len(counts)} halves of the log are unfinished; call understudy simulate again to go on "
            "with them (in Python us.halves, with the same out=)"
        )
    try:
        return Halves(runs)
    except UnderstudyError as error:
        return str(error)


def shares_a_log(runs: Runs) -> bool:
    """True if all runs are on one log, whose luck their spread does not show."""
    return bool(len(runs)) and not runs.about.independent


def with_luck(curve: MeanCurve, runs: Runs, probe: str, share: float) -> MeanCurve:
    """Return a mean curve whose band includes the log's luck, where halves of the log show it; else as it is."""
    found = halves_of(runs)
    if isinstance(found, str):
        return curve
    try:
        interval = found.interval(probe, share=share)
    except UnderstudyError:  # too few runs reached a reading
        return curve
    if not interval.reach:
        return curve
    half_width = np.full(len(curve.steps), np.nan)
    half_width[np.isin(curve.steps, interval.steps)] = (interval.high - interval.low) / 2
    return replace(curve, half_width=np.where(curve.complete, half_width, np.nan), reach=interval.reach)


def returns_with_luck(curve: MeanCurve, runs: Runs) -> MeanCurve:
    """Return the same of what episodes earned: a curve whose places are the last episodes of groups of equal size."""
    found, ends = halves_of(runs), curve.steps[curve.complete]  # the first so many: no run finishes an episode twice
    if isinstance(found, str) or not len(ends):
        return curve
    halves = np.stack([returns_by_window(half, ends) for half in found.halves])
    going = np.isfinite(halves).mean(axis=(0, 1))
    interval = interval_of(HalvedReadings(ends, returns_by_window(runs, ends), halves, going, found.in_log_order))
    if not interval.reach:
        return curve
    half_width = np.full(len(curve.steps), np.nan)
    half_width[curve.complete] = (interval.high - interval.low) / 2
    return replace(curve, half_width=half_width, reach=interval.reach)


def horizons_of(luck: Mapping[str, LuckOfSet | str], probe: str | None = None) -> dict[str, int]:
    """Return the trusted horizon of each set that has one for this probe, by default for its first one, in steps."""
    sets = {name: found for name, found in luck.items() if isinstance(found, LuckOfSet)}
    probes = {name: found.probe if probe is None else probe for name, found in sets.items()}
    return {name: found.trusted[probes[name]].steps for name, found in sets.items() if probes[name] in found.trusted}
