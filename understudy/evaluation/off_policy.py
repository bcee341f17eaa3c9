"""What a fixed policy would earn, from a log alone: IPS, SNIPS, DM and DR, with intervals.

These are the classics of off-policy evaluation, by episode: weights are products over the steps so far (per-decision
importance sampling), and an episode is one observation of the interval. They answer for a policy that does not change;
a rehearsal answers for one that learns.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.digits import between, digits
from understudy.errors import LogError, SettingError
from understudy.evaluation.episode_scores import ESTIMATORS, Policies, Scores, Term, scores
from understudy.logs import Log
from understudy.runs.checking import expect
from understudy.settings import real, seed_of, whole
from understudy.tables import Column, Table, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

FEW, FEW_SHARE = 30, 0.25
"""Episodes that the weights are worth, and their share of all, below which intervals are known to be too narrow."""

TYPES = {
    "estimator": "string", "value": "float64", "low": "float64", "high": "float64", "error": "float64",
    "effective_episodes": "float64",
}  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """What an episode would earn by one estimator, with an interval."""

    name: str  # IPS, SNIPS, DM or DR
    value: float
    low: float
    high: float
    error: float  # standard error
    effective_episodes: float | None = None  # how many equally weighted episodes the weights are worth; None for DM


@dataclass(frozen=True, repr=False)
class OffPolicy:
    """What an episode would earn under a policy, by several estimators. Made by `off_policy`.

    IPS is unbiased where propensities are right, and noisy; SNIPS is steadier and slightly biased; DM believes a model
    of rewards, whose bias its interval does not have; DR corrects that model by the logged rewards.
    """

    estimates: tuple[Estimate, ...]
    n_episodes: int
    level: float
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        found = next((one for one in self.estimates if one.name == name), None)
        if found is None:
            names = ", ".join(one.name for one in self.estimates)
            raise SettingError(f"there is no estimate {name!r}; there is {names or 'none'}")
        return found

    def __contains__(self, name: str) -> bool:
        return any(one.name == name for one in self.estimates)

    @property
    def best(self) -> Estimate:
        """The estimate to look at first: of DR and SNIPS the one with the smaller error, or else the model."""
        weighted = [self[name] for name in ("DR", "SNIPS") if name in self]
        return min(weighted, key=lambda one: one.error) if weighted else self["DM"]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values."""
        return dict(vars(self)) | {"estimates": [dict(vars(one)) for one in self.estimates], "notes": list(self.notes)}

    @classmethod
    def from_json(cls, content: Any) -> "OffPolicy":
        """Return what `to_json` wrote. Raise `ValueError`, `KeyError` or `TypeError` for anything else."""
        kinds = dict.fromkeys(("value", "low", "high", "error"), "a number")
        kinds |= {"name": "a text", "effective_episodes": "a number, or null"}
        estimates = [
            Estimate(**{name: expect(name, one[name], kind) for name, kind in kinds.items()})
            for one in content["estimates"]
        ]
        if not estimates or any(one.name not in ESTIMATORS for one in estimates):
            raise ValueError(f"estimates are {[one.name for one in estimates]}, not of {', '.join(ESTIMATORS)}")
        return cls(
            tuple(estimates),
            expect("n_episodes", content["n_episodes"], "a count"),
            expect("level", content["level"], "a number"),
            tuple(expect("note", note, "a text") for note in content["notes"]),
        )

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table, a line for each estimator."""
        fields = {
            name: [vars(one)["name" if name == "estimator" else name] for one in self.estimates] for name in TYPES
        }
        return arrow_table(fields, TYPES)

    def table(self) -> Table:
        """Return the estimates as a table for people."""
        rows = tuple(
            (
                one.name,
                digits(one.value, 4),
                between(one.low, one.high, 4),
                "" if one.effective_episodes is None else f"{one.effective_episodes:,.0f}",
            )
            for one in self.estimates
        )
        headings = (
            Column("estimator", numeric=False), Column("an episode earns"), Column(f"{self.level:.0%} interval"),
            Column("episodes the weights are worth"),
        )  # fmt: skip
        title = f"Off-policy estimates from {self.n_episodes:,} episodes"
        return Table(title, headings, rows, notes=self.notes)

    def __str__(self) -> str:
        lines = [f"off-policy estimates of what an episode earns, from {self.n_episodes:,} episodes"]
        for one in self.estimates:
            worth = (
                "" if one.effective_episodes is None else f"  (weights worth {one.effective_episodes:,.0f} episodes)"
            )
            lines.append(
                f"  {one.name:<6}{digits(one.value, 4)}, {self.level:.0%} {between(one.low, one.high, 4)}{worth}"
            )
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def off_policy(
    log: Log, policy: Any, *, gamma: float = 1.0, folds: int = 5, level: float = 0.95, seed: int = 0
) -> OffPolicy:
    """Return what an episode would earn under a policy that does not change, by IPS, SNIPS, DM and DR.

    `policy` is a learner (its policy as it is now), a function of an observation to probabilities, one vector of
    probabilities, or a table (n_observations, n_actions). It must not have been trained on this log: see
    `off_policy_of_learner` for that. Models for DM and DR are fitted in folds by episode: a row is predicted by a model
    that has not seen its episode. Without propensities there is only DM; for vectors and episodes of several steps
    there are only IPS and SNIPS.

    >>> from understudy.envs import Grid, record
    >>> found = off_policy(record(Grid(3), episodes=200, seed=0), [0.2, 0.2, 0.2, 0.2, 0.2], gamma=0.9)
    >>> [one.name for one in found.estimates], found["IPS"].low < found["IPS"].value
    (['IPS', 'SNIPS', 'DM', 'DR'], True)
    """
    level, folds, gamma = (
        real("level", level, 0, 1, ends=False),
        whole("folds", folds, least=2),
        real("gamma", gamma, 0, 1),
    )
    if not isinstance(log, Log):
        raise SettingError(f"give a Log first, not a {type(log).__name__}: off_policy(log, policy)")
    if log.n_episodes < 2 * folds:
        raise LogError(
            f"the log has {log.n_episodes:,} episodes, and {folds} folds need {2 * folds}; give fewer folds", "episodes"
        )
    log.require_no_errors()
    order = np.random.default_rng(seed_of(seed)).permutation(log.n_episodes)
    fold = np.empty(log.n_episodes, dtype=np.int64)
    fold[order] = np.arange(log.n_episodes) % folds
    at_rows = Policies.of(log, policy)
    return summed_up([scores(log, at_rows, fold, gamma)], level, cautions(log, at_rows))


def summed_up(parts: list[Scores], level: float, notes: tuple[str, ...] = ()) -> OffPolicy:
    """Return the estimates of one log, or of parts of it that were scored apart and count equally."""
    from scipy.stats import t

    estimates: list[Estimate] = []
    for name in ESTIMATORS:
        if any(name not in part.by_estimator for part in parts):
            continue
        each = [part.by_estimator[name] for part in parts]
        value = float(np.mean([one.mean() for one in each]))
        terms = [Term(float(one.var(ddof=1)) / len(one), len(one) - 1) for one in each]
        terms += [term for part in parts for term in part.beyond[name]]
        variance = sum(term.variance for term in terms)
        # Satterthwaite: the degrees of freedom of a sum of variances.
        degrees = variance**2 / sum(term.variance**2 / term.degrees for term in terms) if variance > 0 else 1.0
        error = math.sqrt(variance) / len(parts)
        width = float(t.ppf(0.5 + level / 2, degrees)) * error
        worths = [part.worth for part in parts if part.worth is not None]
        worth = None if name == "DM" else float(sum(worths))
        estimates.append(Estimate(name, value, value - width, value + width, error, worth))
    n_episodes = sum(len(next(iter(part.by_estimator.values()))) for part in parts)
    notes += tuple(dict.fromkeys(note for part in parts for note in part.notes))
    weighted = [one.effective_episodes for one in estimates if one.effective_episodes is not None]
    if weighted and weighted[0] < max(FEW, FEW_SHARE * n_episodes):
        notes += (
            f"the weights are worth {weighted[0]:,.0f} of {n_episodes:,} episodes, since the policy does what the log "
            "rarely did: intervals of weighted estimates tend to be too narrow then",
        )
    return OffPolicy(tuple(estimates), n_episodes, level, notes)


def cautions(log: Log, policies: Policies) -> tuple[str, ...]:
    """Return what to know beside the estimates of a policy on a log."""
    notes = []
    if log.propensity is None:
        notes.append("no propensities were logged, so that only the model is left, and nothing corrects it")
    else:
        mass = float((policies.here * _impossible(log)).sum(axis=1).mean())
        if mass > 0:
            notes.append(
                f"{mass:.1%} of the policy is on actions that could not be taken when they were logged, or never were: "
                "IPS, SNIPS and DR leave out what these would earn"
            )
        if log.propensity_source is not None and log.propensity_source.is_uncertain:
            notes.append(
                f"propensities are {log.propensity_source}, and intervals take them for known: they are too narrow"
            )
    if log.dropped_reward is not None and (n_dropped := int((~np.isnan(log.dropped_reward)).sum())):
        notes.append(
            f"the last rows of {n_dropped:,} episodes were dropped for want of a next observation, and what they "
            "earned is left out; log next_observation"
        )
    if log.unfinished.any() and log.n_episodes != len(log):
        notes.append(f"{int(log.unfinished.sum()):,} episodes were still going when the recording stopped")
    return tuple(notes)


def _impossible(log: Log) -> np.ndarray:
    """Return where actions could not be taken, (N, A): where their propensity is 0, or no row of the log has them."""
    assert log.propensity is not None
    if log.propensity.ndim == 2:
        return log.propensity == 0
    return np.bincount(log.action, minlength=log.spec.n_actions)[None] == 0
