"""The order in which a log is read, and its law: what a queue serves first must not depend on how it turned out."""

from contextlib import suppress
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from understudy.contracts import Exhausted
from understudy.contracts.streams import OPENINGS, ORDER, streams_of
from understudy.encoders import Function
from understudy.logs import Log, concatenate
from understudy.simulators import any_row, psrs, qbe, states_only
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.layout import EMPTY
from understudy.simulators.kernels.tape import (
    entry_at,
    has_row,
    next_openings,
    next_rows,
    open_episode,
    read_ahead,
    rewind,
    shuffle_step,
    take,
    undo_shuffle,
)
from understudy.simulators.rehearsal import begin_episode, serve_step

CHANCE = 0.1  # a step's true probability of being terminal, in a world of one state and one action
SURELY = np.ones(1)


def log_of(terminated, truncated=None):
    """A log of one state and one action; what it can tell is when episodes end."""
    n = len(terminated)
    ends = terminated if truncated is None else terminated | truncated
    return Log.from_columns(
        observation=np.zeros(n, int), action=np.zeros(n, int), reward=np.zeros(n), next_observation=np.zeros(n, int),
        terminated=terminated, truncated=truncated, episode=np.cumsum(ends) - ends, propensity=np.ones((n, 1)),
    )  # fmt: skip


def finished_log(rng, episodes):
    lengths = rng.geometric(CHANCE, size=episodes)
    terminated = np.zeros(lengths.sum(), bool)
    terminated[np.cumsum(lengths) - 1] = True
    return log_of(terminated)


RUNS = 10  # on each log


def deviation(simulators):
    """How many standard errors the first step's chance of being terminal is off the truth, over many small logs.

    Logs are independent, runs on one log are not: the unit is a log. No two runs have a seed in common.
    """
    share = [
        np.mean([first_is_terminal(simulator, n * RUNS + run) for run in range(RUNS)])
        for n, simulator in enumerate(simulators)
    ]
    return (np.mean(share) - CHANCE) / (np.std(share) / np.sqrt(len(share)))


def first_is_terminal(simulator, seed):
    rehearsal = simulator.start(seed)  # it lends its workspace to `source`
    begin_episode(rehearsal.source)
    _, row, *_ = serve_step(rehearsal.source, SURELY)
    return simulator.log.terminated[row]


@pytest.mark.parametrize(
    ("episodes", "n_logs"),
    [
        (1, 600),
        (2, 1000),
        (3, 1800),
        pytest.param(4, 2600, marks=pytest.mark.slow),
        pytest.param(5, 3500, marks=pytest.mark.slow),
    ],
)
def test_the_first_outcome_has_its_true_law_in_episode_order_and_not_in_row_order(episodes, n_logs):
    # 5 standard errors: false alarm about 1e-6; row order is off by 10 or more in expectation
    rng = np.random.default_rng(episodes)
    logs = [finished_log(rng, episodes) for _ in range(n_logs)]
    assert abs(deviation(psrs(log) for log in logs)) < 5
    assert deviation(psrs(log, order="rows") for log in logs) > 5


@pytest.mark.parametrize("rows", [5, 10])
def test_an_unfinished_episode_is_kept_last_and_moving_it_in_is_wrong(rows):
    # as above; said to be truncated, the cut-off episode is shuffled with the others, and the outcome is too rare
    rng = np.random.default_rng(rows)
    ends = rng.random((2000, rows)) < CHANCE
    last = np.arange(rows) == rows - 1
    assert abs(deviation(psrs(log_of(terminated)) for terminated in ends)) < 5
    assert deviation(psrs(log_of(terminated, last & ~terminated)) for terminated in ends) < -5


def test_several_recordings_are_each_cut_off_in_place_and_putting_all_cut_off_ones_last_is_wrong():
    # as above; with all unfinished episodes at the end, finished ones come first, and the outcome is too frequent
    rng = np.random.default_rng(8)
    logs = [concatenate([log_of(row) for row in rng.random((4, 8)) < CHANCE]) for _ in range(1500)]
    last = [log.select(np.argsort(log.unfinished, kind="stable")) for log in logs]
    assert abs(deviation(map(psrs, logs))) < 5
    assert deviation(map(psrs, last)) > 5


