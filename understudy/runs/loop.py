"""One loop: a learner meets the history a simulator serves it, in plain Python or compiled, with the same rows."""

import threading
from collections.abc import Callable, Generator, Iterable
from typing import Any

import numpy as np

from understudy.contracts import Exhausted, Learner, Log, LoopOwner, Simulator, Step, Stop, owned
from understudy.contracts.fitting import ensure_fitted
from understudy.errors import LogError, PolicyError
from understudy.runs.account import Account, Unwanted, check_limits, stands_for
from understudy.runs.ahead import ahead_loop, can_look_ahead
from understudy.runs.compiled import advance
from understudy.runs.env import GymEnv
from understudy.runs.ledger import BEGUN, EPISODES, STEPS, empty_ledger, longer, partial_of, run_of
from understudy.runs.probes import Probes, Readings
from understudy.runs.run import Run
from understudy.settings import seed_of
from understudy.simulators.kernels import cells

LONGEST_STRETCH = 1 << 20
"""Compiled steps between two looks at whether the run is still wanted."""

_one_by_one = threading.RLock()
"""Held by a learner that owns its loop: those seed and draw from generators of the whole process (NumPy's, torch's), so
that of two in threads neither run would depend on its seed alone."""


def simulate(
    simulator: Simulator,
    learner: Learner | LoopOwner,
    seed: int = 0,
    max_steps: int | None = None,
    *,
    probes: Probes | None = None,
    every: int = 1000,
    compiled: bool | None = None,
    keep_rows: bool = True,
    wanted: Callable[[], bool] = lambda: True,
) -> Run:
    """Let a learner rehearse until the log has no further answer, or for `max_steps`.

    Probes are read every so many steps, and once more at the end. The loop is compiled where simulator and learner
    both offer arrays, and looks ahead where the learner says for how long its policy stays as it is;
    `compiled=False` forces plain Python, which serves the same rows. A learner that owns its loop is handed an env.
    With `keep_rows=False` the run does not keep which rows it was served: a run of any length then takes the memory
    of its curves and episodes only.
    """
    check_fit(simulator, learner, max_steps, every)
    seed = seed_of(seed)
    readings = Readings(probes or {}, int(every), seed, bool(keep_rows))
    loop = fastest_loop(simulator, learner, compiled is not False)
    if compiled and loop in (python_loop, learners_own_loop):
        raise ValueError(f"{type(learner).__name__} in {simulator} has no compiled form; leave compiled= out")
    return loop(simulator, learner, seed, None if max_steps is None else int(max_steps), readings, wanted)


def check_fit(simulator: Any, learner: Any, max_steps: int | None, every: int) -> None:
    """Raise where a run could not even begin. A learner's encoder that is not fitted yet is fitted on the log."""
    check_answers("simulator", simulator)
    check_answers("learner", learner)
    check_limits(simulator, max_steps, every)
    owns_loop = hasattr(learner, "rehearse")
    if isinstance(learner, type) or not (owns_loop or (hasattr(learner, "policy") and hasattr(learner, "learn"))):
        what = "a class" if isinstance(learner, type) else f"a {type(learner).__name__}"
        raise TypeError(f"{what} is no learner: that is an object with policy(observation) and learn(step)")
    planned = getattr(learner, "total_timesteps", None) if owns_loop else None
    if max_steps is None and planned is None and not getattr(simulator, "exhaustible", True):
        raise LogError(f"{simulator} never runs out; say for how long to go on with max_steps=")
    theirs, ours = getattr(learner, "n_actions", None), getattr(simulator, "n_actions", None)
    if None not in (theirs, ours) and theirs != ours:
        raise PolicyError(f"the learner has {theirs} actions and {simulator} has {ours}; make them agree")
    encoder, log = getattr(getattr(learner, "codes", None), "encoder", None), getattr(simulator, "log", None)
    if encoder is not None and isinstance(log, Log):
        ensure_fitted(encoder, log)


def check_answers(what: str, thing: Any) -> None:
    """Raise `TypeError` where an object fails in its own way when it is asked for what it need not have."""
    for name in ("rehearse", "log", "n_states"):
        try:
            getattr(thing, name, None)
        except Exception as error:
            raise TypeError(
                f"the {what}, a {type(thing).__name__}, raises {type(error).__name__} when it is asked for {name!r}; "
                "let its __getattr__ raise AttributeError for names that it does not know"
            ) from error


def fastest_loop(simulator: Any, learner: Any, compiled: bool = True) -> Callable[..., Run]:
    """Compiled where both sides offer arrays, looking ahead where they allow it, else plain Python, or their own."""
    if hasattr(learner, "rehearse"):
        return learners_own_loop
    if compiled and can_compile(simulator, learner):
        return compiled_loop
    return ahead_loop if compiled and can_look_ahead(simulator, learner) else python_loop


