"""`replay` and `pers`: what is refused, what a rehearsal tells, and that all forms give the same runs."""

import numpy as np
import pytest

import understudy as us
from understudy.simulators.coding import LOG_POSITIONS
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.whole_episodes import begin, step


def contexts(n=2000, seed=0, full=False, n_actions=3):
    """One-step decisions with numbers as context, none of which repeats."""
    rng = np.random.default_rng(seed)
    observation = rng.normal(size=(n, 2))
    table = np.exp(observation @ rng.normal(size=(2, n_actions)) / 3)
    table /= table.sum(axis=1, keepdims=True)
    action = (table.cumsum(axis=1) <= rng.random((n, 1))).sum(axis=1)
    reward = (rng.random(n) < 1 / (1 + np.exp(-observation[:, 0] * (action - 1)))).astype(float)
    propensity = table if full else table[np.arange(n), action]
    return us.Log.from_columns(
        observation=observation, action=action, reward=reward, propensity=propensity, ends="every-row"
    )


def arms(n=3000, seed=0):
    """One-step decisions with whole numbers as context, acting evenly."""
    rng = np.random.default_rng(seed)
    context, action = rng.integers(0, 5, n), rng.integers(0, 3, n)
    return us.Log.from_columns(
        observation=context, action=action, reward=rng.random(n) < (1 + (context + action) % 3) / 4,
        propensity=np.full(n, 1 / 3), ends="every-row",
    )  # fmt: skip


def make(seed, encoder=None, n=5):
    return us.learners.QLearning(n, 3, epsilon=0.3, alpha=0.2, encoder=encoder, seed=seed)


def short_episodes(episodes=400, seed=0):
    """Episodes of one to three steps of two actions, over three observations."""
    rng, rows = np.random.default_rng(seed), []
    for episode in range(episodes):
        length = rng.integers(1, 4)
        last = np.arange(length) == length - 1
        rows += [(rng.integers(3), rng.integers(2), rng.random(), over, episode) for over in last]
    observation, action, reward, terminated, episode = map(np.array, zip(*rows, strict=True))
    return us.Log.from_columns(
        observation=observation, action=action, reward=reward, terminated=terminated, episode=episode,
        propensity=np.full((len(rows), 2), 0.5),
    )  # fmt: skip


class Averages:
    """A learner in Python, with random numbers of its own: it counts what it learns."""

    def __init__(self, seed=0):
        self.rng, self.total, self.history = np.random.default_rng(seed), np.ones(2), []
        self.noise = self.rng.random()

    def policy(self, observation):
        share = self.total[0] / self.total.sum()
        return np.array([0.1 + 0.8 * share * self.noise, 0.9 - 0.8 * share * self.noise])

    def learn(self, step):
        self.total[step.action] += step.reward
        self.history.append(step.row)
        self.noise = self.rng.random()


@pytest.mark.parametrize("order", ["episodes", "log"])
@pytest.mark.parametrize("bound", [None, 5.0, "running", "quantile"])
def test_the_compiled_and_the_plain_loop_give_the_same_rows(order, bound):
    for log, encoder in (
        (arms(), None),
        (contexts(), us.encoders.Boxes(bins=2)),
        (contexts(full=True), us.encoders.Boxes(bins=2)),
    ):
        n = 5 if encoder is None else encoder.fit(log).n_states
        simulator = us.replay(log, bound=bound, order=order)
        probes = {"value": us.probes.start_value(log), "returns": us.probes.episode_returns}
        fast, plain = (
            us.simulate(simulator, make(1, encoder, n), 1, probes=probes, every=50, compiled=compiled)
            for compiled in (True, False)
        )
        assert us.testing.rules.same_run(fast, plain)
        assert len(fast) > 50
        assert len(np.unique(fast.rows)) == len(fast)
        assert np.array_equal(fast.openings, fast.rows)
        assert np.array_equal(fast.returns, log.reward[fast.rows])


def test_codes_may_be_positions_in_the_log():
    log = contexts(500)
    for simulator, n in ((us.replay(log), 500), (us.replay(log).select(np.arange(100, 400)), 300)):
        source, served = simulator.start(0, LOG_POSITIONS).source, 0
        while (opening := begin(source)) >= 0:
            assert source.cursor[layout.CODE] == n + opening  # each row is an episode
            outcome = step(source, np.full(3, 1 / 3))
            if outcome.row >= 0:
                assert source.cursor[layout.CODE] == outcome.row == opening
                served += 1
        assert served > 20


