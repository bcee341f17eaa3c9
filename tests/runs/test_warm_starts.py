import numpy as np
import pytest

from understudy.envs import BernoulliBandit, Grid, record
from understudy.errors import ContractError, LogError, SettingError
from understudy.learners import EpsilonGreedy, QLearning
from understudy.runs import experiment, simulate, warm_start
from understudy.runs.warm_starts import show
from understudy.simulators import psrs, real, replay


def make(seed):
    return QLearning(9, 5, epsilon=0.5, seed=seed)


@pytest.fixture(scope="module")
def log():
    return record(Grid(3), episodes=60, seed=0)


def test_no_episode_is_both_learned_from_and_replayed(log):
    warm = warm_start(psrs(log), make, share=0.25, seed=1)
    rest = warm.simulator.log
    assert rest.n_episodes == 45
    learner = warm.make(0)
    assert learner.clock == len(log) - len(rest)
    shown = np.setdiff1d(log.episode, rest.episode)
    assert len(shown) == 15
    alone = make(0)
    show(alone, log.select(np.flatnonzero(np.isin(log.episode[log.starts[:-1]], shown))))
    assert np.array_equal(alone.q, learner.q)


def test_every_learner_starts_with_the_same_knowledge_and_runs_go_on_from_it(log):
    warm = warm_start(psrs(log), make, share=0.5)
    assert np.array_equal(warm.make(0).q, warm.make(1).q)
    runs = experiment(warm.simulator, warm.make, runs=3, backend="serial", progress=False)
    assert all(len(run) > 0 for run in runs)
    plain = simulate(warm.simulator, warm.make(runs[0].seed), runs[0].seed, compiled=False)
    assert plain.rows.tolist() == runs[0].rows.tolist()


def test_the_seed_decides_which_episodes_and_in_log_order_they_are_the_first(log):
    one, again, other = (warm_start(psrs(log), make, seed=seed).simulator.log for seed in (1, 1, 2))
    assert one.fingerprint == again.fingerprint != other.fingerprint
    first = warm_start(psrs(log, order="log"), make, share=0.25).simulator.log
    assert first.fingerprint == log.select(range(15, 60)).fingerprint


def test_it_helps_a_bandit_from_the_first_decision_on():
    """Arms of .2 and .8, 200 logged decisions shown: nearly all of the first 20 decisions are for the best."""
    log = record(BernoulliBandit([0.2, 0.8]), episodes=1000, seed=0)
    warm = warm_start(replay(log), lambda seed: EpsilonGreedy(2, epsilon=0.1, seed=seed))
    runs = experiment(warm.simulator, warm.make, runs=20, max_steps=20, backend="serial", progress=False)
    taken = np.concatenate([warm.simulator.log.action[run.rows] for run in runs])
    assert taken.mean() > 0.85


def test_what_cannot_be_split_is_refused(log):
    with pytest.raises(SettingError, match="share"):
        warm_start(psrs(log), make, share=1.0)
    with pytest.raises(LogError, match="leaves none to learn from"):
        warm_start(psrs(log), make, share=0.001)
    with pytest.raises(ContractError, match="cannot be had on part of a log"):
        warm_start(real(Grid(3)), make)
    with pytest.raises(ContractError, match=r"int has no learn\(step\)"):
        warm_start(psrs(log), lambda seed: 3).make(0)
