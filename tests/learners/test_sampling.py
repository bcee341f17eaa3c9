"""Rows accepted where a Categorical samples, and nowhere else."""

import threading

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics
from scipy.stats import chisquare
from torch.distributions import Categorical, OneHotCategorical

import understudy as us

GRID = us.envs.Grid(size=3, slip=0.2)
POLICY = torch.tensor([0.1, 0.2, 0.4, 0.2, 0.1])
ORIGINAL = Categorical.sample


@pytest.fixture(scope="module")
def log():
    return us.record(GRID, episodes=400, seed=0)


@pytest.fixture(autouse=True)
def _nothing_leaks():
    yield
    assert Categorical.sample is ORIGINAL


def play(env, n_steps=10**9, distribution=None):
    """A script that samples and acts: the actions it sampled."""
    distribution = distribution or Categorical(probs=POLICY)
    env.reset()
    actions = []
    while len(actions) < n_steps:
        actions.append(int(distribution.sample()))
        _, _, terminated, truncated, _ = env.step(actions[-1])
        if terminated or truncated:
            env.reset()
    return actions


@pytest.mark.parametrize("name", ["psrs", "qbe"])
@pytest.mark.parametrize("form", ["probs", "logits"])
def test_the_action_sampled_is_that_of_the_row_served(log, name, form):
    distribution = Categorical(probs=POLICY) if form == "probs" else Categorical(logits=POLICY.log() + 3)
    env = us.gym_env(getattr(us, name)(log), seed=0, max_steps=500)
    with env, us.learners.accepting(env):
        actions = play(env, 500, distribution)
    np.testing.assert_array_equal(log.action[env.run().rows], actions)


def test_rows_are_those_of_a_learner_with_this_policy(log):
    class Fixed:
        def policy(self, observation):
            return POLICY.double().numpy()

        def learn(self, step):
            pass

    env = us.gym_env(us.psrs(log), seed=3)
    with env, us.learners.accepting(env):
        play(env)
    np.testing.assert_array_equal(env.run().rows, us.simulate(us.psrs(log), Fixed(), seed=3).rows)
    assert env.run().stopped.cause == "queue empty"


@pytest.mark.parametrize(("name", "right"), [("psrs", True), ("states_only", False)])
def test_actions_have_the_policys_law(log, name, right):
    """Rejects a true law in 0.1% of cases; rows whatever their action, a wrong variant, have another one."""
    env = us.gym_env(getattr(us, name)(log), seed=1, max_steps=2000)
    with env, us.learners.accepting(env):
        actions = play(env, 1000)
    p = chisquare(np.bincount(actions, minlength=5), 1000 * POLICY.double().numpy()).pvalue
    assert (p > 0.001) == right


def test_a_one_hot_categorical_is_one_too(log):
    env = us.gym_env(us.psrs(log), seed=0, max_steps=100)
    distribution = OneHotCategorical(probs=POLICY)
    with env, us.learners.accepting(env):
        env.reset()
        action = int(distribution.sample().argmax())
        assert log.action[env.step(action)[4]["row"]] == action


