"""Many runs at once, their learners stacked into one batch: each run is what it would be alone.

A run pauses where its learner has something to compute - a policy, or an update - and goes on with the answer. All that
wait for the same are answered together.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import numpy as np

from understudy.contracts import Step, Steps
from understudy.runs.account import stands_for
from understudy.runs.ahead import can_look_ahead, stays_frozen, stretches
from understudy.runs.loop import dialogue
from understudy.runs.probes import Readings
from understudy.runs.run import Run

BLOCK = 10
"""Runs that are stacked."""

Paused = Generator[Any, Any, Run]
"""A run that yields an observation where it needs the policy there, and None where its learner needs an update."""


def can_stack(learner: Any) -> bool:
    """Whether a learner's class can work on many of its kind at once."""
    offered = ("acting", "update_all", "form")
    return stays_frozen(learner) and all(hasattr(learner, name) and stands_for(learner, name) for name in offered)


def together(
    simulators: Sequence[Any], learners: Sequence[Any], seeds: Sequence[int], max_steps: int | None,
    readings: Sequence[Readings], wanted: Callable[[], bool],
) -> Iterator[tuple[int, Run]]:  # fmt: skip
    """Runs of learners of one form, by their places, as they finish."""
    runs: list[Paused] = [
        (stretches if can_look_ahead(simulator, learner) else lock_steps)(
            simulator, learner, seed, max_steps, reading, wanted
        )
        for simulator, learner, seed, reading in zip(simulators, learners, seeds, readings, strict=True)
    ]
    kind = type(learners[0])
    answers: dict[int, Any] = dict.fromkeys(range(len(runs)))
    waiting: dict[int, Any] = {}
    act, actors = None, None
    while answers:
        for place, reply in answers.items():
            try:
                waiting[place] = runs[place].send(reply)
            except StopIteration as over:
                yield place, over.value
            except Exception as error:
                error.add_note(f"in the run with seed {seeds[place]}")
                raise
        asking = [place for place, observation in waiting.items() if observation is not None]
        if asking:
            if act is None or actors != asking:
                act, actors = kind.acting([learners[place] for place in asking]), asking
            policies = act([waiting.pop(place) for place in asking])
            if isinstance(policies, np.ndarray):
                policies = policies.copy()  # one learner may write on them before the others have acted
            answers = dict(zip(asking, policies, strict=True))
        else:
            if waiting:
                kind.update_all([learners[place] for place in waiting])
            answers, waiting, act = dict.fromkeys(waiting), {}, None


def lock_steps(
    simulator: Any, learner: Any, seed: int, max_steps: int | None, readings: Readings, wanted: Callable[[], bool]
) -> Paused:
    """The loop in plain Python, one step of each run at a time; the learner is told of steps when it can learn."""
    untold: list[Step] = []

    def learn(step: Step) -> Iterator[None]:
        untold.append(step)
        if len(untold) == learner.frozen or getattr(learner, "gives_up", False):
            learner.note(Steps.of(*untold))
            untold.clear()
            if learner.frozen == 0:
                yield None

    return dialogue(simulator, learner, seed, max_steps, readings, wanted, learn)
