"""What a rehearsal has read is the smallest log that would have served it."""

from collections import Counter
from functools import partial
from itertools import product

import numpy as np
import pytest

from understudy.encoders import Function
from understudy.envs import CounterGrid
from understudy.learners import QLearning
from understudy.logs import Log
from understudy.runs import simulate
from understudy.simulators import any_row, exo_psrs, psrs, qbe, states_only
from understudy.simulators.sharing import shared_rehearsals

EVENLY = np.full(3, 1 / 3)


def served(simulator, steps, policy=lambda t, x: EVENLY, seed=1):
    """Return the rehearsal after so many steps, and the rows it served."""
    rehearsal, rows, over = simulator.start(seed), [], True
    while len(rows) < steps:
        observation = rehearsal.begin() if over else step.next_observation  # noqa: F821
        step = rehearsal.step(policy(len(rows), observation))
        over = step.terminated or step.truncated
        rows.append(step.row)
    return rehearsal, rows


reserving = partial(psrs, reserve=True)


@pytest.mark.parametrize("make", [psrs, reserving, qbe, states_only])
@pytest.mark.parametrize("steps", [1, 7, 25])
def test_a_log_of_the_episodes_read_serves_the_same_steps_and_a_smaller_one_does_not(make, steps, random_log, play):
    log = random_log(8, episodes=60, zeros=False)
    options = {"order": "log", "max_episode_steps": 5}
    rehearsal, rows = served(make(log, **options), steps)
    needed = rehearsal.use().episodes
    assert 1 <= needed < 60
    enough = play(make(log.select(range(needed)), **options), lambda t, x: EVENLY, 1, max_steps=steps)
    assert enough.rows == rows
    if needed > 1:
        fewer = play(make(log.select(range(needed - 1)), **options), lambda t, x: EVENLY, 1, max_steps=steps)
        assert len(fewer.rows) < steps


def test_what_runs_out_is_the_scarcest(random_log, play):
    log = random_log(8, episodes=60, zeros=False)
    causes = set()
    for seed in range(20):
        for make, openings in product((psrs, reserving, qbe, states_only), ("queue", "replacement")):
            options = {"openings": openings} | ({"stop": "plain"} if make is qbe else {})
            simulator = make(log, Function(lambda x: x % 3), max_episode_steps=5, **options)
            rehearsal = simulator.start(seed)
            trace = play(Started(rehearsal), lambda t, x: EVENLY, seed)
            use = rehearsal.use()
            assert use.share == 1.0
            assert use.rows == use.logged
            causes.add(trace.stop.cause)
    assert causes == {"queue empty", "queue empty for action", "no opening"}


class Started:
    """A simulator of one rehearsal."""

    def __init__(self, rehearsal):
        self.rehearsal = rehearsal

    def start(self, seed):
        return self.rehearsal


def test_rows_taken_are_counted_by_state_and_action(random_log):
    log = random_log(8, episodes=200, zeros=False)
    rehearsal, rows = served(qbe(log, max_episode_steps=5), 60)
    counts = Counter(zip(log.observation[rows].tolist(), log.action[rows].tolist(), strict=True))
    logged = Counter(zip(log.observation.tolist(), log.action.tolist(), strict=True))
    (cell, share) = max(((key, counts[key] / logged[key]) for key in counts), key=lambda pair: pair[1])
    use = rehearsal.use()
    assert use.share == pytest.approx(share)
    assert (counts[use.scarcest.state, use.scarcest.action], logged[cell]) == (use.rows, logged[cell])


def test_openings_are_counted_unless_they_are_drawn_again(bandit):
    log = bandit(np.zeros(20, int), np.full((20, 2), 0.5), observation=np.arange(20) % 4)
    first = np.array([1.0, 0.0])
    rehearsal, _ = served(any_row(log), 5, lambda t, x: first)
    assert (rehearsal.use().episodes, rehearsal.use().scarcest.cause, rehearsal.use().rows) == (5, "no opening", 5)
    rehearsal, _ = served(any_row(log, openings="replacement"), 5, lambda t, x: first)
    assert (rehearsal.use().episodes, rehearsal.use().scarcest.cause, rehearsal.use().rows) == (5, "no row", 5)


def test_nothing_was_used_before_the_first_step(random_log):
    use = psrs(random_log(8)).start(0).use()
    assert (use.episodes, use.rows) == (0, 0)


def test_both_parts_of_an_exogenous_log_count():
    env = CounterGrid(6, size=3)
    log = Log.from_columns(**env.rollout(np.full((env.n_observations, 5), 0.2), 100, seed=2))
    simulator = exo_psrs(log, split=env.split, merge=env.merge, reward=env.reward)
    rehearsal, rows = served(simulator, 50, lambda t, x: np.eye(5)[t % 5])
    use = rehearsal.use()
    assert len(rows) == 50
    assert 1 < use.episodes <= 100
    assert 0 < use.share <= 1
    assert "no row left" in use.scarcest.reason or use.scarcest.cause == "no opening"


def test_episodes_that_share_a_log_use_it_together(random_log):
    log = random_log(8, episodes=60, zeros=False)
    rehearsal = psrs(log, Function(lambda x: x % 2)).start(0)
    one, other = shared_rehearsals(rehearsal, 2)
    for each in (one, other):
        each.begin()
        each.step(EVENLY)
    assert one.use() == other.use() == rehearsal.use()
    assert rehearsal.use().episodes >= 2


def test_compiled_and_plain_runs_use_the_same(random_log):
    log = random_log(8, episodes=60, zeros=False)
    uses = []
    for compiled in (True, False):
        simulator = Keeping(qbe(log))
        simulate(simulator, QLearning(8, 3, seed=0), 0, 20, compiled=compiled)
        uses.append(simulator.rehearsal.use())
    assert uses[0] == uses[1]


class Keeping:
    def __init__(self, simulator):
        self.simulator = simulator

    def start(self, seed, *codes):
        self.rehearsal = self.simulator.start(seed, *codes)
        return self.rehearsal

    def __getattr__(self, name):
        return getattr(self.simulator, name)
