"""Nothing that a learner, an encoder or a probe writes on what it is given changes what is served next, or the log.

Each test runs a vandal, which writes over all it gets, beside an innocent one that acts and learns alike.
"""

import ctypes
from contextlib import suppress

import gymnasium
import numpy as np
import pytest
import torch

import understudy as us
from understudy.contracts import owned
from understudy.runs.probes import History

N_ACTIONS = 3


def scribble(thing):
    """Write over all memory of the arrays in a thing, and of what they are views of, whatever their flags say."""
    if isinstance(thing, np.ndarray) and thing.dtype.hasobject:
        scribble(thing.ravel().tolist())
    elif isinstance(thing, np.ndarray):
        scribble(thing.base)
        with suppress(TypeError, ValueError, RuntimeError):
            torch.as_tensor(thing).fill_(77)
        if thing.flags.c_contiguous or thing.flags.f_contiguous:
            ctypes.memset(thing.ctypes.data, 77, thing.nbytes)
    elif isinstance(thing, memoryview) and not thing.readonly:
        thing.cast("B")[:] = bytes(77 for _ in range(thing.nbytes))
    elif isinstance(thing, dict | list | tuple):
        for part in thing.values() if isinstance(thing, dict) else thing:
            scribble(part)


class Learner:
    """Acts by what it observes and by what it learned; keeps what it was told, as it was then."""

    def __init__(self, vandal):
        self.vandal, self.told, self.worth, self.kept = vandal, [], np.zeros(N_ACTIONS), []

    def see(self, *things):
        self.told.append([np.array(thing) for thing in things])
        if self.vandal:
            scribble(self.kept)
            scribble(things)

    def policy(self, observation):
        raw = np.exp(np.cos(np.arange(N_ACTIONS) + np.sum(observation)) + self.worth)
        policy = raw / raw.sum()
        self.see(observation)
        self.kept.append(policy)  # returned, and written on later
        return policy

    def learn(self, step):
        self.worth[step.action] += 0.1 * step.reward + 0.01 * np.sum(step.next_observation)
        self.see(*step)

    def value(self, observation):
        found = float(np.sum(observation)) + self.worth.sum()
        self.see(observation)
        return found


POINTS = np.random.default_rng(0).integers(0, 3, (401, 2)).astype(np.float32)


def log(points=POINTS):
    rng, n = np.random.default_rng(1), len(points) - 1
    return us.Log.from_columns(
        observation=points[:-1].copy(), next_observation=points[1:].copy(), action=rng.integers(0, N_ACTIONS, n),
        reward=rng.random(n), terminated=np.arange(n) % 8 == 7, propensity=np.full((n, N_ACTIONS), 1 / N_ACTIONS),
    )  # fmt: skip


class Buffered(gymnasium.Env):
    """An environment that writes every observation into one array, which is also its state."""

    observation_space, action_space = gymnasium.spaces.Box(-9, 9, (2,), np.float32), gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = np.zeros(2, np.float32)
        return self.state, {}

    def step(self, action):
        self.state[:] = (self.state + np.array([action, self.np_random.integers(3)])) % 5
        return self.state, float(self.state.sum()), bool(self.state.sum() > 7), False, {}


class Messy(Buffered):
    """The same as a dictionary of arrays, where one is nested."""

    observation_space = gymnasium.spaces.Dict({"at": Buffered.observation_space})

    def reset(self, *, seed=None, options=None):
        return {"at": super().reset(seed=seed)[0]}, {}

    def step(self, action):
        state, *others = super().step(action)
        return {"at": state}, *others