def can_compile(simulator: Any, learner: Any) -> bool:
    """Whether both sides offer what the compiled loop works on."""
    return getattr(simulator, "compilable", False) and offers_arrays(learner)


def offers_arrays(learner: Any) -> bool:
    """Whether a learner's arrays are all there is to it."""
    return (
        getattr(learner, "arrays", None) is not None and learner.arrays() is not None and stands_for(learner, "arrays")
    )


def python_loop(
    simulator: Any, learner: Any, seed: int, max_steps: int | None, readings: Readings, wanted: Callable[[], bool]
) -> Run:
    """The loop in plain Python: the learner is asked for its policy at each step, and told what came of it."""

    def learn(step: Step) -> Iterable[None]:
        learner.learn(step)
        return ()

    run, policy = dialogue(simulator, learner, seed, max_steps, readings, wanted, learn), None
    while True:
        try:
            observation = run.send(policy)
        except StopIteration as over:
            return over.value
        policy = learner.policy(observation)


def dialogue(
    simulator: Any,
    learner: Any,
    seed: int,
    max_steps: int | None,
    readings: Readings,
    wanted: Callable[[], bool],
    learn: Callable[[Step], Iterable[None]],
) -> Generator[Any, Any, Run]:
    """The loop as a sentence: yields an observation and is sent the policy there; what `learn` yields is passed on."""
    rehearsal = simulator.start(seed)
    account = Account(simulator, readings, seed)
    limit = float("inf") if max_steps is None else max_steps
    observation, over, stopped = None, True, None
    while len(account) < limit:
        if not wanted():
            raise Unwanted
        if over:
            observation, stopped = answer(rehearsal.begin)
            if stopped is not None:
                break
            account.begin(getattr(rehearsal, "opening", -1))
        state = rehearsal.state if readings.counts_visits else -1
        policy = yield observation
        step, stopped = answer(rehearsal.step, policy)
        if stopped is not None:
            break
        observation = owned(step.next_observation)  # before the learner can write on it
        yield from learn(step)
        account.add(step, state)
        account.probe(learner)
        over = step.terminated or step.truncated or getattr(learner, "gives_up", False)
    return account.run(learner, stopped or ended(rehearsal, account))


def ended(rehearsal: Any, account: Account) -> Stop:
    """Why a run stopped that could have gone on."""
    return rehearsal.stop() if hasattr(rehearsal, "stop") else Stop("max steps", counts={"steps": len(account)})


def learners_own_loop(
    simulator: Any, learner: Any, seed: int, max_steps: int | None, readings: Readings, wanted: Callable[[], bool]
) -> Run:
    """The loop as the learner has it: it is handed an env, and unwound when the log has no further answer."""

    def go_on() -> None:
        if not wanted():
            raise Unwanted

    env = GymEnv(
        simulator, seed, max_steps, readings.probes, readings.every,
        observation_space=getattr(learner, "observation_space", None), learner=learner, one_run=True, go_on=go_on,
        keep_rows=readings.keep_rows,
    )  # fmt: skip
    with _one_by_one, env:
        learner.rehearse(env)
    return env.run()


def answer(ask: Callable, *question: Any) -> tuple[Any, Stop | None]:
    """What a rehearsal answers, or why it has no answer. What learners and probes raise is none of its stops."""
    try:
        return ask(*question), None
    except Exhausted as exhausted:
        return None, exhausted.stop


def compiled_loop(
    simulator: Any, learner: Any, seed: int, max_steps: int | None, readings: Readings, wanted: Callable[[], bool]
) -> Run:
    """The same loop in compiled stretches, from one reading of the probes to the next."""
    rehearsal = simulator.start(seed, learner.codes)
    source, arrays = rehearsal.source, learner.arrays()
    ledger = empty_ledger(simulator, readings, max_steps)
    limit = np.iinfo(np.int64).max if max_steps is None else max_steps
    every = readings.every if readings.probes else LONGEST_STRETCH
    steps = 0
    while steps < limit and source.mind[cells.CAUSE] == cells.GOING:
        if not wanted():
            raise Unwanted
        until = min(limit, steps + LONGEST_STRETCH, (steps // every + 1) * every)
        advance(source, arrays, ledger, until)
        steps, episodes = int(ledger.tally[STEPS]), int(ledger.tally[EPISODES])
        if readings.probes and steps == until and steps % every == 0:
            readings.keep(learner, steps, ledger.returns[:episodes], ledger.visits, partial_of(ledger))
        if ledger.tally[BEGUN] == len(ledger.openings):
            ledger = longer(ledger)
    return run_of(ledger, simulator, rehearsal, learner, readings, seed)
