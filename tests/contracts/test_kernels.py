"""Kernels of a learner are registered by one call, and mistakes there are sentences."""

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

import understudy as us
from understudy.contracts.kernels import act, check_kernels, has_policy, kernels_of, learn
from understudy.errors import ContractError, PolicyError

LOG = us.record(us.envs.Grid(slip=0.2), episodes=20, seed=0, max_episode_steps=100)


def arrays_class():
    """A class of arrays that nothing is registered for yet."""

    class Arrays(NamedTuple):
        q: np.ndarray

    return Arrays


def even(arrays, code, policy):
    policy[:] = 1.0 / len(policy)


def count(arrays, code, action, reward, next_code, terminated, truncated):
    arrays.q[code, action] += 1.0


class Learner:
    codes, n_actions = us.learners.Codes(25), 5

    def __init__(self, arrays):
        self._arrays = arrays

    def arrays(self):
        return self._arrays

    def policy(self, observation):
        return np.full(5, 0.2)

    def learn(self, step):
        self._arrays.q[step.observation, step.action] += 1.0


def registered(**kernels):
    """A learner whose arrays have these kernels."""
    kind = arrays_class()
    us.learners.register_kernels(kind, **{"act": even, "learn": count} | kernels)
    return Learner(kind(np.zeros((25, 5))))


def test_a_registered_learner_is_compiled_and_runs_as_in_plain_python():
    learner, plain = registered(), registered()
    runs = us.simulate(us.psrs(LOG), learner, 0, compiled=True), us.simulate(us.psrs(LOG), plain, 0, compiled=False)
    np.testing.assert_array_equal(runs[0].rows, runs[1].rows)
    np.testing.assert_array_equal(learner.arrays().q, plain.arrays().q)


def test_kernels_may_make_arrays_and_call_compiled_functions():
    @njit
    def scores(q):
        return np.exp(q - q.max())

    def softmax(arrays, code, policy):
        weights = scores(arrays.q[code])
        policy[:] = weights / weights.sum()

    assert len(us.simulate(us.psrs(LOG), registered(act=softmax), 0, 50, compiled=True)) == 50


def test_the_kernels_of_one_process_are_not_found_by_another_on_disk():
    """Numba would not notice that one of them had changed since."""
    assert not kernels_of(registered().arrays()).built_in
    assert kernels_of(us.learners.Uniform(5).arrays()).built_in


def test_the_dispatching_functions_work_in_plain_python():
    arrays, policy = registered().arrays(), np.empty(5)
    act(arrays, 3, policy)
    learn(arrays, 3, 1, 0.0, 4, False, False)
    assert policy.tolist() == [0.2] * 5
    assert arrays.q[3, 1] == 1.0
    assert has_policy(arrays, 3)


def unknown_name(arrays, code, policy):
    policy[0] = nothing_of_that_name  # noqa: F821


def helper(x):
    return x


def plain_helper(arrays, code, policy):
    policy[:] = helper(arrays.q[code])


def unknown_field(arrays, code, policy):
    policy[:] = arrays.missing[code]


def text(arrays, code, policy):
    policy[:] = "even"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (unknown_name, "name 'nothing_of_that_name' is not defined"),
        (plain_helper, r"'helper'.*\(test_kernels.py, line \d+\); decorate functions that it calls with numba.njit"),
        (unknown_field, r"Unknown attribute 'missing' of type Arrays.*\(test_kernels.py, line \d+\)"),
        (text, r"\(test_kernels.py, line \d+\)"),
    ],
    ids=["an unknown name", "a helper that is not compiled", "an unknown field", "text"],
)
def test_what_cannot_be_compiled_is_one_sentence_that_names_the_kernel_and_the_line(function, said):
    with pytest.raises(ContractError, match=f"act of Arrays cannot be compiled: .*{said}") as raised:
        us.simulate(us.psrs(LOG), registered(act=function), 0, 10)
    assert "\n" not in str(raised.value)
    assert "with compiled=False the learner runs in plain Python" in str(raised.value)


def test_the_same_learner_still_runs_in_plain_python():
    assert len(us.simulate(us.psrs(LOG), registered(act=text), 0, 10, compiled=False)) == 10


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"act": lambda arrays, code: None},
            r"act of Arrays is called as act\(arrays, code, policy\), and .* has the parameters",
        ),
        ({"learn": even}, r"learn of Arrays is called as learn\(arrays, code, action, reward, next_code,"),
        ({"act": 3}, r"act of Arrays is 3; give a function act\(arrays, code, policy\)"),
    ],
)
def test_functions_that_cannot_be_called_like_that_are_refused_when_they_are_registered(wrong, said):
    with pytest.raises(ContractError, match=said):
        registered(**wrong)


def test_only_a_named_tuple_has_kernels():
    for kind in (dict, tuple, 3):
        with pytest.raises(ContractError, match="registered for a NamedTuple class, not for"):
            us.learners.register_kernels(kind, act=even, learn=count)


def test_arrays_without_kernels_say_how_to_register_them():
    arrays = arrays_class()(np.zeros((25, 5)))
    with pytest.raises(ContractError, match=r"no kernels are registered for Arrays.*register_kernels\(Arrays, act="):
        us.simulate(us.psrs(LOG), Learner(arrays), 0, 10)