def test_the_learner_sees_the_observation_of_the_row_it_is_served():
    log, seen = contexts(), []

    class Watching(Averages):
        def policy(self, observation):
            return np.full(3, 1 / 3)

        def learn(self, step):
            seen.append((step.observation, step.row))
            step.observation[:] = 0  # its own copy

    run = us.simulate(us.replay(log), Watching(), 0)
    assert [row for _, row in seen] == run.rows.tolist()
    again = us.simulate(us.replay(log), Watching(), 0)
    assert np.array_equal(run.rows, again.rows)
    assert log.observation[run.rows].any(axis=1).all()


@pytest.mark.parametrize("make_simulator", [us.replay, us.pers])
def test_the_simulator_keeps_its_promises(make_simulator):
    assert us.testing.check_simulator(make_simulator(arms()))
    assert us.testing.check_simulator(make_simulator(contexts(full=True)))
    assert us.testing.check_simulator(us.pers(short_episodes(4000)))


def test_a_passed_over_episode_leaves_no_trace():
    log = short_episodes()
    learner = Averages()
    probes = {"total": lambda learner: learner.total.sum(), "returns": us.probes.episode_returns}
    run = us.simulate(us.pers(log), learner, 0, probes=probes, every=3)
    assert len(run.ends) > 20
    assert learner.history == run.rows.tolist()
    assert run.stopped.cause == "used up"
    assert run.stopped.counts["openings"] == len(run.ends) == len(run.openings)
    assert run.stopped.counts["steps"] == len(run)
    assert run.stopped.counts["episodes offered"] == log.n_episodes
    # The same rows, learned without a rehearsal, leave the same learner: its random numbers, too.
    alone, totals = Averages(), []
    for number, row in enumerate(run.rows, start=1):
        alone.learn(us.Step(log.observation[row], log.action[row], log.reward[row], None, False, False, int(row)))
        totals += [alone.total.sum()] * (number % 3 == 0)
    assert alone.total.tolist() == learner.total.tolist()
    assert alone.noise == learner.noise
    assert run.curves["total"].tolist() == totals
    assert run.steps.tolist() == list(range(3, len(run) + 1, 3))
    first = np.append(0, run.ends[:-1])
    assert np.array_equal(run.returns, [log.reward[run.rows[a:b]].sum() for a, b in zip(first, run.ends, strict=True)])
    assert np.array_equal(log.starts[log.episode[run.openings]], run.rows[first])


def test_a_run_of_so_many_steps_is_the_beginning_of_a_longer_one():
    """Also where its last step is in the middle of an episode, which may still be passed over."""
    log = short_episodes()
    whole = us.simulate(us.pers(log), Averages(), 2)
    for n in range(1, 40):
        learner = Averages()
        run = us.simulate(us.pers(log), learner, 2, max_steps=n)
        assert run.rows.tolist() == whole.rows[:n].tolist() == learner.history
        assert run.stopped.cause == "max steps"
        assert run.stopped.counts["steps"] == n
        assert np.array_equal(run.ends, whole.ends[whole.ends <= n])


def test_pers_on_one_step_episodes_is_replay():
    log = contexts()
    one, other = (us.simulate(simulator(log), us.learners.Uniform(3), 3) for simulator in (us.replay, us.pers))
    assert np.array_equal(one.rows, other.rows)


def test_the_simulator_says_how_its_bound_is_known():
    assert "bound=3: uniform propensities" in repr(us.replay(arms()))
    assert "the log alone vouches" in repr(us.replay(contexts()))
    assert us.replay(contexts(full=True)).settings["bound_from"] == "the smallest propensity of any action"
    assert us.replay(arms(), bound="running").settings["bound"] == "running"


def test_a_part_of_the_log_keeps_the_bound_of_the_whole():
    simulator = us.replay(contexts())
    half = simulator.select(np.arange(0, 2000, 2))
    assert half.settings == simulator.settings
    assert len(half.log) == 1000
    run = us.simulate(half, us.learners.Uniform(3), 0)
    assert run.stopped.counts["episodes offered"] == 1000


def test_a_repeated_log_goes_on_where_it_ends_and_tells_its_use():
    simulator = us.replay(arms())
    once = us.simulate(simulator, us.learners.Uniform(3), 4)
    more = us.simulate(simulator.repeated(3), us.learners.Uniform(3), 4, max_steps=2 * len(once))
    assert np.array_equal(more.rows[: len(once)], once.rows)
    assert len(more) == 2 * len(once)
    found = us.forecast(simulator, make, steps=2 * len(once), pre_runs=3)
    assert 4500 < found.episodes_needed < 7500
    assert found.runs_out == {"every logged episode has been offered": 1.0}


def test_halves_and_comparisons_work():
    log = arms(6000)
    found = us.halves(us.replay(log), make, runs=8, halves=8, probes={"value": us.probes.start_value(log)}, every=100)
    assert found.interval("value").reach > 0
    learners = {"q": make, "uniform": lambda seed: us.learners.Uniform(3)}
    assert us.compare(learners, us.replay(log), runs=8, halves=8, progress=False).table()


