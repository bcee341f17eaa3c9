"""What every form of the loop reads from a setup and from a rehearsal, and the defaults where it says nothing."""

import numpy as np
import pytest

from understudy.contracts import Exhausted, Step, Stop
from understudy.errors import ContractError
from understudy.runs.probes import Readings
from understudy.runs.setup import Cancelled, CheckedRehearsal, NoAnswer, RunSetup, opening_of, state_of, stop_of
from understudy.simulators import psrs


class Bare:
    """A rehearsal of the two promised methods only."""

    def begin(self):
        return 0

    def step(self, policy):
        raise NotImplementedError


def test_a_rehearsal_of_promises_only_has_defaults():
    assert (opening_of(Bare()), state_of(Bare())) == (-1, -1)
    assert stop_of(Bare(), 7) == Stop("max steps", counts={"steps": 7})


def test_a_rehearsal_of_ours_says_opening_state_and_stop(log):
    simulator = psrs(log)
    rehearsal = simulator.start(0)
    observation = rehearsal.begin()
    assert log.observation[opening_of(rehearsal)] == observation
    assert state_of(rehearsal) == simulator.index.state[opening_of(rehearsal)]
    rehearsal.step(np.full(5, 0.2))
    assert (stop_of(rehearsal, 99).cause, stop_of(rehearsal, 99).counts["steps"]) == ("max steps", 1)


def test_without_max_steps_the_limit_is_out_of_reach(log, make):
    assert RunSetup(psrs(log), make(0), 0, 5, Readings({}, 10)).limit == 5
    assert RunSetup(psrs(log), make(0), 0, None, Readings({}, 10)).limit == 2**63 - 1


def test_a_run_is_cancelled_where_it_may_not_go_on(log, make):
    goes_on = iter([True, False])
    setup = RunSetup(psrs(log), make(0), 0, 5, Readings({}, 10), lambda: next(goes_on))
    setup.check_cancelled()
    with pytest.raises(Cancelled, match="the run was cancelled: keep_going returned False"):
        setup.check_cancelled()


def test_a_new_record_is_empty_and_knows_its_seed(log, make):
    record = RunSetup(psrs(log), make(0), 3, 5, Readings({}, 10)).new_record()
    assert (record.seed, record.n_steps, record.n_begun, len(record.arrays.rows)) == (3, 0, 0, 5)


class Ends(Bare):
    def step(self, policy):
        raise Exhausted(Stop("no row"))


class Returns(Bare):
    state = 4

    def step(self, policy):
        return Step(0, 1, 0.5, 2, False, False)


def test_a_rehearsal_that_is_checked_tells_its_own_end_and_what_is_not_a_step():
    with pytest.raises(NoAnswer) as raised:
        CheckedRehearsal(Ends(), counts_visits=False).step(None)
    assert raised.value.stop == Stop("no row")
    wrong = Bare()
    wrong.step = lambda policy: (0, 1)
    with pytest.raises(ContractError, match=r"step\(policy\) of Bare returned a tuple"):
        CheckedRehearsal(wrong, counts_visits=False).step(None)


def test_only_a_simulator_that_says_so_may_pass_over_an_episode():
    passing = Bare()
    passing.step = lambda policy: None
    assert CheckedRehearsal(passing, counts_visits=False, passes_over=True).step(None) is None
    with pytest.raises(ContractError, match=r"step\(policy\) of Bare returned a NoneType"):
        CheckedRehearsal(passing, counts_visits=False).step(None)


def test_its_state_is_read_only_where_visits_are_counted():
    for counts_visits, state in ((True, 4), (False, -1)):
        rehearsal = CheckedRehearsal(Returns(), counts_visits)
        rehearsal.begin()
        assert rehearsal.state == state
        assert rehearsal.step(None).action == 1
