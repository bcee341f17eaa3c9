"""What a fixed policy would earn, from a log alone: IPS, SNIPS, DM and DR, with intervals.

These are the classics of off-policy evaluation, by episode: weights are products over the steps so far (per-decision
importance sampling), and an episode is one observation of the interval. They answer for a policy that does not change;
a rehearsal answers for one that learns.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from understudy.contracts import Learner
from understudy.contracts.learning import BatchLearner
from understudy.contracts.offering import offers
from understudy.contracts.steps import owned
from understudy.errors import LogError, SettingError
from understudy.evaluation.outcome_models import ModelRows, can_be_modeled, model_of
from understudy.logs import Log
from understudy.logs.policies import as_policies, as_policy
from understudy.settings import real, seed_of, whole
from understudy.tables import Column, Table, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

FEW = 30
"""Episodes that the weights are worth, below which intervals of weighted estimates are not to be trusted."""

TYPES = {
    "estimator": "string", "value": "float64", "low": "float64", "high": "float64", "error": "float64",
    "effective_episodes": "float64",
}  # fmt: skip

Policy = Callable[[Any], Any]


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
        """The estimate to look at first: DR, or else SNIPS, or else the model."""
        return self[next(name for name in ("DR", "SNIPS", "DM") if name in self)]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values."""
        return dict(vars(self)) | {"estimates": [dict(vars(one)) for one in self.estimates], "notes": list(self.notes)}

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
                f"{one.value:.4g}",
                f"{one.low:.4g} to {one.high:.4g}",
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
            lines.append(f"  {one.name:<6}{one.value:.4g}, {self.level:.0%} {one.low:.4g} to {one.high:.4g}{worth}")
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


class Policies(NamedTuple):
    """A policy at each row's observation, and at the one that follows, (N, A)."""

    here: np.ndarray
    following: np.ndarray

    @classmethod
    def of(cls, log: Log, policy: Any) -> "Policies":
        """Return the policy at all observations of a log."""
        here = policies_at(policy, log.observation, log.spec.n_actions)
        if log.n_episodes == len(log) and log.terminated.all():
            return cls(here, here)  # nothing follows
        return cls(here, policies_at(policy, log.next_observation, log.spec.n_actions))


def policies_at(policy: Any, observations: np.ndarray, n_actions: int) -> np.ndarray:
    """Return the policy at each observation, (n, A). Raise `PolicyError` where it is not a distribution.

    Single integers are asked for once each.
    """
    if observations.ndim == 1 and observations.dtype.kind in "iu":
        distinct, place = np.unique(observations, return_inverse=True)
        if len(distinct) < len(observations):
            return policies_at(policy, distinct, n_actions)[place]
    if not callable(policy) and not offers(policy, Learner) and not offers(policy, BatchLearner):
        return _of_table(policy, observations, n_actions)
    if offers(policy, BatchLearner):
        return as_policies(policy.policies(observations.copy()), n_actions, observations)
    ask = policy.policy if offers(policy, Learner) else policy
    return np.stack([as_policy(ask(owned(one)), n_actions, one) for one in observations])


def _of_table(policy: Any, observations: np.ndarray, n_actions: int) -> np.ndarray:
    table = np.asarray(policy)
    if table.ndim == 1:
        return np.tile(as_policy(policy, n_actions, "any"), (len(observations), 1))
    if table.ndim != 2 or observations.ndim != 1 or observations.dtype.kind not in "iu":
        raise SettingError(
            "give the policy as a learner, a function of an observation, one vector of probabilities, or, for integer "
            f"observations, a table (n_observations, n_actions); not a {type(policy).__name__}"
        )
    if observations.min(initial=0) < 0 or observations.max(initial=0) >= len(table):
        raise SettingError(f"the table has {len(table):,} rows, and there are observations up to {observations.max()}")
    return as_policies(table[observations], n_actions, observations)


class Term(NamedTuple):
    """A part of an estimate's variance, and the degrees of freedom that it is known with."""

    variance: float
    degrees: int


class Scores(NamedTuple):
    """What each episode adds to each estimator: its mean over episodes is the estimate, its spread the error."""

    by_estimator: dict[str, np.ndarray]  # (E,)
    weight: np.ndarray | None  # (E,) of whole episodes
    beyond: dict[str, tuple[Term, ...]]  # variance of an estimate that the spread over episodes does not show


def scores(log: Log, policies: Policies, fold: np.ndarray, gamma: float) -> Scores:
    """Return what each episode adds to each estimator; `fold` is the number of each episode's fold."""
    chosen = chosen_propensity(log)
    found: dict[str, np.ndarray] = {}
    step = np.arange(len(log)) - np.repeat(log.starts[:-1], np.diff(log.starts))
    discount, weight, final = gamma**step, None, None
    if chosen is not None:
        ratio = policies.here[np.arange(len(log)), log.action] / chosen
        weight = product_so_far(ratio, log.starts)
        final = weight[log.starts[1:] - 1]
        found["IPS"] = _by_episode(discount * weight * log.reward, log)
        found["SNIPS"] = _self_normalized(log, step, weight, discount)
    beyond: dict[str, tuple[Term, ...]] = dict.fromkeys(("IPS", "SNIPS", "DM", "DR"), ())
    if can_be_modeled(log):
        value = _cross_fitted(log, policies, fold, gamma)
        first = log.starts[:-1]
        expected = (value.here * policies.here).sum(axis=1)
        found["DM"] = expected[first]
        beyond["DM"] = (value.term,)
        if weight is not None:
            following = np.where(log.terminated, 0.0, (value.following * policies.following).sum(axis=1))
            surprise = log.reward + gamma * following - value.here[np.arange(len(log)), log.action]
            found["DR"] = expected[first] + _by_episode(discount * weight * surprise, log)
    if not found:
        raise LogError(
            "the log has no propensities, and its episodes have several steps with observations that are not integers: "
            "no estimator is left; give propensities, or states as observations",
            "propensity",
        )
    return Scores(found, final, beyond)


