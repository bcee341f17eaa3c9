from collections import Counter
from copy import deepcopy

import numpy as np
import pytest

import understudy as us
from understudy.contracts import Step
from understudy.envs import BernoulliBandit, LinearBandit, record
from understudy.errors import ContractError, SettingError
from understudy.learners import UCB1, Delayed, EpsilonGreedy, Exp3, LinUCB, Thompson, delayed
from understudy.logs import Log
from understudy.runs import experiment, probes, simulate, warm_start
from understudy.simulators import pers, psrs, real, replay

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


def log_with(time, arrival=None, **columns):
    """A log of two actions that were equally likely, with these times."""
    n = len(time)
    given = {"observation": np.zeros(n, int), "action": np.arange(n) % 2, "reward": np.ones(n), "ends": "every-row"}
    return Log.from_columns(**{**given, **columns}, propensity=np.full((n, 2), 0.5), time=time, arrival=arrival)


def following(log, **options):
    learner = Delayed(Notes(), **options)
    learner.follow(log)
    return learner


def test_outcomes_arrive_at_their_time_stamps_in_the_order_of_arrival():
    log = log_with(np.arange(6.0), [3.5, 1.5, 2.5, 3.0, 9.0, 5.0])
    learner = following(log, by="arrival")
    decide(learner, range(6))
    assert learner.learner.told == [(1, 2), (2, 3), (3, 4), (0, 4), (5, 6)]
    assert learner.pending == 1


def test_the_clock_is_that_of_the_decision_at_hand():
    """Rewards that arrived since the last decision are known to the next one: two rows here, before it is made."""
    learner = following(log_with([0.0, 10.0], [5.0, 12.0]), by="arrival")
    decide(learner, [0])
    assert learner.learner.told == []
    learner.hear_opening(1)
    assert learner.learner.told == [(0, 1)]


def test_updates_once_a_day():
    hours = np.arange(0, 72, 6) * 3600.0
    for period in (DAY, "day"):
        learner = following(log_with(hours), by="time", period=period)
        decide(learner, range(12))
        days = Counter(decided for _, decided in learner.learner.told)
        assert days == {4: 4, 8: 4}  # what was decided on a day is learned when the next one begins
        assert learner.pending == 4


def test_an_update_at_midnight_knows_what_arrived_before_midnight():
    """The first decision of a day is at nine: what arrived at eight is learned from a day later."""
    at = np.array([0.5, 0.75, 1 + 9 / 24, 2 + 9 / 24]) * DAY
    learner = following(log_with(at, at + np.array([3, 14, 48, 48]) * 3600.0), by="arrival", period="day")
    decide(learner, [0, 1, 2])
    assert [row for row, _ in learner.learner.told] == [0]
    learner.hear_opening(3)
    assert [row for row, _ in learner.learner.told] == [0, 1]


def test_an_outcome_that_never_became_known_stays_on_its_way():
    learner = following(log_with([0.0, 1.0, 1e9], [np.inf, 1.0, 1e9]), by="arrival")
    decide(learner, range(3))
    assert [row for row, _ in learner.learner.told] == [1, 2]
    assert learner.pending == 1


def told_by_hand(time, arrival, rows):
    """The rows that a learner has been told of before each decision, the slow and plain way."""
    told = []
    for at, row in enumerate(rows):
        known = [one for one in rows[:at] if arrival[one] <= time[row]]
        told.append(sorted(known, key=lambda one: arrival[one]))
    return told


def test_replay_of_the_whole_log_of_a_half_and_after_a_warm_start_goes_by_the_times_of_its_own_rows():
    """Against a reference by hand: before each decision exactly those outcomes are known that had arrived by then."""
    rng = np.random.default_rng(3)
    n = 120
    time = np.cumsum(rng.exponential(60.0, n))
    log = log_with(time, time + rng.exponential(600.0, n), observation=np.arange(n))
    half = np.flatnonzero(rng.random(n) < 0.5)

    class Decides(Notes):
        def policy(self, observation):
            seen.append([row for row, _ in self.told])
            return super().policy(observation)

    for part in (np.arange(n), half):
        seen, simulator = [], replay(log, order="log").select(part)
        learner = Delayed(Decides(), by="arrival")
        run = simulate(simulator, learner, 5)
        mine = simulator.log
        accepted = [at for at, row in enumerate(range(len(mine))) if row in set(run.rows.tolist())]
        by_hand = told_by_hand(mine.time, mine.arrival, run.rows.tolist())
        assert [seen[at] for at in accepted] == by_hand
        of_whole_log = told_by_hand(log.time, log.arrival, run.rows.tolist())  # wrong for a half, which has other rows
        assert (of_whole_log == by_hand) is (len(mine) == n)
        assert mine.arrival - mine.time == pytest.approx((log.arrival - log.time)[part])

    seen = []
    warm = warm_start(replay(log, order="log"), delayed(lambda seed: Decides(), by="arrival"), share=0.25)
    learner = warm.make(0)
    n_shown = n - len(warm.simulator.log)
    known = sum(log.arrival[:n_shown] <= log.time[n_shown - 1])
    assert len(learner.learner.told) == known < n_shown
    seen.clear()
    run = simulate(warm.simulator, learner, 5)
    due = log.arrival[:n_shown] <= warm.simulator.log.time[0]
    assert len(seen[0]) == due.sum()
    assert len(learner.learner.told) + learner.pending == n_shown + len(run)


