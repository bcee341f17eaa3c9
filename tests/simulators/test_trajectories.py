"""The exogenous part played forward: each value once, in its order, beside endogenous rows."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

import understudy as us
from understudy.contracts import Exhausted
from understudy.encoders import Function
from understudy.errors import ContractError, SettingError

ENV = us.envs.WeatherGrid(3, slip=0.2, effect=0.5)
EVENLY = np.full(5, 0.2)


@pytest.fixture(scope="module", params=["episodes", "onward"])
def made(request):
    """A log, its learned split and its simulator."""
    env = us.envs.WeatherGrid(3, slip=0.2, effect=0.5, goes_on=request.param == "onward")
    log = us.record(env, episodes=200, seed=0)
    split = us.exogenous_split(log)
    assert split.playing.how == request.param
    return log, split, us.exo_psrs(log, split)


def lent(log, emission):
    n = len(log)
    return log.next_observation[emission] if emission < n else log.observation[emission - n]


def test_a_step_joins_an_endogenous_row_with_the_next_weather(made, play):
    log, _, simulator = made
    for seed in range(3):
        trace = play(simulator, lambda t, x: EVENLY, seed)
        assert len(trace.steps) > 200
        for step in trace.steps:
            assert np.array_equal(step.next_observation[:2], log.next_observation[step.row, :2])
            assert step.next_observation[2] == lent(log, step.emission)[2]
            assert np.array_equal(step.observation[:2], log.observation[step.row, :2])
            paid = log.reward[step.row] + 0.5 * (step.next_observation[2] - log.next_observation[step.row, 2])
            assert step.reward == pytest.approx(paid, abs=1e-8)
            assert (step.action, step.terminated) == (log.action[step.row], log.terminated[step.row])


def test_weather_keeps_its_law_and_served_rows_alone_break_it(made, play):
    """Errors of the autoregression have the variance .19, within five standard errors; kept with rows, they do not."""
    log, _, simulator = made

    def errors(simulator, policy_at):
        steps = [step for seed in range(3) for step in play(simulator, policy_at, seed).steps]
        return np.array([step.next_observation[2] - 0.9 * step.observation[2] for step in steps])

    found = errors(simulator, lambda t, x: np.eye(5)[t % 5])
    assert abs(found.var() / 0.19 - 1) < 5 * np.sqrt(2 / len(found))
    wrong = errors(us.psrs(log, Function(ENV.cell)), lambda t, x: np.eye(5)[t % 5])
    assert abs(wrong.var() / 0.19 - 1) > 10 * np.sqrt(2 / len(wrong))


def test_no_row_and_no_weather_is_served_twice(made, play):
    _, _, simulator = made
    trace = play(simulator, lambda t, x: EVENLY, 3)
    for served in (trace.rows, [step.emission for step in trace.steps]):
        assert len(set(served)) == len(served)


def test_within_an_episode_weather_is_that_of_one_logged_episode(made, play):
    log, split, simulator = made
    steps = play(simulator, lambda t, x: EVENLY, 4).steps
    inside = [pair for pair in pairwise(steps) if not (pair[0].terminated or pair[0].truncated)]
    assert len(inside) > 200
    for step, following in inside:
        goes_on = step.emission < len(log) and following.emission == step.emission + 1
        assert goes_on or split.playing.how == "onward"


def test_longest_sequences_come_first_and_the_run_ends_with_one(made, play):
    log, split, simulator = made
    if split.playing.how != "episodes":
        assert simulator.start(0).source.opens[0] >= 2
        return
    first = simulator.start(5).source.first
    episode = np.searchsorted(simulator._first, first)
    assert (np.diff(np.diff(log.starts)[episode]) <= 0).all()
    stop = play(simulator, lambda t, x: EVENLY, 0).stop
    assert stop.cause == "exogenous part ended"
    assert "not logged any further" in stop.reason


def test_served_actions_have_the_law_of_the_policy(made, play):
    """Five standard errors: a false alarm in 3e-6 of five actions; the log's own shares are told apart."""
    _, _, simulator = made
    policy = np.array([0.1, 0.3, 0.3, 0.2, 0.1])
    steps = [step for seed in range(9) for step in play(simulator, lambda t, x: policy, seed).steps]
    counts = np.bincount([step.action for step in steps], minlength=5)
    spread = np.sqrt(policy * (1 - policy) * len(steps))
    assert np.abs((counts - policy * len(steps)) / spread).max() < 5
    assert np.abs((0.2 - policy) * len(steps) / spread).max() > 10


def q_learning(seed):
    states = Function(lambda x: ENV.cell(x) + 9 * (x[..., 2] > 0))
    return us.learners.QLearning(18, 5, epsilon=0.9, alpha=0.5, gamma=0.95, encoder=states, seed=seed)


def test_compiled_and_interpreted_runs_are_the_same(made):
    _, _, simulator = made
    for seed in range(3):
        one, other = (us.simulate(simulator, q_learning(seed), seed, compiled=form) for form in (True, False))
        assert len(one) > 200
        for name in ("rows", "emissions", "openings", "ends", "returns"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
        assert one.stopped == other.stopped


def test_on_some_episodes_it_is_that_of_the_log_of_these(made, play):
    log, split, simulator = made
    episodes = np.arange(0, log.n_episodes, 2)
    one, other = simulator.select(episodes), us.exo_psrs(log.select(episodes), split)
    assert play(one, lambda t, x: EVENLY, 3).rows == play(other, lambda t, x: EVENLY, 3).rows


def test_copies_of_a_log_go_on_with_both_parts(made, play):
    _, split, simulator = made
    if split.playing.how == "episodes":
        with pytest.raises(SettingError, match="leave steps= out"):
            simulator.repeated(2)
        return
    once = play(simulator, lambda t, x: EVENLY, 1)
    more = play(simulator.repeated(3), lambda t, x: EVENLY, 1, max_steps=3 * len(once.rows))
    assert len(more.rows) > len(once.rows)
    assert more.rows[: len(once.rows)] == once.rows


def test_it_says_how_much_it_used(made):
    _, _, simulator = made
    rehearsal = simulator.start(0)
    rehearsal.begin()
    for _ in range(20):
        if rehearsal.step(EVENLY).terminated:
            rehearsal.begin()
    use = rehearsal.use()
    assert 0 < use.share <= 1
    assert use.episodes >= 1


def test_several_envs_share_sequences_of_episodes_and_none_that_goes_on(made):
    _, split, simulator = made
    if split.playing.how == "onward":
        with pytest.raises(ContractError, match="goes on"):
            simulator.start_shared(0, 2)
        return
    envs = simulator.start_shared(0, 3)
    emissions = []
    for env in envs:
        env.begin()
    try:
        for _ in range(15):
            for env in envs:
                step = env.step(EVENLY)
                emissions.append(step.emission)
                if step.terminated or step.truncated:
                    env.begin()
    except Exhausted:
        pass
    assert len(set(emissions)) == len(emissions) > 20


def test_it_travels_to_other_processes(made, play):
    log, split, _ = made
    simulator = us.exo_psrs(log, split)
    again = pickle.loads(pickle.dumps(simulator))
    assert play(again, lambda t, x: EVENLY, 2).rows == play(simulator, lambda t, x: EVENLY, 2).rows
    assert again.settings == simulator.settings


def test_an_env_of_it_holds_every_observation(made):
    _, _, simulator = made
    env = us.gym_env(simulator)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)


def test_an_encoder_beside_it_is_refused(made):
    log, split, _ = made
    with pytest.raises(SettingError, match="leave encoder= out"):
        us.exo_psrs(log, Function(ENV.cell), split=split)
