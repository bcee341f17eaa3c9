"""What a learner's final policy would earn, by the classics of off-policy evaluation, beside what its rehearsal earned.

A policy must not be evaluated on rows it was trained on, nor on those that a rehearsal passed over: these were passed
over because of their actions, so that the logged propensities are no longer those of what is left. So episodes are
split before anything is rehearsed: the learner is trained on one half of them and evaluated on the other, both ways.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.contracts import Learner, LoopOwner, Simulator
from understudy.contracts.offering import offers
from understudy.contracts.streams import spawn
from understudy.digits import between, digits
from understudy.errors import ContractError
from understudy.evaluation.episode_scores import ESTIMATORS, Policies, Scores, Term, scores
from understudy.evaluation.halves import log_to_halve
from understudy.evaluation.intervals import rounding_of
from understudy.evaluation.off_policy import FEW, OffPolicy, cautions, summed_up
from understudy.runs import Run, simulate
from understudy.runs.checking import expect
from understudy.settings import real, seed_of, whole

FOLDS, RUNS = 6, 7
"""Parts of the seeds: which episodes are in which half, and the runs. Those of halves are 4 and 5."""

FOLDS_OF_MODEL = 5
LATE = 0.1
"""The last share of the episodes of a rehearsal that is taken for what its final policy earns."""

LARGE = 0.25
"""The share of what an episode earns from which on a difference is too large to be called agreement."""

NORMAL = 1.96
"""Standard errors on both sides of a value between which the truth lies in 95 of 100 cases."""

UNLIKELY = 2.58
"""Standard errors by which both differ in one of a hundred cases by chance."""


@dataclass(frozen=True, repr=False)
class LearnedPolicy:
    """Off-policy estimates of a learner's final policy, beside what it earned at the end of its rehearsals."""

    estimates: OffPolicy
    rehearsed: float  # what an episode earned in the last tenth of rehearsals on half of the log; NaN where none ended
    error: float  # its standard error
    steps: float  # of these rehearsals, the median

    @property
    def difference(self) -> float:
        """What the rehearsal says more than the best estimate, in standard errors; NaN where nothing was rehearsed."""
        best = self.estimates.best
        apart, both = self.rehearsed - best.value, math.hypot(best.error, self.error)
        if abs(apart) <= rounding_of(self.rehearsed, best.value):  # nothing varies
            return 0.0
        if both == 0 and not math.isnan(apart):
            return math.copysign(math.inf, apart)
        return apart / both if both > 0 else math.nan

    @property
    def can_tell(self) -> bool:
        """True if the weights of the best estimate are worth enough episodes for its interval to be trusted."""
        worth = self.estimates.best.effective_episodes
        return worth is None or worth >= FEW

    @property
    def disagrees(self) -> bool:
        """True if rehearsal and best estimate differ by more than chance does in one of a hundred cases."""
        return self.can_tell and abs(self.difference) > UNLIKELY

    @property
    def sentence(self) -> str:
        """Whether the rehearsal and the classics agree, in words."""
        best = self.estimates.best
        if math.isnan(self.rehearsed):
            earned = digits(best.value, 4)
            return f"{best.name} says that the final policy earns {earned} an episode; no rehearsal had an end"
        low, high = self.rehearsed - NORMAL * self.error, self.rehearsed + NORMAL * self.error
        said = (
            f"at the end of a rehearsal on half of the log (step {self.steps:,.0f}) an episode earned "
            f"{digits(self.rehearsed, 4)} ({between(low, high, 4)}), and {best.name} says that the policy reached "
            f"there earns {digits(best.value, 4)} ({between(best.low, best.high, 4)})"
        )
        if not self.can_tell:
            return f"{said}: too little to tell whether they agree, since the policy does what the log rarely did"
        if not self.disagrees:
            chance = UNLIKELY * math.hypot(best.error, self.error)
            if chance <= LARGE * max(abs(self.rehearsed), abs(best.value)):
                return f"{said}: they agree (chance explains differences up to {digits(chance, 2)})"
            apart = abs(self.rehearsed - best.value)
            upto = digits(chance, 2)
            return f"{said}: they differ by {digits(apart, 2)}, and chance alone explains differences up to {upto}"
        why = "the learner is still learning then, or propensities, states or the model are wrong"
        return f"{said}: they disagree by {abs(self.difference):.1f} standard errors, so {why}"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values."""
        numbers = {name: None if math.isnan(vars(self)[name]) else vars(self)[name] for name in ("rehearsed", "error")}
        return {"estimates": self.estimates.to_json(), **numbers, "steps": self.steps, "sentence": self.sentence}

    @classmethod
    def from_json(cls, content: Any) -> "LearnedPolicy":
        """Return what `to_json` wrote. Raise `ValueError`, `KeyError` or `TypeError` for anything else."""
        rehearsed, error = (expect(name, content[name], "a number, or null") for name in ("rehearsed", "error"))
        return cls(
            OffPolicy.from_json(content["estimates"]),
            math.nan if rehearsed is None else rehearsed,
            math.nan if error is None else error,
            expect("steps", content["steps"], "a number"),
        )

    def __str__(self) -> str:
        return f"{self.estimates}\n  {self.sentence}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.estimates._repr_html_()


def off_policy_of_learner(
    simulator: Simulator,
    make: Callable[[int], Learner | LoopOwner],
    *,
    runs: int = 10,
    gamma: float = 1.0,
    max_steps: int | None = None,
    level: float = 0.95,
    seed: int = 0,
    compiled: bool | None = None,
) -> LearnedPolicy:
    """Return what the final policy of a learner would earn, by IPS, SNIPS, DM and DR on episodes it has not seen.

    The learner `make(seed)` rehearses `runs` times on a random half of the log's episodes, and its policy at the end is
    evaluated on the other half; then the other way round. So it is the policy after half of the log's answers. Errors
    include the spread of runs and the luck of the episodes it is evaluated on.
    """
    log, n_runs, seed = log_to_halve(simulator), whole("runs", runs, least=2), seed_of(seed)
    level, gamma = real("level", level, 0, 1, ends=False), real("gamma", gamma, 0, 1)
    order = np.random.default_rng(spawn(seed, 0, FOLDS)).permutation(log.n_episodes)
    halves = [np.sort(half) for half in np.array_split(order, 2)]
    parts: list[Scores] = []
    made: list[Run] = []
    notes: tuple[str, ...] = ()
    for number, (trained_on, other) in enumerate((halves, halves[::-1])):
        half, held_out = simulator.select(trained_on), log.select(other)  # type: ignore[attr-defined]
        fold = np.arange(held_out.n_episodes) % FOLDS_OF_MODEL
        of_runs: list[Scores] = []
        for run_number in range(n_runs):
            learner = make(spawn(seed, number, RUNS, run_number))
            if offers(learner, LoopOwner) or not offers(learner, Learner):
                raise ContractError(
                    f"{type(learner).__name__} has no policy(observation) to be evaluated; give a learner that has one"
                )
            own = spawn(seed, number, RUNS, run_number)
            made.append(simulate(half, learner, own, max_steps, compiled=compiled, keep_rows=False))
            policies = Policies.of(held_out, learner)
            of_runs.append(scores(held_out, policies, fold, gamma))
            notes = notes or cautions(held_out, policies)
        parts.append(_averaged(of_runs))
    rehearsed, error = _late(made)
    return LearnedPolicy(summed_up(parts, level, notes), rehearsed, error, float(np.median([len(run) for run in made])))


def _averaged(runs: list[Scores]) -> Scores:
    """Return the scores of several policies on the same episodes as those of a policy drawn among them."""
    found, beyond = {}, {}
    for name in [name for name in ESTIMATORS if all(name in run.by_estimator for run in runs)]:
        each = np.stack([run.by_estimator[name] for run in runs])  # (runs, episodes)
        found[name] = each.mean(axis=0)
        of_runs = Term(float(each.mean(axis=1).var(ddof=1)) / len(runs), len(runs) - 1)
        shared = zip(*(run.beyond[name] for run in runs), strict=True)  # models of runs are fitted on the same rows
        of_models = [Term(float(np.mean([term.variance for term in terms])), terms[0].degrees) for terms in shared]
        beyond[name] = (of_runs, *of_models)
    worths = [run.worth for run in runs if run.worth is not None]
    notes = tuple(dict.fromkeys(note for run in runs for note in run.notes))
    return Scores(found, float(np.mean(worths)) if worths else None, beyond, notes)


def _late(made: list[Run]) -> tuple[float, float]:
    """Return what an episode earned late in these runs, and the standard error of that."""
    late = [run.returns[-max(1, round(LATE * len(run.returns))) :] for run in made if len(run.returns)]
    if len(late) < 2:
        return math.nan, math.nan
    means = np.array([returns.mean() for returns in late])
    of_runs = means.var(ddof=1) / len(means)
    # Runs share their log: the luck of the episodes at the end of one run counts once, not once for each run.
    of_episodes = float(np.mean([returns.var(ddof=1) / len(returns) if len(returns) > 1 else 0.0 for returns in late]))
    return float(means.mean()), math.sqrt(of_runs + of_episodes / 2)
