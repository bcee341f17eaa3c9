"""The compiled loop, for simulators and learners that both offer arrays."""

from typing import Any

import numpy as np

from understudy.contracts.compiling import compiled, routine
from understudy.contracts.kernels import act, check_kernels, has_policy, learn
from understudy.runs.record import BEGUN, EPISODES, STEPS, RunRecord
from understudy.simulators.kernels import begin, layout, step


@routine
def advance(source, arrays, record, policy, until):
    """Take steps until `until` are recorded, the log has no answer, the learner has no policy yet, or the record has no
    room for another episode."""
    cursor = source.cursor
    steps, episodes, begun, earned = record.tally[STEPS], record.tally[EPISODES], record.tally[BEGUN], record.earned[0]
    keep_rows, keep_emissions, count_visits = len(record.rows) > 0, len(record.emissions) > 0, len(record.visits) > 0
    while steps < until:
        if cursor[layout.EPISODE_OVER]:
            if begun == len(record.openings):
                break
            opening = begin(source)
            if cursor[layout.CAUSE] != layout.RUNNING:
                break
            record.openings[begun] = opening
            begun += 1
        code, state = cursor[layout.CODE], cursor[layout.STATE]
        if not has_policy(arrays, code):
            break
        act(arrays, code, policy)
        outcome = step(source, policy)
        if cursor[layout.CAUSE] != layout.RUNNING:
            break
        learn(arrays, code, outcome.action, outcome.reward, cursor[layout.CODE], outcome.terminated, outcome.truncated)
        if keep_rows:
            record.rows[steps] = outcome.row
        if keep_emissions:
            record.emissions[steps] = outcome.emission
        if count_visits and state >= 0:
            record.visits[state] += 1
        steps += 1
        earned += outcome.reward
        if outcome.terminated or outcome.truncated:
            record.ends[episodes] = steps
            record.returns[episodes] = earned
            episodes += 1
            earned = 0.0
    record.tally[STEPS], record.tally[EPISODES], record.tally[BEGUN], record.earned[0] = steps, episodes, begun, earned


advance_uncached = routine(advance.py_func, keep=False) if compiled(advance) else advance
"""The same for learners that are not ours: Numba keeps `advance` on disk, and would not notice that a kernel of theirs
has changed."""


class CompiledLoop:
    """A rehearsal, a learner's arrays and the record of the run, advanced by compiled code."""

    def __init__(self, simulator: Any, source: Any, arrays: Any, record: RunRecord) -> None:
        self.source, self.record = source, record
        self._policy = np.empty(simulator.n_actions)  # of the current step
        self._advance = advance if check_kernels(arrays, simulator.n_actions).built_in else advance_uncached

    @property
    def is_running(self) -> bool:
        """True as long as the log has answers."""
        return bool(self.source.cursor[layout.CAUSE] == layout.RUNNING)

    def advance(self, arrays: Any, until: int) -> None:
        """Take steps until the run has `until` of them, the log has no answer, or the learner has no policy yet."""
        self._advance(self.source, arrays, self.record.arrays, self._policy, until)
        while self.record.count() and self.is_running:  # a log without an answer is not asked again
            self._advance(self.source, arrays, self.record.arrays, self._policy, until)
