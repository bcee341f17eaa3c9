"""True environments in a simulator's place: by their tables, or stepped one by one."""

import gymnasium
import numpy as np
import pytest
from scipy.stats import chisquare

from understudy.contracts.streams import streams_of
from understudy.encoders import Function
from understudy.envs import CounterGrid, Grid, NoisyGrid
from understudy.envs.solve import probabilities
from understudy.errors import ContractError, SettingError
from understudy.logs import Log
from understudy.simulators import psrs, real

EVENLY = np.full(5, 0.2)
UNEVEN = np.array([0.1, 0.2, 0.4, 0.2, 0.1])


class Stepped(Grid):
    """The same grid, stepped from Python."""

    tables = property()


def lake(**options):
    return gymnasium.make("FrozenLake-v1", **options)


@pytest.mark.parametrize("env", [Grid(slip=0.2), NoisyGrid(2), CounterGrid(4)])
def test_tables_are_walked_by_their_own_laws(env, play):
    # chi-square, one test for each state and action: false alarm 1e-6 by Bonferroni; without slips told apart at once
    tables, (cell, action) = env.tables(), (0, 2)
    steps = play(real(env), lambda t, x: UNEVEN, 0, max_steps=30_000).steps
    taken = np.bincount([step.action for step in steps])
    assert chisquare(taken, len(steps) * UNEVEN).pvalue > 1e-6
    assert chisquare(taken, len(steps) * EVENLY).pvalue < 1e-12

    reached = [env.latent(step.next_observation) for step in steps
               if env.latent(step.observation) == cell and step.action == action]  # fmt: skip
    law = np.bincount(env.latent(tables.next_state[cell, action]), weights=probabilities(tables.outcome[cell, action]),
                      minlength=env.n_cells)  # fmt: skip
    counts = np.bincount(reached, minlength=env.n_cells)
    assert counts[law == 0].sum() == 0
    if (law > 0).sum() > 1:
        assert chisquare(counts[law > 0], len(reached) * law[law > 0]).pvalue > 1e-6


