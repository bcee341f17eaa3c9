"""Probes: what is measured in a run as it goes (g in the paper).

A probe is any function of the learner, `f(learner) -> number or array`, read every k steps. A probe of how the run
goes, not of the learner, is a `History`, a function of a `Progress`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from understudy.contracts import HasEstimate, HasValue, HasValues, owned
from understudy.contracts.environments import HasStartObservations
from understudy.contracts.offering import offers
from understudy.contracts.streams import spawn
from understudy.contracts.wrappers import time_limit
from understudy.errors import ContractError, SettingError
from understudy.logs import Log
from understudy.runs.validation import validation_episodes
from understudy.simulators.real import env_in_words


@dataclass(frozen=True)
class Progress:
    """How a run is going: what a `History` probe is given."""

    learner: Any
    steps: int
    returns: np.ndarray  # of all episodes finished so far
    n_before: int  # how many of them had been finished at the last reading
    visits: np.ndarray  # (n_states,) steps taken from each state so far; empty if no probe counts visits
    seed: int = 0  # of the run: probes that draw random numbers derive streams of their own from it
    shared: dict[Any, Any] = field(default_factory=dict)  # what probes of one reading compute once and share
    partial: float = 0.0  # what the episode under way has earned so far


@dataclass(frozen=True)
class History:
    """A probe of how the run is going, not of the learner."""

    measure: Callable[[Progress], Any]
    counts_visits: bool = False


def start_value(opening: Any) -> Callable[[Any], float]:
    """Return a probe of the learner's value of the observation that episodes begin with, averaged over several.

    `opening` is an environment that knows its `start_observations()`, a log (whose openings are counted), or a list
    of observations. The learner needs `value(observation)` or `values(observations)`.
    """
    observations, weights = openings_of(opening)

    def probe(learner: Any) -> float:
        if offers(learner, HasValues):
            values = learner.values(observations.copy())
        elif offers(learner, HasValue):
            values = np.array([learner.value(owned(observation)) for observation in observations])
        else:
            raise ContractError(
                f"{type(learner).__name__} has no value(observation), which start_value reads; give it one"
            )
        return float(np.dot(weights, values))

    return probe


def openings_of(opening: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the observations that episodes begin with, and the probability of each."""
    innermost = opening.unwrapped if isinstance(opening, gymnasium.Env) else opening
    if offers(innermost, HasStartObservations):
        observations, weights = innermost.start_observations()
        return np.asarray(observations), np.asarray(weights)
    if isinstance(opening, Log):
        opening = opening.observation[opening.starts[:-1]]
    observations, counts = np.unique(np.asarray(opening), axis=0, return_counts=True)
    return observations, counts / counts.sum()


def estimate(learner: Any) -> float:
    """The Monte-Carlo estimate of a learner that evaluates a policy."""
    if not offers(learner, HasEstimate):
        raise ContractError(f"{type(learner).__name__} has no estimate, which this probe reads; give it one")
    return learner.estimate


def mean_recent_return(progress: Progress) -> float:
    """The mean return of episodes finished since the last reading; NaN if none was."""
    recent = progress.returns[progress.n_before :]
    return float(recent.mean()) if len(recent) else float("nan")


def mean_reward(progress: Progress) -> float:
    """The mean reward of a step since the run began; NaN before the first step."""
    return float(progress.returns.sum() + progress.partial) / progress.steps if progress.steps else float("nan")


def visited_share(progress: Progress) -> np.ndarray:
    """The share of steps taken from each state so far."""
    return progress.visits / max(1, progress.steps)


def validation(
    env: Any, *, episodes: int = 10, gamma: float = 0.99, max_episode_steps: int | None = None
) -> dict[str, History]:
    """Return probes of the learner's current policy in a true environment: mean discounted return and mean length.

    The episodes are played in copies of the environment, all at once, with random streams of their own, derived from
    the run's seed and the number of steps: the same learner has the same readings, and no other stream is used.
    Episodes need a time limit, the environment's own or `max_episode_steps`, since a bad policy may never reach an end.

    >>> from understudy.envs import Grid
    >>> sorted(validation(Grid(), max_episode_steps=100))
    ['validation length', 'validation return']
    """
    played = Validation(env, episodes, gamma, max_episode_steps)
    return {
        "validation return": History(partial(_mean_of, played, 0)),
        "validation length": History(partial(_mean_of, played, 1)),
    }


