"""The loop for simulators that may pass over an episode after the learner has learned from some of its steps."""

from copy import deepcopy
from dataclasses import replace
from types import MemberDescriptorType
from typing import Any

from understudy.contracts import EpisodeAbandoner, EpisodeCut, HearsOpenings, owned
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.errors import ContractError
from understudy.runs.record import RunRecord
from understudy.runs.run import Run
from understudy.runs.setup import CheckedRehearsal, NoAnswer, RunSetup, note_step


class LearnerMemory:
    """All that a learner knows, to be put back: copies of its attributes, and of its slots.

    What it keeps elsewhere, in a closure or in its class, is not seen and not put back.

    Its random numbers are put back with the rest, where it holds its generator. That keeps a run a function of its seed
    and of the rows it was served. (New numbers for each episode offered would be as exact: an episode is accepted with
    the same probability, 1 / bound, whatever numbers the learner draws, so their law is not changed either way.)
    """

    def __init__(self, learner: Any) -> None:
        try:
            known = {id(learner): learner}  # parts that refer back to the learner go on doing so
            self._held = deepcopy(vars(learner), known)
            self._slots = deepcopy({name: getattr(learner, name) for name in slots_of(learner)}, known)
        except Exception as error:  # whatever the parts of a learner raise when they are copied
            raise ContractError(
                f"{type(learner).__name__} has to be put back where an episode is passed over, and cannot be copied "
                f"({type(error).__name__}: {error}); keep what it learns in attributes that can be, or use psrs or qbe"
            ) from error

    def put_back(self, learner: Any) -> None:
        """Make the learner what it was. Once only: it goes on with these copies."""
        vars(learner).clear()
        vars(learner).update(self._held)
        for name, value in self._slots.items():
            setattr(learner, name, value)


def slots_of(learner: Any) -> list[str]:
    """Return the names of the slots of a learner's classes that hold something."""
    names = [name for kind in type(learner).__mro__ for name in slot_names(kind)]
    return [name for name in names if hasattr(learner, name)]


def slot_names(kind: type) -> list[str]:
    """Return the names of the slots that one class defines."""
    return [name for name, part in vars(kind).items() if isinstance(part, MemberDescriptorType)]


def stepping_back_loop(setup: RunSetup) -> Run:
    """Run in plain Python, episode by episode: one that is passed over is forgotten by learner and record alike."""
    learner, record, rehearsal = setup.learner, setup.new_record(), setup.new_rehearsal()
    if offers(learner, EpisodeAbandoner):
        raise ContractError(
            f"{type(learner).__name__} may end an episode early, and {name_of(setup.simulator)} accepts whole ones; "
            "use psrs or qbe, or a learner without abandons_episode"
        )
    stopped = None
    try:
        while record.n_steps < setup.limit:
            setup.check_cancelled()
            play_episode(setup, record, rehearsal)
    except NoAnswer as end:
        stopped = end.stop
    except Exception as error:
        note_step(error, record, learner)
        raise
    stop = stopped or replace(rehearsal.stop(record.n_steps), cause="max steps")
    return record.finish(learner, replace(stop, counts={**stop.counts, "steps": record.n_steps}))


def play_episode(setup: RunSetup, record: RunRecord, rehearsal: CheckedRehearsal) -> None:
    """Let the learner act and learn through one episode that is offered, and forget it where it is passed over.

    Where the run has all its steps in the middle of the episode, the episode still goes on, unrecorded, until it is
    accepted or not: stopped before that, runs would hold episodes that were not accepted. The learner is then put back
    to what it was at the last step of the run.
    """
    learner, before, at_limit, over = setup.learner, None, None, False
    observation = rehearsal.begin()
    record.begin(rehearsal.opening)
    if offers(learner, HearsOpenings):
        learner.hear_opening(rehearsal.opening)
    try:
        while not over:
            step = rehearsal.step(learner.policy(observation))
            if isinstance(step, EpisodeCut):
                raise ContractError(
                    f"{name_of(setup.simulator)} cuts episodes and passes over others; let it do one of both"
                )
            if step is None:
                record.take_back()
                if before is not None:
                    before.put_back(learner)
                return
            observation, over = owned(step.next_observation), step.terminated or step.truncated
            if before is None and not over:
                before = LearnerMemory(learner)
            learner.learn(step)
            if at_limit is None:
                record.add(step)
                record.read_probes(learner)
                if record.n_steps == setup.limit and not over:
                    at_limit = LearnerMemory(learner)
    except NoAnswer:  # the recording stopped in an episode that was accepted
        if at_limit is None:
            raise
    if at_limit is not None:
        at_limit.put_back(learner)
