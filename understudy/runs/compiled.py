"""The loop, compiled: for simulators and learners that both offer arrays."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import routine
from understudy.learners.kernels import act, learn
from understudy.simulators.kernels import begin, cells, step


class Ledger(NamedTuple):
    """What a run leaves behind, filled as it goes."""

    rows: np.ndarray  # int32, one for each step; empty where no row is served
    emissions: np.ndarray  # int32, likewise
    openings: np.ndarray  # int32, one for each episode begun
    ends: np.ndarray  # int64: the number of steps when each finished episode was over
    returns: np.ndarray  # float64: the sum of its rewards
    visits: np.ndarray  # int64: steps taken from each state; empty where nobody asks
    policy: np.ndarray  # (A,) float64: the policy of the current step
    tally: np.ndarray  # (2,) int64: steps, finished episodes
    earned: np.ndarray  # (1,) float64: the current episode's rewards so far


STEPS, EPISODES = range(2)


@routine
def advance(source, arrays, ledger, until):
    """Go on until so many steps are done, the log has no answer, or the ledger has no room for another episode."""
    mind = source.mind
    steps, episodes, earned = ledger.tally[STEPS], ledger.tally[EPISODES], ledger.earned[0]
    keep_rows, keep_emissions, count_visits = len(ledger.rows) > 0, len(ledger.emissions) > 0, len(ledger.visits) > 0
    while steps < until:
        if mind[cells.OVER]:
            if episodes == len(ledger.openings):
                break
            opening = begin(source)
            if mind[cells.CAUSE] != cells.GOING:
                break
            ledger.openings[episodes] = opening
        code, state = mind[cells.CODE], mind[cells.STATE]
        act(arrays, code, ledger.policy)
        outcome = step(source, ledger.policy)
        if mind[cells.CAUSE] != cells.GOING:
            break
        learn(arrays, code, outcome.action, outcome.reward, mind[cells.CODE], outcome.terminated, outcome.truncated)
        if keep_rows:
            ledger.rows[steps] = outcome.row
        if keep_emissions:
            ledger.emissions[steps] = outcome.emission
        if count_visits and state >= 0:
            ledger.visits[state] += 1
        steps += 1
        earned += outcome.reward
        if outcome.terminated or outcome.truncated:
            ledger.ends[episodes] = steps
            ledger.returns[episodes] = earned
            episodes += 1
            earned = 0.0
    ledger.tally[STEPS], ledger.tally[EPISODES], ledger.earned[0] = steps, episodes, earned
