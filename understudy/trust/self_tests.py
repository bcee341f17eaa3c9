"""The three tests of a self-check: of shapes, of sufficiency and of drift."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from understudy.contracts import Log
from understudy.contracts.streams import spawn
from understudy.encoders.auditing import merging_states
from understudy.encoders.state_audit import ENOUGH
from understudy.encoders.sufficiency import FEWEST_ROWS
from understudy.logs.findings import counted
from understudy.trust import within_states
from understudy.trust.logging_policy import LoggingPolicy
from understudy.trust.shapes import difference, labels_of_observations, labels_of_states
from understudy.trust.within_states import Predictions, StatedLog

SHAPES, SUFFICIENCY, DRIFT = "shapes", "sufficiency", "drift"
"""The names of the tests."""

FEWEST_EPISODES = 20  # of a log, to compare one half of them with the other
FEWEST_SIMULATED = 5
FEWEST_STEPS = 8  # of an episode for which one half must have the rows of the other
MOST_SIMULATED, MOST_LOGGED = 200, 400  # episodes on the two sides of a comparison
SHAPE_PERMUTATIONS = 499  # at least
MOST_STEPS = 512  # of an episode that are compared
FEW = 0.02  # share of episodes without an end of their own that are left out of the comparison
GLANCE, DOUBTFUL = 49, 0.2  # permutations of a first look; the p-value up to which a second one follows
NEAR = 4  # times its level, or less: a closer look follows
NO_ROWS = f"no state has {FEWEST_ROWS} rows of one action"


@dataclass(frozen=True)
class SelfTest:
    """One test of a self-check. Where it could not be made, `p_value` is None and `looked_at` says why."""

    name: str
    looked_at: str
    statistic: float | None = None
    p_value: float | None = None  # adjusted for all that the test looked at
    found: str = ""  # what is wrong, where it fires
    level: float | None = None  # it fires where the p-value is at most this

    @property
    def fires(self) -> bool:
        """True if the test found that the log, or its states, must not be believed."""
        return self.p_value is not None and self.level is not None and self.p_value <= self.level


def shapes_test(stated: StatedLog, level: float, *, merges: bool, seed: int) -> SelfTest:
    """Return the test of simulated episodes against logged ones; each half of the episodes is simulated once."""
    log = stated.log
    episodes, horizon = _comparable(log)
    reason = ""
    if log.propensity is None:
        reason = "the log has no propensities"
    elif log.propensity.ndim == 1:
        reason = "only the chosen action's propensity was logged, and the policy has one for every action"
    elif len(episodes) < FEWEST_EPISODES:
        reason = f"the log has {counted(log.n_episodes, 'episode')}, and its halves need {FEWEST_EPISODES} that ended"
    if reason:
        return SelfTest(SHAPES, reason)
    rng, policy = np.random.default_rng(seed), LoggingPolicy(log, stated.state, stated.next_state)
    labels = {"observations": labels_of_observations(log, rng)}
    if merges:
        labels["states"] = labels_of_states(log, stated.state, stated.next_state)
    halves, found = np.array_split(rng.permutation(episodes), 2), []
    n_simulated, most_steps = 0, 0
    permutations = max(SHAPE_PERMUTATIONS, _enough(level / 2))
    for number, (half, other) in enumerate((halves, halves[::-1])):
        supply = policy.supply(half)
        n = policy.affordable(supply, other, min(len(half) // 2, MOST_SIMULATED))
        steps = min(horizon, policy.reach(supply, other[:MOST_LOGGED]))
        if n < FEWEST_SIMULATED or steps < min(FEWEST_STEPS, horizon):
            return SelfTest(SHAPES, "the rows of one half have too few of the states and actions of the other")
        simulated = policy.simulated(half, n, steps, spawn(seed, number))
        logged = policy.logged(other[:MOST_LOGGED], supply, steps)
        found.append(difference(log, simulated, logged, labels, rng, permutations))
        n_simulated, most_steps = n_simulated + n, max(most_steps, steps)
    worst = min(found, key=lambda one: (one.p_value, -one.statistic))
    return SelfTest(
        SHAPES,
        f"{n_simulated:,} episodes of the logging policy, simulated on one half of the log, against the other half, "
        f"over at most {counted(most_steps, 'step')}",
        worst.statistic,
        min(1.0, len(found) * worst.p_value),
        f"the logging policy, simulated on half of the log, differs from the other half, most in {worst.shape}: the "
        "states do not tell what follows, or actions were not drawn from the propensities (us.check tests them), or "
        "episodes that a limit ended are logged as terminated",
        level,
    )


def _comparable(log: Log) -> tuple[np.ndarray, int]:
    """Return the episodes that can be compared, and how many steps of each.

    An episode that the recording cut off, or a limit that not all have in common, has no length of its own. Where such
    episodes are few they are left out; else all are compared up to the length of the shortest of them.
    """
    lengths = np.diff(log.starts)
    truncated = log.truncated[log.starts[1:] - 1] & (log.max_episode_steps is None)
    cut = log.unfinished | truncated
    if cut.sum() <= max(1, FEW * len(cut)):  # one is the last episode of most recordings
        return np.flatnonzero(~cut), min(int(lengths.max()), MOST_STEPS)
    return np.arange(log.n_episodes), min(int(lengths[cut].min()), MOST_STEPS)


def sufficiency_test(stated: StatedLog, level: float, *, merges: bool, seed: int) -> tuple[SelfTest, bool]:
    """Return the test of what is known beside state and action, and whether at least half of the rows were tested."""
    rng = np.random.default_rng(seed)
    merging = merging_states(stated.log.observation, stated.state) if merges else stated.states[:0]

    kinds = ((stated.history, stated.states), (stated.observation, merging[merging >= 0]))

    def look(most_rows: int, n: int) -> list[Predictions]:
        return [within_states.predictions(stated, features, only, rng, n, most_rows) for features, only in kinds]

    [before, here], p_value = _looked(look, level)
    if p_value is None:
        return SelfTest(SUFFICIENCY, NO_ROWS), False
    worst, statistic = _worst(here, before)
    of_merging = f", and in {counted(len(here.state), 'state')} that merge observations by the observation"
    return SelfTest(
        SUFFICIENCY,
        f"whether outcomes are predicted, given the action, in {counted(len(before.state), 'state')} by the step before"
        + of_merging * bool(len(here.state)),
        statistic,
        p_value,
        f"in some states (most clearly in {stated.words(worst)}) the observation or the step before it still predicts "
        "what follows: their rows cannot stand in for each other",
        level,
    ), before.n_rows >= ENOUGH * len(stated.log)


def drift_test(stated: StatedLog, level: float, seed: int) -> SelfTest:
    """Return the test whether outcomes, given state and action, change over the log."""
    rng = np.random.default_rng(seed)

    def look(most_rows: int, n: int) -> list[Predictions]:
        return [within_states.predictions(stated, stated.time, stated.states, rng, n, most_rows)]

    [found], p_value = _looked(look, level)
    if p_value is None:
        return SelfTest(DRIFT, NO_ROWS)
    worst, statistic = _worst(found)
    return SelfTest(
        DRIFT,
        f"whether outcomes change over the log, given the action, in {counted(len(found.state), 'state')}",
        statistic,
        p_value,
        f"outcomes given state and action change over the log (most clearly in {stated.words(worst)}): early and late "
        "rows cannot stand in for each other",
        level,
    )


def _looked(look: Callable[[int, int], list[Predictions]], level: float) -> tuple[list[Predictions], float | None]:
    """Return what looks at some rows of each state found, with the last one's p-value; None where none was tested.

    `look` takes a number of rows and one of permutations. Most logs have nothing to be found, and a glance with few
    permutations shows it. Which rows and permutations were drawn decides much of a p-value that is near the level:
    there a closer look, at more rows, takes the place of the one before. A later look can take an alarm back, and an
    earlier one alone raises none, so the level is that of the last look, at most.
    """
    found = look(within_states.MOST_ROWS, GLANCE)
    if not any(len(one.state) for one in found):
        return found, None
    looks = ((DOUBTFUL, within_states.MOST_ROWS), (NEAR * level, within_states.MORE_ROWS))
    p_value = within_states.p_value(*found)
    for least, most_rows in looks:
        if p_value > least:
            break
        found = look(most_rows, _enough(level))
        p_value = within_states.p_value(*found)
    return found, p_value


def _enough(level: float) -> int:
    """Return a number of permutations with which the p-value of a test can fall to half of its level."""
    return math.ceil(2 / level) - 1


def _worst(*found: Predictions) -> tuple[int, float]:
    """Return the state in which outcomes are predicted best, and the statistic there."""
    states = np.concatenate([one.state for one in found])
    statistics = np.concatenate([one.statistic[:, :, 0].max(axis=1) for one in found])
    place = int(statistics.argmax())
    return int(states[place]), float(statistics[place])