def test_noise_is_fresh_and_uniform_and_the_counter_counts(play):
    # chi-square with 3 degrees of freedom: false alarm 1e-6
    steps = play(real(NoisyGrid(2)), lambda t, x: EVENLY, 1, max_steps=5000).steps
    assert chisquare(np.bincount([step.next_observation // 25 for step in steps])).pvalue > 1e-6
    steps = play(real(CounterGrid(4)), lambda t, x: EVENLY, 1, max_steps=500).steps
    assert all(step.next_observation // 25 == (step.observation // 25 + 1) % 4 for step in steps)


def test_no_row_is_served_and_nothing_runs_out(play):
    for env in (Grid(), Stepped(), lake()):
        n = env.action_space.n
        trace = play(real(env), lambda t, x, n=n: np.full(n, 1 / n), 0, max_steps=500)
        assert len(trace.steps) == 500
        assert {(step.row, step.emission) for step in trace.steps} == {(-1, -1)}
        assert trace.stop.cause == "max steps"
        assert trace.stop.counts["steps"] == 500
        assert trace.stop.counts["openings"] == len(trace.openings)


def test_stepping_and_walking_agree_in_law(play):
    # length of episodes under one policy: difference of two means within 5 standard errors, false alarm 6e-7;
    # without slips it is off by more
    def lengths(env, seed):
        steps = play(real(env), lambda t, x: [0.1, 0.4, 0.4, 0.05, 0.05], seed, max_steps=20_000).steps
        return np.diff([-1, *(at for at, step in enumerate(steps) if step.terminated)])

    def z(one, other):
        return abs(one.mean() - other.mean()) / np.sqrt(one.var() / len(one) + other.var() / len(other))

    walked, stepped = lengths(Grid(3, slip=0.5), 0), lengths(Stepped(3, slip=0.5), 1)
    assert z(walked, stepped) < 5
    assert z(walked, lengths(Stepped(3), 2)) > 10


def test_a_gymnasium_env_is_stepped_by_its_own_rules(play):
    steps = play(real(lake(is_slippery=False)), lambda t, x: np.full(4, 0.25), 0, max_steps=2000).steps
    table = gymnasium.make("FrozenLake-v1", is_slippery=False).unwrapped.P
    for step in steps:
        ((_, following, reward, terminated),) = table[int(step.observation)][step.action]
        assert (step.next_observation, step.reward, step.terminated) == (following, reward, terminated)
    assert any(step.terminated for step in steps)


def test_actions_of_a_stepped_env_follow_the_policy(play):
    # chi-square with 3 degrees of freedom: false alarm 1e-6
    policy = np.array([0.4, 0.3, 0.2, 0.1])
    taken = np.bincount([s.action for s in play(real(lake()), lambda t, x: policy, 0, max_steps=5000).steps])
    assert chisquare(taken, 5000 * policy).pvalue > 1e-6
    assert chisquare(taken).pvalue < 1e-12


@pytest.mark.parametrize("env", [lake(), Stepped(slip=0.3), Grid(slip=0.3)], ids=["lake", "stepped", "tables"])
def test_the_same_seed_gives_the_same_steps_whatever_else_was_run(env, play):
    n = env.action_space.n
    policy = np.full(n, 1 / n)
    simulator = real(env)
    one = play(simulator, lambda t, x: policy, 4, max_steps=300).steps
    kept = simulator.start(9)
    kept.begin()
    other = play(simulator, lambda t, x: policy, 5, max_steps=300).steps
    env.reset(seed=1)
    assert play(simulator, lambda t, x: policy, 4, max_steps=300).steps == one != other


def test_the_same_number_does_not_couple_a_real_with_a_simulated_run():
    log = Log.from_columns(**Grid().rollout(np.full((25, 5), 0.2), 5, seed=0))
    for seed in range(20):
        true, simulated = (set(which.start(seed).source.streams.tolist()) for which in (real(Grid()), psrs(log)))
        assert not true & simulated
        assert simulated == set(streams_of(seed).tolist())


def test_a_real_run_and_the_recording_of_a_log_of_one_seed_differ(play):
    columns = NoisyGrid(4).rollout(np.full((400, 5), 0.2), 3, seed=0)
    run = play(real(NoisyGrid(4)), lambda t, x: EVENLY, 0, max_steps=30)
    assert [step.next_observation for step in run.steps] != columns["next_observation"][:30].tolist()


def test_time_limits_of_the_caller_the_env_and_its_wrappers_all_hold(play):
    def longest(simulator):
        n = simulator.n_actions
        steps = play(simulator, lambda t, x: np.eye(n)[0], 0, max_steps=60).steps
        assert not any(step.terminated and step.truncated for step in steps)
        ends = [at for at, step in enumerate(steps) if step.terminated or step.truncated]
        return max(np.diff([-1, *ends]), default=60)

    assert longest(real(Grid())) == 60
    assert longest(real(Grid(), max_episode_steps=7)) == 7
    assert longest(real(Grid(max_episode_steps=5))) == 5
    assert longest(real(Grid(max_episode_steps=5), max_episode_steps=7)) == 5
    wrapped = gymnasium.wrappers.TimeLimit(Grid(), 6)
    assert longest(real(wrapped)) == 6
    assert type(real(wrapped)).__name__ == "RealTables"
    assert longest(real(Stepped(), max_episode_steps=7)) == 7
    assert longest(real(gymnasium.wrappers.TimeLimit(Stepped(), 6), max_episode_steps=7)) == 6


def test_a_wrapper_that_changes_what_a_learner_sees_is_not_walked_past(play):
    doubled = gymnasium.wrappers.TransformReward(Grid(), lambda reward: 2 * reward)
    assert {s.reward for s in play(real(doubled), lambda t, x: EVENLY, 0, max_steps=300).steps} <= {-0.2, 2.0}


def test_a_registered_env_is_walked_by_its_tables():
    assert type(real(gymnasium.make("understudy/Grid-v0"))).__name__ == "RealTables"


def test_a_function_that_makes_an_env_will_do(play):
    assert real(lambda: Grid(slip=0.1)).n_actions == 5
    assert play(real(lake), lambda t, x: np.full(4, 0.25), 0, max_steps=5).steps


def test_an_encoder_names_the_states(play):
    env = NoisyGrid(2)
    simulator = real(env, Function(env.latent))
    rehearsal = simulator.start(0)
    observation = rehearsal.begin()
    for _ in range(20):
        assert rehearsal.state == observation % 25
        observation = rehearsal.step(np.eye(5)[1]).next_observation
    assert simulator.n_states == 25


def test_actions_that_are_not_codes_from_zero_up_are_refused():
    with pytest.raises(SettingError, match="Discrete"):
        real(gymnasium.make("Pendulum-v1"))
    for env in (3, gymnasium.Env()):  # the latter has no spaces
        with pytest.raises(ContractError, match="is not a Gymnasium environment: it needs reset"):
            real(env)
    shifted = Stepped()
    shifted.action_space = gymnasium.spaces.Discrete(5, start=1)
    with pytest.raises(SettingError, match="Discrete"):
        real(shifted)


def test_settings_tell_one_env_from_another():
    grids = [Grid(), Grid(slip=0.2), Grid(4), NoisyGrid(2), NoisyGrid(3), CounterGrid(4), CounterGrid(5)]
    settings = [str(real(env).settings) for env in grids]
    assert len(set(settings)) == len(settings)
    lakes = [str(real(lake(is_slippery=slippery)).settings) for slippery in (True, False)]
    assert lakes[0] != lakes[1]
