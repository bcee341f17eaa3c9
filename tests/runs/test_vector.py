"""Copies that share one log, as lists and as vector environments."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import understudy as us
from understudy.contracts import Exhausted
from understudy.errors import ContractError, ServedAgainWarning, SettingError, UsageError

MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


def everything(envs, seed=0, n_steps=10**9):
    """Act at random until the log has no answer: what each vector step delivered, and the openings shown."""
    rng, delivered = np.random.default_rng(seed), []
    observations, _ = envs.reset(seed=seed)
    shown = [observations.copy()]
    while len(delivered) < n_steps:
        actions = rng.integers(5, size=envs.num_envs)
        observations, rewards, terminated, truncated, told = envs.step(actions)
        rows = np.where(told.get("_row", np.zeros(envs.num_envs, bool)), told.get("row", -1), -1)
        if "final_info" in told:  # of what ended and was reset in the same step
            rows = np.where(told["_final_info"], told["final_info"]["row"], rows)
        delivered.append((actions, rows, rewards, terminated | truncated))
        shown.append(observations.copy())
    return delivered, shown


def until_the_end(envs, **options):
    delivered = []

    class Watching:
        num_envs = envs.num_envs
        reset = envs.reset

        def step(self, actions):
            delivered.append((actions, envs.step(actions)))
            return delivered[-1][1]

    with envs:
        everything(Watching(), **options)
    return delivered


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["psrs", "qbe"])
class TestAVectorEnv:
    def test_serves_no_row_twice_and_every_step_whole(self, log, name, mode):
        envs = us.vector_env(getattr(us, name)(log), 3, autoreset_mode=mode)
        delivered = until_the_end(envs)
        run = envs.run()
        assert len(np.unique(run.rows)) == len(run) > 30
        assert run.stopped.counts["steps"] == len(run)
        if mode is AutoresetMode.SAME_STEP:
            assert len(run) == 3 * len(delivered)
            np.testing.assert_array_equal(log.action[run.rows], np.ravel([actions for actions, _ in delivered]))
            np.testing.assert_array_equal(log.reward[run.rows], np.ravel([step[1] for _, step in delivered]))

    def test_accounts_for_interleaved_episodes(self, log, name, mode):
        envs = us.vector_env(getattr(us, name)(log), 3, autoreset_mode=mode)
        delivered = until_the_end(envs)
        run = envs.run()
        earned, count, ends, returns = np.zeros(3), 0, [], []
        resetting = np.zeros(3, bool)
        for _, (_, rewards, terminated, truncated, _) in delivered:
            for copy in range(3):
                if mode is AutoresetMode.NEXT_STEP and resetting[copy]:
                    earned[copy] = 0.0
                    continue
                count += 1
                earned[copy] += rewards[copy]
                if terminated[copy] or truncated[copy]:
                    ends.append(count)
                    returns.append(earned[copy])
                    earned[copy] = 0.0
            resetting = terminated | truncated
        np.testing.assert_array_equal(run.ends, ends)
        np.testing.assert_allclose(run.returns, returns)
        assert len(run.ends) <= len(run.openings) <= len(run.ends) + 3


def test_each_copy_goes_on_from_where_it_is(log):
    """What a copy sees next is what its own row led to, whatever the others did."""
    envs = us.gym_envs(us.states_only(log, max_episode_steps=30), 4, seed=0)
    observations = [env.reset()[0] for env in envs]
    for turn in range(40):
        for number, env in enumerate(envs):
            following, _, terminated, truncated, told = env.step(turn % 5)
            assert log.observation[told["row"]] == observations[number]
            assert log.next_observation[told["row"]] == following
            observations[number] = env.reset()[0] if terminated or truncated else following


def test_one_copy_is_the_env_itself(log, assert_same):
    one, other = us.gym_env(us.psrs(log), seed=2, max_steps=50), us.vector_env(us.psrs(log), 1, max_steps=50)
    rng = np.random.default_rng(0)
    with one:
        one.reset()
        while True:
            _, _, terminated, truncated, _ = one.step(rng.integers(5, size=1)[0])
            if terminated or truncated:
                rng.integers(5, size=1)  # what the vector env is told while it resets
                one.reset()
    with other:
        rng = np.random.default_rng(0)
        other.reset(seed=2)
        while True:
            other.step(rng.integers(5, size=1))
    assert_same(one.run(), other.run())


def test_a_copy_without_an_opening_delivers_its_step_and_the_others_theirs():
    """Three openings for two copies: the second to finish finds none, and ends the run with its next action only."""
    n = 12
    log = us.Log.from_columns(
        observation=np.arange(n) % 4, action=np.zeros(n, int), reward=np.ones(n),
        next_observation=np.arange(n) % 4 + 1, terminated=np.arange(n) % 4 == 3, propensity=np.ones((n, 1)),
    )  # fmt: skip
    envs = us.vector_env(us.qbe(log), 2, seed=0, autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset()
    for _ in range(3):
        envs.step([0, 0])
    _, rewards, terminated, _, told = envs.step([0, 0])  # both end; the first gets the last opening
    assert terminated.all()
    assert rewards.tolist() == [1, 1]
    assert told["_stopped"].tolist() == [False, True]
    with pytest.raises(Exhausted, match="every logged opening observation has been used after 8 steps"):
        envs.step([0, 0])
    run = envs.run()
    assert (len(run), len(run.ends), len(run.openings)) == (8, 2, 3)


def test_a_list_of_copies_serves_any_librarys_vector_env(log):
    copies = us.gym_envs(us.qbe(log), 3)
    envs = SyncVectorEnv([lambda copy=copy: copy for copy in copies])
    with copies[0]:
        everything(envs, seed=4)
    run = copies[2].run()
    assert run.seed == 4
    assert len(np.unique(run.rows)) == len(run) > 30


def test_a_seeded_reset_of_all_is_one_new_run(log):
    envs = us.vector_env(us.qbe(log), 3)
    everything(envs, seed=1, n_steps=2)
    first = envs.run().rows
    with pytest.warns(ServedAgainWarning):
        everything(envs, seed=1, n_steps=2)
    np.testing.assert_array_equal(envs.run().rows, first)


def test_true_copies_have_streams_of_their_own(grid):
    envs = us.vector_env(us.real(grid), 2, max_steps=400)
    rng, same = np.random.default_rng(0), 0
    envs.reset(seed=0)
    for _ in range(100):
        observations = envs.step(np.repeat(rng.integers(5), 2))[0]
        same += observations[0] == observations[1]
    assert same < 60
    assert np.all(envs.run().rows == -1)


def test_the_last_vector_step_before_max_steps_is_whole(log):
    envs = us.vector_env(us.qbe(log), 3, max_steps=10)
    with envs:
        everything(envs)
    assert (len(envs.run()), envs.run().stopped.cause) == (9, "max steps")


def test_probes_are_labeled_by_the_steps_delivered(log):
    envs = us.vector_env(us.qbe(log), 3, max_steps=30, probes={"returns": us.probes.episode_returns}, every=10)
    with envs:
        everything(envs)
    assert envs.run().steps.tolist() == [10, 20]


@pytest.mark.parametrize("actions", [[0, 0], [0, 0, 5], [0, 0, 0.5]])
def test_what_are_not_actions_are_refused(log, actions):
    envs = us.vector_env(us.qbe(log), 3, seed=0)
    envs.reset()
    with pytest.raises(SettingError, match="give 3, each from 0 to 4"):
        envs.step(actions)


def test_copies_are_made_once_and_before_the_first_reset(log):
    env = us.gym_env(us.qbe(log), seed=0)
    env.reset()
    with pytest.raises(UsageError, match="before its first reset"):
        env.copies(2)


def test_a_simulator_that_cannot_be_shared_says_so():
    class Alone:
        n_actions, log, kind = 2, None, "simulated"

        def start(self, seed):
            return object()

        def __repr__(self):
            return "alone"

    from gymnasium.spaces import Discrete

    with pytest.raises(ContractError, match="alone cannot be shared by 2 envs"):
        us.gym_envs(Alone(), 2, seed=0, observation_space=Discrete(2))[0].reset()
