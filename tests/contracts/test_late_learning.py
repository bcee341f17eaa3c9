from understudy.contracts import HasClock, HasPending, HearsOpenings, LearnsLate
from understudy.contracts.offering import offers
from understudy.learners import Delayed, EpsilonGreedy, Exp3, QLearning, Uniform


def test_what_delays_ask_for_is_offered_by_those_that_have_it():
    exp3, delayed = Exp3(2), Delayed(EpsilonGreedy(2))
    protocols = (HasClock, LearnsLate, HearsOpenings, HasPending)
    found = [[offers(one, protocol) for protocol in protocols] for one in (exp3, delayed, QLearning(1, 2), Uniform(2))]
    assert found == [
        [True, True, False, False],
        [False, False, True, True],
        [True, False, False, False],
        [False] * 4,
    ]
