"""How far runs on a ladder can be believed: where the evidence from one log agrees, and no further."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.contracts import Learner, LoopOwner
from understudy.errors import SettingError
from understudy.evaluation import Halves, halves
from understudy.evaluation.trusted import ERROR_RATE, SHARE_GOING, trusted_horizon
from understudy.runs import Runs, experiment
from understudy.runs.run import reached
from understudy.settings import positive, whole
from understudy.simulators.ladder import LadderReplay
from understudy.tables import Column, Table

READINGS = 16
"""How many windows the believable part of a curve is read in, by default."""

EPISODES_OF_READING = 5
"""How many episodes of a run a window has at least, where there are enough: what few of them earn is mostly noise."""

MOST_CUT = 0.1
"""The largest share of episodes that may have been cut, over all runs: the law of episodes is off by no more."""


@dataclass(frozen=True)
class Evidence:
    """One reason to believe runs up to a step, and why not further."""

    name: str
    steps: int  # up to which it speaks for the runs; 0 where it speaks against the first reading
    why: str  # why not further, in words

    def __str__(self) -> str:
        return f"{self.name}: to step {self.steps:,}, {self.why}"


@dataclass(frozen=True, repr=False)
class Beyond:
    """How far runs on a ladder can be believed, from one log alone.

    `steps` is the trusted horizon: the smallest of what the evidence says, and never less than the exact one, up to
    which no lower rung was used. Beyond it nothing is claimed.
    """

    steps: int
    exact: int  # up to which nine of ten runs used rows of the states themselves only
    longest: int  # up to which nine of ten runs go
    margin: float
    probe: str
    evidence: tuple[Evidence, ...]
    runs: Runs  # on the whole log, with those on halves of it
    ladder: tuple[str, ...]

    @property
    def weakest(self) -> Evidence:
        """What ends the trusted horizon."""
        return min(self.evidence, key=lambda one: one.steps)

    @property
    def sentence(self) -> str:
        """What follows, in one sentence."""
        if self.steps > self.exact:
            times = f"{self.steps / self.exact:.3g} times" if self.exact else "beyond"
            return (
                f"believe {self.probe!r} up to step {self.steps:,}, {times} the {self.exact:,} steps that are exact, "
                f"to within {self.margin:.3g}; what ends it is {self.weakest.name}: {self.weakest.why}"
            )
        return (
            f"believe {self.probe!r} up to step {self.exact:,}, as far as runs are exact: beyond that nothing is "
            f"gained, by {self.weakest.name}: {self.weakest.why}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        return {
            "steps": self.steps, "exact": self.exact, "longest": self.longest, "margin": self.margin,
            "probe": self.probe, "ladder": list(self.ladder), "sentence": self.sentence,
            "evidence": [{"name": one.name, "steps": one.steps, "why": one.why} for one in self.evidence],
        }  # fmt: skip

    def to_table(self) -> Table:
        """Return a table for people: a line for each piece of evidence."""
        headings = (Column("evidence", numeric=False), Column("to step"), Column("then", numeric=False))
        rows = tuple((one.name, f"{one.steps:,}", one.why) for one in self.evidence)
        return Table(self.sentence, headings, rows)

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"  {one}" for one in self.evidence)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_table()._repr_html_()


def beyond(
    simulator: LadderReplay,
    make: Callable[[int], Learner | LoopOwner],
    *,
    probes: Mapping[str, Any],
    margin: float,
    probe: str | None = None,
    max_steps: int | None = None,
    runs: int = 100,
    halves_of_log: int = 20,
    runs_of_half: int | None = None,
    readings: int = READINGS,
    seed: int = 0,
    **options: Any,
) -> Beyond:
    """Return how far runs on a ladder can be believed: where all evidence agrees to within a margin.

    `simulator` is one with rungs, such as `us.qbe(log, encoder, then=("like", "reuse", "cut"))`, and `make(seed)`
    makes a learner. `margin` is the error of the probe's mean that you can accept, in its units: a tenth of what
    learning could gain is a good choice. `probe` is the one that is looked at, by default the first. Other options are
    those of `experiment`.

    The evidence, each of it up to the first reading after the exact part at which it no longer holds:

    - the interval of the mean curve, the log's own luck included, is no wider than the margin to each side;
    - halves of the log and the whole agree (`Halves.trust`);
    - with the rung "like": with half the radius and with twice the radius the curve is the same;
    - with the rung "like": serving own rows again in place of like rows gives the same curve. Like rows smooth and rows
      served again flatter, so their errors have opposite signs;
    - with the rung "cut": no more than a tenth of the episodes was cut, over all runs.

    All of it is heuristic: errors that everything shares are not seen. docs/beyond.md says how often it was right.
    """
    if not isinstance(simulator, LadderReplay):
        raise SettingError(f"{simulator!r} has no rungs: its runs are exact as far as they go; use us.halves")
    margin, readings = positive("margin", margin), whole("readings", readings, least=2)
    options = {"progress": False, "keep_rows": False} | options
    pilot = experiment(simulator, make, runs=min(runs, 20), seed=seed, max_steps=max_steps, **options)
    longest = pilot.horizon(SHARE_GOING)
    episodes = int(np.median([np.searchsorted(run.ends, longest, side="right") for run in pilot]))
    readings = max(2, min(readings, episodes // EPISODES_OF_READING))
    every = max(1, longest // readings)
    given: dict[str, Any] = {"probes": probes, "every": every, "seed": seed, "max_steps": every * readings, **options}
    if longest < 2:
        return _nothing(simulator, pilot, margin, probe or next(iter(probes)))
    found = halves(simulator, make, runs=runs, halves=halves_of_log, runs_of_half=runs_of_half, **given)
    probe = found._probe(probe)
    exact = exact_horizon(found.runs)
    evidence = [interval_evidence(found, probe, margin, exact), halves_evidence(found, probe, margin, exact)]
    if "cut" in simulator.ladder:
        evidence.append(cut_evidence(found.runs, every, exact))
    for name, other in variants(simulator).items():
        varied = experiment(other, make, runs=runs, **given)
        evidence.append(agreement(name, found.runs, varied, probe, margin, exact))
    steps = max(exact, min(one.steps for one in evidence))
    return Beyond(
        steps, exact, found.runs.horizon(SHARE_GOING), margin, probe, tuple(evidence), found.runs, simulator.ladder
    )


def variants(simulator: LadderReplay) -> dict[str, LadderReplay]:
    """Return the simulators that a ladder is compared with, by what is varied."""
    found = {}
    if "like" in simulator.ladder and simulator.radius is not None:
        found["half the radius"] = simulator.varied(radius=simulator.radius / 2)
        found["twice the radius"] = simulator.varied(radius=2 * simulator.radius)
        other = tuple(rung for rung in simulator.ladder if rung not in ("like", "reuse", "untried", "cut"))
        found["own rows again instead of like rows"] = simulator.varied(then=(*other, "reuse", "cut"))
    elif "reuse" in simulator.ladder:
        found["no rows again"] = simulator.varied(then=("cut",))
    return found


def interval_evidence(found: Halves, probe: str, margin: float, exact: int) -> Evidence:
    """Return how far the interval of the mean, the log's luck included, is within the margin to each side."""
    steps, mean, low, high = found.interval(probe, share=SHARE_GOING)
    wide = ~((high - low) / 2 <= margin)  # NaN counts as wide
    wide &= (steps > exact) & np.isfinite(mean)  # where no episode ended there is nothing to know
    at = int(wide.argmax()) if wide.any() else len(steps)
    name = "the interval of the mean"
    if at == len(steps):
        return Evidence(name, int(steps[-1]), "which is as far as runs go")
    return Evidence(name, _before(steps, at), f"then it is {(high - low)[at] / 2:.3g} wide to each side")


