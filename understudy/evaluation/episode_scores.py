"""What each logged episode says about a policy: the terms whose means are IPS, SNIPS, DM and DR.

Weights are products over the steps so far (per-decision importance sampling).
"""

from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Learner
from understudy.contracts.learning import BatchLearner, defined_with_policy
from understudy.contracts.offering import offers
from understudy.contracts.steps import owned
from understudy.errors import LogError, SettingError
from understudy.evaluation.outcome_models import ModelRows, NoEndError, can_be_modeled, model_of
from understudy.logs import Log
from understudy.logs.policies import as_policies, as_policy
from understudy.logs.propensities.sampling import chosen_propensities

ESTIMATORS = ("IPS", "SNIPS", "DM", "DR")
NO_END = (
    "by a model of the log, episodes hardly ever end under this policy, so that DM and DR have no value; give gamma= "
    "below 1"
)

CUT_OFF = (
    "episodes were cut off after {:,} steps, which a model of the log's states does not know of, so that DM and DR are "
    "left out"
)


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
    if offers(policy, BatchLearner) and defined_with_policy(policy, "policies"):
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
    worth: float | None  # how many equally weighted episodes the weights of these are worth; None without weights
    beyond: dict[str, tuple[Term, ...]]  # variance of an estimate that the spread over episodes does not show
    notes: tuple[str, ...] = ()


def scores(log: Log, policies: Policies, fold: np.ndarray, gamma: float) -> Scores:
    """Return what each episode adds to each estimator; `fold` is the number of each episode's fold."""
    chosen = chosen_propensities(log)
    found: dict[str, np.ndarray] = {}
    step = np.arange(len(log)) - np.repeat(log.starts[:-1], np.diff(log.starts))
    discount, weight, worth = gamma**step, None, None
    if chosen is not None:
        ratio = policies.here[np.arange(len(log)), log.action] / chosen
        weight = product_so_far(ratio, log.starts)
        worth = _worth(weight[log.starts[1:] - 1])
        found["IPS"] = _by_episode(discount * weight * log.reward, log)
        found["SNIPS"] = _self_normalized(log, step, weight, discount)
    beyond: dict[str, tuple[Term, ...]] = dict.fromkeys(ESTIMATORS, ())
    notes: tuple[str, ...] = ()
    value = None
    if log.max_episode_steps is not None and log.n_episodes < len(log):
        notes = (CUT_OFF.format(log.max_episode_steps),)
    elif can_be_modeled(log):
        try:
            value = _cross_fitted(log, policies, fold, gamma)
        except NoEndError:
            notes = (NO_END,)
    if value is not None:
        first = log.starts[:-1]
        expected = (value.here * policies.here).sum(axis=1)
        found["DM"] = expected[first]
        beyond["DM"] = (value.term,)
        if weight is not None:
            # What an episode earns ends with it, also where a limit cut it off.
            over = log.terminated | log.truncated | (log.n_episodes == len(log))
            following = np.where(over, 0.0, (value.following * policies.following).sum(axis=1))
            surprise = log.reward + gamma * following - value.here[np.arange(len(log)), log.action]
            found["DR"] = expected[first] + _by_episode(discount * weight * surprise, log)
    if not found:
        raise LogError(
            "the log has no propensities, and no table of its observations and actions can be made: no estimator is "
            "left; give propensities, or states as observations",
            "propensity",
        )
    return Scores(found, worth, beyond, notes)


def _worth(weight: np.ndarray) -> float:
    squares = float(np.square(weight).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0 else 0.0


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
        model = model_of(log, ModelRows.of(log, fitted_on, policies.here, policies.following), gamma)
        here[held_out] = model(log.observation[held_out])
        following[held_out] = model(log.next_observation[held_out])
        means.append((model(log.observation[first]) * policies.here[first]).sum(axis=1).mean())
    k = len(means)
    # Models that each leave out one fold: their spread, as a jackknife by groups, is that of the model's mean.
    return _Fitted(here, following, Term(float((k - 1) / k * np.square(means - np.mean(means)).sum()), k - 1))
