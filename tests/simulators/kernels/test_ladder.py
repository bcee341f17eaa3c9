"""Ladders against a reference written with lists, and the law of the rule that serves the oldest row."""

from itertools import product

import numpy as np
import pytest

from understudy.contracts import EpisodeCut, Exhausted
from understudy.contracts.streams import ACCEPTANCE, OPENINGS, Stream
from understudy.simulators import qbe
from understudy.simulators.kernels import layout

LADDERS = [
    ("cut",), ("like",), ("like", "cut"), ("reuse",), ("reuse", "cut"), ("untried", "cut"), ("like", "untried"),
    ("reuse", "like"), ("like", "reuse", "untried", "cut"),
]  # fmt: skip


class Ring:
    """States are alike whose numbers differ by one."""

    settings = {"kind": "ring"}  # noqa: RUF012

    def neighbors(self, log, state, next_state, n_states, radius):
        members = [[s + d for d in (-1, 1) if 0 <= s + d < n_states] for s in range(n_states)]
        return np.cumsum([0, *map(len, members)]), np.array([other for part in members for other in part])


def climb(reference, log, state, next_state, seed, policy_at, then, max_steps, *, max_cut, window, order, limit=None):
    """Rows, rungs, cuts and openings of a ladder, with lists; `reference` has the order of rows and openings."""
    plain = reference("qbe", log, state, next_state, seed, order=order)
    uniform, again = Stream(seed, ACCEPTANCE), Stream(seed, OPENINGS)
    if order == "rows":  # the openings were shuffled, by a number each
        [again.uniform() for _ in range(log.n_episodes)]
    tape = tape_order(log, seed, order, reference)
    unused, first = [row for row in tape if state[row] >= 0], log.starts[:-1].tolist()
    rows, rungs, cuts, opened, over, cut_episodes = [], [], [], [], True, []
    n_states, replaces = 1 + int(max(state.max(), next_state.max())), {"reuse", "untried"} & set(then)
    while len(rows) < max_steps:
        if over:
            opening = next(plain.openings, None)
            if opening is None and not replaces:
                return rows, rungs, cuts, opened, "no opening"
            if opening is None:
                opening = first[again.below(len(first))]
            opened.append(opening)
            x, z, age = log.observation[opening], int(state[opening]), 0
        policy = list(policy_at(len(rows), x))
        u, edge, action = uniform.uniform() * sum(policy) if z >= 0 else 0.0, 0.0, None
        for a, pi in enumerate(policy):
            if pi > 0 and u < edge + pi:
                action = a
                break
            edge += pi
        has = lambda row, states: state[row] in states and log.action[row] == action  # noqa: B023, E731
        alike = [s for s in (z - 1, z + 1) if 0 <= s < n_states and z >= 0]
        row, rung = next((row for row in unused if z >= 0 and has(row, [z])), None), 0
        own = [r for r in range(len(log)) if z >= 0 and has(r, [z])]
        for name in then:
            if row is not None or z < 0:
                break
            if name == "like":
                row, rung = next((r for r in unused if has(r, alike)), None), layout.LIKE
            if name == "reuse" and own:
                row, rung = own[uniform.below(len(own))], layout.REUSE
            if name == "untried" and not own:
                lent = [r for s in alike for r in range(len(log)) if has(r, [s])]
                row, rung = lent[uniform.below(len(lent))] if lent else None, layout.UNTRIED
        if row is None:
            if then[-1] != "cut":
                return rows, rungs, cuts, opened, "no answer"
            episode = len(opened)
            if 1 + sum(episode - cut < window for cut in cut_episodes) > int(max_cut * window + 1e-9):
                return rows, rungs, cuts, opened, "too many cut"
            cut_episodes.append(episode)
            cuts.append(len(rows))
            over = True
            continue
        if rung in (0, layout.LIKE):
            unused.remove(row)
        rows.append(row)
        rungs.append(rung)
        x, z, age = log.next_observation[row], int(next_state[row]), age + 1
        over = bool(log.terminated[row]) or age == limit
    return rows, rungs, cuts, opened, "max steps"


def tape_order(log, seed, order, reference):
    """All rows in the order of the tape."""
    one = reference("any_row", log, np.zeros(len(log), int), np.zeros(len(log), int), seed, order=order)
    return next(iter(one.queues.values()))