def test_what_cannot_be_replayed_is_refused_with_the_next_move():
    with pytest.raises(us.LogError, match=r'one row each, and the episode .* use psrs.* or pers.* ends="every-row"'):
        us.replay(short_episodes())
    bare = us.Log.from_columns(observation=[0, 1], action=[0, 1], reward=[0, 1], ends="every-row")
    with pytest.raises(
        us.LogError, match=r"no propensities; name the column .* propensity= .* estimate it with .*, or use qbe"
    ):
        us.replay(bare)
    with pytest.raises(us.SettingError, match="order='rows' is not one of 'episodes', 'log'"):
        us.replay(arms(), order="rows")
    with pytest.raises(us.ContractError, match="a dict is not a log"):
        us.replay({})
    endless = us.Log.from_columns(
        observation=[0, 1], action=[0, 1], reward=[0, 1], next_observation=[1, 0], propensity=[0.5, 0.5],
        episode=[0, 1], ends="unfinished",
    )  # fmt: skip
    with pytest.raises(us.LogError, match=r"no episode of this log is known to have ended.* ends=\"every-row\""):
        us.pers(endless)


def test_what_only_acts_is_refused_with_the_next_move():
    with pytest.raises(
        us.SettingError, match=r"replay\(.* may pass over an episode after the learner has acted.*psrs or qbe"
    ):
        us.gym_env(us.replay(arms()))

    class OwnLoop:
        def rehearse(self, env):
            raise AssertionError("it is refused before")

    with pytest.raises(us.SettingError, match="psrs or qbe"):
        us.simulate(us.replay(arms()), OwnLoop())


def test_loggers_that_could_not_act_like_the_learner_are_counted():
    n = 1000
    propensity = np.where(np.arange(n)[:, None] % 4 == 0, [1.0, 0.0], [0.5, 0.5])
    action = np.where(np.arange(n) % 4 == 0, 0, np.arange(n) % 2)
    log = us.Log.from_columns(
        observation=np.arange(n), action=action, reward=np.zeros(n), propensity=propensity, ends="every-row"
    )
    run = us.simulate(us.replay(log), us.learners.Uniform(2), 0)
    assert run.stopped.counts["rows not supported"] == 250
    assert run.stopped.bias == pytest.approx(250 * 0.5 / 2 / len(run))  # mass over bound and rows accepted
    assert "the law of an episode may be off by" in str(run.stopped)
    sure = us.simulate(us.replay(log), us.learners.FixedPolicy(np.tile([1.0, 0.0], (n, 1))), 0)
    assert sure.stopped.counts["rows not supported"] == 0
    assert sure.stopped.bias is None


def test_steps_out_of_turn_and_without_a_policy_are_refused():
    rehearsal = us.replay(arms()).start(0)
    with pytest.raises(us.UsageError, match="call begin before step"):
        rehearsal.step(np.full(3, 1 / 3))
    rehearsal.begin()
    with pytest.raises(us.PolicyError):
        rehearsal.step(np.array([0.5, 0.5, 0.5]))
    while rehearsal.step(np.full(3, 1 / 3)) is None:
        rehearsal.begin()
    with pytest.raises(us.UsageError, match="call begin before step"):
        rehearsal.step(np.full(3, 1 / 3))


def test_actions_that_no_row_took_are_counted_where_only_chosen_propensities_are_known():
    """A policy that is nine tenths on such an action in one of two contexts: that context is hardly served."""
    rng = np.random.default_rng(0)
    context, action = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    log = us.Log.from_columns(
        observation=context, action=action, reward=context, propensity=np.full(4000, 0.5), n_actions=3,
        ends="every-row",
    )  # fmt: skip
    learner = us.learners.FixedPolicy([[0.5, 0.5, 0.0], [0.05, 0.05, 0.9]])
    run = us.simulate(us.replay(log), learner, 0)
    assert context[run.rows].mean() < 0.2
    assert run.stopped.counts["rows not supported"] > 1000
    assert run.stopped.bias > 0.4
    half = us.replay(log).select(np.arange(2000))
    assert us.simulate(half, learner, 0).stopped.bias > 0.4


def test_bounds_of_shares_and_estimates_are_those_of_chosen_actions():
    rng = np.random.default_rng(0)
    p = np.array([0.9, 0.08, 0.02])
    action, shares = rng.choice(3, 3000, p=p), rng.multinomial(20, p, 3000) / 20
    log = us.Log.from_columns(
        observation=rng.normal(size=(3000, 2)), action=action, reward=np.ones(3000), propensity=shares, n_samples=20,
        n_actions=3, ends="every-row",
    )  # fmt: skip
    assert us.replay(log).bound.value == 21
