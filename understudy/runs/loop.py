"""The loop of a run: a learner acts in a simulator and learns; in plain Python or compiled, with the same rows."""

import threading
from collections.abc import Callable, Generator, Iterable
from typing import Any

from understudy.contracts import (
    CompiledLearner,
    EpisodeAbandoner,
    EpisodeCut,
    HasObservationSpace,
    HearsCuts,
    HearsOpenings,
    Learner,
    LoopOwner,
    ReadsObservations,
    Simulator,
    Step,
    owned,
)
from understudy.contracts.learning import codes_of, defined_with_policy
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.contracts.simulating import is_compiled, serves_positions, steps_back
from understudy.errors import ContractError, SettingError
from understudy.runs.backends import always
from understudy.runs.compiled import CompiledLoop
from understudy.runs.env import GymEnv
from understudy.runs.look_ahead import can_look_ahead, look_ahead_loop
from understudy.runs.prerequisites import check_parts
from understudy.runs.probes import Probes, Readings, named_probes
from understudy.runs.run import Run
from understudy.runs.setup import TELL_EVERY, NoAnswer, RunSetup, note_step
from understudy.runs.stepping_back import stepping_back_loop
from understudy.settings import seed_of
from understudy.simulators.coding import LOG_POSITIONS

LONGEST_CALL = 1 << 20
"""The largest number of compiled steps between two checks whether the run was cancelled."""

_one_by_one = threading.RLock()
"""Held while a learner's own loop runs: such learners seed and use random generators of the whole process (NumPy's,
torch's), so with two of them in threads, neither run would depend on its seed alone."""


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
    keep_going: Callable[[], bool] = always,
) -> Run:
    """Return the run of a learner that rehearses until the log has no further answer, or for `max_steps`.

    Probes are read every so many steps, and once more at the end. The loop is compiled where simulator and learner
    both offer arrays, and looks ahead where the learner says how long its policy stays the same;
    `compiled=False` forces plain Python, which serves the same rows. A learner that owns its loop is handed an env.
    With `keep_rows=False` the run does not keep which rows it was served: a run of any length then takes the memory
    of its curves and episodes only, and on a ladder a byte a step for `Run.rungs`. `keep_going` is called now and then;
    where it returns False, `Cancelled` is raised.
    """
    check_parts(simulator, learner, max_steps, every)
    seed = seed_of(seed)
    readings = Readings(named_probes(probes), int(every), seed, bool(keep_rows))
    setup = RunSetup(simulator, learner, seed, None if max_steps is None else int(max_steps), readings, keep_going)
    loop = fastest_loop(simulator, learner, compiled is not False)
    if compiled and loop in (python_loop, stepping_back_loop, learners_own_loop):
        raise SettingError(
            f"{type(learner).__name__} in {name_of(simulator)} has no compiled form; leave compiled= out"
        )
    return loop(setup)


def fastest_loop(simulator: Any, learner: Any, compiled: bool = True) -> Callable[[RunSetup], Run]:
    """Return the fastest form of the loop that simulator and learner offer; with `compiled=False`, plain Python."""
    if offers(learner, LoopOwner):
        return learners_own_loop
    if steps_back(simulator):
        return stepping_back_loop
    if compiled and can_compile(simulator, learner):
        return compiled_loop
    return look_ahead_loop if compiled and can_look_ahead(simulator, learner) else python_loop


def can_compile(simulator: Any, learner: Any) -> bool:
    """True if both simulator and learner offer the arrays that the compiled loop works on."""
    if serves_positions(simulator) and offers(learner, ReadsObservations):
        return learner.arrays_on(simulator.log) is not None and defined_with_policy(learner, "arrays_on")
    return is_compiled(simulator) and offers_arrays(learner)


def offers_arrays(learner: Any) -> bool:
    """True if a learner has arrays, and no subclass acts or learns in another way than the kernels for them."""
    if not (
        offers(learner, CompiledLearner) and learner.arrays() is not None and defined_with_policy(learner, "arrays")
    ):
        return False
    if learner.codes is not None and codes_of(learner) is None:
        raise ContractError(
            f"codes of {type(learner).__name__}, which has arrays(), is {learner.codes!r}; let it be learners.Codes(n) "
            "or None where the policy is the same for every observation"
        )
    return True