ORACLES = {
    "split": lambda x: (x[:, 0].astype(int), x[:, 1].astype(int)),
    "merge": lambda z, c: np.stack([z, c], axis=1).astype(np.float32),
    "reward": lambda z, c: z + 0.1 * c,
}
SIMULATORS = {
    "psrs": us.psrs,
    "psrs with a reserve": lambda log: us.psrs(log, reserve=True),
    "psrs by rows": lambda log: us.psrs(log, order="rows", openings="replacement"),
    "qbe": us.qbe,
    "states_only": us.states_only,
    "actions_only": us.actions_only,
    "any_row": us.any_row,
    "model": us.model,
    "model by rows": lambda log: us.model(log, emission="row"),
    "exo_psrs": lambda log: us.exo_psrs(log, **ORACLES),
    "real": lambda log: us.real(Buffered()),
}


@pytest.fixture(params=SIMULATORS)
def simulators(request):
    """Two that are alike, each on a log of its own, and the logs."""
    logs = log(), log()
    return [SIMULATORS[request.param](one) for one in logs], logs


def content(log):
    return [getattr(log, name).tobytes() for name in ("observation", "next_observation", "action", "propensity")]


def assert_alike(one, other):
    """Both were told the same."""
    assert len(one.told) == len(other.told) > 20
    for ours, theirs in zip(one.told, other.told, strict=True):
        for mine, yours in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, yours)


def test_a_learner_cannot_change_what_it_is_served(simulators):
    found, learners = [], (Learner(False), Learner(True))
    for simulator, learner in zip(simulators[0], learners, strict=True):
        probes = {"value": us.probes.start_value(POINTS[:3])}
        found.append(us.simulate(simulator, learner, 3, 40, probes=probes, every=5))
    assert_alike(*learners)
    np.testing.assert_array_equal(found[0].rows, found[1].rows)
    np.testing.assert_array_equal(found[0].curves["value"], found[1].curves["value"])
    assert content(simulators[1][0]) == content(simulators[1][1])
    others = Learner(False), Learner(False)  # nor what the next run is served
    for simulator, learner in zip(simulators[0], others, strict=True):
        us.simulate(simulator, learner, 3, 40)
    assert_alike(*others)


def stacked_policies(learner, env, steps):
    """A loop of its own, in an env."""
    observation, _ = env.reset(seed=3)
    for _ in range(steps):
        action = int(np.argmax(learner.policy(observation)))
        following, reward, terminated, truncated, info = env.step(action)
        observation = following.copy()  # its own, of what was served
        learner.learn(us.Step(0, action, reward, following, terminated, truncated, info["row"]))
        if terminated or truncated:
            observation, _ = env.reset()