def halves_evidence(found: Halves, probe: str, margin: float, exact: int) -> Evidence:
    """Return how far halves of the log and the whole agree."""
    readings = found.readings(probe, SHARE_GOING)
    later = (readings.steps > exact) & np.isfinite(readings.whole).any(axis=0)
    if not later.any():
        return Evidence("halves of the log", int(readings.steps[-1]), "which is as far as runs go")
    trusted = trusted_horizon(readings.at(later), margin)
    return Evidence("halves of the log", trusted.steps, trusted.why)


def cut_evidence(runs: Runs, every: int, exact: int) -> Evidence:
    """Return how far few episodes were cut, over all runs."""
    last = runs.horizon(SHARE_GOING)
    steps = np.arange(every, last + 1, every)
    cut = np.zeros(len(steps))
    ended = np.zeros(len(steps))
    for run in runs:
        cut += 0 if run.cuts is None else np.searchsorted(run.cuts, steps, side="right")
        ended += np.searchsorted(run.ends, steps, side="right")
    share = cut / (cut + ended + len(runs))  # one episode of each run is under way
    many = (share > MOST_CUT) & (steps > exact)
    at = int(many.argmax()) if many.any() else len(steps)
    name = "episodes cut"
    if at == len(steps):
        return Evidence(name, int(steps[-1]) if len(steps) else 0, "which is as far as runs go")
    return Evidence(name, _before(steps, at), f"then {share[at]:.1%} of the episodes were cut")


