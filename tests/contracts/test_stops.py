"""Why a run ended: a record that prints as a sentence."""

import pickle

import pytest

from understudy.contracts import CAUSES, Exhausted, Stop
from understudy.errors import ContractError
from understudy.simulators.kernels import layout


def test_every_cause_of_the_kernels_has_a_sentence():
    assert set(layout.CAUSES[1:]) <= set(CAUSES)


@pytest.mark.parametrize("cause", CAUSES)
def test_every_stop_prints_as_a_sentence(cause):
    sentence = str(Stop(cause, state=3, action=1, mass=0.25, counts={"steps": 12_345}))
    assert sentence.endswith("after 12,345 steps")
    assert "None" not in sentence
    assert "{" not in sentence


def test_a_bias_is_said_where_there_is_one():
    assert "may be off" not in str(Stop("used up"))
    assert str(Stop("used up", bias=0.0123)).endswith("after 0 steps; the law of an episode may be off by 0.012")


def test_an_exhausted_log_says_why():
    stop = Stop("no opening", counts={"steps": 2})
    assert Exhausted(stop).stop == stop
    assert str(Exhausted(stop)) == str(stop)


def test_a_state_is_named_by_its_observation_or_by_one_of_them_and_those_like_it():
    assert Stop("queue empty", state=3, place="page=3").reason == "page=3 has no row left"
    assert Stop("queue empty", state=3, example="x=1").reason == "x=1 (and others like it) has no row left"
    assert Stop("queue empty", state=3).reason == "state 3 has no row left"
    assert Stop("queue empty").reason == "the log has no row left"
    assert Stop("exogenous queue empty", state=3).reason == "exogenous part 3 has no row left"


def test_an_action_is_named_by_its_label_where_there_is_one():
    assert Stop("queue empty for action", state=1, action=2, label="buy").what == "state 1, action=buy"
    assert Stop("queue empty for action", state=1, action=2).what == "state 1, action=2"
    assert Stop("queue empty for action", state=1, action=2, column="arm").reason.endswith("no row left with arm=2")


def test_stops_are_grouped_by_cause_place_and_action_whatever_their_counts():
    one = Stop("queue empty for action", state=1, action=2, place="page=3", counts={"steps": 5})
    assert one.group == Stop("queue empty for action", state=9, action=2, place="page=3").group
    assert one.group != Stop("queue empty for action", state=1, action=3, place="page=3").group
    assert Stop("queue empty", state=1).group != Stop("queue empty", state=2).group


@pytest.mark.parametrize("cause", ["ran dry", "", None, ["no row"]])
def test_a_cause_that_has_no_sentence_is_refused_with_those_that_have(cause):
    with pytest.raises(ContractError, match=r"the cause of a Stop is .*; give one of 'max steps', .*'no row'"):
        Stop(cause)


def test_an_exhausted_log_that_is_told_by_a_text_is_refused():
    with pytest.raises(ContractError, match=r"Exhausted takes a Stop: Exhausted\(Stop\('no row'\)\); .* 'ran dry'"):
        Exhausted("ran dry")


def test_an_exhausted_log_reaches_another_process_with_its_stop_and_notes():
    exhausted = Exhausted(Stop("queue empty", state=3))
    exhausted.add_note("in run 3")
    there = pickle.loads(pickle.dumps(exhausted))
    assert (there.stop, str(there), there.__notes__) == (exhausted.stop, str(exhausted), ["in run 3"])


def test_where_a_run_stopped_is_told_by_the_observation_if_there_is_one():
    assert Stop("queue empty", state=3, place="page=3").where == "page=3"
    assert Stop("queue empty", state=3, example="x=1", others=2).where == "x=1 (and 2 like it)"
    assert Stop("exogenous queue empty", state=3).where == "exogenous part 3"
    assert Stop("no opening").where is None