class TestOnlyWhileTheEnvWaits:
    def test_before_reset_and_after_an_episode_samples_are_torchs(self, log):
        env = us.gym_env(us.states_only(log), seed=0, max_steps=100_000)
        with us.learners.accepting(env):
            self.assert_torchs(Categorical(probs=POLICY))
            env.reset()
            over = False
            while not over:
                over = env.step(int(Categorical(probs=POLICY).sample()))[2]
            self.assert_torchs(Categorical(probs=POLICY))

    @pytest.mark.parametrize(
        "distribution",
        [Categorical(torch.ones(4)), Categorical(torch.ones(2, 5)), Categorical(torch.ones(1, 1, 5))],
        ids=["other actions", "a batch", "a batch of batches"],
    )
    def test_other_distributions_are_torchs(self, log, distribution):
        env = us.gym_env(us.psrs(log), seed=0)
        with us.learners.accepting(env):
            env.reset()
            self.assert_torchs(distribution)
            assert not env.shared_run.has_pending

    def test_several_samples_at_once_are_torchs(self, log):
        env = us.gym_env(us.psrs(log), seed=0)
        with us.learners.accepting(env):
            env.reset()
            assert Categorical(probs=POLICY).sample((3,)).shape == (3,)
            assert not env.shared_run.has_pending

    def test_samples_under_not_accepting_are_torchs(self, log):
        env = us.gym_env(us.psrs(log), seed=0)
        with us.learners.accepting(env):
            env.reset()
            with us.learners.not_accepting():
                self.assert_torchs(Categorical(probs=POLICY))
            assert not env.shared_run.has_pending
            play(env, 5)

    def test_probes_may_sample(self, log):
        def probe(learner):
            return int(Categorical(probs=POLICY).sample())

        env = us.gym_env(us.psrs(log), seed=0, probes={"action": probe}, every=1)
        env.learner = "this script"
        with us.learners.accepting(env):
            play(env, 20)
        plain = us.gym_env(us.psrs(log), seed=0)
        with us.learners.accepting(plain):
            play(plain, 20)
        np.testing.assert_array_equal(env.run().rows, plain.run().rows)

    def test_in_a_true_environment_samples_are_torchs(self):
        env = us.gym_env(us.real(GRID), seed=0)
        torch.manual_seed(0)
        with us.learners.accepting(env):
            actions = play(env, 50)
        torch.manual_seed(0)
        assert actions == [int(Categorical(probs=POLICY).sample()) for _ in range(50)]

    def assert_torchs(self, distribution):
        torch.manual_seed(0)
        found = distribution.sample()
        torch.manual_seed(0)
        assert torch.equal(found, ORIGINAL(distribution))


class TestRefusals:
    def test_a_second_sample_before_the_step(self, log):
        env = us.gym_env(us.psrs(log), seed=0)
        with us.learners.accepting(env):
            env.reset()
            Categorical(probs=POLICY).sample()
            with pytest.raises(us.UsageError, match=r"second Categorical was sampled before env.step.*not_accepting"):
                Categorical(probs=POLICY).sample()

    def test_another_action_than_the_one_sampled(self, log):
        env = us.gym_env(us.psrs(log), seed=0)
        with us.learners.accepting(env):
            env.reset()
            action = int(Categorical(probs=POLICY).sample())
            with pytest.raises(us.UsageError, match=f"and {action} was sampled for it"):
                env.step((action + 1) % 5)

    def test_an_env_of_no_simulator(self):
        with pytest.raises(us.ContractError, match="is not an env of a simulator"), us.learners.accepting(GRID):
            pass

    def test_probabilities_that_are_not_a_policy(self, log):
        env = us.gym_env(us.psrs(log), seed=0)
        with us.learners.accepting(env):
            env.reset()
            with pytest.raises(us.PolicyError, match="has a NaN"):
                Categorical(logits=torch.full((5,), torch.nan), validate_args=False).sample()