class Validation:
    """Episodes in a true environment, played once for each reading."""

    def __init__(self, env: Any, episodes: int, gamma: float, max_episode_steps: int | None) -> None:
        self.env, self.episodes, self.gamma = env, int(episodes), float(gamma)
        limits = [limit for limit in (time_limit(env), max_episode_steps) if limit is not None]
        if not limits:
            raise SettingError("episodes of this environment may never end; give validation a max_episode_steps=")
        if min(*limits, self.episodes) < 1:
            raise SettingError(
                f"episodes={episodes} and max_episode_steps={max_episode_steps} are whole numbers from 1"
            )
        self.limit = int(min(limits))

    @property
    def settings(self) -> dict[str, Any]:
        """All that the readings depend on, the learner and the run's seed apart."""
        settings = {"env": env_in_words(self.env), "episodes": self.episodes, "gamma": self.gamma}
        return settings | {"max_episode_steps": self.limit}

    def __call__(self, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
        """Return the returns and the lengths of the episodes of this reading."""
        if self not in progress.shared:
            seed = spawn(progress.seed, progress.steps)
            progress.shared[self] = validation_episodes(
                self.env, progress.learner, self.episodes, self.gamma, self.limit, seed
            )
        return progress.shared[self]


def _mean_of(played: Validation, which: int, progress: Progress) -> float:
    return float(played(progress)[which].mean())


episode_returns = History(mean_recent_return)
"""Mean return of the episodes finished since the last reading; NaN if none was."""

reward_per_step = History(mean_reward)
"""Mean reward of a step since the run began: what to look at where episodes are very long, or never end."""

visitation = History(visited_share, counts_visits=True)
"""Share of steps taken from each state so far; a vector."""

Probes = Mapping[str, Callable[[Any], Any] | History]


def named_probes(probes: Any) -> dict[str, Any]:
    """Return the probes by name; none where None is given. Raise `SettingError` where they have no names."""
    if probes is None:
        return {}
    if not isinstance(probes, Mapping):
        raise SettingError(
            f'probes is a {type(probes).__name__}; give a mapping of names to probes, such as {{"value": probe}}'
        )
    return dict(probes)


def as_reading(value: Any) -> Any:
    """Return what a probe returned as a float or as a copy of the array, which the learner may go on writing on.

    Raise `ContractError` where it is neither a number nor an array of numbers.
    """
    if type(value) is float:
        return np.float64(value)
    if value is None or np.asarray(value).dtype.kind not in "biuf":
        raise ContractError(f"a probe returns a number or an array of numbers, not {value!r}")
    return np.array(value, dtype=np.float64)[()]


def check_name(name: Any) -> None:
    """Raise `SettingError` where a name cannot be that of a probe, because results folders could not hold it."""
    if not isinstance(name, str):
        raise SettingError(f"a probe is named {name!r}, which is not a text; name it by one")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SettingError(f"a probe is named {name!r}, which no file can hold; give it another name") from None


class Readings:
    """The probes of one run and what was read of them, and whether the run keeps its rows."""

    def __init__(self, probes: Probes, every: int, seed: int = 0, keep_rows: bool = True) -> None:
        for name, probe in probes.items():
            check_name(name)
            if not callable(probe) and not isinstance(probe, History):
                raise ContractError(f"probe {name!r} is {probe!r}; a probe is a function of the learner")
        self.probes, self.every, self.seed, self.keep_rows = probes, every, seed, keep_rows
        self.counts_visits = any(isinstance(probe, History) and probe.counts_visits for probe in probes.values())
        self.steps: list[int] = []
        self._values: dict[str, list[Any]] = {name: [] for name in probes}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._n_before = 0

    def read(
        self, learner: Any, steps: int, returns: np.ndarray, visits: np.ndarray, partial: float | None = None
    ) -> dict[str, Any]:
        """Return the value of each probe now."""
        shared: dict[Any, Any] = {}
        now = {}
        for name, probe in self.probes.items():
            try:
                if isinstance(probe, History):  # with copies of the arrays: the run goes on with these
                    own = returns.copy(), self._n_before, visits.copy()
                    now[name] = as_reading(
                        probe.measure(Progress(learner, steps, *own, self.seed, shared, partial or 0.0))
                    )
                else:
                    now[name] = as_reading(probe(learner))
                shape = self._shapes.setdefault(name, now[name].shape)
                if now[name].shape != shape:
                    raise ContractError(f"a reading of shape {now[name].shape} after one of shape {shape}")
            except Exception as error:
                error.add_note(f"raised by probe {name!r} after {steps:,} steps")
                raise
        return now

    def keep(
        self, learner: Any, steps: int, returns: np.ndarray, visits: np.ndarray, partial: float | None = None
    ) -> None:
        """Read the probes and add them to the curves."""
        for name, value in self.read(learner, steps, returns, visits, partial).items():
            self._values[name].append(value)
        self.steps.append(steps)
        self._n_before = len(returns)

    def curves(self) -> dict[str, np.ndarray]:
        """Return the curves, each (K,) or (K, ...)."""
        return {name: np.array(values, dtype=np.float64) for name, values in self._values.items()}
