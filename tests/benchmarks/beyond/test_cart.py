import gymnasium
import numpy as np
import pytest

import understudy as us
from benchmarks.beyond import cart
from understudy.contracts.streams import streams_of

Z = 3.9  # |z| above it has a probability of 1e-4


def test_it_moves_as_gymnasiums_does():
    env, rng = gymnasium.make("CartPole-v1"), np.random.default_rng(0)
    fallen = 0
    for episode in range(20):
        env.reset(seed=episode)
        here = np.array(env.unwrapped.state)
        over = False
        while not over:
            action = int(rng.integers(2))
            seen, _, over, _, _ = env.step(action)
            fell = cart.push(here, action)
            assert here == pytest.approx(np.array(env.unwrapped.state), abs=1e-12)
            assert seen == pytest.approx(here, abs=1e-6)
            assert fell == over
        fallen += fell
    assert fallen == 20


def test_boxes_are_the_encoders():
    points = np.random.default_rng(1).normal(size=(2_000, 4)) * [1.5, 1.0, 0.1, 1.0]
    boxes = cart.boxes().encode(points)
    assert [cart.box_of(point) for point in points] == boxes.tolist()
    assert boxes.max() < cart.N_BOXES


def test_a_recording_is_whole_episodes_of_what_follows():
    log = cart.record_cart(50, seed=3, soft=0.7)
    assert len(log.starts) == 51
    inside = np.flatnonzero(np.diff(log.episode) == 0)
    assert (log.next_observation[inside] == log.observation[inside + 1]).all()
    assert log.terminated[log.starts[1:] - 1].all()
    here = log.observation[0].copy()
    cart.push(here, log.action[0])
    assert (here == log.next_observation[0]).all()


def test_recorded_actions_have_their_propensity():
    log = cart.record_cart(400, seed=4, soft=0.7)
    right = log.propensity[:, 1]
    z = (log.action - right).sum() / np.sqrt((right * (1 - right)).sum())
    assert abs(z) < Z
    left = 1 - right
    assert abs((log.action - left)[right > 0.5].sum()) > Z * np.sqrt((right * left).sum())  # the other side is caught


@pytest.mark.slow
def test_compiled_runs_have_the_law_of_runs_in_gymnasium():
    """Mean return in steps 1,501 to 3,000: 15 runs in Python, 3,000 compiled; |z| < 3.9, and another learner fails."""
    settings = {"epsilon": 0.1, "alpha": 0.5, "gamma": 0.99}
    env = gymnasium.make("CartPole-v1", disable_env_checker=True)
    runs = us.experiment(
        us.real(env), lambda seed: us.learners.QLearning(cart.N_BOXES, 2, encoder=cart.boxes(), seed=seed, **settings),
        runs=15, seed=5, max_steps=3_000, every=1_500, probes={"g": us.probes.episode_returns}, progress=False,
        backend="serial",
    )  # fmt: skip
    real = runs.curve("g")[1][:, 1]

    def z(**changed):
        given = settings | changed
        make = lambda seed: us.learners.QLearning(cart.N_BOXES, 2, seed=seed, **given)  # noqa: E731
        compiled = cart.true_curves(make, 3_000, 6, 1_500, 2)[:, 1]
        return (compiled.mean() - real.mean()) / (real.std(ddof=1) / np.sqrt(len(real)))

    assert abs(z()) < Z
    assert abs(z(epsilon=1.0)) > Z


def test_an_episode_opens_near_the_middle():
    here = np.zeros(4)
    cart.reset(here, streams_of(1))
    assert (np.abs(here) <= 0.05).all()
    assert here.any()
