"""Splits of observations that are learned from the log: runs on them against the truth, and which logs are refused.

Sizes, margins and seeds were fixed, and committed, before any result was looked at. "Equivalent" is as in
test_law_of_the_curve: the upper end of the 95% interval of the debiased error lies below the margin, here a tenth of
the real curve's range, as in the paper's item on the counter grid. Each run has a log of its own.

Amended, each time before what follows was run. At the default level, 5%, some of the logs were refused by chance, so
these runs use RARELY. Weather was undecided with 80 runs and 160 real ones (seed 3; 0 to .038 at a margin of .032
where it goes on). With 160 and 480 it was so again, over the 343 and 330 steps of the shortest run (seeds 11 and 12;
0 to .018 and 0 to .014 at .008): of a hundred, then of 160 logs, one was taken for one that does not go on, and this
is now decided at 1e-5. Where weather restarts, runs end with the first episode that is longer than its sequence, so a
limit of 30 steps is set, with which it was equivalent (seed 12). The seed is another one.
"""

import numpy as np
import pytest

import understudy as us

LEARNER = {"epsilon": 0.9, "alpha": 0.5, "gamma": 0.95}
PAPER_RUNS, PAPER_EPISODES, PAPER_STEPS, PAPER_EVERY = 20, 1000, 75_000, 500
RUNS, REAL_RUNS, STEPS, EVERY, SEED = 160, 480, 1000, 50, 13
EPISODES = {"restarts": 400, "goes on": 150}
LIMIT = {"restarts": 30, "goes on": None}
CLEAN, DEPENDENT = 100, 20  # logs of each kind
RARELY = 1e-4  # the level at which logs of these runs are tested, so that none is left out


def oracles(env):
    return {"split": env.split, "merge": env.merge, "reward": env.reward}


@pytest.mark.slow
def test_the_papers_counter_grid_without_its_oracle_is_equivalent_and_as_long():
    env = us.envs.CounterGrid(32)
    options = {"runs": PAPER_RUNS, "every": PAPER_EVERY, "probes": {"start value": us.probes.start_value(env)}}

    def make(seed):
        return us.learners.QLearning(env.n_observations, 5, **LEARNER, seed=seed)

    def recorded(seed):
        return us.record(env, episodes=PAPER_EPISODES, seed=seed)

    def learned(seed):
        log = recorded(seed)
        return us.exo_psrs(log, us.exogenous_split(log, level=RARELY))

    runs = us.experiment(learned, make, backend="serial", **options)
    known = us.experiment(lambda seed: us.exo_psrs(recorded(seed), **oracles(env)), make, **options)
    real = us.experiment(us.real(env), make, **options | {"runs": 100, "max_steps": PAPER_STEPS})
    latent = us.encoders.Function(env.latent)
    wrong = us.experiment(lambda seed: us.psrs(recorded(seed), latent), make, **options)
    assert (runs.lengths >= known.lengths).all()
    assert us.fidelity(runs, real).verdict == "equivalent"
    assert us.fidelity(wrong, real).verdict == "different"


def weather_states(env):
    """What the learner of the weather grid tells apart: the cell, and whether the weather is above 0."""
    return us.encoders.Function(lambda x: env.cell(x) + env.size**2 * (x[..., 2] > 0))


def weather_log(env, episodes, seed):
    """What `us.record` would make, of the grid's compiled recording and weather drawn for all rows at once."""
    columns = us.envs.Grid(env.size, env.slip).rollout(
        np.full((env.size**2, 5), 0.2), episodes, seed, env.max_episode_steps
    )
    n = len(columns["episode"])
    first = np.flatnonzero(np.diff(columns["episode"], prepend=-1))
    place = np.arange(n) + columns["episode"]  # an episode of n rows has n + 1 values
    noise = np.random.default_rng(seed).normal(size=n + episodes)
    starts = np.zeros(len(noise), bool)
    starts[place[first[:1] if env.goes_on else first]] = True
    weather, spread = np.empty(len(noise)), np.sqrt(1 - env.persistence**2)
    for at in range(len(noise)):
        weather[at] = noise[at] if starts[at] else env.persistence * weather[at - 1] + spread * noise[at]
    cells = {name: np.divmod(columns[name], env.size)[::-1] for name in ("observation", "next_observation")}
    seen = {"observation": weather[place], "next_observation": weather[place + 1]}
    columns |= {name: np.column_stack([*cells[name], seen[name]]).astype(float) for name in cells}
    columns["reward"] = columns["reward"] + env.effect * seen["next_observation"]
    return us.Log.from_columns(**columns)


def worth_of_weather(learner):
    """By how much more the learner values the start in good weather."""
    good, bad = learner.values(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]))
    return good - bad


@pytest.mark.slow
@pytest.mark.parametrize("kind", EPISODES)
def test_weather_that_never_repeats_is_simulated_as_it_was_logged(kind):
    env = us.envs.WeatherGrid(3, slip=0.2, goes_on=kind == "goes on", max_episode_steps=LIMIT[kind])
    options = {"runs": RUNS, "max_steps": STEPS, "every": EVERY, "seed": SEED, "backend": "serial"}
    options["probes"] = {
        "start value": us.probes.start_value(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])),
        "weather": worth_of_weather,
    }

    def make(seed):
        return us.learners.QLearning(18, 5, **LEARNER, encoder=weather_states(env), seed=seed)

    def learned(seed):
        log = weather_log(env, EPISODES[kind], seed)
        return us.exo_psrs(log, us.exogenous_split(log, level=RARELY))

    def broken(seed):
        return us.psrs(weather_log(env, EPISODES[kind], seed), us.encoders.Function(env.cell))

    real = us.experiment(us.real(env), make, **options | {"runs": REAL_RUNS})
    runs, wrong = us.experiment(learned, make, **options), us.experiment(broken, make, **options)
    for probe in options["probes"]:
        found = us.fidelity(runs, real, probe)
        assert found.verdict == "equivalent", str(found)
    assert us.fidelity(wrong, real, "weather").verdict == "different"


def refused(env, episodes, n):
    """How many of n logs are refused."""
    return sum(not us.exogenous_split(us.record(env, episodes=episodes, seed=seed)).ok for seed in range(n))


class Warming(us.envs.WeatherGrid):
    """The weather of a column is warmer: the endogenous part moves the other one."""

    def _observed(self):
        observation = super()._observed()
        self._weather += 0.2 * (self._place[0] - 1)
        return observation


class Scaled(us.envs.WeatherGrid):
    """The reward is the weather times the column: no sum of the two."""

    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, float(observation[0] * observation[2]), *rest


DEPENDENCES = {
    "the weather moves the agent": (us.envs.WeatherGrid(3, slip=0.2, wind=0.2), "moves the endogenous one"),
    "the agent moves the weather": (Warming(3, slip=0.2), "none is exogenous"),
    "the reward is a product": (Scaled(3, slip=0.2), "the reward depends on"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DEPENDENCES)
def test_dependent_parts_are_refused_and_the_sentence_says_why(name):
    env, words = DEPENDENCES[name]
    for seed in range(DEPENDENT):
        split = us.exogenous_split(us.record(env, episodes=150, seed=seed))
        assert words in split.refusal, seed


@pytest.mark.slow
@pytest.mark.parametrize("env", [us.envs.WeatherGrid(3, slip=0.2), us.envs.CounterGrid(8, size=3, slip=0.2)])
def test_at_most_one_in_twenty_clean_logs_is_refused(env):
    """With 5% of 100 logs refused, more than 13 would be in 1 of 2,200 cases."""
    assert refused(env, 150, CLEAN) <= 13
