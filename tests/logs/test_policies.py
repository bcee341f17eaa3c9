"""One check for all policies: what is taken, and a sentence for what is not."""

import gymnasium
import numpy as np
import pandas as pd
import pytest
import torch

import understudy as us
from understudy.errors import PolicyError
from understudy.logs.policies import as_policies, as_policy, numbers_of

TAKEN = {
    "a list": [0.25, 0.75],
    "a tuple": (0.25, 0.75),
    "float32": np.array([0.25, 0.75], np.float32),
    "another byte order": np.array([0.25, 0.75], ">f8"),
    "every other entry": np.array([0.25, 9, 0.75, 9])[::2],
    "read-only": np.broadcast_to(np.array([0.25, 0.75]), 2),
    "a series": pd.Series([0.25, 0.75], index=["b", "a"]),
    "a mask of nothing": np.ma.array([0.25, 0.75], mask=False),
    "a tensor": torch.tensor([0.25, 0.75]),
    "a tensor that requires grad": torch.tensor([0.25, 0.75], requires_grad=True) * 1.0,
    "a leaf that requires grad": torch.tensor([0.25, 0.75], requires_grad=True),
    "half precision": torch.tensor([0.25, 0.75], dtype=torch.bfloat16),
    "a list of tensors": [torch.tensor(0.25, requires_grad=True), torch.tensor(0.75)],
}
REFUSED = {
    "text": (["0.25", "0.75"], "holds <U4, not real numbers"),
    "one text": ("0.25 0.75", "is not a vector of numbers"),
    "bytes": ([b"0", b"1"], r"holds \|S1, not real numbers"),
    "complex": (np.array([0.25 + 0j, 0.75]), "holds complex128"),
    "objects": (np.array([0.25, 0.75], object), "holds object"),
    "None": (None, "is not a vector of numbers"),
    "a missing entry": ([0.25, None], "holds object"),
    "dates": (np.array([0, 1], "datetime64[s]"), "holds datetime64"),
    "a dictionary": ({0: 0.25, 1: 0.75}, "is not a vector of numbers"),
    "lists of two lengths": ([[0.25], [0.75, 1]], "is not a vector of numbers"),
    "a sparse tensor": (torch.tensor([0.25, 0.75]).to_sparse(), "is not a vector of numbers"),
    "masked": (np.ma.array([0.25, 0.75], mask=[True, False]), "has masked entries"),
    "a row": ([[0.25, 0.75]], r"has shape \(1, 2\), and there are 2 actions"),
    "a column": ([[0.25], [0.75]], r"has shape \(2, 1\)"),
    "a row of a tensor": (torch.tensor([[0.25, 0.75]]), r"has shape \(1, 2\)"),
    "a number": (1.0, r"has shape \(\)"),
    "too many": ([0.25, 0.25, 0.5], r"has shape \(3,\)"),
    "NaN": ([np.nan, 1.0], "has a NaN or an infinity"),
    "infinite": ([np.inf, -np.inf], "has a NaN or an infinity"),
    "negative": ([1.25, -0.25], "has a negative entry"),
    "logits": ([2.0, 1.0], "sums to 3, not 1"),
    "integers": (np.array([1, 1]), "sums to 2, not 1"),
}


@pytest.fixture(scope="module")
def log():
    n = 100
    return us.Log.from_columns(
        observation=np.zeros(n, int), next_observation=np.zeros(n, int), action=np.arange(n) % 2, reward=np.zeros(n),
        terminated=np.ones(n, bool), propensity=np.full((n, 2), 0.5),
    )  # fmt: skip


class Asked:
    def __init__(self, policy):
        self.given = policy

    def policy(self, observation):
        return self.given

    def learn(self, step):
        pass


@pytest.mark.parametrize("form", TAKEN)
def test_what_holds_probabilities_is_taken(form, log):
    policy = as_policy(TAKEN[form], 2, 0)
    np.testing.assert_allclose(policy, [0.25, 0.75])
    assert policy.dtype == np.float64
    assert policy.flags.carray
    runs = [us.simulate(us.qbe(log), Asked(given), 0, 20).rows.tolist() for given in (TAKEN[form], [0.25, 0.75])]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("form", REFUSED)
@pytest.mark.parametrize("simulator", ["psrs", "qbe", "real"])
def test_what_does_not_is_refused_in_a_sentence(form, simulator, log):
    policy, fault = REFUSED[form]
    rehearsal = (us.real(Two()) if simulator == "real" else getattr(us, simulator)(log)).start(0)
    rehearsal.begin()
    with pytest.raises(PolicyError, match=f"^the policy .* at observation 0 {fault}"):
        rehearsal.step(policy)


class Two(gymnasium.Env):
    """An environment of two actions, stepped from Python."""

    observation_space, action_space = gymnasium.spaces.Discrete(1), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return 0, {}


def test_a_long_policy_is_shown_in_short(log):
    rehearsal = us.psrs(log).start(0)
    rehearsal.begin()
    with pytest.raises(PolicyError, match=r"\.\.\. at observation 0 has shape \(900,\)") as caught:
        rehearsal.step(np.full(900, 1 / 900))
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", ["text", "complex", "masked", "NaN", "negative", "logits", "a number", "None"])
def test_a_batch_is_checked_alike(form):
    policy, fault = REFUSED[form]
    fault = {"a number": "has shape", "None": "holds object"}.get(form, fault)
    rows = np.ma.stack([policy, policy]) if form == "masked" else [policy, policy]
    with pytest.raises(PolicyError, match=fault):
        as_policies(rows, 2, np.array([5, 6]))


def test_a_batch_names_the_observation():
    with pytest.raises(PolicyError, match=r"the policy \[0\.5 0\.6\] at observation 6 sums to 1\.1"):
        as_policies([[0.5, 0.5], [0.5, 0.6]], 2, np.array([5, 6]))
    with pytest.raises(PolicyError, match=r"has shape \(3, 2\), and there are 2 observations"):
        as_policies(np.full((3, 2), 0.5), 2, np.array([5, 6]))


@pytest.mark.parametrize("form", ["text", "complex", "masked", "lists of two lengths", "NaN", "negative", "logits"])
def test_so_are_tables_and_logging_policies(form):
    grid = us.envs.Grid(2)
    with pytest.raises(PolicyError, match="policy"):
        us.learners.FixedPolicy(REFUSED[form][0])
    with pytest.raises(PolicyError, match="policy"):
        us.record(grid, lambda observation: REFUSED[form][0], episodes=1)
    with pytest.raises(PolicyError, match="policy"):
        grid.rollout(REFUSED[form][0], 1, seed=0)


def test_numbers_are_copied():
    given = np.array([0.5, 0.5])
    assert not np.shares_memory(numbers_of(given), given)


def test_a_validation_refuses_what_a_run_refuses():
    grid = us.envs.Grid(2)
    probes = us.probes.validation(grid, episodes=2, max_episode_steps=3)
    with pytest.raises(PolicyError, match="sums to"):
        probes["validation return"].measure(us.runs.probes.Progress(Asked(np.full(5, 0.3)), 0, None, 0, None))
