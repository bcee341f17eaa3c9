from collections import Counter

import numpy as np
import pytest

from understudy.contracts import Step
from understudy.envs import BernoulliBandit, LinearBandit, record
from understudy.errors import ContractError, SettingError
from understudy.learners import UCB1, Delayed, EpsilonGreedy, Exp3, LinUCB, Thompson, delayed
from understudy.logs import Log
from understudy.runs import experiment, probes, simulate
from understudy.simulators import real, replay

DAY = 86_400.0


class Notes:
    """Remembers what it was told, and after how many decisions."""

    def __init__(self):
        self.told, self.decided = [], 0

    def policy(self, observation):
        self.decided += 1
        return np.array([0.5, 0.5])

    def learn(self, step):
        self.told.append((step.row, self.decided))


def decide(learner, rows):
    for row in rows:
        learner.hear_opening(row)
        learner.policy(0)
        learner.learn(Step(0, 0, 1.0, 0, True, False, row))


def test_outcomes_arrive_after_so_many_decisions():
    learner = Delayed(Notes(), decisions=3)
    decide(learner, range(10))
    assert learner.learner.told == [(row, row + 4) for row in range(7)]  # after three further decisions
    assert learner.pending == 3


def test_without_a_delay_nothing_changes():
    log = record(LinearBandit(3, 3, seed=0), episodes=400, seed=0)
    for make in (
        lambda seed: LinUCB(3, 3, seed=seed), lambda seed: Thompson(3, reward="gaussian", seed=seed),
        lambda seed: EpsilonGreedy(3, epsilon=0.3, seed=seed), lambda seed: UCB1(3, exploration=2.0, seed=seed),
    ):  # fmt: skip
        plain, wrapped = simulate(replay(log), make(1), 1), simulate(replay(log), Delayed(make(1)), 1)
        assert plain.rows.tolist() == wrapped.rows.tolist()


def test_exp3_without_a_delay_is_exp3_and_with_one_uses_the_probability_it_had():
    log = record(BernoulliBandit([0.2, 0.8]), episodes=400, seed=0)
    plain, wrapped = (simulate(replay(log), one, 1) for one in (Exp3(2), Delayed(Exp3(2))))
    assert plain.rows.tolist() == wrapped.rows.tolist()
    learner, late = Exp3(2, epsilon=0.2), Exp3(2, epsilon=0.2)
    for _ in range(20):
        learner.learn(Step(0, 1, 1.0, 0, True, False))
    now = learner.policy(0)
    assert now[0] < 0.5
    late.learn_late(Step(0, 0, 1.0, 0, True, False), np.array([0.5, 0.5]))
    assert late.policy(0)[0] == pytest.approx(_raised(0.2, 0.5))
    learner.learn_late(Step(0, 0, 1.0, 0, True, False), now)
    again = Exp3(2, epsilon=0.2)
    for _ in range(20):
        again.learn(Step(0, 1, 1.0, 0, True, False))
    again.learn(Step(0, 0, 1.0, 0, True, False))
    assert learner.policy(0) == pytest.approx(again.policy(0))


def _raised(epsilon, probability):
    """The policy of two equal weights, after one was raised by a reward of 1."""
    weight = np.exp(epsilon / 2 / probability)
    return (1 - epsilon) * weight / (weight + 1) + epsilon / 2


def test_batches_wait_until_they_are_full():
    learner = Delayed(Notes(), decisions=1, batch=4)
    decide(learner, range(10))
    assert [told for _, told in learner.learner.told] == [5] * 4 + [9] * 4
    assert learner.pending == 2


def test_outcomes_arrive_at_their_time_stamps_in_the_order_of_arrival():
    time, arrival = np.arange(6.0), np.array([3.5, 1.5, 2.5, 3.0, 9.0, 5.0])
    learner = Delayed(Notes(), time=time, arrival=arrival)
    decide(learner, range(6))
    assert learner.learner.told == [(1, 2), (2, 3), (3, 4), (0, 4), (5, 6)]
    assert learner.pending == 1


def test_the_clock_is_that_of_the_decision_at_hand():
    """Rewards that arrived since the last decision are known to the next one: two rows here, before it is made."""
    learner = Delayed(Notes(), time=[0.0, 10.0], arrival=[5.0, 12.0])
    decide(learner, [0])
    assert learner.learner.told == []
    learner.hear_opening(1)
    assert learner.learner.told == [(0, 1)]


def test_updates_once_a_day():
    hours = np.arange(0, 72, 6) * 3600.0
    learner = Delayed(Notes(), time=hours, period=DAY)
    decide(learner, range(12))
    days = Counter(decided for _, decided in learner.learner.told)
    assert days == {4: 4, 8: 4}  # what was decided on a day is learned when the next one begins
    assert learner.pending == 4


