"""How far runs on a ladder can be believed: where the evidence from one log agrees, and no further."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.contracts import Learner, LoopOwner
from understudy.contracts.streams import spawn
from understudy.digits import digits
from understudy.errors import SettingError
from understudy.evaluation import Halves, halves
from understudy.evaluation.trusted import SHARE_GOING
from understudy.progress import Report, progress_bar
from understudy.runs import Runs, experiment
from understudy.runs.checking import expect
from understudy.settings import positive, whole
from understudy.simulators.ladder import LadderReplay
from understudy.tables import Column, Table
from understudy.trust.evidence import (
    AS_FAR,
    SHARE_OF_PART,
    Evidence,
    agreement,
    cut_evidence,
    interval_evidence,
    less_log_evidence,
    reading_evidence,
    readings_after,
)

PARTS = 0xBE
"""Sets the draws of parts of a log apart from those of other subsets with the same seed."""

READINGS = 16
"""How many windows runs are read in, at most, where `every` is not given."""

EPISODES_OF_READING = 5
"""How many episodes of a run a window has at least, where there are enough: what few of them earn is mostly noise."""

DEFAULTS = {
    "max_steps": None, "runs": 100, "halves_of_log": 20, "runs_of_half": None, "every": None, "seed": 0,
}  # fmt: skip
"""What runs on the whole log and on halves of it are, where nothing else is asked for."""


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
    runs: Runs | None  # on the whole log, with those on halves of it; None where this was read from a file
    ladder: tuple[str, ...]

    @property
    def weakest(self) -> Evidence:
        """What ends the trusted horizon."""
        return min((one for one in self.evidence if one.limits), key=lambda one: one.steps)

    @property
    def gains(self) -> bool:
        """True if lower rungs can be believed beyond the exact part."""
        return self.steps > self.exact

    @property
    def sentence(self) -> str:
        """What follows, in one sentence."""
        if self.gains:
            times = f"{digits(self.steps / self.exact)} times" if self.exact else "beyond"
            return (
                f"believe {self.probe!r} up to step {self.steps:,}, {times} the {self.exact:,} steps that are exact, "
                f"to within {digits(self.margin)}; {self._end}"
            )
        return (
            f"lower rungs gain nothing for {self.probe!r} beyond step {self.exact:,}, as far as runs are exact, by "
            f"{self.weakest.name}: {self.weakest.why}"
        )

    @property
    def _end(self) -> str:
        """What ends the trusted horizon, as a clause."""
        if self.weakest.why == AS_FAR:
            return "all evidence holds as far as runs go"
        return f"what ends it is {self.weakest.name}: {self.weakest.why}"

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        return {
            "steps": self.steps, "exact": self.exact, "longest": self.longest, "margin": self.margin,
            "probe": self.probe, "ladder": list(self.ladder), "sentence": self.sentence,
            "evidence": [dict(vars(one)) for one in self.evidence],
        }  # fmt: skip

    @classmethod
    def from_json(cls, content: Any) -> "Beyond":
        """Return what `to_json` wrote, without the runs. Raise `ValueError`, `KeyError` or `TypeError` for others."""
        counts = {name: expect(name, content[name], "a count") for name in ("steps", "exact", "longest")}
        kinds = {"name": "a text", "steps": "a count", "why": "a text", "limits": "true or false"}
        evidence = tuple(
            Evidence(**{name: expect(name, one[name], kind) for name, kind in kinds.items()})
            for one in content["evidence"]
        )
        if not any(one.limits for one in evidence):
            raise ValueError("no evidence says where the trusted horizon ends")
        ladder = tuple(expect("ladder", rung, "a text") for rung in content["ladder"])
        margin, probe = expect("margin", content["margin"], "a number"), expect("probe", content["probe"], "a text")
        return cls(**counts, margin=margin, probe=probe, evidence=evidence, runs=None, ladder=ladder)

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
    found: Halves | None = None,
    max_steps: int | None = None,
    runs: int | None = None,
    halves_of_log: int | None = None,
    runs_of_half: int | None = None,
    runs_of_variant: int | None = None,
    every: int | None = None,
    seed: int | None = None,
    **options: Any,
) -> Beyond:
    """Return how far runs on a ladder can be believed: where all evidence agrees to within a margin.

    `simulator` is one with rungs, such as `us.qbe(log, encoder, then=("like", "reuse", "cut"))`, and `make(seed)`
    makes a learner. `margin` is the error of the probe's mean that you can accept, in its units: a tenth of what
    learning could gain is a good choice. `probe` is the one that is looked at, by default the first. It is
    read every so many steps, `every`, by default so that a window has a few episodes. There are 100 `runs` on the whole
    log, 20 `halves_of_log` and as many larger parts of it, with a fifth as many runs each (`runs_of_half`), and as many
    runs of each variant as on the whole log (`runs_of_variant`), unless you say otherwise; `seed` is 0. Other options
    are those of `experiment`.

    With `found`, what `us.halves` made of this simulator and learner, those runs are not made again: their number,
    length, readings and seed are its own.

    The evidence, each of it up to the first reading after the exact part at which it no longer holds:

    - the interval of the mean curve, the log's own luck included, is no wider than the margin to each side;
    - less log gives the same answer: halves of it (`Halves.trust`) and, beyond the steps that they reach, four fifths
      of it, whose difference from the whole counts four times;
    - with the rung "like": with half the radius and with twice the radius the curve is the same;
    - with the rung "like": serving own rows again in place of like rows gives the same curve. Like rows smooth and rows
      served again flatter, so their errors have opposite signs;
    - with the rung "cut": no more than a tenth of the episodes was cut, over all runs.

    All of it is heuristic: errors that everything shares are not seen. docs/beyond.md says how often it was right.
    """
    if not isinstance(simulator, LadderReplay):
        raise SettingError(f"{simulator!r} has no rungs: its runs are exact as far as they go; use us.halves")
    if not probes or (probe is not None and probe not in probes):
        given_probes = ", ".join(map(repr, probes)) or "none"
        raise SettingError(f"probe={probe!r} is not among probes=, which has {given_probes}; name one of them")
    if options.get("out") is not None:
        raise SettingError("beyond keeps no results: leave out= out, and give us.halves one for runs to be kept")
    margin, every = positive("margin", margin), None if every is None else whole("every", every)
    asked = {"max_steps": max_steps, "runs": runs, "halves_of_log": halves_of_log, "runs_of_half": runs_of_half}
    asked |= {"every": every, "seed": seed}
    asked = {name: value for name, value in asked.items() if value is not None}
    options = {"progress": False, "keep_rows": False} | options
    if found is not None:
        check_found(found, simulator, asked)
    else:
        made = halves_of_ladder(simulator, make, probes, DEFAULTS | asked, options)
        if isinstance(made, Runs):
            return _nothing(simulator, made, margin, probe or next(iter(probes)))
        found = made
    probe, about, whole_log = found._probe(probe), found.runs.about, found.runs
    longest, every = whole_log.horizon(SHARE_GOING), int(about.every or 1)
    if longest < every:  # runs of `found` may be short
        return _nothing(simulator, whole_log, margin, probe)
    exact, others, n_parts = whole_log.exact_horizon(SHARE_GOING), variants(simulator), len(found.halves)
    given: dict[str, Any] = {"probes": probes, "every": every, "seed": about.seed or 0, "max_steps": longest}
    given |= options | {"progress": False}
    with progress_bar(f"{about.simulator_name}: evidence", n_parts + len(others), options["progress"]) as report:
        parts = runs_on_parts(simulator, make, n_parts, len(found.halves[0]), given, report)
        varied = {}
        for name, other in others.items():
            varied[name] = experiment(other, make, runs=runs_of_variant or len(whole_log), **given)
            report(n_parts + len(varied))
    read = np.stack([padded(part.curve(probe)[1], longest // every) for part in parts])
    after = readings_after(found, read, np.stack([part.lengths for part in parts]), probe, exact)
    evidence = [interval_evidence(after, margin), less_log_evidence(after, margin)] if len(after.steps) else []
    if "cut" in simulator.ladder:
        evidence.append(cut_evidence(whole_log, every, exact))
    evidence += [agreement(name, whole_log, other, probe, margin, exact) for name, other in varied.items()]
    silent = reading_evidence(whole_log.curve(probe)[1], whole_log.curve(probe)[0], longest, exact)
    evidence += [] if silent is None else [silent]
    if not any(one.limits for one in evidence):
        evidence.append(Evidence("the exact part", exact, AS_FAR))
    steps = max(exact, min(one.steps for one in evidence if one.limits))
    return Beyond(steps, exact, longest, margin, probe, tuple(evidence), whole_log, simulator.ladder)


def check_found(found: Halves, simulator: LadderReplay, asked: Mapping[str, Any]) -> None:
    """Raise `SettingError` where halves are of another log or ladder, or something that they say is said again."""
    if not isinstance(found, Halves):
        raise SettingError(f"found={found!r} is not what us.halves returned; give that, or leave found= out")
    twice = [f"{name}=" for name in asked]
    if twice:
        raise SettingError(f"found= says {', '.join(twice)} already; leave {'it' if len(twice) == 1 else 'them'} out")
    about = found.runs.about
    there = {"log": about.log} | {name: about.simulator.get(name) for name in ("then", "radius")}
    here = {"log": simulator.log.fingerprint, "then": list(simulator.ladder), "radius": simulator.radius}
    differing = [name for name in here if there[name] != here[name]]
    if differing:
        raise SettingError(f"found= is of another simulator: its {differing[0]} is another; give us.halves this one")


def halves_of_ladder(
    simulator: LadderReplay, make: Callable[[int], Learner | LoopOwner], probes: Mapping[str, Any],
    asked: Mapping[str, Any], options: dict[str, Any],
) -> Halves | Runs:  # fmt: skip
    """Return runs on the whole log and on halves of it, as long as nine of ten go; runs without readings where that is
    too short for one. How often to read is known only after the same runs were made without it."""
    given = options | {"seed": asked["seed"]}
    unread = experiment(simulator, make, runs=asked["runs"], max_steps=asked["max_steps"], **given)
    longest = unread.horizon(SHARE_GOING)
    episodes = int(np.median([np.searchsorted(run.ends, longest, side="right") for run in unread]))
    readings = max(2, min(READINGS, episodes // EPISODES_OF_READING))
    every = max(1, longest // readings) if asked["every"] is None else asked["every"]
    if longest < every:
        return unread
    return halves(
        simulator, make, probes=probes, runs=asked["runs"], halves=asked["halves_of_log"],
        runs_of_half=asked["runs_of_half"], every=every, max_steps=longest, **given,
    )  # fmt: skip


def runs_on_parts(
    simulator: LadderReplay, make: Callable[[int], Learner | LoopOwner], n_parts: int, runs: int,
    given: dict[str, Any], report: Report,
) -> list[Runs]:  # fmt: skip
    """Return runs on random parts of the log's episodes, of SHARE_OF_PART each; `report` is told how many are done."""
    n_episodes = simulator.log.n_episodes
    n_kept, found = max(1, round(SHARE_OF_PART * n_episodes)), []
    for number in range(n_parts):
        rng = np.random.default_rng(spawn(given["seed"], number, PARTS))
        part = simulator.select(np.sort(rng.permutation(n_episodes)[:n_kept]))
        found.append(experiment(part, make, runs=runs, **given | {"seed": spawn(given["seed"], number, PARTS + 1)}))
        report(number + 1)
    return found


