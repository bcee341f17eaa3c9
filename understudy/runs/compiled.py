"""The loop, compiled: for simulators and learners that both offer arrays."""

from understudy.contracts.compiling import routine
from understudy.learners.kernels import act, knows, learn
from understudy.runs.ledger import BEGUN, EPISODES, STEPS
from understudy.simulators.kernels import begin, cells, step


@routine
def advance(source, arrays, ledger, until):
    """Go on until so many steps are done, the log has no answer, the learner none yet, or the ledger no room for
    another episode."""
    mind = source.mind
    steps, episodes, begun, earned = ledger.tally[STEPS], ledger.tally[EPISODES], ledger.tally[BEGUN], ledger.earned[0]
    keep_rows, keep_emissions, count_visits = len(ledger.rows) > 0, len(ledger.emissions) > 0, len(ledger.visits) > 0
    while steps < until:
        if mind[cells.OVER]:
            if begun == len(ledger.openings):
                break
            opening = begin(source)
            if mind[cells.CAUSE] != cells.GOING:
                break
            ledger.openings[begun] = opening
            begun += 1
        code, state = mind[cells.CODE], mind[cells.STATE]
        if not knows(arrays, code):
            break
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
    ledger.tally[STEPS], ledger.tally[EPISODES], ledger.tally[BEGUN], ledger.earned[0] = steps, episodes, begun, earned
