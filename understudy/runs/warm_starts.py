"""Learners that know something when they start: from episodes of the log that are not replayed afterwards."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import FollowsLog, HasSettings, Learner, SelectsEpisodes, Simulator, Step
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.contracts.simulating import log_of
from understudy.contracts.steps import owned
from understudy.contracts.streams import spawn
from understudy.errors import ContractError, LogError
from understudy.logs import Log
from understudy.settings import real, seed_of

EPISODES = 8
"""The part of the seed that decides which episodes are learned from beforehand."""


class WarmStart(NamedTuple):
    """A simulator on the episodes that are left, and a function that makes learners that know the others."""

    simulator: Any
    make: Callable[[int], Learner]


def warm_start(simulator: Simulator, make: Callable[[int], Learner], *, share: float = 0.2, seed: int = 0) -> WarmStart:
    """Return the simulator on part of its log's episodes, and a `make` whose learners have learned from the rest.

    A random `share` of the episodes is shown to each new learner as it was logged, in the log's order; with
    `order="log"` it is the first ones. None of them is replayed: a learner that meets rows again would look better than
    it is. The steps were taken by another policy, and learners that learn of their own (Expected SARSA, Exp3) take it
    for theirs. A delayed `make` is told late what was shown, too, and some of it is on its way when the run begins;
    delay the `make` that is returned for learners to which all of it is known by then.

    >>> from understudy.envs import Grid, record
    >>> from understudy.learners import QLearning
    >>> from understudy.simulators import psrs
    >>> log = record(Grid(3), episodes=50, seed=0)
    >>> warm = warm_start(psrs(log), lambda seed: QLearning(9, 5, seed=seed), share=0.4)
    >>> warm.simulator.log.n_episodes, warm.make(0).clock == len(log) - len(warm.simulator.log)
    (30, True)
    """
    log, share = log_of(simulator), real("share", share, 0, 1, ends=False)
    if not offers(simulator, SelectsEpisodes) or log is None:
        raise ContractError(f"{name_of(simulator)} cannot be had on part of a log: give one on a log, with select")
    n = round(share * log.n_episodes)
    if not 0 < n < log.n_episodes:
        raise LogError(
            f"the log has {log.n_episodes:,} episodes, of which share={share:g} leaves none to learn from or none to "
            "replay; give another share, or a longer log",
            "episodes",
        )
    order = np.arange(log.n_episodes)
    settings = simulator.settings if offers(simulator, HasSettings) else {}
    if settings.get("order") != "log":
        order = np.random.default_rng(spawn(seed_of(seed), 0, EPISODES)).permutation(log.n_episodes)
    before, rest = np.sort(order[:n]), np.sort(order[n:])
    shown = log.select(before)

    def make_warm(seed: int) -> Learner:
        learner = make(seed)
        if not offers(learner, Learner):
            raise ContractError(f"{type(learner).__name__} has no learn(step), and cannot be shown logged steps")
        show(learner, shown)
        return learner

    return WarmStart(simulator.select(rest), make_warm)


def show(learner: Learner, log: Log) -> None:
    """Let a learner learn from all steps of a log as they were logged; one that follows logs is told their rows."""
    follows = offers(learner, FollowsLog)
    if offers(learner, FollowsLog):
        learner.follow(log)
    columns = (log.observation, log.action, log.reward, log.next_observation, log.terminated, log.truncated)
    for row, (observation, action, reward, following, terminated, truncated) in enumerate(zip(*columns, strict=True)):
        given = owned(observation), int(action), float(reward), owned(following), bool(terminated), bool(truncated)
        learner.learn(Step(*given, row) if follows else Step(*given))
