"""A simulator as a Gymnasium environment."""

import warnings

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import understudy as us
from understudy.contracts import Exhausted, Stop
from understudy.errors import ContractError, ServedAgainWarning, SettingError

STATELESS = us.encoders.Function(lambda observations: np.zeros(len(observations), int))


def log_of(shape, dtype, n=300):
    """Episodes of ten rows whose observations have this form."""
    rng = np.random.default_rng(0)
    observation = (rng.random((n + 1, *shape)) * 200 - (0 if dtype == np.uint8 else 100)).astype(dtype)
    return us.Log.from_columns(
        observation=observation[:-1], action=rng.integers(0, 3, n), reward=rng.random(n),
        next_observation=observation[1:], terminated=np.arange(n) % 10 == 9, propensity=np.full((n, 3), 1 / 3),
    )  # fmt: skip


class Greedy:
    """Always sure of its action, which changes as it learns."""

    def __init__(self):
        self.worth = np.random.default_rng(0).random((18, 5))
        self.n_learned = 0

    def action(self, observation):
        return int(self.worth[observation].argmax())

    def policy(self, observation):
        return np.eye(5)[self.action(observation)]

    def learn(self, step):
        self.n_learned += 1
        self.worth[step.observation, step.action] += 0.3 * (step.reward - self.worth[step.observation, step.action])


class OwnsItsLoop(Greedy):
    """The same learner, in a loop of its own."""

    def rehearse(self, env):
        while True:
            observation, _ = env.reset()
            over = False
            while not over:
                action = self.action(observation)
                following, reward, terminated, truncated, _ = env.step(action)
                self.learn(us.Step(observation, action, reward, following, terminated, truncated))
                observation, over = following, terminated or truncated


class TestTheChecker:
    @pytest.mark.parametrize("make", [us.psrs, us.qbe], ids=["psrs", "qbe"])
    @pytest.mark.parametrize(
        ("shape", "dtype", "kind"),
        [
            ((2,), np.float32, "Box"), ((2,), np.float64, "Box"), ((), np.float64, "Box"), ((3,), np.int64, "Box"),
            ((), np.int64, "Box"), ((8, 8, 1), np.uint8, "Box"), ((), np.uint8, "Discrete"),
        ],
    )  # fmt: skip
    def test_passes_with_nothing_to_complain_of(self, make, shape, dtype, kind):
        env = us.gym_env(make(log_of(shape, dtype), STATELESS))
        assert type(env.observation_space).__name__ == kind
        self.check(env)

    @pytest.mark.parametrize("name", ["psrs", "qbe", "states_only", "any_row", "model"])
    def test_passes_for_every_simulator(self, log, name):
        self.check(us.gym_env(getattr(us, name)(log)))

    def test_passes_for_a_true_environment(self, grid):
        check_env(us.gym_env(us.real(grid)))

    def test_passes_where_parts_meet_that_were_never_logged_together(self):
        counter = us.envs.CounterGrid(4, size=3)
        oracles = {"split": counter.split, "merge": counter.merge, "reward": counter.reward}
        env = us.gym_env(us.exo_psrs(us.record(counter, episodes=60, seed=0), **oracles))
        assert env.observation_space.n == counter.n_observations
        self.check(env)

    def check(self, env):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ServedAgainWarning)  # the checker resets with seeds again and again
            check_env(env)