def test_dates_are_times_and_gaps_are_refused():
    dates = np.array(["2026-01-01T00:00", "2026-01-02T00:00"], "datetime64[m]")
    assert Delayed(Notes(), time=dates).time.tolist() == pytest.approx([1767225600.0, 1767312000.0])
    with pytest.raises(SettingError, match="time= is missing in row 1"):
        Delayed(Notes(), time=[0.0, float("nan")])
    with pytest.raises(SettingError, match="arrival= is missing in row 0"):
        Delayed(Notes(), time=dates, arrival=np.array(["NaT", "2026-01-03"], "datetime64[D]"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"arrival": [1.0]}, "give time="),
        ({"period": DAY}, "give time="),
        ({"time": [1.0], "decisions": 3}, "not both"),
        ({"time": [1.0], "arrival": [1.0, 2.0]}, "time= has 1 rows and arrival= 2"),
        ({"time": [1.0, 5.0], "arrival": [1.0, 2.0]}, "arrival= is before time= in row 1"),
        ({"time": ["a"]}, "not a column of time stamps"),
        ({"decisions": -1}, "decisions"),
        ({"batch": 0}, "batch"),
    ],
)
def test_bad_delays_are_refused(options, words):
    with pytest.raises(SettingError, match=words):
        Delayed(Notes(), **options)


def test_what_is_not_a_learner_or_has_no_time_is_refused():
    with pytest.raises(ContractError, match="int cannot be delayed"):
        Delayed(3)
    with pytest.raises(SettingError, match="row 5 has no time stamp: time= has 2"):
        decide(Delayed(Notes(), time=[0.0, 1.0]), [5])


def test_what_is_on_its_way_at_the_end_is_counted():
    log = record(BernoulliBandit([0.2, 0.8]), episodes=300, seed=0)
    make = delayed(lambda seed: Thompson(2, seed=seed), decisions=50)
    runs = experiment(replay(log), make, runs=3, every=50, probes={"on their way": probes.pending}, backend="serial")
    assert all(run.final["on their way"] == 50 for run in runs)
    with pytest.raises(ContractError, match="has no pending"):
        experiment(replay(log), lambda seed: UCB1(2, seed=seed), runs=1, probes={"p": probes.pending}, progress=False)


def test_a_delay_costs_what_it_costs_in_the_real_world():
    """Thompson sampling, 40 decisions late, in 60 real runs and 60 replays of logs of their own: equal within 4 errors.

    A learner whose draws stood still until the next outcome arrives (the wrong variant) explores far less.
    """
    env, make = BernoulliBandit([0.3, 0.5, 0.7]), delayed(lambda seed: Thompson(3, seed=seed), decisions=40)
    options = {"runs": 60, "max_steps": 150, "every": 150, "backend": "serial", "progress": False}
    measured = {"reward": probes.reward_per_step}
    true = experiment(real(env), make, **options, probes=measured)
    replayed = experiment(lambda seed: replay(record(env, episodes=900, seed=seed)), make, **options, probes=measured)
    one, other = (np.array([run.final["reward"] for run in runs]) for runs in (true, replayed))
    assert min(len(run) for run in replayed) == 150
    assert abs(one.mean() - other.mean()) < 4 * np.hypot(one.std(), other.std()) / np.sqrt(60)

    class StandsStill(Thompson):
        clock = None  # not a count: nothing sets it

    frozen, log = delayed(lambda seed: StandsStill(3, seed=seed), decisions=40), record(env, episodes=900, seed=0)
    taken = [set(log.action[simulate(replay(log), one(7), 7, 40).rows].tolist()) for one in (make, frozen)]
    assert [len(arms) for arms in taken] == [3, 1]


def test_logs_in_order_are_replayed_by_their_own_time_stamps():
    rng = np.random.default_rng(0)
    n = 400
    time = np.cumsum(rng.exponential(60.0, n))
    arrival = time + rng.exponential(3600.0, n)
    log = Log.from_columns(
        observation=np.zeros(n, int), action=rng.integers(0, 2, n), reward=rng.random(n),
        propensity=np.full((n, 2), 0.5), ends="every-row",
    )  # fmt: skip
    learner = Delayed(EpsilonGreedy(2, seed=0), time=time, arrival=arrival, period=DAY / 24)
    run = simulate(replay(log, order="log"), learner, 0)
    assert learner.pending > 0
    assert learner.learner.counts.sum() + learner.pending == len(run)
    assert (arrival[run.rows] > time[run.rows[-1]]).sum() <= learner.pending


def test_time_stamps_are_of_the_rows_that_are_replayed_in_their_order():
    log = record(BernoulliBandit([0.2, 0.8]), episodes=100, seed=0)
    make = delayed(lambda seed: Thompson(2, seed=seed), time=np.arange(100.0))
    assert len(simulate(replay(log, order="log"), make(0))) > 0
    with pytest.raises(SettingError, match="give the simulator order='log'"):
        simulate(replay(log), make(0))
    with pytest.raises(SettingError, match="time= has 100 rows, and the log that is replayed 50: parts of a log"):
        simulate(replay(log, order="log").select(np.arange(50)), make(0))
    with pytest.raises(SettingError, match="there is none here; give decisions="):
        simulate(real(BernoulliBandit([0.2, 0.8])), make(0), 0, 10)


def test_the_clock_of_draws_never_runs_backward():
    log = record(BernoulliBandit([0.2, 0.8]), episodes=500, seed=0)
    learner, clocks = Delayed(Thompson(2, seed=0), time=np.arange(500.0), period=50.0), []
    ask = learner.policy

    def noting(observation):
        clocks.append(learner.learner.clock)
        return ask(observation)

    learner.policy = noting
    run = simulate(replay(log, order="log"), learner, compiled=False)
    assert clocks == sorted(clocks)
    assert clocks[-1] <= len(run)