def test_nor_in_an_env(simulators):
    learners = Learner(False), Learner(True)
    for simulator, learner in zip(simulators[0], learners, strict=True):
        with us.gym_env(simulator) as env:
            stacked_policies(learner, env, 15)
    assert len(learners[0].told) > 2
    for ours, theirs in zip(learners[0].told, learners[1].told, strict=True):
        for mine, yours in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, yours)
    assert content(simulators[1][0]) == content(simulators[1][1])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_nor_in_copies_of_it(simulators, mode):
    told = []
    for simulator, vandal in zip(simulators[0], (False, True), strict=True):
        mode_ = gymnasium.vector.AutoresetMode(mode)
        with us.vector_env(simulator, 2, 3, autoreset_mode=mode_) as env:
            observation, info = env.reset(seed=3)
            for step in range(15):
                told.append(observation.copy())
                if vandal:
                    scribble([observation, info])
                observation, reward, _, _, info = env.step(np.array([step % 3, 1]))
                told.append(reward.copy())
                if vandal:
                    scribble(reward)
    half = len(told) // 2
    assert half > 2
    for ours, theirs in zip(told[:half], told[half:], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert content(simulators[1][0]) == content(simulators[1][1])


def test_an_observation_that_stands_in_for_an_opening_is_a_copy_too():
    space = gymnasium.spaces.MultiDiscrete([9, 9])
    points = POINTS.astype(np.int64)
    env = us.gym_env(us.any_row(log(points)), 0, max_steps=1, observation_space=space)
    env.reset()
    last = env.step(0)[0]
    seen = last.copy()
    scribble(last)
    again, info = env.reset()
    assert "stopped" in info
    np.testing.assert_array_equal(again, seen)


def test_observations_of_any_form_are_copied():
    found = []
    for vandal in (False, True):
        rehearsal = us.real(Messy()).start(0)
        told = [rehearsal.begin()]
        for _ in range(20):
            seen = [np.array(told[-1]["at"])]
            if vandal:
                scribble(told[-1])
            step = rehearsal.step(np.full(3, 1 / 3))
            found.append((vandal, seen, np.array(step.observation["at"]), step.action))
            told.append(step.next_observation if not step.terminated else rehearsal.begin())
    half = len(found) // 2
    for (_, seen, before, action), (_, seen2, before2, action2) in zip(found[:half], found[half:], strict=True):
        np.testing.assert_array_equal(seen, seen2)
        np.testing.assert_array_equal(before, before2)
        np.testing.assert_array_equal(seen[0], before)
        assert action == action2


class Frozen(Learner):
    """Tells for how long its policy stays, so that it is asked ahead and told late."""

    def __init__(self, vandal):
        super().__init__(vandal)
        self.since = 0

    @property
    def steps_until_update(self):
        return 7 - self.since

    def policies(self, observations):
        raw = np.exp(np.cos(np.arange(N_ACTIONS) + observations.sum(axis=1, keepdims=True)) + self.worth)
        policies = raw / raw.sum(axis=1, keepdims=True)
        if self.vandal:
            scribble([observations, self.kept])
        self.kept.append(policies)
        return policies

    def policy(self, observation):
        return self.policies(np.asarray(observation)[None])[0]

    def learn(self, step):
        self.collect(us.contracts.Steps.of(step))
        if not self.steps_until_update:
            self.update()

    def collect(self, steps):
        self.since += len(steps.action)
        self.worth[:] += 0.1 * np.sum(steps.reward * np.arange(len(steps.reward))) % 1 + 0.1 * steps.action.sum()
        self.see(*steps)
        self.kept.extend(steps)

    def update(self):
        self.since = 0

    form = "frozen"

    @staticmethod
    def stacked_policies(learners):
        everyone = np.empty((len(learners), N_ACTIONS))  # one array for all of them, and for ever

        def act(observations):
            everyone[:] = [
                learner.policy(observation) for learner, observation in zip(learners, observations, strict=True)
            ]
            for learner in learners:
                learner.kept.append(everyone)  # to be written on while others have yet to act
            return everyone

        return act

    @staticmethod
    def update_all(learners):
        for learner in learners:
            learner.update()


@pytest.mark.parametrize("kind", ["ahead", "step by step", "stacked", "stacked, in lock step"])
def test_nor_by_looking_ahead_or_in_a_stack(kind):
    found = []
    for vandal in (False, True):
        own, made = log(), []

        def make(seed, vandal=vandal, made=made):
            made.append(Frozen(vandal))
            return made[-1]

        simulator = us.model(own) if "lock" in kind else us.qbe(own)
        if "stacked" in kind:
            runs = us.experiment(simulator, make, runs=3, workers=1, max_steps=60)
        else:
            runs = [us.simulate(simulator, make(0), 0, 60, compiled=None if kind == "ahead" else False)]
        found.append((runs, [learner.told for learner in made], content(own)))
    (runs, told, left), (others, theirs, also_left) = found
    assert left == also_left
    for one, other in zip(runs, others, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        assert len(one) > 10
    for one, other in zip(told, theirs, strict=True):
        for mine, yours in zip(one, other, strict=True):
            for a, b in zip(mine, yours, strict=True):
                np.testing.assert_array_equal(a, b)


class Scribbler:
    """An encoder of one's own that writes on what it is given, and on what it returned."""

    def __init__(self, vandal):
        self.vandal, self.returned = vandal, []

    def fit(self, log):
        return self

    def encode(self, observations):
        states = (observations[:, 0] * 3 + observations[:, 1]).astype(np.int64)
        if self.vandal:
            scribble([observations, self.returned])
        self.returned.append(states)
        return states


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("compiled", [True, False])
def test_an_encoder_cannot_change_the_log(wrapped, compiled):
    found = []
    for vandal in (False, True):
        own = log()
        encoder = us.encoders.Function(Scribbler(vandal).encode) if wrapped else Scribbler(vandal)
        learner = us.learners.QLearning(9, N_ACTIONS, encoder=encoder, seed=0)
        run = us.simulate(us.psrs(own, encoder), learner, 0, compiled=compiled)
        found.append((run.rows.tolist(), learner.q.tolist(), content(own)))
    assert found[0] == found[1]


def test_oracles_cannot_change_the_log_nor_each_other():
    found = []
    for vandal in (False, True):
        own, returned = log(), []

        def oracle(name, *parts, vandal=vandal, returned=returned):
            answer = ORACLES[name](*(np.array(part) for part in parts))
            if vandal:
                scribble([*parts, *returned])
            returned.extend(answer if isinstance(answer, tuple) else [answer])
            return answer

        oracles = {name: lambda *parts, name=name, oracle=oracle: oracle(name, *parts) for name in ORACLES}
        simulator = us.exo_psrs(own, **oracles)
        if vandal:
            scribble(returned)
        run = us.simulate(simulator, us.learners.Uniform(N_ACTIONS), 0, compiled=False)
        found.append((run.rows.tolist(), run.returns.tolist(), content(own)))
        assert len(run) > 5
    assert found[0] == found[1]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_probe_cannot_change_the_run_nor_another_probe(compiled):
    def vandal(progress):
        scribble([progress.returns, progress.visits])
        return 0.0

    def ask(learner):
        scribble([learner.policy(0), learner.policy(POINTS[0])])
        return 0.0

    found = []
    for first in ({}, {"vandal": History(vandal, counts_visits=True), "ask": ask}):
        measured = first | {"returns": us.probes.episode_returns, "visits": us.probes.visitation}
        for learner in (us.learners.Uniform(N_ACTIONS), us.learners.FixedPolicy([0.2, 0.3, 0.5])):
            run = us.simulate(us.qbe(log()), learner, 0, probes=measured, every=10, compiled=compiled)
            found.append((run.rows, run.returns, run.curves["returns"], run.curves["visits"]))
    for one, other in zip(found[:2], found[2:], strict=True):
        for mine, yours in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, yours)


def test_a_logging_policy_cannot_change_what_is_recorded():
    def policy(observation, vandal):
        if vandal:
            scribble(observation)
        return np.full(3, 1 / 3)

    innocent, other = (us.record(Buffered(), lambda x, v=v: policy(x, v), steps=50, seed=0) for v in (False, True))
    assert content(innocent) == content(other)


def test_a_script_cannot_change_the_space_that_the_next_run_is_given():
    simulator = us.real(Buffered())
    us.gym_env(simulator, 0).observation_space.low[:] = 5
    assert us.gym_env(simulator, 0).observation_space.low.tolist() == [-9, -9]


@pytest.mark.parametrize("number", [3, 0.5, "word", True, np.int64(4), np.float32(0.25)])
def test_numbers_are_handed_out_as_they_are(number):
    assert owned(number) is number


def test_a_model_of_stable_baselines_cannot_change_the_log():
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    class Vandal(BaseCallback):
        def _on_step(self):
            scribble([self.locals["new_obs"], self.locals["infos"], self.locals["rewards"]])
            self.model.rollout_buffer.observations.fill(7)
            return True

    own = log()
    make = us.learners.sb3(PPO, total_timesteps=64, n_steps=16, batch_size=8, n_epochs=1, callback=Vandal())
    run = us.simulate(us.psrs(own), make(0), 0)
    assert len(run) > 10
    assert content(own) == content(log())
