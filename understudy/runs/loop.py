"""One loop: a learner meets the history a simulator serves it, in plain Python or compiled, with the same rows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.contracts import Exhausted, Learner, LogError, LoopOwner, PolicyError, Simulator, Stop
from understudy.runs.account import Account, check_limits, no_rows, visits_of
from understudy.runs.compiled import EPISODES, Ledger, advance
from understudy.runs.env import GymEnv
from understudy.runs.probes import Probes, Readings
from understudy.runs.run import Run
from understudy.simulators.kernels import cells

LONGEST_STRETCH = 1 << 20
"""Compiled steps between two looks at whether the run is still wanted."""


class Unwanted(Exception):  # noqa: N818 (nothing went wrong)
    """The run was called off before it stopped by itself."""


def simulate(
    simulator: Simulator,
    learner: Learner | LoopOwner,
    seed: int = 0,
    max_steps: int | None = None,
    *,
    probes: Probes | None = None,
    every: int = 1000,
    compiled: bool | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> Run:
    """Let a learner rehearse until the log has no further answer, or for `max_steps`.

    Probes are read every so many steps, and once more at the end. The loop is compiled where simulator and learner
    both offer arrays; `compiled=False` forces plain Python, which serves the same rows. A learner that owns its loop
    is handed an env.
    """
    check_fit(simulator, learner, max_steps, every)
    readings = Readings(probes or {}, int(every))
    if compiled is None:
        compiled = can_compile(simulator, learner)
    elif compiled and not can_compile(simulator, learner):
        raise ValueError(f"{type(learner).__name__} in {simulator} has no compiled form; leave compiled= out")
    loop = compiled_loop if compiled else learners_own_loop if hasattr(learner, "rehearse") else python_loop
    return loop(simulator, learner, int(seed), None if max_steps is None else int(max_steps), readings, wanted)


def check_fit(simulator: Any, learner: Any, max_steps: int | None, every: int) -> None:
    """Raise where a run could not even begin."""
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


def can_compile(simulator: Any, learner: Any) -> bool:
    """Whether both sides offer what the compiled loop works on."""
    return getattr(simulator, "compilable", False) and offers_arrays(learner)


def offers_arrays(learner: Any) -> bool:
    """Whether a learner's arrays are all there is to it: a subclass may act or learn in another way than they say."""
    if getattr(learner, "arrays", None) is None or learner.arrays() is None:
        return False
    lineage = type(learner).__mro__
    told = next((cls for cls in lineage if "arrays" in vars(cls)), None)
    changed = [cls for cls in lineage if vars(cls).keys() & {"policy", "learn"}]
    return told is not None and lineage.index(told) <= lineage.index(changed[0])


def python_loop(
    simulator: Any, learner: Any, seed: int, max_steps: int | None, readings: Readings, wanted: Callable[[], bool]
) -> Run:
    """The loop as a sentence."""
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
        step, stopped = answer(rehearsal.step, learner.policy(observation))
        if stopped is not None:
            break
        learner.learn(step)
        account.add(step, state)
        account.probe(learner)
        observation, over = step.next_observation, step.terminated or step.truncated
    if stopped is None:
        stopped = rehearsal.stop() if hasattr(rehearsal, "stop") else Stop("max steps", counts={"steps": len(account)})
    return account.run(learner, stopped)


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
    )  # fmt: skip
    with env:
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
    ledger = _ledger(simulator, readings, max_steps)
    limit = np.iinfo(np.int64).max if max_steps is None else max_steps
    every = readings.every if readings.probes else LONGEST_STRETCH
    steps = 0
    while steps < limit and source.mind[cells.CAUSE] == cells.GOING:
        if not wanted():
            raise Unwanted
        until = min(limit, steps + LONGEST_STRETCH, (steps // every + 1) * every)
        advance(source, arrays, ledger, until)
        steps, episodes = (int(count) for count in ledger.tally)
        if readings.probes and steps == until and steps % every == 0:
            readings.keep(learner, steps, ledger.returns[:episodes], ledger.visits)
        if episodes == len(ledger.openings):
            ledger = _longer(ledger)
    episodes = int(ledger.tally[EPISODES])
    begun = episodes + int(not source.mind[cells.OVER])
    return Run(
        seed=seed,
        rows=ledger.rows[:steps].copy() if simulator.serves_rows else no_rows(steps),
        openings=ledger.openings[:begun].copy() if simulator.serves_rows else no_rows(begun),
        emissions=ledger.emissions[:steps].copy() if simulator.serves_emissions else None,
        ends=ledger.ends[:episodes].copy(),
        returns=ledger.returns[:episodes].copy(),
        steps=np.array(readings.steps, np.int64),
        curves=readings.curves(),
        final=readings.read(learner, steps, ledger.returns[:episodes], ledger.visits),
        stopped=rehearsal.stop(),
    )


def _ledger(simulator: Any, readings: Readings, max_steps: int | None) -> Ledger:
    """An empty ledger. Room that a run does not come to use costs nothing: it is never touched."""
    served = min(max_steps or np.inf, len(simulator.log) if simulator.exhaustible else np.inf)
    n_rows = int(served) if simulator.serves_rows else 0
    n_episodes = simulator.log.n_episodes + 1 if simulator.exhaustible else 1024
    return Ledger(
        rows=np.empty(n_rows, np.int32),
        emissions=np.empty(n_rows if simulator.serves_emissions else 0, np.int32),
        openings=np.empty(n_episodes, np.int32),
        ends=np.empty(n_episodes, np.int64),
        returns=np.empty(n_episodes),
        visits=visits_of(simulator, readings),
        policy=np.empty(simulator.n_actions),
        tally=np.zeros(2, np.int64),
        earned=np.zeros(1),
    )


def _longer(ledger: Ledger) -> Ledger:
    """The same ledger with room for twice as many episodes."""
    more = {name: np.concatenate([column, np.empty_like(column)]) for name, column in ledger._asdict().items()
            if name in ("openings", "ends", "returns")}  # fmt: skip
    return ledger._replace(**more)
