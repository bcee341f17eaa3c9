"""What page and terminal show of some sets of runs, computed once for both."""

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from understudy.errors import CensoringWarning, ResultsError, SettingError
from understudy.evaluation import Earnings, Efficiency, Fidelity, RungUse, earnings, efficiency, fidelity, rung_use
from understudy.reporting.learners import LearnerComparison, compare_learners
from understudy.reporting.luck import LuckOfSet, halves_of, horizons_of, luck_of_set, shares_a_log
from understudy.runs import Runs
from understudy.trust import Beyond, Forecast
from understudy.trust.windows import finished_by

NO_READING = "there is no reading up to the horizon that every run has"


@dataclass(frozen=True)
class Comparisons:
    """The fidelity of each set to the reference, or the reason why there is none."""

    shared_horizon: int | None  # None where no set could be compared
    at_shared: dict[str, Fidelity | str]  # up to the same step for all sets, so that errors are comparable
    at_own: dict[str, Fidelity | str]  # up to the largest step that all runs of the set and the reference reached


@dataclass(frozen=True, eq=False)
class Measurements:
    """Some sets of runs by name, and what was measured of them."""

    runs: dict[str, Runs]  # sets without a finished run included
    reference: str | None  # the set that others are compared with
    efficiency: dict[str, Efficiency]  # of each finished set
    earnings: dict[str, Earnings]  # of each set of which enough runs finished an episode
    fidelity: dict[str, Comparisons]  # by probe, those that the reference shares with another set
    learners: LearnerComparison | None  # None where all sets are of one learner
    luck: dict[str, LuckOfSet | str]  # of each finished set on one log: what halves of it say, or why they say nothing
    forecasts: dict[str, Forecast] = field(default_factory=dict)  # of finished sets: how long they were to last
    rungs: dict[str, RungUse] = field(default_factory=dict)  # of finished sets on a ladder: what served their steps
    beyond: dict[str, Beyond] = field(default_factory=dict)  # of these, where it was tested: how far to believe them
    compared_by: str | None = None  # the probe that learners are compared by; None for what an episode earns
    doubted: frozenset[str] = frozenset()  # sets that something speaks against: no step of them is to be believed

    @property
    def finished(self) -> dict[str, Runs]:
        """The sets that have a finished run."""
        return {name: set_ for name, set_ in self.runs.items() if len(set_)}

    def trusted(self, probe: str | None = None) -> dict[str, int]:
        """Return the trusted horizon of each set that has one, in steps: of this probe, by default of its first.

        That of a set on a ladder is what `us.beyond` found, where that is beyond the exact one. Otherwise it is that of
        halves of the log, and at most the exact one, since they say nothing of what lower rungs did. It is 0 where no
        step can be believed, as where something speaks against all runs.
        """
        found = horizons_of(self.luck, probe)
        found |= {name: min(step, self.rungs[name].exact) for name, step in found.items() if name in self.rungs}
        found |= {name: one.steps for name, one in self.gained.items() if probe in (None, one.probe)}
        return {name: 0 if name in self.doubted else step for name, step in found.items()}

    def of(self, names: Collection[str]) -> "Measurements":
        """Return the measurements of some sets of runs, but for what compares them with others."""
        parts = ("runs", "efficiency", "earnings", "luck", "forecasts", "rungs", "beyond")
        kept: dict[str, Any] = {
            part: {name: one for name, one in getattr(self, part).items() if name in names} for part in parts
        }
        return replace(self, learners=None, **kept)

    @property
    def gained(self) -> dict[str, Beyond]:
        """Return what `us.beyond` found of the sets that lower rungs can be believed in."""
        return {name: one for name, one in self.beyond.items() if one.gains}

    def trusted_episodes(self) -> dict[str, int]:
        """Return the last episode that can be believed of each set: nearly all runs finished it by the trusted step."""
        steps = self.trusted()
        return {name: finished_by(self.runs[name], step) if step else 0 for name, step in steps.items()}

    @property
    def headline_probe(self) -> str | None:
        """The first probe that sets are compared by; None where there is none."""
        return next(iter(self.fidelity), None)