def python_loop(setup: RunSetup) -> Run:
    """Run in plain Python: ask the learner for its policy at each step, and give it the step to learn from."""
    learner, policy = setup.learner, None

    def learn(step: Step) -> Iterable[None]:
        learner.learn(step)
        return ()

    def hear_cut() -> None:
        if offers(learner, HearsCuts):
            learner.hear_cut()

    run = step_by_step(setup, learn, hear_cut)
    while True:
        try:
            observation = run.send(policy)
        except StopIteration as finished:
            return finished.value
        try:
            policy = learner.policy(observation)
        except Exception as error:
            run.throw(error)  # raised again, with a note of the step


def step_by_step(
    setup: RunSetup, learn: Callable[[Step], Iterable[None]], hear_cut: Callable[[], None]
) -> Generator[Any, Any, Run]:
    """Coroutine: yields an observation, expects send(policy), returns the Run. What `learn` yields is yielded too.

    `hear_cut` is called where the episode under way is cut.
    """
    learner, record, rehearsal = setup.learner, setup.new_record(), setup.new_rehearsal()
    may_abandon, stopped, over = offers(learner, EpisodeAbandoner), None, True
    hears = offers(learner, HearsOpenings)
    try:
        while record.n_steps < setup.limit:
            setup.check_cancelled()
            if not record.n_steps % TELL_EVERY:
                setup.tell_steps(record.n_steps)
            if over:
                observation = rehearsal.begin()
                record.begin(rehearsal.opening)
                if hears:
                    learner.hear_opening(rehearsal.opening)
            state = rehearsal.state
            step = rehearsal.step((yield observation))
            if step is None:
                record.take_back()
                over = True
                continue
            if isinstance(step, EpisodeCut):
                hear_cut()
                record.cut()
                over = True
                continue
            observation = owned(step.next_observation)  # a copy, made before the learner can write on it
            yield from learn(step)
            record.add(step, state, rung=rehearsal.rung)
            over = step.terminated or step.truncated
            if not over and may_abandon and learner.abandons_episode:
                record.abandon()
                over = True
            record.read_probes(learner)
    except NoAnswer as end:
        stopped = end.stop
    except Exception as error:
        note_step(error, record, learner)
        raise
    return record.finish(learner, stopped or rehearsal.stop(record.n_steps))


def learners_own_loop(setup: RunSetup) -> Run:
    """Run the learner's own loop in an env whose `step` raises `Exhausted` when the log has no further answer."""
    learner = setup.learner
    space = learner.observation_space if offers(learner, HasObservationSpace) else None
    env = GymEnv(
        setup.simulator, setup.seed, setup.max_steps, setup.readings.probes, setup.readings.every,
        observation_space=space, learner=learner, one_run=True, check_cancelled=setup.check_cancelled,
        keep_rows=setup.readings.keep_rows,
    )  # fmt: skip
    with _one_by_one, env:
        learner.rehearse(env)
    return env.run()


def compiled_loop(setup: RunSetup) -> Run:
    """Run compiled, from one reading of the probes to the next."""
    learner, record, readings = setup.learner, setup.new_record(), setup.readings
    if offers(learner, ReadsObservations):
        codes, arrays = LOG_POSITIONS, learner.arrays_on(setup.simulator.log)
    else:
        codes, arrays = learner.codes, learner.arrays()
    rehearsal = setup.simulator.start(setup.seed, codes)
    loop = CompiledLoop(setup.simulator, rehearsal.source, arrays, record)
    every = readings.every if readings.probes else LONGEST_CALL
    while record.n_steps < setup.limit and loop.is_running:
        setup.check_cancelled()
        setup.tell_steps(record.n_steps)
        until = min(setup.limit, record.n_steps + LONGEST_CALL, (record.n_steps // every + 1) * every)
        loop.advance(arrays, until)
        if record.n_steps == until:
            record.read_probes(learner)
    return record.finish(learner, rehearsal.stop())