class TestAsALoop:
    """The env's account of a run is the loop's, whoever acts."""

    @pytest.mark.parametrize("name", ["psrs", "qbe", "model"])
    @pytest.mark.parametrize("max_steps", [None, 300])
    def test_a_learner_that_owns_its_loop_has_the_run_that_it_has_in_ours(self, log, name, max_steps, assert_same):
        simulator = getattr(us, name)(log, max_episode_steps=40)
        probes = {
            "learned": lambda learner: learner.n_learned,
            "worth": lambda learner: learner.worth,
            "returns": us.probes.episode_returns,
            "visits": us.probes.visitation,
        }
        limit = max_steps or (3000 if name == "model" else None)
        theirs = us.simulate(simulator, Greedy(), 3, limit, probes=probes, every=7)
        ours = us.simulate(simulator, OwnsItsLoop(), 3, limit, probes=probes, every=7)
        assert len(ours) > 20
        assert_same(ours, theirs)

    def test_also_where_the_last_step_that_is_wanted_ends_an_episode(self, log, assert_same):
        first = int(us.simulate(us.psrs(log, max_episode_steps=40), Greedy(), 3).ends[0])
        runs = [us.simulate(us.psrs(log, max_episode_steps=40), kind(), 3, first) for kind in (Greedy, OwnsItsLoop)]
        assert_same(*runs)

    def test_probes_are_read_after_the_learner_took_in_the_step(self, log):
        run = us.simulate(
            us.qbe(log), OwnsItsLoop(), 3, 100, probes={"learned": lambda learner: learner.n_learned}, every=10
        )
        np.testing.assert_array_equal(run.curves["learned"], run.steps)

    @pytest.mark.parametrize("name", ["psrs", "qbe"])
    def test_what_is_served_is_the_action_taken_and_no_row_comes_twice(self, log, name):
        rng, rows = np.random.default_rng(0), []
        with us.gym_env(getattr(us, name)(log), seed=1) as env:
            while True:
                env.reset()
                over = False
                while not over:
                    action = rng.integers(5)
                    _, reward, terminated, truncated, told = env.step(action)
                    over = terminated or truncated
                    rows.append(told["row"])
                    assert (log.action[rows[-1]], log.reward[rows[-1]]) == (action, reward)
        run = env.run()
        np.testing.assert_array_equal(run.rows, rows)
        assert len(np.unique(rows)) == len(rows) > 50
        assert run.stopped.cause.startswith("queue empty")
        assert run.stopped.counts["steps"] == len(run)

    def test_an_experiment_takes_such_learners_in_processes_too(self, log, assert_same_runs):
        options = {"runs": 3, "seed": 1, "probes": {"returns": us.probes.episode_returns}, "every": 20}
        runs = us.experiment(us.qbe(log), lambda seed: OwnsItsLoop(), **options, workers=2)
        assert_same_runs(runs, us.experiment(us.qbe(log), lambda seed: OwnsItsLoop(), **options, backend="serial"))


class TestRunningOut:
    def test_the_end_of_its_own_run_leaves_the_block_quietly(self, log):
        with us.gym_env(us.qbe(log), seed=0) as env:
            OwnsItsLoop().rehearse(env)
        assert env.run().stopped.cause == "queue empty for action"
        with pytest.raises(Exhausted, match="has no row left"):
            env.step(0)

    def test_a_library_may_raise_its_own_from_it(self, log):
        with us.gym_env(us.qbe(log), seed=0) as env:
            try:
                OwnsItsLoop().rehearse(env)
            except Exhausted as exhausted:
                raise RuntimeError("worker died") from exhausted
        assert len(env.run()) > 10

    def test_what_others_raise_is_theirs(self, log):
        with pytest.raises(Exhausted), us.gym_env(us.qbe(log), seed=0):
            raise Exhausted(Stop("no opening"))
        with pytest.raises(ZeroDivisionError), us.gym_env(us.qbe(log), seed=0):
            1 / 0  # noqa: B018

    def test_simulate_lets_another_envs_end_through(self, log):
        other = us.gym_env(us.qbe(log), seed=0, max_steps=1)

        class Confused:
            def rehearse(self, env):
                OwnsItsLoop().rehearse(other)

        with pytest.raises(Exhausted, match="max_steps"):
            us.simulate(us.qbe(log), Confused())

    def test_a_last_step_is_delivered_though_there_is_no_opening_after_it(self):
        log = log_of((), np.uint8, n=20)
        env = us.gym_env(us.states_only(log, STATELESS), seed=0)
        env.reset()
        served, over = [], False
        while not (over and len(served) == 20):
            if over:
                _, told = env.reset()
                assert not told
            observation, _, over, _, told = env.step(0)
            served.append(told["row"])
        stand_in, told = env.reset()
        assert stand_in == observation
        assert told["stopped"].startswith("every logged opening observation has been used")
        with pytest.raises(Exhausted, match="every logged opening observation has been used after 20 steps"):
            env.step(0)
        run = env.run()
        assert run.rows.tolist() == served
        assert (len(run.ends), len(run.openings), run.stopped.cause) == (2, 2, "no opening")

    def test_max_steps_are_served_and_no_more(self, log):
        with us.gym_env(us.qbe(log), seed=0, max_steps=10) as env:
            OwnsItsLoop().rehearse(env)
        run = env.run()
        assert (len(run), run.stopped.cause) == (10, "max steps")

    def test_a_run_that_nothing_ended_says_so(self, log):
        env = us.gym_env(us.qbe(log), seed=0)
        env.reset()
        env.step(1)
        assert str(env.run().stopped) == "the learner asked for no further step after 1 steps"