def agreement(name: str, runs: Runs, varied: Runs, probe: str, margin: float, exact: int) -> Evidence:
    """Return how far runs of the same seeds agree within a margin, by a test of equivalence at each reading.

    Where the varied runs end earlier, they say nothing about what follows.
    """
    from scipy.stats import t

    last = min(runs.horizon(SHARE_GOING), varied.horizon(SHARE_GOING))
    steps, ours = runs.curve(probe)
    theirs = varied.curve(probe)[1]
    n = int(min((steps <= last).sum(), theirs.shape[1]))
    steps, difference = steps[:n], theirs[:, :n] - ours[:, :n]
    count = np.isfinite(difference).sum(axis=0)
    middle = np.where(np.isfinite(difference), difference, 0.0).sum(axis=0) / np.maximum(count, 1)
    variance = np.where(np.isfinite(difference), (difference - middle) ** 2, 0.0).sum(axis=0) / np.maximum(count - 1, 1)
    error = t.ppf(1 - ERROR_RATE, np.maximum(count - 1, 1)) * np.sqrt(variance / np.maximum(count, 1))
    apart = (count > 1) & (np.abs(middle) + error > margin) & (steps > exact)
    at = int(apart.argmax()) if apart.any() else n
    if at == n:
        reach = "which is as far as runs go" if last >= runs.horizon(SHARE_GOING) else "where these runs end"
        return Evidence(name, runs.horizon(SHARE_GOING), reach)
    return Evidence(name, _before(steps, at), f"then the curves are {middle[at]:+.3g} apart (known to {error[at]:.2g})")


def exact_horizon(runs: Runs) -> int:
    """Return the step up to which nine of ten runs used rows of the states themselves only."""
    return reached(np.array([run.exact_steps for run in runs]), SHARE_GOING)


def _before(steps: np.ndarray, at: int) -> int:
    return int(steps[at - 1]) if at else 0


def _nothing(simulator: LadderReplay, pilot: Runs, margin: float, probe: str) -> Beyond:
    """Return what is left where runs end at once."""
    reason = Evidence("the log", 0, f"most runs end after {pilot.horizon(SHARE_GOING):,} steps: {pilot[0].stopped}")
    exact = exact_horizon(pilot)
    return Beyond(exact, exact, pilot.horizon(SHARE_GOING), margin, probe, (reason,), pilot, simulator.ladder)
