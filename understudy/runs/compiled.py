"""The compiled loop, for simulators and learners that both offer arrays."""

from typing import Any

import numpy as np

from understudy.contracts.compiling import compiled, compiled_for, routine
from understudy.contracts.kernels import act, check_kernels, has_policy, hear_cut, is_policy, learn
from understudy.errors import ContractError, PolicyError
from understudy.logs.policies import fault_of
from understudy.runs.record import BEGUN, CUTS, EPISODES, STEPS, RunRecord
from understudy.simulators.kernels import KERNELS, begin, layout, step


@routine
def advance(source, arrays, record, policy, until, checks_policy):
    """Take steps until `until` are recorded, the log has no answer, the learner has no policy yet, or the record has no
    room for another episode. `checks_policy` is for kernels that are not ours: a wrong policy ends it too."""
    cursor = source.cursor
    steps, episodes, begun, earned = record.tally[STEPS], record.tally[EPISODES], record.tally[BEGUN], record.earned[0]
    keep_rows, keep_emissions, count_visits = len(record.rows) > 0, len(record.emissions) > 0, len(record.visits) > 0
    keep_rungs, cuts = len(record.rungs) > 0, record.tally[CUTS]
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
        if checks_policy and not is_policy(policy):
            break
        outcome = step(source, policy)
        if cursor[layout.CAUSE] != layout.RUNNING:
            break
        if outcome.row == layout.PASSED_OVER:
            begun -= 1
            continue
        if outcome.row == layout.CUT:
            hear_cut(arrays)
            record.cuts[cuts] = steps
            cuts += 1
            earned = 0.0
            continue
        learn(arrays, code, outcome.action, outcome.reward, cursor[layout.CODE], outcome.terminated, outcome.truncated)
        if keep_rows:
            record.rows[steps] = outcome.row
        if keep_emissions:
            record.emissions[steps] = outcome.emission
        if keep_rungs:
            record.rungs[steps] = cursor[layout.RUNG]
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
    record.tally[CUTS] = cuts


advance_uncached = routine(advance.py_func, keep=False) if compiled(advance) else advance
"""The same for learners that are not ours: Numba keeps `advance` on disk, and would not notice that a kernel of theirs
has changed."""


class CompiledLoop:
    """A rehearsal, a learner's arrays and the record of the run, advanced by compiled code."""

    def __init__(self, simulator: Any, source: Any, arrays: Any, record: RunRecord) -> None:
        if type(source) not in KERNELS:
            raise ContractError(
                f"{type(source).__name__} is not a source that kernels work on, which are "
                f"{', '.join(kind.__name__ for kind in KERNELS)}; set compilable = False, and the loop runs in Python"
            )
        self.source, self.record = source, record
        self._policy = np.zeros(simulator.n_actions)  # of the current step
        self._checks = not check_kernels(arrays, simulator.n_actions).built_in
        self._advance = advance
        if self._checks:  # by the types themselves: Numba's own look-up takes two NamedTuples of one name for the same
            self._advance = compiled_for(advance_uncached, source, arrays, record.arrays, self._policy, 0, self._checks)

    @property
    def is_running(self) -> bool:
        """True as long as the log has answers."""
        return bool(self.source.cursor[layout.CAUSE] == layout.RUNNING)

    def advance(self, arrays: Any, until: int) -> bool:
        """Take steps until the run has `until` of them, the log has no answer, the learner has no policy yet, or the
        record has no room for another episode, which is then made. Return True if the learner has no policy yet.

        So a call comes to an end also where all episodes are cut, and callers can ask whether the run was cancelled.
        """
        self._advance(self.source, arrays, self.record.arrays, self._policy, until, self._checks)
        if self.record.count() or self.record.n_steps == until or not self.is_running:
            return False
        if self._checks:
            self._refuse(arrays)
        return True

    def _refuse(self, arrays: Any) -> None:
        """Raise the error for kernels of an external learner that gave no valid policy."""
        name, code = type(arrays).__name__, int(self.source.cursor[layout.CODE])
        if not has_policy(arrays, code):
            raise ContractError(f"has_policy of {name} is False at code {code}, and no other part can give the policy")
        fault = fault_of(self._policy, len(self._policy))
        raise PolicyError(
            f"act of {name} wrote the policy {self._policy} at code {code} after {self.record.n_steps:,} steps, which "
            f"{fault}; write probabilities that sum to 1 into every entry of policy"
        )