def padded(readings: np.ndarray, n: int) -> np.ndarray:
    """Return readings, (r, K), with as many columns as asked for; NaN where there are none."""
    wide = np.full((len(readings), n), np.nan)
    wide[:, : readings.shape[1]] = readings[:, :n]
    return wide


def variants(simulator: LadderReplay) -> dict[str, LadderReplay]:
    """Return the simulators that a ladder is compared with, by what is varied."""
    found = {}
    if "like" in simulator.ladder and simulator.radius is not None:
        found["half the radius"] = simulator.varied(radius=simulator.radius / 2)
        with suppress(SettingError):  # too many pairs of states are within it
            found["twice the radius"] = simulator.varied(radius=2 * simulator.radius)
        other = tuple(rung for rung in simulator.ladder if rung not in ("like", "reuse", "untried", "cut"))
        found["own rows again instead of like rows"] = simulator.varied(then=(*other, "reuse", "cut"))
    elif "reuse" in simulator.ladder:
        found["no rows again"] = simulator.varied(then=("cut",))
    return found


def _nothing(simulator: LadderReplay, runs: Runs, margin: float, probe: str) -> Beyond:
    """Return what is left where runs end before the first reading: their exact part."""
    longest, exact = runs.horizon(SHARE_GOING), runs.exact_horizon(SHARE_GOING)
    why = f"before the first reading most runs end, after {longest:,} steps: {runs[0].stopped}"
    return Beyond(exact, exact, longest, margin, probe, (Evidence("the log", 0, why),), runs, simulator.ladder)
