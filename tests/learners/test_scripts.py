"""Functions as learners."""

import pytest

import understudy as us
from understudy.errors import ContractError
from understudy.runs.describing import learner_settings


def act(env, seed, action=0):
    """Always the same."""
    over = True
    while True:
        if over:
            env.reset(seed=seed)
            seed = None
        _, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated


@pytest.fixture(scope="module")
def log():
    return us.record(us.envs.Grid(size=3, slip=0.3), episodes=50, seed=0)


def test_a_function_rehearses_until_the_log_has_no_answer(log):
    run = us.simulate(us.qbe(log), us.learners.script(act, action=2)(7), seed=1)
    assert run.seed == 1
    assert (log.action[run.rows] == 2).all()
    assert run.stopped.cause == "queue empty for action"


def test_what_it_returns_is_kept(log):
    learner = us.learners.script(lambda env, seed: seed + 1)(7)
    run = us.simulate(us.qbe(log), learner)
    assert learner.outcome == 8
    assert (len(run), run.stopped.cause) == (0, "learner ended")


def test_probes_see_what_it_names_as_the_learner(log):
    def named(env, seed):
        env.learner = 5.0
        act(env, seed)

    run = us.simulate(us.qbe(log), us.learners.script(named)(0), probes={"itself": lambda learner: learner}, every=1)
    assert set(run.curves["itself"]) == {5.0}


def test_settings_tell_functions_and_options_apart():
    def other(env, seed, action=0):
        env.reset()

    one, same, faster, another = (
        learner_settings(us.learners.script(function, **options)(seed))
        for function, options, seed in [(act, {}, 0), (act, {}, 1), (act, {"action": 1}, 0), (other, {}, 0)]
    )
    assert one == same
    assert one != faster
    assert one != another


def test_a_function_of_something_else_is_refused():
    with pytest.raises(
        ContractError, match=r"cannot be called as function\(env, seed, ...\): missing a required argument"
    ):
        us.learners.script(lambda env, seed, more: None)
    with pytest.raises(ContractError, match="got an unexpected keyword argument 'speed'"):
        us.learners.script(act, speed=1)