def chosen_propensity(log: Log) -> np.ndarray | None:
    """Return the logged probability of each row's action, (N,), or None."""
    if log.propensity is None or log.propensity.ndim == 1:
        return log.propensity
    return log.propensity[np.arange(len(log)), log.action]


def product_so_far(ratio: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the product of each row's ratio and those before it in its episode, (N,).

    >>> product_so_far(np.array([2.0, 3.0, 0.0, 5.0]), np.array([0, 2, 4]))
    array([2., 6., 0., 0.])
    """
    product = ratio.copy()
    lengths = np.diff(starts)
    order = np.argsort(-lengths, kind="stable")
    for step in range(1, int(lengths.max())):
        order = order[: np.searchsorted(-lengths[order], -step)]  # episodes that are longer than this step
        rows = starts[order] + step
        product[rows] *= product[rows - 1]
    return product


def _by_episode(values: np.ndarray, log: Log) -> np.ndarray:
    return np.add.reduceat(values, log.starts[:-1])


def _self_normalized(log: Log, step: np.ndarray, weight: np.ndarray, discount: np.ndarray) -> np.ndarray:
    """Return what each episode adds to SNIPS, linearized: at each step, weights are divided by their mean.

    An episode that is over keeps its weight, with a reward of 0.
    """
    n, longest = log.n_episodes, int(step.max()) + 1
    total = np.bincount(step, weight, minlength=longest)
    last = log.starts[1:] - 1
    ended = np.cumsum(np.bincount(step[last] + 1, weight[last], minlength=longest + 1))[:longest]
    mean_weight = (total + ended) / n
    mean_weight = np.where(mean_weight > 0, mean_weight, 1.0)
    mean_reward = np.bincount(step, weight * log.reward, minlength=longest) / n / mean_weight
    discounts = np.zeros(longest)
    discounts[step] = discount
    value = float((discounts * mean_reward).sum())
    spread = _by_episode(discount * weight * (log.reward - mean_reward[step]) / mean_weight[step], log)
    after = discounts * mean_reward / mean_weight  # what a weight takes away at each step after its episode's end
    later = np.append(np.cumsum(after[::-1])[::-1], 0.0)
    return value + spread - weight[last] * later[step[last] + 1]


class _Fitted(NamedTuple):
    """The values of all actions at each row's observation and at the one that follows, by models of other folds."""

    here: np.ndarray
    following: np.ndarray
    term: Term  # the variance of the model's mean over all episodes


def _cross_fitted(log: Log, policies: Policies, fold: np.ndarray, gamma: float) -> _Fitted:
    here, following = np.empty_like(policies.here), np.empty_like(policies.here)
    own, first = np.repeat(fold, np.diff(log.starts)), log.starts[:-1]
    means = []
    for number in np.unique(fold):
        fitted_on, held_out = np.flatnonzero(own != number), np.flatnonzero(own == number)
        model = model_of(log, ModelRows.of(log, fitted_on, policies.following), gamma)
        here[held_out] = model(log.observation[held_out])
        following[held_out] = model(log.next_observation[held_out])
        means.append((model(log.observation[first]) * policies.here[first]).sum(axis=1).mean())
    k = len(means)
    # Models that each leave out one fold: their spread, as a jackknife by groups, is that of the model's mean.
    return _Fitted(here, following, Term(float((k - 1) / k * np.square(means - np.mean(means)).sum()), k - 1))


def summed_up(parts: list[Scores], level: float, notes: tuple[str, ...] = ()) -> OffPolicy:
    """Return the estimates of one log, or of parts of it that were scored apart and count equally."""
    from scipy.stats import t

    estimates: list[Estimate] = []
    for name in ("IPS", "SNIPS", "DM", "DR"):
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
        weights = [part.weight for part in parts if part.weight is not None]
        worth = None if name == "DM" else float(sum(_worth(weight) for weight in weights))
        estimates.append(Estimate(name, value, value - width, value + width, error, worth))
    few = [one for one in estimates if one.effective_episodes is not None and one.effective_episodes < FEW]
    if few:
        notes += (
            f"the weights are worth {few[0].effective_episodes:,.0f} episodes: their intervals are too narrow to be "
            "trusted, since the policy does what the log rarely did",
        )
    return OffPolicy(tuple(estimates), sum(len(next(iter(p.by_estimator.values()))) for p in parts), level, notes)


def _worth(weight: np.ndarray) -> float:
    squares = float(np.square(weight).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0 else 0.0


def cautions(log: Log, policies: Policies) -> tuple[str, ...]:
    """Return what to know beside the estimates of a policy on a log."""
    notes = []
    if log.propensity is None:
        notes.append("no propensities were logged, so that only the model is left, and nothing corrects it")
    elif log.propensity.ndim == 2:
        mass = float(np.where(log.propensity == 0, policies.here, 0.0).sum(axis=1).mean())
        if mass > 0:
            notes.append(
                f"{mass:.1%} of the policy is on actions that could not be taken when they were logged: IPS, SNIPS and "
                "DR leave out what these would earn"
            )
    if log.unfinished.any() and log.n_episodes != len(log):
        notes.append(f"{int(log.unfinished.sum()):,} episodes were still going when the recording stopped")
    return tuple(notes)
