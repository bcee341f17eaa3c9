from understudy.contracts import LogUse, RepeatableSimulator, Stop, TellsUse
from understudy.contracts.offering import offers
from understudy.envs import Grid, record
from understudy.simulators import model, psrs


def test_the_share_used_is_of_what_was_logged():
    assert LogUse(3, Stop("no opening"), 30, 40).share == 0.75


def test_a_model_has_no_log_to_use_up():
    log = record(Grid(3), episodes=5, seed=0)
    assert offers(psrs(log), RepeatableSimulator)
    assert not offers(model(log), RepeatableSimulator)
    rehearsals = psrs(log).start(0), model(log).start(0)
    assert all(offers(rehearsal, TellsUse) for rehearsal in rehearsals)
    assert [rehearsal.use() is None for rehearsal in rehearsals] == [False, True]
