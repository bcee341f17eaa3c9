"""One call that checks a learner."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from understudy.contracts import (
    BatchLearner,
    EpochLearner,
    HasSettings,
    HasValue,
    HasValues,
    Learner,
    Log,
    LoopOwner,
    Simulator,
    Step,
    owned,
)
from understudy.contracts.offering import offers
from understudy.contracts.simulating import n_actions_of
from understudy.errors import ContractError
from understudy.logs.policies import as_policy
from understudy.runs import Run, experiment, simulate
from understudy.runs.look_ahead import can_look_ahead
from understudy.runs.loop import can_compile
from understudy.runs.stacked import can_stack
from understudy.simulators import psrs, qbe
from understudy.testing.rules import (
    Checked,
    Rules,
    check_described,
    check_travels,
    default_log,
    digest_of,
    global_randomness,
    same_run,
)

PURE = "asking for a policy changes nothing"
SEEDED = "a run depends on its seed alone"
CLOSE = 1e-9
"""How far the policies of a batch may be from those asked one by one."""


def check_learner(
    make: Callable[[int], Learner | LoopOwner] | Learner | LoopOwner, log: Log | None = None, *, max_steps: int = 500
) -> Checked:
    """Check that a learner keeps its promises. Returns the rules it keeps; raises `ContractError` at the first broken.

    `make(seed)` makes a learner, as for `experiment`; a learner that is fresh will do, and is copied. `log` is one that
    the learner is made for; by default one with 25 numbered observations and 5 actions. Runs of `max_steps` are made:
    let them be long enough for the learner to learn.
    """
    log = default_log() if log is None else log
    make = _factory(make)
    learner = make(0)
    rules = Rules(type(learner).__name__)
    owns_loop = offers(learner, LoopOwner)
    rules.check(
        "a learner has policy(observation) and learn(step), or rehearse(env)",
        not isinstance(learner, type) and (owns_loop or offers(learner, Learner)),
        "it has neither",
        "write the two methods; understudy.contracts.Learner says what each promises",
    )
    has_all = log.propensity is not None and log.propensity.ndim == 2
    simulator = psrs(log) if has_all else qbe(log)
    n_actions = n_actions_of(learner)
    rules.check(
        "n_actions, where a learner has it, is the number of the log's actions",
        n_actions is None or n_actions == log.spec.n_actions,
        f"it has {n_actions} and the log {log.spec.n_actions}",
        "give check_learner a log that the learner is made for, as log=",
    )
    if owns_loop:
        _check_loop_owner(rules, make, simulator, max_steps)
    else:
        _check_steps(rules, make, log)
        _check_runs(rules, make, simulator, max_steps)
        _check_faster_forms(rules, make, simulator, max_steps)
        _check_batches(rules, make, log, simulator, max_steps)
    _check_settings(rules, make)
    check_described(rules, "the learner", make(0))
    check_travels(rules, "what makes the learner", make)
    return rules.checked()


def _factory(make: Any) -> Callable[[int], Any]:
    if isinstance(make, type):
        raise ContractError(
            f"{make.__name__} is a class, and learners are made by a function of a seed; give lambda seed: "
            f"{make.__name__}(..., seed=seed)"
        )
    if offers(make, Learner) or offers(make, LoopOwner):
        return lambda seed: deepcopy(make)
    if not callable(make):
        raise ContractError(
            f"{make!r} is not a learner: it needs policy(observation) and learn(step); give one, or a function seed -> "
            "learner"
        )
    return make


def _observations(log: Log, n: int = 50) -> np.ndarray:
    """Return some observations of a log, spread over it."""
    return log.observation[np.linspace(0, len(log) - 1, min(n, len(log))).astype(int)]


def _steps(log: Log, n: int = 50) -> list[Step]:
    """Return the first steps of a log, the last of them truncated where the log has no such step."""
    steps = [
        Step(
            owned(log.observation[row]), int(log.action[row]), float(log.reward[row]),
            owned(log.next_observation[row]), bool(log.terminated[row]), bool(log.truncated[row]), row,
        )
        for row in range(min(n, len(log)))
    ]  # fmt: skip
    return [*steps[:-1], steps[-1]._replace(terminated=False, truncated=True)]


def _check_steps(rules: Rules, make: Callable[[int], Any], log: Log) -> None:
    """Check policies and learning, step by step, outside of any run."""
    learner, n_actions = make(0), log.spec.n_actions
    for round_ in ("before it has learned", "after it has learned"):
        for observation in _observations(log):
            with rules.trying(
                f"policy(observation) returns the probability of each of the {n_actions} actions",
                "return an array of numbers from 0 that sum to 1; give check_learner a log that it is made for",
            ):
                first = as_policy(learner.policy(owned(observation)), n_actions, observation).copy()
                second = as_policy(learner.policy(owned(observation)), n_actions, observation)
            rules.check(
                PURE,
                np.array_equal(first, second),
                f"{round_}, two calls at observation {observation} returned {first} and {second}",
                "draw numbers and count steps in learn, and derive what policy needs from what learn left behind",
            )
        for step in _steps(log):
            with rules.trying(
                "learn(step) takes in every step: terminated, truncated or neither",
                "a terminated step has nothing after it; a truncated one is bootstrapped, then a new episode begins",
            ):
                learner.learn(step)


def _check_runs(rules: Rules, make: Callable[[int], Any], simulator: Simulator, max_steps: int) -> None:
    """Check that plain runs repeat, whatever else goes on in the process."""
    with rules.trying("a learner can be run on its log", "see the error above"), global_randomness(0):
        once = _plain(make, simulator, max_steps)
    with global_randomness(1):
        again = _plain(make, simulator, max_steps)
    rules.check(
        SEEDED,
        same_run(once, again),
        "two runs of make(0) with the same seed were served different rows",
        "draw from a generator that is seeded by make's seed, such as np.random.default_rng(seed), and keep nothing in "
        "the class or the module",
    )
    asked = simulate(simulator, Asked(make(0)), 0, max_steps, compiled=False)
    rules.check(
        PURE,
        same_run(once, asked),
        "a run in which each policy was asked for twice was served other rows",
        "draw numbers and count steps in learn, and derive what policy needs from what learn left behind",
    )


class Asked:
    """A learner that is asked for each policy twice, as probes may do."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def policy(self, observation: Any) -> np.ndarray:
        self.learner.policy(owned(observation))
        return self.learner.policy(observation)

    def learn(self, step: Step) -> None:
        self.learner.learn(step)