class TestBlocks:
    def test_leave_nothing_behind_when_they_raise(self, log):
        env = us.gym_env(us.psrs(log), seed=0)
        with pytest.raises(ZeroDivisionError), us.learners.accepting(env):
            1 / 0  # noqa: B018
        assert Categorical.sample is ORIGINAL
        env.reset()
        Categorical(probs=POLICY).sample()
        assert not env.shared_run.has_pending

    def test_nest(self, log):
        """The innermost env that waits is the one that acts; leaving its block, the outer one is."""
        outer, inner = (us.gym_env(us.psrs(log), seed=seed) for seed in (0, 1))
        alone = us.gym_env(us.psrs(log), seed=0)
        with us.learners.accepting(outer):
            play(outer, 10)
            with us.learners.accepting(inner):
                play(inner, 10)
            play(outer, 10)
        with us.learners.accepting(alone):
            play(alone, 10)
            play(alone, 10)
        np.testing.assert_array_equal(outer.run().rows, alone.run().rows)
        assert (log.action[inner.run().rows] >= 0).all()

    def test_of_two_envs_that_take_turns_each_has_its_own(self, log):
        one, other = (us.gym_env(us.psrs(log), seed=seed) for seed in (0, 1))
        with us.learners.accepting(one), us.learners.accepting(other):
            one.reset()
            other.reset()
            for_other, for_one = (int(Categorical(probs=POLICY).sample()) for _ in range(2))
            one.step(for_one)
            other.step(for_other)
        rows = one.run().rows[0], other.run().rows[0]
        assert rows[0] != rows[1]
        assert log.action[list(rows)].tolist() == [for_one, for_other]

    def test_of_generators_close_in_any_order(self, log):
        def block(env):
            with us.learners.accepting(env):
                env.reset()
                yield

        one, other = (us.gym_env(us.psrs(log), seed=seed) for seed in (0, 1))
        blocks = [block(one), block(other)]
        for opened in blocks:
            next(opened)
        blocks[0].close()
        Categorical(probs=POLICY).sample()
        assert (one.shared_run.has_pending, other.shared_run.has_pending) == (False, True)
        closer = threading.Thread(target=blocks[1].close)
        closer.start()
        closer.join()
        assert Categorical.sample is ORIGINAL
        other.reset()
        with us.learners.accepting(us.gym_env(us.psrs(log), seed=2)):
            Categorical(probs=POLICY).sample()
        assert not other.shared_run.has_pending

    def test_of_two_threads_do_not_meet(self, log):
        envs = [us.gym_env(us.psrs(log), seed=seed, max_steps=300) for seed in range(2)]
        meet, failed = threading.Barrier(2), []

        def work(env):
            try:
                with env, us.learners.accepting(env):
                    meet.wait()
                    play(env)
                meet.wait()
            except BaseException as error:
                failed.append(error)
                raise

        threads = [threading.Thread(target=work, args=(env,)) for env in envs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        for env in envs:
            alone = us.gym_env(us.psrs(log), seed=env.run().seed, max_steps=300)
            with alone, us.learners.accepting(alone):
                play(alone)
            np.testing.assert_array_equal(env.run().rows, alone.run().rows)

    def test_a_thread_without_a_block_samples_as_torch_does(self, log):
        env = us.gym_env(us.psrs(log), seed=0)
        with us.learners.accepting(env):
            env.reset()
            thread = threading.Thread(target=Categorical(probs=POLICY).sample)
            thread.start()
            thread.join()
            assert not env.shared_run.has_pending


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("how", ["vector_env", "gymnasium", "wrapped"])
def test_copies_accept_all_their_rows_at_once(log, mode, how):
    if how == "vector_env":
        envs = us.vector_env(us.psrs(log), 3, autoreset_mode=mode, max_steps=300)
        copies = envs.envs
    else:
        copies = us.gym_envs(us.psrs(log), 3, max_steps=300)
        wrapped = [RecordEpisodeStatistics(copy) if how == "wrapped" else copy for copy in copies]
        envs = SyncVectorEnv([lambda copy=copy: copy for copy in wrapped], autoreset_mode=mode)
    sampled = []
    with copies[0], us.learners.accepting(envs):
        envs.reset(seed=0)
        while True:
            waits = copies[0].shared_run.waiting
            actions = Categorical(probs=POLICY.expand(3, 5)).sample()
            envs.step(actions.numpy())
            sampled += actions[torch.as_tensor(waits)].tolist()
    run = copies[0].run()
    np.testing.assert_array_equal(log.action[run.rows], sampled)
    assert len(np.unique(run.rows)) == len(run) > 290


def test_the_old_name_of_not_accepting_still_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match="as_ever is deprecated; use not_accepting"):
        assert us.learners.as_ever is us.learners.not_accepting
