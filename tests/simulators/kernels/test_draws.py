"""The compiled draws against the reference written with lists: same rows, openings and end."""

from itertools import product

import numpy as np
import pytest

from understudy.simulators import actions_only, any_row, psrs, qbe, states_only

VARIANTS = [
    *((make, {"order": order}) for make, order in product((psrs, states_only, qbe), ("episodes", "rows", "log"))),
    *((qbe, {"order": order, "stop": "plain"}) for order in ("episodes", "rows", "log")),
    (actions_only, {}),
    (any_row, {}),
]


@pytest.mark.parametrize("openings", ["queue", "replacement"])
@pytest.mark.parametrize(("make", "options"), VARIANTS)
def test_rows_openings_and_end_are_those_of_the_reference(
    make, options, openings, play, random_log, table, merge, reference
):
    order = {"order": "rows"} if make in (actions_only, any_row) else {}
    causes = set()
    for log_seed, seed, limit in product(range(6), range(3), (None, 3)):
        log = random_log(log_seed)
        simulator = make(log, merge, openings=openings, max_episode_steps=limit, **options)
        plain = reference(
            make.__name__, log, merge.encode(log.observation), merge.encode(log.next_observation), seed,
            openings=openings, limit=limit, **(order | options),
        )  # fmt: skip
        policy_at = table(seed)
        trace, (rows, opened, cause) = play(simulator, policy_at, seed), plain.run(policy_at)
        assert trace.rows == rows
        assert trace.openings == opened
        assert trace.stop.cause == cause
        causes.add(cause)
    assert len(causes) > 1  # the logs were varied enough to end in several ways


@pytest.mark.parametrize("make", [psrs, qbe])
def test_without_an_encoder_too(make, play, random_log, table, reference):
    for seed in range(5):
        log = random_log(seed, zeros=False)
        plain = reference(make.__name__, log, log.observation, log.next_observation, seed)
        trace = play(make(log, max_episode_steps=None), table(seed), seed)
        assert (trace.rows, trace.openings, trace.stop.cause) == plain.run(table(seed))


def test_a_seed_of_its_own_gives_rows_of_its_own(play, random_log, table, merge):
    log = random_log(3)
    runs = {tuple(play(psrs(log, merge), table(0), seed).rows) for seed in range(20)}
    assert len(runs) > 10


@pytest.mark.parametrize("make", [psrs, qbe, states_only])
def test_every_row_is_served_once_and_from_the_current_state(make, play, random_log, table, merge):
    for seed in range(10):
        log = random_log(seed, episodes=60, zeros=False)
        trace = play(make(log, merge), table(seed, zeros=False), seed)
        assert len(trace.rows) > 5
        assert len(set(trace.rows)) == len(trace.rows)
        seen = np.array([step.observation for step in trace.steps])
        assert np.array_equal(merge.encode(seen), merge.encode(log.observation[trace.rows]))
        for step in trace.steps:
            assert (step.action, step.reward, step.next_observation, step.terminated) == (
                log.action[step.row], log.reward[step.row], log.next_observation[step.row], log.terminated[step.row]
            )  # fmt: skip


@pytest.mark.parametrize("make", [actions_only, any_row])
def test_baselines_without_states_serve_every_row_at_most_once(make, play, random_log, table):
    for seed in range(10):
        rows = play(make(random_log(seed, episodes=60), openings="replacement"), table(seed), seed).rows
        assert len(rows) > 5
        assert len(set(rows)) == len(rows)


def test_any_row_serves_the_whole_log(play, random_log, table):
    log = random_log(0)
    trace = play(any_row(log, openings="replacement"), table(0), 0)
    assert sorted(trace.rows) == list(range(len(log)))