def _plain(make: Callable[[int], Any], simulator: Simulator, max_steps: int) -> Run:
    return simulate(simulator, make(0), 0, max_steps, compiled=False)


def _check_faster_forms(rules: Rules, make: Callable[[int], Any], simulator: Simulator, max_steps: int) -> None:
    """Check that compiled, look-ahead and stacked forms give the run of the plain one."""
    learner, plain = make(0), _plain(make, simulator, max_steps)
    compiled = can_compile(simulator, learner)
    if compiled or can_look_ahead(simulator, learner):
        form = "compiled" if compiled else "look-ahead"
        what = "act and learn as registered" if compiled else "policies, collect and update"
        rule = f"the {form} form ({what}) does what policy and learn do"
        with rules.trying(rule, "run it with compiled=False to see whether the plain form works"):
            fast = simulate(simulator, learner, 0, max_steps)
        rules.check(
            rule,
            same_run(plain, fast),
            f"from step {_first_difference(plain, fast):,} on, the {form} run was served other rows than the plain one",
            "let both forms read and write the same arrays, in the same order",
        )
        left = make(0)
        simulate(simulator, left, 0, max_steps, compiled=False)
        for observation in _observations(simulator.log, 10):  # type: ignore[attr-defined]
            one, other = (np.asarray(each.policy(owned(observation)), float) for each in (learner, left))
            rules.check(
                rule,
                np.allclose(one, other, atol=CLOSE),
                f"after the same rows the two forms have the policies {one} and {other} at observation {observation}",
                "let both forms read and write the same arrays, in the same order",
            )
    if can_stack(learner):
        runs = experiment(simulator, make, runs=3, max_steps=max_steps, backend="serial", progress=False)
        alone = [simulate(simulator, make(run.seed), run.seed, max_steps) for run in runs]
        rules.check(
            "stacked learners end up as they would alone",
            all(same_run(one, other) for one, other in zip(alone, runs, strict=True)),
            "a run of three that were stacked was served other rows than by itself",
            "let nothing in stacked_policies and update_all depend on which learners are together",
        )


