from dataclasses import replace

import pytest

from understudy.evaluation import earnings
from understudy.reporting.returns import (
    cut_sentence,
    earnings_cell,
    earnings_format,
    first_episodes,
    log_sentence,
    log_value,
    notes_on_returns,
)
from understudy.tables import NONE


def test_a_cell_is_the_mean_or_a_range_where_episodes_are_missing(runs_of):
    whole, part = (earnings({"a": runs_of(lengths)})["a"] for lengths in ([40] * 3, [12] + [40] * 9))
    write = earnings_format({"a": whole})
    assert earnings_cell(whole, write) == "0.00"
    assert earnings_cell(part, write) == "0.00"  # both ends are written alike
    assert earnings_cell(replace(part, low=-0.5, high=0.5), write) == "-0.50 to 0.50"
    assert earnings_cell(None, write) == NONE


@pytest.mark.parametrize(("length", "found"), [(40, "the first 8 episodes"), (7, "the first episode")])
def test_which_episodes_are_counted_is_said(runs_of, length, found):
    assert first_episodes(earnings({"a": runs_of([length] * 2)})["a"]) == found


def test_what_the_log_earned_is_known_where_all_sets_share_it(runs_of, real_of):
    sets = {"a": runs_of([40], log_return=2.0), "real": real_of([40])}
    assert log_value(sets, "log_return") == 2.0
    assert log_value({**sets, "b": runs_of([40], log_return=3.0)}, "log_return") is None
    assert log_value({"own": runs_of([40], log_return=2.0, own_logs=True)}, "log_return") is None
    assert log_value({"a": runs_of([40])}, "log_return") is None


def test_the_log_is_told_by_episodes_or_by_steps_where_they_do_not_end(runs_of):
    assert log_sentence({"a": runs_of([40])}) is None
    assert log_sentence({"a": runs_of([40], log_reward=0.5)}) == "The log itself earned 0.500 a step."
    cut = log_sentence({"a": runs_of([40], log_reward=0.5, log_cut_off=7, log_episodes=9)})
    assert cut.startswith("The log itself earned 0.500 a step; what an episode of the log earned is not known, since 7")
    told = log_sentence({"a": runs_of([40], log_return=2.0, log_cut_off=3)})
    assert told == "The log's own episodes earned 2.00 on average (3 were cut off, and count up to there)."
    told = log_sentence({"a": runs_of([40], log_return=2.0, log_cut_off=0, log_return_of=147, log_episodes=190)})
    assert told == "The log's first 147 episodes, all finished, earned 2.00 on average."


def test_notes_say_which_episodes_and_which_sets_have_none(runs_of):
    sets = {"a": runs_of([40] * 3), "b": runs_of([90] * 3), "early": runs_of([3] * 3)}
    notes = notes_on_returns(sets, earnings(sets))
    assert notes == [
        "Return: the mean over the first 8 episodes of each run (steps 1 to 40), the same number in every set.",
        "No return of “early”: fewer than nine of ten runs finished an episode.",
    ]


def test_returns_leave_out_episodes_that_were_cut_and_it_is_said(runs_of, on_ladder):
    runs = runs_of([100] * 2)
    cut = {"a": on_ladder(runs, {40: 1}, cuts=[50])}
    n = 2 + sum(len(run.ends) for run in runs)
    assert cut_sentence(cut).startswith(f"Returns leave out the 2 of {n} episodes ({2 / n:.0%}) that were cut")
    assert cut_sentence(cut) in notes_on_returns(cut, earnings(cut))
    assert cut_sentence({"a": runs}) is cut_sentence({"a": on_ladder(runs, {40: 1})}) is None


def test_episodes_of_one_row_each_are_called_decisions(runs_of):
    single = runs_of([40] * 3, log_rows=20, log_reward_column="click")
    told = notes_on_returns({"a": single}, earnings({"a": single}))
    assert told[0] == "Return, “click” of a decision: the mean over the first 8 decisions of each run."
    assert log_sentence({"a": replace_return(single, 2.0)}) == "The log's own decisions earned 2.00 on average."


def replace_return(runs, value):
    return replace(runs, about=replace(runs.about, log_return=value))


def test_returns_that_go_beyond_what_can_be_believed_say_so(runs_of):
    sets = {"a": runs_of([40] * 3), "b": runs_of([40] * 3)}
    earned = earnings(sets)
    assert "beyond" not in notes_on_returns(sets, earned, {"a": 40, "b": 40})[0]
    assert notes_on_returns(sets, earned, {"a": 40, "b": 20})[0].endswith(", beyond what can be believed of “b”.")
    assert notes_on_returns(sets, earned, {"a": 0, "b": 20})[0].endswith(", beyond what can be believed.")