def measure(
    runs: Mapping[str, Runs],
    *,
    reference: str | None = None,
    margin: float | None = None,
    forecasts: Mapping[str, Forecast] | None = None,
    beyond: Mapping[str, Beyond] | None = None,
    compared_by: str | None = None,
) -> Measurements:
    """Measure sets of runs; `reference` names the set that others are compared with, by default the first real one.

    `forecasts` are those that were made before the runs, and `beyond` is what `us.beyond` found of runs on a ladder,
    by the names of the sets. Learners on the same halves of a log are compared by the probe `compared_by`, by default
    by what an episode earns.
    """
    named = {str(name): set_ for name, set_ in runs.items()}
    finished = {name: set_ for name, set_ in named.items() if len(set_)}
    if reference is None:
        reference = reference_of(finished)
    elif reference not in finished:
        raise SettingError(f"there is no set of runs {reference!r} to measure against; there is {', '.join(finished)}")
    others = {name: set_ for name, set_ in named.items() if name != reference}
    return Measurements(
        runs=named,
        reference=reference,
        efficiency={name: efficiency(set_) for name, set_ in finished.items()},
        earnings=earnings(finished),
        fidelity={
            probe: compare(others, finished[str(reference)], probe, margin=margin)
            for probe in shared_probes(finished, reference)
        },
        learners=compare_learners(finished),
        luck={name: luck_of_set(set_, margin) for name, set_ in finished.items() if shares_a_log(set_)},
        forecasts={name: found for name, found in (forecasts or {}).items() if name in finished},
        rungs={name: found for name, set_ in finished.items() if (found := rung_use(set_)) is not None},
        beyond={name: found for name, found in (beyond or {}).items() if name in finished},
        compared_by=compared_by,
    )


def reference_of(runs: Mapping[str, Runs]) -> str | None:
    """Return the name of the first set of real runs; None where there is none."""
    return next((name for name, set_ in runs.items() if len(set_) and set_.about.is_real), None)


def shared_probes(runs: Mapping[str, Runs], reference: str | None) -> list[str]:
    """Return the probes that the reference shares with any other set."""
    if reference is None:
        return []
    others = {probe for name, set_ in runs.items() if name != reference for probe in set_.probes}
    return [probe for probe in runs[reference].probes if probe in others]


def compare(
    runs: Mapping[str, Runs],
    reference: Runs,
    probe: str,
    *,
    horizon: int | None = None,
    margin: float | None = None,
) -> Comparisons:
    """Compare each set with the reference; the shared horizon is by default the largest step that all runs reached."""
    own = {str(name): _fidelity(set_, reference, probe, None, margin) for name, set_ in runs.items()}
    horizons = [found.horizon for found in own.values() if isinstance(found, Fidelity)]
    shared = horizon if horizon is not None else min(horizons, default=None)
    if shared is None:
        return Comparisons(None, own, own)
    at_shared = {str(name): _fidelity(set_, reference, probe, shared, margin) for name, set_ in runs.items()}
    if horizon is None:  # a set without a fidelity up to its own horizon could only be compared by survivors
        at_shared |= {name: found for name, found in own.items() if isinstance(found, str)}
    return Comparisons(shared, at_shared, own)


def _fidelity(runs: Runs, reference: Runs, probe: str, horizon: int | None, margin: float | None) -> Fidelity | str:
    """Return the fidelity, or the reason why there is none."""
    if not len(runs) or not len(reference):
        return "there is no finished run"
    if probe not in runs.probes or probe not in reference.probes:
        return f"{probe} was not probed"
    if not any(len(run.steps) for run in runs) or min(runs.lengths.min(), reference.lengths.min()) == 0:
        return NO_READING
    shapes = {np.shape(run.curves[probe])[1:] for set_ in (runs, reference) for run in set_ if len(run.steps)}
    if len(shapes) > 1:
        return "its readings have another shape than the reference's"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CensoringWarning)  # the notes of the table say it
            return fidelity(runs, reference, probe, horizon=horizon, margin=margin)
    except ResultsError as error:  # halves of the log that are not finished
        reasons = (found for side in (runs, reference) if side.halves and isinstance(found := halves_of(side), str))
        return next(reasons, str(error))
    except ValueError:  # its message names a horizon, and would differ from set to set
        return NO_READING