def _first_difference(one: Run, other: Run) -> int:
    n = min(len(one), len(other))
    apart = np.flatnonzero(one.rows[:n] != other.rows[:n])
    return int(apart[0]) if len(apart) else n


def _check_batches(rules: Rules, make: Callable[[int], Any], log: Log, simulator: Simulator, max_steps: int) -> None:
    """Check policies and values of batches against those of single observations."""
    learner: Any = make(0)
    observations = _observations(log, 20)
    simulate(simulator, learner, 0, max_steps, compiled=False)
    single = np.stack([np.asarray(learner.policy(owned(observation))) for observation in observations])
    if offers(learner, BatchLearner):
        batch = np.asarray(learner.policies(observations.copy()))
        rules.check(
            "policies(observations) are those that policy gives one by one",
            batch.shape == single.shape and np.allclose(batch, single, atol=CLOSE),
            f"shapes {batch.shape} and {single.shape}, largest difference {_difference(batch, single)}",
            "compute both by the same function, in float64",
        )
    if offers(learner, EpochLearner):
        before = learner.steps_until_update
        rules.check(
            "steps_until_update is a whole number from 1 between two updates",
            isinstance(before, int | np.integer) and before >= 1,
            f"it is {before!r} after a run",
            "count down in collect, and begin again in update",
        )
    if offers(learner, HasValue):
        value = learner.value(owned(observations[0]))
        rules.check(
            "value(observation) is a number",
            np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iuf",
            f"it is {value!r}",
            "return a float",
        )
    if offers(learner, HasValues):
        values = np.asarray(learner.values(observations.copy()))
        rules.check(
            "values(observations) has a number for each observation",
            values.shape == (len(observations),) and values.dtype.kind in "iuf",
            f"it is {values.dtype} of shape {values.shape} for {len(observations)} observations",
            "return an array of floats",
        )
        if offers(learner, HasValue):
            single = np.array([learner.value(owned(observation)) for observation in observations])
            rules.check(
                "values(observations) are those that value gives one by one",
                np.allclose(values, single, atol=1e-6),
                f"the largest difference is {_difference(values, single)}",
                "compute both by the same function",
            )


def _difference(one: np.ndarray, other: np.ndarray) -> str:
    return f"{np.abs(one - other).max():.3g}" if one.shape == other.shape else "unknown"


def _check_loop_owner(rules: Rules, make: Callable[[int], Any], simulator: Simulator, max_steps: int) -> None:
    """Check a learner that owns its loop."""
    rule = "rehearse(env) acts in the env it is handed, and lets through what env.step raises"
    with rules.trying(rule, "call env.reset and env.step as Gymnasium has it, and do not catch Exhausted"):
        with global_randomness(0):
            once = simulate(simulator, make(0), 0, max_steps)
        with global_randomness(1):
            again = simulate(simulator, make(0), 0, max_steps)
    rules.check(rule, len(once) > 0, "no step was taken", "call env.reset and env.step as Gymnasium has it")
    rules.check(
        SEEDED,
        same_run(once, again),
        "two runs of make(0) with the same seed were served different rows",
        "seed every generator that the learner uses from make's seed, at the beginning of rehearse",
    )


def _check_settings(rules: Rules, make: Callable[[int], Any]) -> None:
    """Check the settings, where a learner has them."""
    one, other = make(0), make(1)
    if not offers(one, HasSettings) or not offers(other, HasSettings):
        return
    rules.check(
        "settings is a mapping of names to values",
        isinstance(one.settings, Mapping) and all(isinstance(name, str) for name in one.settings),
        f"it is {one.settings!r}",
        "return a dict",
    )
    rules.check(
        "settings does not depend on the seed",
        digest_of(one.settings) == digest_of(other.settings),
        "learners of two seeds have different settings",
        "leave out the seed and all that follows from it",
    )