def test_unfinished_episodes_stay_where_they_are_and_none_is_moved_past_them(random_log, play):
    log = random_log(5, episodes=30)
    surely = Function(lambda x: np.zeros(len(x), int))
    opened = play(states_only(log, surely, max_episode_steps=1), lambda t, x: [1, 0, 0], seed=3).openings
    places = np.flatnonzero(log.unfinished)
    assert len(places) > 2
    for begin, end in pairwise([-1, *places, log.n_episodes]):
        assert sorted(opened[begin + 1 : end]) == log.starts[:-1][begin + 1 : end].tolist()
    assert [opened[place] for place in places] == log.starts[:-1][places].tolist()
    assert opened != log.starts[:-1].tolist()


def test_log_order_is_the_order_of_the_log(random_log, play):
    log = random_log(5, episodes=30)
    surely = Function(lambda x: np.zeros(len(x), int))
    trace = play(states_only(log, surely, order="log", max_episode_steps=1), lambda t, x: [1, 0, 0], seed=3)
    assert trace.rows == list(range(30))
    assert trace.openings == log.starts[:-1].tolist()


@pytest.mark.parametrize(("order", "fair"), [("episodes", True), ("rows", True), ("log", False)])
def test_every_order_of_three_is_equally_likely(order, fair, walk_log, play):
    # chi-square with 5 degrees of freedom over 3,000 seeds: false alarm 1e-6; log order fails the same test
    simulator = states_only(walk_log([0, 0], [0, 0], [0, 0]), order=order)
    runs = [tuple(play(simulator, lambda t, x: [1, 0], seed).rows) for seed in range(3000)]
    counts = [runs.count(rows) for rows in permutations(range(3))]
    assert sum(counts) == 3000
    assert (chisquare(counts).pvalue > 1e-6) == fair


def test_openings_and_rows_are_shuffled_apart_in_row_order(walk_log, play):
    # twelve distinct openings: that both orders agree has probability 1e-9 a seed
    trace = play(any_row(walk_log(*[[x, 99] for x in range(12)])), lambda t, x: [1, 0], seed=0)
    assert sorted(trace.rows) == sorted(trace.openings) == list(range(12))
    assert trace.rows != trace.openings


def test_in_episode_order_openings_are_those_of_the_episodes_as_they_are_read(walk_log, play):
    trace = play(psrs(walk_log(*[[x, 99] for x in range(12)])), lambda t, x: [0.5, 0.5], seed=0)
    assert trace.rows == trace.openings != list(range(12))


def test_undoing_a_shuffle_undoes_any_number_of_steps_of_a_shuffle():
    for seed in range(50):
        for n in (0, 1, 5, 19, 20):
            streams, order = streams_of(seed), np.zeros(20, np.int32)
            for place in range(n):
                shuffle_step(order, place, 15, streams, ORDER)
            assert sorted(entry_at(order, place) for place in range(20)) == list(range(20))
            undo_shuffle(order, n)
            assert not order.any()


@pytest.mark.parametrize("make", [psrs, qbe, any_row])
@pytest.mark.parametrize("openings", ["queue", "replacement"])
@pytest.mark.parametrize("steps", [0, 1, 7, 10**6])
def test_rewind_is_complete(make, openings, steps, random_log, play, table):
    rehearsal, learner = make(random_log(2, episodes=30), openings=openings).start(0), table(1)
    tape = rehearsal.source
    new = [np.copy(part) for part in tape]
    with suppress(Exhausted):
        for step in range(steps):
            if tape.cursor[layout.EPISODE_OVER]:
                x = rehearsal.begin()
            x = rehearsal.step(learner(step, x)).next_observation
    assert steps == 0 or not np.array_equal(tape.cursor, new[-1])
    rewind(tape)
    for name, part, was in zip(tape._fields, tape, new, strict=True):
        if name not in ("queued", "filled", "streams"):  # never read before they are written
            assert np.array_equal(part, was), name


def test_starting_reads_nothing_of_the_tape(random_log):
    rehearsal = psrs(random_log(2, episodes=30)).start(0)
    assert rehearsal.source.cursor[layout.TAPE_READ] == 0
    rehearsal.begin()
    assert rehearsal.source.cursor[layout.TAPE_READ] == 1


OPENING_WAYS = [
    {"order": order, "openings": openings}
    for order in ("log", "episodes", "rows")
    for openings in ("queue", "replacement")
]


