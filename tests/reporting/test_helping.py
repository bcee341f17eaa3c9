from dataclasses import replace

import pytest

from understudy.contracts import Stop
from understudy.evaluation import Trusted
from understudy.reporting.helping import what_would_help
from understudy.reporting.luck import luck_of_set


@pytest.fixture
def judged(halved_of):
    """Eight runs on a log of 20 episodes, and four on each of its halves, with a trusted horizon given by hand."""

    def luck(reason, difference=0.0, error=0.1, **about):
        found = luck_of_set(halved_of([400] * 8, [400] * 4, **about), margin=0.3)
        return replace(found, trusted={found.probe: Trusted(100, 0.3, reason, difference, error)})

    return luck


def test_where_noise_ends_it_the_number_of_halves_and_runs_is_by_the_root_of_their_number(judged):
    n_halves = len(judged("noise").halves.halves)
    words = what_would_help(judged("noise", difference=0.1, error=0.4))  # 0.2 of room: four times as many
    assert f"about {4 * n_halves} halves and 32 runs (--halves {4 * n_halves} --runs 32)" in words
    assert "a log of twice as many episodes (40)" in words


def test_where_that_would_be_far_too_many_more_log_is_advised(judged):
    for difference, error in ((0.1, 0.9), (0.3, 0.1), (-0.5, 0.4)):
        words = what_would_help(judged("noise", difference=difference, error=error))
        assert words.startswith("To believe it for longer, log more: a log of twice as many episodes (40)")


def test_where_halves_end_it_is_said_how_far_more_log_would_carry(judged):
    words = what_would_help(judged("halves end"))
    assert "with a log of twice as many episodes (40)" in words
    assert words.endswith("(nine of ten runs reach step 400).")
    assert "the answer still changes with the log" in what_would_help(judged("difference"))


def test_where_runs_end_by_themselves_longer_ones_are_advised(judged):
    found = judged("runs end")
    assert "twice as many steps" in what_would_help(found)
    runs = found.halves.runs
    limited = replace(runs, runs=tuple(replace(run, stopped=Stop("max steps")) for run in runs))
    assert "--max-steps" in what_would_help(replace(found, halves=replace(found.halves, runs=limited)))


def test_where_one_run_is_short_it_is_said_that_it_ends_there(halved_of):
    words = what_would_help(luck_of_set(halved_of([12] + [100] * 19, [60] * 4, noise=0.01, luck=0.01)))
    assert words.startswith("It ends where the shortest of 20 runs do, after 12 steps (nine of ten reach step 100).")
    assert "keep rows that were passed over for later steps (--reserve, which is as exact)" in words
    assert "--observation" in words
    assert "--halves" not in words
    kept = halved_of(
        [12] + [100] * 19, [60] * 4, noise=0.01, luck=0.01, simulator={"simulator": "psrs", "reserve": True}
    )
    assert "--reserve" not in what_would_help(luck_of_set(kept))
    short = what_would_help(luck_of_set(halved_of([12] * 8, [12] * 4)))
    assert "--observation" in short
    assert "(--every)" in short


def test_a_baseline_is_not_helped(judged):
    assert what_would_help(replace(judged("noise"), trusted={})) is None
