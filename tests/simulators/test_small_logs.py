"""Any small log, replayed in any way, gives what the reference written with lists gives; compiled or not."""

import os
import subprocess
import sys
from dataclasses import dataclass, fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from understudy.encoders import Function
from understudy.learners import FixedPolicy, QLearning
from understudy.logs import Log
from understudy.runs import simulate
from understudy.simulators import actions_only, any_row, model, psrs, qbe, states_only

MAKERS = {make.__name__: make for make in (psrs, qbe, states_only, actions_only, any_row, model)}
MOST_STEPS = 25  # of the model, which never runs out

# The same examples on every machine, and nothing left in the tree: see `elsewhere` too.
OPTIONS = {
    "derandomize": True, "database": None, "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def elsewhere(tmp_path_factory):
    """Hypothesis keeps what it reads of our sources in a folder that is not theirs."""
    set_hypothesis_home_dir(tmp_path_factory.mktemp("hypothesis"))
    yield
    set_hypothesis_home_dir(None)


@dataclass
class Case:
    """A log, the state of each observation, a policy at each, and how to replay."""

    log: Log
    states: np.ndarray
    policies: np.ndarray
    name: str
    options: dict
    seed: int

    @property
    def simulator(self):
        return MAKERS[self.name](self.log, Function(lambda x: self.states[x]), **self.options)

    @property
    def max_steps(self):
        return MOST_STEPS if self.name == "model" else None


@st.composite
def cases(draw, name):
    n_observations, n_actions = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    observations = st.integers(0, n_observations - 1)
    rows = []
    for episode in range(draw(st.integers(1, 4))):
        x, length = draw(observations), draw(st.integers(1, 6))
        ending = draw(st.sampled_from(["terminated", "truncated", "unfinished"]))
        for step in range(length):
            weights, action = draw(weights_of(n_actions)), draw(st.integers(0, n_actions - 1))
            weights[action] += 1  # what was done could be done
            last, following = step == length - 1, draw(observations)
            ended = last and ending == "terminated", last and ending == "truncated"
            rows.append((x, action, float(draw(st.integers(-2, 2))), following, *ended, episode, weights))
            x = following
    names = ["observation", "action", "reward", "next_observation", "terminated", "truncated", "episode", "propensity"]
    columns = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    columns["propensity"] = columns["propensity"] / columns["propensity"].sum(axis=1, keepdims=True)
    log = Log.from_columns(**columns, n_actions=n_actions)

    states = np.array(draw(st.lists(st.integers(-1, 4), min_size=n_observations, max_size=n_observations)))
    if (states[log.observation] < 0).all():
        states = np.zeros(n_observations, int)
    policies = np.array([draw(weights_of(n_actions)) for _ in range(n_observations)], float)
    policies[policies.sum(axis=1) == 0] = 1.0
    policies /= policies.sum(axis=1, keepdims=True)

    options = {"max_episode_steps": draw(st.none() | st.integers(1, 4))}
    if name == "model":
        options["emission"] = draw(st.sampled_from(["uniform", "empirical", "row"]))
    else:
        options["openings"] = draw(st.sampled_from(["queue", "replacement"]))
        orders = ["rows"] if name in ("actions_only", "any_row") else ["episodes", "rows", "log"]
        options["order"] = draw(st.sampled_from(orders))
    if name == "psrs":
        options["reserve"] = draw(st.booleans())
    if name == "qbe":
        options["stop"] = draw(st.sampled_from(["predictable", "plain"]))
    return Case(log, states, policies, name, options, draw(st.integers(0, 2**20)))


def weights_of(n):
    return st.lists(st.integers(0, 3), min_size=n, max_size=n)


def referred(case, reference, model_reference):
    """The run as the reference has it: rows, openings, the cause, and the state and the action of the stop."""
    states = case.states[case.log.observation], case.states[case.log.next_observation]
    options = dict(case.options)
    options["limit"] = options.pop("max_episode_steps")
    if case.name == "model":
        plain = model_reference(case.log, *states, case.seed, **options)
    else:
        plain = reference(case.name, case.log, *states, case.seed, **options)
    rows, openings, cause = plain.run(lambda step, x: case.policies[x], case.max_steps or 10**6)
    state = plain.where if cause in ("queue empty", "queue empty for action", "unsupported", "never logged") else None
    action = plain.what if cause in ("queue empty for action", "unsupported") else None
    return rows, openings, (cause, state, action), getattr(plain, "emissions", None)


def assert_agrees(case, reference, model_reference):
    """Hold the simulator against the reference in both loops, and a learner's two loops against each other."""
    rows, openings, stop, emissions = referred(case, reference, model_reference)
    simulator = case.simulator
    for compiled in (True, False):
        run = simulate(simulator, FixedPolicy(case.policies), case.seed, case.max_steps, compiled=compiled)
        assert run.rows.tolist() == rows
        assert run.openings.tolist() == openings
        assert (run.stopped.cause, run.stopped.state, run.stopped.action) == stop
        if run.emissions is not None:
            assert run.emissions.tolist() == emissions
        promises(case, run)
    learned = [
        simulate(
            simulator, QLearning(len(case.states), case.log.spec.n_actions, epsilon=0.5, seed=case.seed), case.seed,
            case.max_steps, compiled=compiled,
        )
        for compiled in (True, False)
    ]  # fmt: skip
    for field in fields(learned[0]):
        np.testing.assert_equal(*(getattr(run, field.name) for run in learned))
    promises(case, learned[0])


def promises(case, run):
    """What holds of any run: no row twice, each from the state that was reached, and all it tells adds up."""
    log, rows = case.log, run.rows.tolist()
    if case.name != "model":
        assert len(set(rows)) == len(rows)
        if case.options["openings"] == "queue":
            assert len(set(run.openings.tolist())) == len(run.openings)
    starts = [0, *run.ends.tolist()]
    if case.name in ("psrs", "qbe", "states_only", "model"):
        for step, row in enumerate(rows):
            here = log.observation[run.openings[starts.index(step)]] if step in starts else led_to(case, run, step - 1)
            assert case.states[log.observation[row]] == case.states[here]
    for begin, end, earned in zip(starts, run.ends, run.returns, strict=False):
        assert earned == log.reward[rows[begin:end]].sum()
        limit = case.options["max_episode_steps"]
        assert log.terminated[rows[end - 1]] or end - begin == limit
        assert limit is None or end - begin <= limit
    assert run.stopped.counts["steps"] == len(rows)
    assert run.stopped.counts["openings"] == len(run.openings)


def led_to(case, run, step):
    lent = -1 if run.emissions is None else run.emissions[step]
    if lent < 0:
        return case.log.next_observation[run.rows[step]]
    n = len(case.log)
    return case.log.observation[lent] if lent < n else case.log.next_observation[lent - n]


@pytest.mark.parametrize("name", MAKERS)
def test_a_small_log_gives_what_the_reference_gives(name, reference, model_reference):
    @settings(max_examples=120, **OPTIONS)
    @given(case=cases(name))
    def short(case):
        assert_agrees(case, reference, model_reference)

    short()


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_thousands_of_small_logs_do(name, reference, model_reference):
    @settings(max_examples=3000, **OPTIONS)
    @given(case=cases(name))
    def long(case):
        assert_agrees(case, reference, model_reference)

    long()


@pytest.mark.slow
def test_kernels_that_are_interpreted_do():
    # 64-bit streams wrap around: NumPy's scalars warn where machine words do not
    asked = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore::RuntimeWarning", "-m", "not slow", __file__]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    found = subprocess.run(
        [sys.executable, *asked], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert found.returncode == 0, found.stdout[-3000:]
    assert f"{len(MAKERS)} passed" in found.stdout