@pytest.mark.parametrize("options", OPENING_WAYS)
def test_the_next_openings_are_listed_without_being_used(options):
    log = finished_log(np.random.default_rng(0), 30)
    plain, looked = psrs(log, **options).start(3), psrs(log, **options).start(3)
    for _ in range(20):
        ahead, swapped = np.empty((2, 5), np.int64)
        read_ahead(looked.source, np.full(1, 10**6), 10**6)
        n = next_openings(looked.source, ahead, swapped)
        told = log.starts[ahead[:n]]
        plain.begin()
        looked.begin()
        assert n >= 1
        assert told[0] == plain.opening == looked.opening
    np.testing.assert_array_equal(plain.source.opening_order, looked.source.opening_order)
    np.testing.assert_array_equal(plain.source.streams[OPENINGS], looked.source.streams[OPENINGS])


@pytest.mark.parametrize("order", ["log", "episodes", "rows"])
def test_rows_read_ahead_are_served_in_the_same_order(order):
    log = finished_log(np.random.default_rng(1), 30)
    served = []
    for far in (0, 7, 10**6):
        rehearsal = psrs(log, order=order, openings="replacement").start(5)
        rows = []
        with suppress(Exhausted):
            while True:
                rehearsal.begin()
                while True:
                    read_ahead(rehearsal.source, np.full(1, far), 10**6)
                    step = rehearsal.step(SURELY)
                    rows.append(step.row)
                    if step.terminated:
                        break
        served.append(rows)
    assert served[0] == served[1] == served[2]
    assert len(served[0]) == len(log)


def test_next_rows_are_those_served_next_but_for_terminal_and_known_ones():
    log = finished_log(np.random.default_rng(2), 30)
    rehearsal = psrs(log).start(5)
    rehearsal.begin()
    needed, slot, rows = np.full(1, 40), np.zeros(len(log), np.int64), np.empty(40, np.int64)
    read_ahead(rehearsal.source, needed, 10**6)
    n = next_rows(rehearsal.source, needed, slot, 1, rows)
    slot[rows[: n // 2]] = 1
    rest = np.empty(40, np.int64)
    assert rest[: next_rows(rehearsal.source, needed, slot, 1, rest)].tolist() == rows[n // 2 : n].tolist()
    served = []
    for _ in range(40):
        step = rehearsal.step(SURELY)
        served += [] if step.terminated else [step.row]
        if step.terminated:
            rehearsal.begin()
    assert rows[:n].tolist() == served


def test_queues_by_hand(walk_log, form):
    # two episodes in log order: queue 0 gets rows 0 and 2, queue 1 gets row 1, and nothing else is ever queued
    tape = (rehearsal := states_only(walk_log([0, 1, 0], [0, 9]), order="log").start(0)).source
    assert form(open_episode)(tape) == 0
    assert (tape.cursor[layout.TAPE_READ], tape.cursor[layout.QUEUES_FILLED]) == (1, 2)
    assert tape.queued[form(take)(tape, 0)]["row"] == 0
    assert tape.queued[form(take)(tape, 1)]["row"] == 1
    assert not form(has_row)(tape, 1)
    assert tape.cursor[layout.TAPE_READ] == 1  # no row of queue 1 is missing, so nothing was read to know that
    assert form(has_row)(tape, 0)
    assert tape.cursor[layout.TAPE_READ] == 2
    assert tape.queued[form(take)(tape, 0)]["row"] == 2
    assert form(take)(tape, 0) == EMPTY
    assert tape.filled[:2].tolist() == [0, 1]
    assert tape.cursor[layout.ROWS_TAKEN] == 3
    assert form(open_episode)(tape) == 1
    assert form(open_episode)(tape) == EMPTY
    assert tape.cursor[layout.CAUSE] == layout.NO_OPENING
    assert rehearsal.stop().cause == "no opening"


def test_a_step_of_a_shuffle_swaps_with_a_later_position_before_the_end(form):
    seen = set()
    for seed in range(50):
        order = np.zeros(5, np.int32)
        drawn = form(shuffle_step)(order, 1, 4, streams_of(seed), ORDER)
        entries = [int(form(entry_at)(order, position)) for position in range(5)]
        assert drawn == entries[1]
        assert sorted(entries) == [0, 1, 2, 3, 4]
        assert (entries[0], entries[4]) == (0, 4)
        seen.add(entries[1])
    assert seen == {1, 2, 3}
    assert form(shuffle_step)(order, 4, 4, streams_of(0), ORDER) == 4  # a position at the end stays