class TestReset:
    def test_with_a_seed_begins_a_new_run_and_warns_once_if_rows_were_served(self, log):
        env = us.gym_env(us.qbe(log))
        env.reset(seed=4)
        env.reset(seed=5)  # nothing was served
        assert env.run().seed == 5
        env.step(0)
        with pytest.warns(ServedAgainWarning, match="the same rows will be served again"):
            env.reset(seed=5)
        assert len(env.run()) == 0
        env.step(0)
        env.reset(seed=5)

    def test_without_a_seed_takes_the_next_opening_and_abandons_the_episode(self, log):
        env = us.gym_env(us.qbe(log), seed=5)
        env.reset()
        env.step(0)
        env.reset()
        run = env.run()
        assert (len(run.openings), len(run.ends), len(run)) == (2, 0, 1)
        rehearsal = us.qbe(log).start(5)
        openings = [(rehearsal.begin(), rehearsal.opening)[1] for _ in range(2)]
        assert run.openings.tolist() == openings

    def test_a_seed_that_was_drawn_is_kept(self, log):
        one, other = us.gym_env(us.qbe(log)), us.gym_env(us.qbe(log))
        one.reset()
        other.reset(seed=one.run().seed)
        steps = [[env.step(action)[4]["row"] for action in (0, 1, 2)] for env in (one, other)]
        assert steps[0] == steps[1]

    def test_in_a_run_of_an_experiment_seeds_are_the_runs(self, log, assert_same):
        class Seeded(OwnsItsLoop):
            def rehearse(self, env):
                env.reset(seed=99)
                env.step(0)
                with pytest.warns(ServedAgainWarning, match="one run, of one seed"):
                    env.reset(seed=99)
                env.step(0)

        class Plain(OwnsItsLoop):
            def rehearse(self, env):
                for _ in range(2):
                    env.reset()
                    env.step(0)

        assert_same(us.simulate(us.qbe(log), Seeded(), 3), us.simulate(us.qbe(log), Plain(), 3))


class TestObservations:
    def test_are_the_learners_to_write_on(self):
        log = log_of((2,), np.float32)
        env = us.gym_env(us.qbe(log, STATELESS), seed=0)
        observation, _ = env.reset()
        observation += 1
        following = env.step(0)[0]
        following += 1
        assert following.dtype == np.float32

    def test_may_be_described_otherwise(self, log):
        space = spaces.Discrete(100)
        assert us.gym_env(us.qbe(log), observation_space=space).observation_space == space


class TestBadInput:
    def test_no_simulator(self, log):
        with pytest.raises(ContractError, match="a Log is not a simulator: it needs start"):
            us.gym_env(log)

    def test_no_number_of_steps(self, log):
        with pytest.raises(SettingError, match="max_steps is 0; give max_steps=, a whole number from 1"):
            us.gym_env(us.qbe(log), max_steps=0)

    @pytest.mark.parametrize("action", [5, -1, 0.5, None, [1]])
    def test_no_action(self, log, action):
        env = us.gym_env(us.qbe(log), seed=0)
        env.reset()
        with pytest.raises(SettingError, match="this environment has actions 0 to 4"):
            env.step(action)

    def test_no_episode(self, log):
        with pytest.raises(ResetNeeded, match="call reset before step"):
            us.gym_env(us.qbe(log), seed=0).step(0)

    def test_no_observations(self):
        class Blind:
            n_actions = 2

            def start(self, seed):
                raise AssertionError

        with pytest.raises(SettingError, match="give observation_space="):
            us.gym_env(Blind())

    @pytest.mark.parametrize("space", [spaces.Box(0, 1, (3,)), spaces.Box(0, 1, (2,)), spaces.Discrete(3)])
    def test_no_space_for_the_logs_observations(self, space):
        with pytest.raises(SettingError, match=r"does not hold the log's observations, float32 of shape \(2,\)"):
            us.gym_env(us.qbe(log_of((2,), np.float32), STATELESS), observation_space=space)

    def test_no_limit_where_neither_side_has_one(self, grid):
        with pytest.raises(SettingError, match="uses up no rows, so that a run may never end; say for how long"):
            us.simulate(us.real(grid), OwnsItsLoop())

    def test_no_count_of_copies(self, log):
        with pytest.raises(SettingError, match="n is 0; give n=, a whole number from 1"):
            us.gym_envs(us.qbe(log), 0)


def test_probes_without_names_are_refused(log):
    with pytest.raises(SettingError, match="probes is a list; give a mapping of names to probes"):
        us.gym_env(us.psrs(log), probes=[len])
