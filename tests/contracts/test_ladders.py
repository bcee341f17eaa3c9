from understudy.contracts.ladders import RUNGS, ladder_of
from understudy.envs import Grid, record
from understudy.simulators import psrs, qbe
from understudy.simulators.kernels import layout


def test_rungs_are_named_by_their_numbers():
    assert [1 + RUNGS.index(name) for name in RUNGS] == [layout.LIKE, layout.REUSE, layout.UNTRIED]


def test_a_simulator_without_a_ladder_has_no_rungs():
    log = record(Grid(3), episodes=5, seed=0)
    assert ladder_of(psrs(log)) == ladder_of(qbe(log)) == ladder_of(None) == ()
    assert ladder_of(qbe(log, then=("reuse", "cut"), audit=False)) == ("reuse", "cut")
