"""Which rows both kinds of ladder serve: of the state itself while there is one, else the oldest unused one alike."""

import contextlib

import numpy as np
import pytest

import understudy as us
from understudy.contracts import EpisodeCut, Exhausted
from understudy.simulators import psrs, qbe


class Line:
    """States are alike whose numbers differ by at most the radius."""

    settings = {"kind": "line"}  # noqa: RUF012

    def neighbors(self, log, state, next_state, n_states, radius):
        near = np.abs(np.subtract.outer(np.arange(n_states), np.arange(n_states))) <= radius
        np.fill_diagonal(near, False)
        return np.append(0, np.cumsum(near.sum(axis=1))), np.nonzero(near)[1]


@pytest.mark.parametrize("make", [qbe, psrs])
@pytest.mark.parametrize("order", ["episodes", "rows", "log"])
def test_the_oldest_unused_row_of_states_alike_is_served(make, order, random_log, reference):
    n_like = 0
    for seed in range(8):
        log = random_log(seed, episodes=12, zeros=False)
        at = {row: place for place, row in enumerate(tape_order(log, seed, order, reference))}
        simulator = make(log, then=("like", "cut"), likeness=Line(), radius=2, order=order, max_cut=0.5, audit=False)
        rehearsal, learner, unused, here = simulator.start(seed), us.learners.Uniform(3), set(range(len(log))), None
        with contextlib.suppress(Exhausted):
            while True:
                here = rehearsal.begin() if here is None else here
                step = rehearsal.step(learner.policy(here))
                if isinstance(step, EpisodeCut):
                    here = None
                    continue
                of_action = [row for row in unused if log.action[row] == step.action]
                own = [row for row in of_action if log.observation[row] == here]
                alike = [row for row in of_action if 0 < abs(int(log.observation[row]) - int(here)) <= 2]
                assert step.row == min(own if rehearsal.rung == 0 else alike, key=at.get)
                assert rehearsal.rung == 0 or not own
                n_like += rehearsal.rung
                unused.remove(step.row)
                here = None if step.terminated or step.truncated else step.next_observation
    assert n_like > 30


def tape_order(log, seed, order, reference):
    """All rows in the order of the tape."""
    zeros = np.zeros(len(log), int)
    return next(iter(reference("any_row", log, zeros, zeros, seed, order=order).queues.values()))