def test_a_number_in_the_place_of_an_array_is_refused():
    arrays = type(registered().arrays())(3.0)
    with pytest.raises(
        ContractError, match=r"q of Arrays is a float, not a NumPy array; make it one with np.array, a single number as"
    ):
        check_kernels(arrays, 5)


def test_arrays_of_objects_are_refused():
    arrays = type(registered().arrays())(np.array([None]))
    with pytest.raises(ContractError, match="q of Arrays holds objects, and kernels see numbers only"):
        check_kernels(arrays, 5)


def test_two_classes_of_one_name_keep_their_own_kernels():
    """Numba's own look-up of compiled functions goes by the name of a NamedTuple."""

    def twice(arrays, code, action, reward, next_code, terminated, truncated):
        arrays.q[code, action] += 2.0

    for kernels, total in (({}, 50.0), ({"learn": twice}, 100.0), ({}, 50.0)):
        learner = registered(**kernels)
        us.simulate(us.psrs(LOG), learner, 0, 50, compiled=True)
        assert learner.arrays().q.sum() == total


def test_a_class_that_has_run_keeps_its_kernels():
    learner = registered()
    us.learners.register_kernels(type(learner.arrays()), act=even, learn=count)  # nothing was compiled yet
    us.simulate(us.psrs(LOG), learner, 0, 10, compiled=True)
    us.learners.register_kernels(type(learner.arrays()), act=even, learn=count)  # the same once more
    with pytest.raises(ContractError, match="Arrays has run with other kernels in this process"):
        us.learners.register_kernels(type(learner.arrays()), act=text, learn=count)


def test_further_parameters_are_refused_though_they_have_defaults():
    def greedy(arrays, code, policy, epsilon=0.1):
        policy[:] = epsilon

    with pytest.raises(
        ContractError, match=r"has the parameters \(arrays, code, policy, epsilon=0.1\); give it just those 3"
    ):
        registered(act=greedy)


def nan_later(arrays, code, policy):
    policy[:] = 0.2 if arrays.q.sum() < 20 else np.nan


def halved(arrays, code, policy):
    policy[:] = 0.1


def negative(arrays, code, policy):
    policy[:] = 0.4
    policy[0] = -0.6


def returned(arrays, code, policy):
    return np.full(5, 0.2)


@pytest.mark.parametrize("simulator", [us.psrs(LOG), us.qbe(LOG), us.model(LOG), us.real(us.envs.Grid())], ids=str)
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (nan_later, r"\[nan nan nan nan nan\] at code \d+ after 20 steps, which has a NaN"),
        (halved, r"after 0 steps, which sums to 0\.5"),
        (negative, r"after 0 steps, which has a negative entry"),
        (returned, r"after 0 steps, which sums to 0, not 1; .*; write probabilities that sum to 1 into every entry"),
    ],
)
def test_a_compiled_policy_that_is_not_a_distribution_ends_the_run_in_a_sentence(simulator, function, said):
    with pytest.raises(PolicyError, match=f"act of Arrays wrote the policy .*{said}"):
        us.simulate(simulator, registered(act=function), 0, 100, compiled=True)


def test_a_policy_that_nothing_can_give_does_not_hang():
    with pytest.raises(ContractError, match=r"has_policy of Arrays is False at code \d+"):
        us.simulate(us.psrs(LOG), registered(has_policy=lambda arrays, code: False), 0, 10)


def test_codes_that_are_something_else_are_named():
    learner = registered()
    learner.codes = {"a": 0}
    with pytest.raises(
        ContractError, match=r"codes of Learner, which has arrays\(\), is {'a': 0}; let it be learners.Codes"
    ):
        us.simulate(us.psrs(LOG), learner, 0, 10)


SCRIPT = """
import numpy as np, understudy as us
from typing import NamedTuple

class Arrays(NamedTuple):
    q: np.ndarray

def act(arrays, code, policy):
    policy[:] = 0.2

def learn(arrays, code, action, reward, next_code, terminated, truncated):
    arrays.q[code, action] += reward

us.learners.register_kernels(Arrays, act=act, learn=learn)

class Mine:
    codes, n_actions = us.learners.Codes(25), 5
    def __init__(self): self._arrays = Arrays(np.zeros((25, 5)))
    def arrays(self): return self._arrays
    def policy(self, observation): return np.full(5, 0.2)
    def learn(self, step): self._arrays.q[step.observation, step.action] += step.reward

if __name__ == "__main__":
    log = us.record(us.envs.Grid(slip=0.2), episodes=20, seed=0, max_episode_steps=100)
    options = dict(runs=2, max_steps=50, progress=False)
    here = us.experiment(us.psrs(log), lambda seed: Mine(), backend="serial", **options)
    there = us.experiment(us.psrs(log), lambda seed: Mine(), backend="processes", **options)
    assert all(np.array_equal(one.rows, other.rows) for one, other in zip(here, there, strict=True))
"""


def test_kernels_of_a_script_reach_other_processes(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    ran = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