def served(simulator, policy_at, seed, max_steps):
    """The same of the simulator itself."""
    rehearsal, rows, rungs, cuts, opened, over, x = simulator.start(seed), [], [], [], [], True, None
    try:
        while len(rows) < max_steps:
            if over:
                x = rehearsal.begin()
                opened.append(rehearsal.opening)
            step = rehearsal.step(policy_at(len(rows), x))
            if isinstance(step, EpisodeCut):
                cuts.append(len(rows))
                over = True
                continue
            rows.append(step.row)
            rungs.append(rehearsal.rung)
            x, over = step.next_observation, step.terminated or step.truncated
    except Exhausted:
        pass
    return rows, rungs, cuts, opened, rehearsal.stop()


@pytest.mark.parametrize("then", LADDERS)
def test_rows_rungs_cuts_and_openings_are_those_of_the_reference(then, random_log, table, merge, reference):
    met = np.zeros(4, int)
    for log_seed, seed, order in product(range(6), range(2), ("episodes", "rows", "log")):
        log = random_log(log_seed, zeros=False, episodes=(3, 15)[log_seed % 2])
        state, next_state = merge.encode(log.observation), merge.encode(log.next_observation)
        alike = {"likeness": Ring(), "radius": 1.0} if {"like", "untried"} & set(then) else {}
        options = {"max_cut": 0.2, "cut_window": 10} if "cut" in then else {}
        simulator = qbe(log, merge, then=then, order=order, max_episode_steps=7, audit=False, **alike, **options)
        rows, rungs, cuts, opened, cause = climb(
            reference, log, state, next_state, seed, table(seed), then, 120,
            max_cut=0.2, window=10, order=order, limit=7,
        )  # fmt: skip
        found = served(simulator, table(seed), seed, 120)
        assert found[:4] == (rows, rungs, cuts, opened)
        causes = {"no answer": ("queue empty for action", "never logged", "no state")}.get(cause, (cause,))
        assert found[4].cause in causes
        assert found[4].counts["episodes cut"] == len(cuts)
        met += np.bincount(rungs, minlength=4)
    for rung, name in enumerate(("like", "reuse", "untried"), start=1):
        assert (met[rung] > 0) == (name in then)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_a_run_ends_when_more_of_a_window_would_be_cut(most, walk_log):
    log = walk_log(*[[0, 1]] * 40, *[[0, 2, 1]] * 1, n_actions=2)
    # Action 1 was never logged: each episode that draws it is cut, every fifth.
    simulator = qbe(log, then="cut", max_cut=most / 10, cut_window=10)
    calls = iter(range(1000))
    _, _, cuts, opened, stop = served(simulator, lambda *_: np.eye(2)[int(next(calls) % 5 == 4)], 0, 100)
    assert stop.cause == ("too many cut" if most < 2 else "no opening")
    assert len(cuts) == {0: 0, 1: 1, 3: 8}[most]
    assert len(opened) == {0: 5, 1: 10, 3: 41}[most]


def test_the_oldest_row_keeps_its_law_and_the_nearest_does_not():
    """Outcomes are independent of where a row is, so any row may stand in; each is where the one before it led to.

    One episode of five rows whose next observations are seen with a little noise, so that no state has a row of its
    own. The law of the fifth outcome, relative to the opening, is known: the oldest rule keeps it (error rate 1e-4);
    the nearest rule serves the rows around the opening last, or first, and fails the same test.
    """
    rng, n_logs = np.random.default_rng(0), 20_000
    near = {"oldest": 0, "nearest": 0}
    for _ in range(n_logs):
        start, outcome = rng.normal(), rng.normal(size=5)
        at = np.append(start + 3.0, outcome[:-1])  # where each row is; the first is not where the run opens
        for rule in near:
            unused, here = list(range(5)), start
            for _ in range(5):
                row = unused[0] if rule == "oldest" else min(unused, key=lambda r: abs(at[r] - here))
                unused.remove(row)
                here = outcome[row] + 1e-6
            near[rule] += abs(here - start) < 0.5
    truth = near_by_chance(0.5)
    z = {rule: (count - n_logs * truth) / np.sqrt(n_logs * truth * (1 - truth)) for rule, count in near.items()}
    assert abs(z["oldest"]) < 3.9
    assert abs(z["nearest"]) > 10


def near_by_chance(distance):
    """The probability that two standard normal numbers differ by less than a distance."""
    from scipy.stats import norm

    return norm.cdf(distance / np.sqrt(2)) - norm.cdf(-distance / np.sqrt(2))
