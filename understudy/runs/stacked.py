"""Many runs at once, whose learners compute in one batch: each run is the same as if it were made alone.

A run pauses where its learner has something to compute, a policy or an update, and goes on with the result. What paused
runs wait for is computed for all of them together.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np

from understudy.contracts import EpisodeAbandoner, HasDevice, HasStackSize, HearsCuts, StackedLearner, Step, Steps
from understudy.contracts.backing import Block
from understudy.contracts.learning import defined_with_policy
from understudy.contracts.offering import members_of, offers
from understudy.errors import ContractError
from understudy.runs.blocks import even_blocks, whole_blocks
from understudy.runs.look_ahead import can_look_ahead, check_epoch, epoch_by_epoch
from understudy.runs.loop import step_by_step
from understudy.runs.run import Run
from understudy.runs.setup import Cancelled, RunSetup
from understudy.settings import whole

BLOCK = 10
"""The most runs that are stacked where learners do not say."""

Paused = Generator[Any, Any, Run]
"""A run that yields an observation where it needs the policy at it, and None where its learner needs an update."""


def can_stack(learner: Any) -> bool:
    """True if learners of this class can compute together, and no subclass acts or learns in another way."""
    return offers(learner, StackedLearner) and all(
        defined_with_policy(learner, member) for member in members_of(StackedLearner)
    )


def stack_keys(learners: Sequence[Any]) -> set[Any]:
    """Return the distinct stack keys of learners. Raise `ContractError` where one is not hashable."""
    keys = [learner.stack_key for learner in learners]
    try:
        return set(keys)
    except TypeError as error:
        raise ContractError(
            f"stack_key of {type(learners[0]).__name__} is {keys[0]!r}; it must be hashable, and a tuple will do"
        ) from error


def blocks_of(numbers: Sequence[int], learner: Any, workers: int) -> list[Block]:
    """Return the blocks of runs whose learners, like this one, compute together.

    They are as large as the learner says. On a CPU, or where it does not say, they are smaller where there is work for
    more workers then: runs do not depend on it.
    """
    if not offers(learner, HasStackSize):
        return even_blocks(numbers, BLOCK, workers)
    size = whole("stack_size", learner.stack_size)
    if offers(learner, HasDevice) and learner.device == "cpu":
        return even_blocks(numbers, size, workers)
    return whole_blocks(numbers, size)


def run_stacked(setups: Sequence[RunSetup]) -> Iterator[tuple[int, Run | Exception]]:
    """Yield the number and the run of each setup as it finishes. The learners have equal stack keys.

    Where a run raises, its error is yielded instead, and the others go on; what learners raise while they compute
    together is raised.
    """
    learners = [setup.learner for setup in setups]
    kind = type(learners[0])
    runs: list[Paused] = [
        epoch_by_epoch(setup) if can_look_ahead(setup.simulator, setup.learner) else collecting_steps(setup)
        for setup in setups
    ]
    answers: dict[int, Any] = dict.fromkeys(range(len(runs)))
    waiting: dict[int, Any] = {}
    act, actors = None, None
    while answers:
        for number, answer in answers.items():
            try:
                waiting[number] = runs[number].send(answer)
            except StopIteration as finished:
                yield number, finished.value
            except Cancelled:
                raise
            except Exception as error:
                yield number, error
        asking = [number for number, observation in waiting.items() if observation is not None]
        if asking:
            if act is None or actors != asking:
                act, actors = kind.stacked_policies([learners[number] for number in asking]), asking
            policies = act([waiting.pop(number) for number in asking])
            if isinstance(policies, np.ndarray):
                policies = policies.copy()  # one learner may write on them before the others have acted
            answers = dict(zip(asking, policies, strict=True))
        else:
            if waiting:
                kind.update_all([learners[number] for number in waiting])
            answers, waiting, act = dict.fromkeys(waiting), {}, None


def collecting_steps(setup: RunSetup) -> Paused:
    """Return a run step by step, whose learner is handed the steps when an update is due."""
    learner, collected = setup.learner, list[Step]()
    may_abandon = offers(learner, EpisodeAbandoner)

    def learn(step: Step) -> Iterator[None]:
        collected.append(step)
        if len(collected) == learner.steps_until_update or (may_abandon and learner.abandons_episode):
            learner.collect(Steps.of(*collected))
            collected.clear()
            if learner.steps_until_update == 0:
                yield None
                check_epoch(learner)

    def hear_cut() -> None:
        if collected:
            collected[-1] = collected[-1]._replace(truncated=True)
        elif offers(learner, HearsCuts):
            learner.hear_cut()

    check_epoch(learner)
    return step_by_step(setup, learn, hear_cut)
