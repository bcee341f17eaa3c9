"""What the records of contracts say of themselves."""

import pytest

from understudy.contracts import CAUSES, Exhausted, Stop
from understudy.simulators.kernels import layout


def test_every_cause_of_the_kernels_has_a_sentence():
    assert set(layout.CAUSES[1:]) <= set(CAUSES)


@pytest.mark.parametrize("cause", CAUSES)
def test_every_stop_prints_as_a_sentence(cause):
    sentence = str(Stop(cause, state=3, action=1, mass=0.25, counts={"steps": 12_345}))
    assert sentence.endswith("after 12,345 steps")
    assert "None" not in sentence
    assert "{" not in sentence


def test_an_exhausted_log_tells_why():
    stop = Stop("no opening", counts={"steps": 2})
    assert Exhausted(stop).stop == stop
    assert str(Exhausted(stop)) == str(stop)