def test_a_log_that_is_repeated_goes_on_from_where_the_clock_is():
    learner = following(log_with([10.0, 20.0, 30.0], [12.0, 22.0, 32.0]), by="arrival")
    decide(learner, [0, 2, 0, 1, 2])
    assert [row for row, _ in learner.learner.told] == [0, 2, 0, 1]


def test_exp3_is_shown_logged_steps_late():
    log = record(BernoulliBandit([0.2, 0.8]), episodes=200, seed=0)
    warm = warm_start(replay(log), delayed(lambda seed: Exp3(2, seed=seed), decisions=5), share=0.2)
    learner = warm.make(0)
    assert learner.pending == 5
    assert len(simulate(warm.simulator, learner, 0)) > 0


def test_copies_of_a_learner_share_the_times_of_the_log():
    learner = following(log_with(np.arange(10.0)), by="time", period=3.0)
    decide(learner, range(4))
    other = deepcopy(learner)
    assert other._clock._columns is learner._clock._columns
    decide(other, range(4, 8))
    assert (learner.pending, other.pending) == (1, 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"period": DAY}, 'give by="time"'),
        ({"by": "time"}, "delays nothing by itself"),
        ({"by": "arrival", "decisions": 3}, "leave one out"),
        ({"by": "time", "period": DAY, "batch": 3}, "batch= and period= are two ways"),
        ({"by": "clock"}, "by='clock' is unknown; give one of decisions, time, arrival"),
        ({"by": "time", "period": "month"}, "period='month' is unknown; give hour, day, week, or seconds"),
        ({"by": "time", "period": 0}, "period"),
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
    with pytest.raises(SettingError, match="row 5 has no time: the log that is followed has 2 rows"):
        decide(following(log_with([0.0, 1.0]), by="time", period=1.0), [5])
    with pytest.raises(SettingError, match=r"tell the learner which with follow\(log\)"):
        decide(Delayed(Notes(), by="arrival"), [0])


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
    log = log_with(time, arrival, action=rng.integers(0, 2, n), reward=rng.random(n))
    learner = Delayed(EpsilonGreedy(2, seed=0), by="arrival", period="hour")
    run = simulate(replay(log, order="log"), learner, 0)
    assert learner.pending > 0
    assert learner.learner.counts.sum() + learner.pending == len(run)
    assert (arrival[run.rows] > time[run.rows[-1]]).sum() <= learner.pending


def test_times_are_of_the_log_that_is_replayed_in_its_order():
    log = log_with(np.arange(100.0))
    make = delayed(lambda seed: Thompson(2, seed=seed), by="time", period=10)
    assert len(simulate(replay(log, order="log"), make(0))) > 0
    assert len(simulate(replay(log, order="log").select(np.arange(50)), make(0))) > 0
    refusals = {
        'give replay order="log"': replay(log),
        "psrs takes rows out of that order": psrs(log, order="log"),
        "has none; give decisions=": real(BernoulliBandit([0.2, 0.8])),
        "time falls in row 1 of the log": replay(log.select([5, 3]), order="log"),
        "the column time of the log, which it does not have; read the log with time=": replay(
            record(BernoulliBandit([0.2, 0.8]), episodes=10, seed=0), order="log"
        ),
    }
    for words, simulator in refusals.items():
        with pytest.raises(SettingError, match=words):
            simulate(simulator, make(0), 0, 10)
    with pytest.raises(SettingError, match="the column arrival of the log"):
        simulate(replay(log, order="log"), Delayed(Notes(), by="arrival"))


def test_halves_compare_and_whole_episodes_go_by_times():
    rng = np.random.default_rng(1)
    time = np.cumsum(rng.exponential(60.0, 400))
    log = log_with(time, time + 1800.0, action=rng.integers(0, 2, 400), reward=rng.random(400))
    make = lambda seed: EpsilonGreedy(2, seed=seed)  # noqa: E731
    learners = {"at once": make, "late": delayed(make, by="arrival"), "daily": delayed(make, by="time", period="day")}
    found = us.compare(learners, replay(log, order="log"), runs=3, halves=5, workers=1, progress=False)
    assert set(found.halves) == set(learners)


def test_episodes_of_several_steps_are_put_back_with_their_clock():
    n = 60
    log = Log.from_columns(
        observation=np.zeros(n, int), action=np.arange(n) % 2, reward=np.ones(n), propensity=np.full((n, 2), 0.5),
        episode=np.repeat(np.arange(n // 2), 2), ends="terminated", time=np.arange(n) * 60.0,
        arrival=np.arange(n) * 60.0 + 90,
    )  # fmt: skip
    learner = Delayed(EpsilonGreedy(2, seed=0), by="arrival")
    run = simulate(pers(log, order="log"), learner, 0)
    assert learner.learner.counts.sum() + learner.pending == len(run) > 0
    late = log.arrival[run.rows] > log.time[int(run.openings[-1])]
    assert learner.pending <= late.sum()


def test_the_clock_of_draws_never_runs_backward():
    log = log_with(np.arange(500.0), action=np.random.default_rng(0).integers(0, 2, 500))
    learner, clocks = Delayed(Thompson(2, seed=0), by="time", period=50.0), []
    ask = learner.policy

    def noting(observation):
        clocks.append(learner.learner.clock)
        return ask(observation)

    learner.policy = noting
    run = simulate(replay(log, order="log"), learner, compiled=False)
    assert clocks == sorted(clocks)
    assert clocks[-1] <= len(run)
