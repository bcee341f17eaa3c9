"""One call that checks a learner."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from understudy.contracts import HasSettings, Learner, Log, LoopOwner, Simulator, Step, owned
from understudy.contracts.fitting import ensure_fitted
from understudy.contracts.learning import codes_of
from understudy.contracts.offering import offers
from understudy.contracts.simulating import n_actions_of
from understudy.encoders import Function
from understudy.errors import ContractError
from understudy.logs.policies import as_policy
from understudy.runs import simulate
from understudy.simulators import psrs, qbe
from understudy.testing.batches import check_batches, some_observations
from understudy.testing.faster_forms import check_faster_forms, check_stacks, note_unused_forms
from understudy.testing.rules import (
    Checked,
    Rules,
    can_be_called_with,
    check_described,
    check_travels,
    copy_of,
    digest_of,
    global_randomness,
    log_or_default,
    same_run,
)

PURE = "asking for a policy changes nothing"
SEEDED = "a run depends on its seed alone"
LEARNER = "a learner has policy(observation) and learn(step), or rehearse(env)"
OTHER_LOG = "give check_learner a log that the learner is made for, as log="


def check_learner(
    make: Callable[[int], Learner | LoopOwner] | Learner | LoopOwner, log: Log | None = None, *, max_steps: int = 500
) -> Checked:
    """Check that a learner keeps its promises. Returns the rules it keeps; raises `ContractError` at the first broken.

    `make(seed)` makes a learner, as for `experiment`; a learner that is fresh will do, and is copied. `log` is one that
    the learner is made for; by default one with 25 numbered observations and 5 actions. Runs of `max_steps` are made:
    let them be long enough for the learner to learn. An encoder that the learner's codes have is fitted on the log.
    """
    log = log_or_default(log)
    given = _factory(make)
    learner = _first_learner(given)
    rules = Rules(type(learner).__name__)
    _check_members(rules, learner)
    n_actions = n_actions_of(learner)
    rules.check(
        "n_actions, where a learner has it, is the number of the log's actions",
        n_actions is None or n_actions == log.spec.n_actions,
        f"it has {n_actions!r} and the log {log.spec.n_actions}",
        OTHER_LOG,
    )
    has_all = log.propensity is not None and log.propensity.ndim == 2
    # Observations that are not codes may never repeat, and runs would end at once: all of them are then one state.
    states = None if log.spec.n_observations is not None else Function(lambda batch: np.zeros(len(batch), np.int64))
    simulator: Simulator = psrs(log, states) if has_all else qbe(log, states)
    fitted = _with_fitted_encoder(rules, given, log)
    if offers(learner, LoopOwner):
        _check_loop_owner(rules, fitted, simulator, max_steps)
    else:
        _check_steps(rules, fitted, log)
        _check_runs(rules, fitted, simulator, max_steps)
        check_batches(rules, fitted, log, simulator, max_steps)
        check_faster_forms(rules, fitted, simulator, max_steps)
        check_stacks(rules, fitted, simulator, max_steps)
        note_unused_forms(rules, learner)
    _check_settings(rules, fitted, simulator, max_steps)
    check_described(rules, "the learner", given(0))
    check_travels(rules, "what makes the learner", given)
    return rules.checked()


def _factory(make: Any) -> Callable[[int], Any]:
    """Return a function of a seed that makes a learner. Raise `ContractError` where none can be had."""
    if isinstance(make, type):
        if not can_be_called_with(make, 1):
            raise ContractError(
                f"{make.__name__} is a class that cannot be called with a seed alone; give lambda seed: "
                f"{make.__name__}(..., seed=seed)"
            )
        return make
    if offers(make, Learner) or offers(make, LoopOwner):
        return lambda seed: copy_of(make, "give a function that makes it: lambda seed: ...")
    if not callable(make):
        raise ContractError(
            f"{make!r} is not a learner: {_missing(make)}; give a learner, or a function seed -> learner"
        )
    if not can_be_called_with(make, 1):
        raise ContractError("make is called with a seed: give lambda seed: ...")
    return make


def _first_learner(make: Callable[[int], Any]) -> Any:
    """Return make(0). Raise `ContractError` where it fails, or is None or a class."""
    try:
        learner = make(0)
    except ContractError:
        raise
    except Exception as error:
        raise ContractError(f"make(0) raised {type(error).__name__}: {error}; let it return a learner") from error
    if learner is None or isinstance(learner, type):
        what = "None" if learner is None else f"the class {learner.__name__}"
        raise ContractError(f"make(0) returned {what}; let it return a learner")
    return learner


def _check_members(rules: Rules, learner: Any) -> None:
    """Check that a learner has the methods it needs, and that they can be called as the loop calls them."""
    owns_loop = offers(learner, LoopOwner)
    rules.check(
        LEARNER,
        owns_loop or offers(learner, Learner),
        _missing(learner),
        "write the two methods; understudy.contracts.Learner says what each promises",
    )
    calls = [("rehearse", "env")] if owns_loop else [("policy", "observation"), ("learn", "step")]
    words = {"env": "one env", "observation": "one observation", "step": "one Step"}
    for name, argument in calls:
        method = getattr(learner, name)
        rules.check(
            f"{name} is called with {words[argument]}",
            can_be_called_with(method, 1),
            "it takes other arguments",
            f"write def {name}(self, {argument})",
        )


def _missing(learner: Any) -> str:
    """Return which of its two methods a learner does not have, as a clause."""
    methods = {"policy": "policy(observation)", "learn": "learn(step)"}
    return "it has no " + " and no ".join(
        written for name, written in methods.items() if not callable(getattr(learner, name, None))
    )


def _with_fitted_encoder(rules: Rules, make: Callable[[int], Any], log: Log) -> Callable[[int], Any]:
    """Return a function that makes learners whose encoder, if they have one, is fitted on the log."""

    def fitted(seed: int) -> Any:
        learner = make(seed)
        codes = codes_of(learner)
        if codes is not None and codes.encoder is not None:
            ensure_fitted(codes.encoder, log)
        return learner

    codes = codes_of(make(0))
    if codes is not None and codes.encoder is not None:
        with rules.trying("the encoder of the learner's codes can be fitted on the log", OTHER_LOG, ours=OTHER_LOG):
            fitted(0)
    return fitted


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
        for observation in some_observations(log):
            with rules.trying(
                f"policy(observation) returns the probability of each of the {n_actions} actions",
                f"return an array of numbers from 0 that sum to 1; or {OTHER_LOG}",
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
    with rules.trying("a learner can be run on its log"), global_randomness(0):
        once = simulate(simulator, make(0), 0, max_steps, compiled=False)
    with global_randomness(1):
        again = simulate(simulator, make(0), 0, max_steps, compiled=False)
    rules.check(
        SEEDED,
        same_run(once, again),
        "two runs of make(0) with the same seed were different",
        "draw from a generator that is seeded by make's seed, such as np.random.default_rng(seed), and keep nothing in "
        "the class or the module",
    )
    asked = simulate(simulator, AskedTwice(make(0)), 0, max_steps, compiled=False)
    rules.check(
        PURE,
        same_run(once, asked),
        "a run in which each policy was asked for twice was another run",
        "draw numbers and count steps in learn, and derive what policy needs from what learn left behind",
    )


class AskedTwice:
    """A learner that is asked for each policy twice, as probes may do. All other members are the learner's own."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def policy(self, observation: Any) -> np.ndarray:
        self.learner.policy(owned(observation))
        return self.learner.policy(observation)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.learner, name)


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
        "two runs of make(0) with the same seed were different",
        "seed every generator that the learner uses from make's seed, at the beginning of rehearse",
    )


def _check_settings(rules: Rules, make: Callable[[int], Any], simulator: Simulator, max_steps: int) -> None:
    """Check the settings, where a learner has them."""
    one, other = make(0), make(1)
    learner: Any = one  # what `offers` says below must not narrow it
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
    before = digest_of(one.settings)
    with global_randomness(0):
        simulate(simulator, learner, 0, max_steps)
    rules.check(
        "settings does not change while a learner learns",
        digest_of(one.settings) == before,
        "they are different after a run",
        "leave out all that is learned",
    )
