"""Our probes keep every rule, and each rule catches a probe that breaks it."""

import numpy as np
import pytest

import understudy as us
from understudy.errors import ContractError
from understudy.testing import check_probe

GRID = us.envs.Grid(slip=0.2)
OURS = {
    "start_value": us.probes.start_value(GRID),
    "episode_returns": us.probes.episode_returns,
    "reward_per_step": us.probes.reward_per_step,
    "visitation": us.probes.visitation,
    "validation": us.probes.validation(GRID, episodes=2, max_episode_steps=50)["validation return"],
}


@pytest.mark.parametrize("probe", OURS.values(), ids=OURS)
def test_our_probes_keep_the_rules(probe):
    assert len(check_probe(probe).rules) == 7


def test_an_estimate_is_read_of_a_learner_that_has_one():
    log = us.record(GRID, episodes=60, seed=0, max_episode_steps=200)
    check_probe(us.probes.estimate, lambda seed: us.learners.MonteCarlo(us.learners.Uniform(5)), us.psrs(log))


def writes(learner):
    learner.q[:, 0] += 1.0
    return 0.0


def draws(learner):
    return np.random.rand()  # noqa: NPY002 (what the rule is about)


def in_words(learner):
    return "high"


def grows(learner):
    return np.zeros(1 + int(np.count_nonzero(learner.q)))


def fails(learner):
    return learner.nothing


def of_two(learner, log):
    return 0.0


def infinite(learner):
    return np.inf


WRONG = {
    of_two: r"a probe is called with the learner alone: it takes other arguments; write f\(learner\)",
    us.probes.History(3): "measure of a History is a function of a Progress: it is 3; write a function",
    us.probes.History(of_two): "measure of a History is a function of a Progress",
    writes: "reading a probe changes nothing: .*; do not write on the learner",
    draws: "readings depend on the learner and the run alone: .*; draw from a generator that is seeded",
    in_words: "returns a number, or an array of numbers .*: a probe returns a number or an array .* not 'high'",
    grows: "has the same shape each time: a reading of shape",
    fails: "it raised AttributeError: .*; return a float",
}


@pytest.mark.parametrize(("probe", "rule"), WRONG.items(), ids=lambda part: getattr(part, "__name__", ""))
def test_a_broken_rule_is_named_with_what_to_do(probe, rule):
    with pytest.raises(ContractError, match=rule):
        check_probe(probe)


def test_a_reading_may_be_infinite():
    assert len(check_probe(infinite).rules) == 7


def test_what_is_not_a_function_is_refused_and_so_is_half_a_setting():
    with pytest.raises(ContractError, match="a probe is a function of the learner, or a History: it is 3"):
        check_probe(3)
    with pytest.raises(ContractError, match="needs both make and simulator, or neither"):
        check_probe(OURS["start_value"], lambda seed: us.learners.Uniform(5))
