from dataclasses import dataclass
from threading import Thread

import numpy as np
import pytest

from understudy.contracts.fitting import ensure_fitted, needs_fit
from understudy.encoders import Boxes, Function
from understudy.envs import CounterGrid
from understudy.errors import ContractError
from understudy.learners import QLearning
from understudy.logs import Log
from understudy.runs import experiment, simulate
from understudy.simulators import actions_only, any_row, exo_psrs, model, psrs, qbe, states_only

COUNTER = CounterGrid(4, size=3)
ORACLES = {"split": COUNTER.split, "merge": COUNTER.merge, "reward": COUNTER.reward}
SIMULATORS = {
    "psrs": psrs, "qbe": qbe, "states_only": states_only, "actions_only": actions_only, "any_row": any_row,
    "model": model, "exo_psrs": lambda log, encoder: exo_psrs(log, encoder, **ORACLES),
}  # fmt: skip


def log_of(seed, episodes=40):
    return Log.from_columns(**COUNTER.rollout(np.full((COUNTER.n_observations, 5), 0.2), episodes, seed=seed))


LOG, OTHER = log_of(0), log_of(1, episodes=55)


class Own:
    """Cells, numbered by how often a log has them; it does not say whether it is fitted."""

    def __init__(self):
        self.times = 0

    def fit(self, log):
        self.times += 1
        counts = np.bincount(log.observation % 9, minlength=9)
        self.code = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
        return self

    def encode(self, observations):
        return self.code[np.asarray(observations) % 9]


class Saying(Own):
    """The same, and says so."""

    fitted = False

    def fit(self, log):
        self.fitted = True
        return super().fit(log)


class Slotted(Own):
    __slots__ = ()

    def __setattr__(self, name, value):
        if name == "fitted":
            raise AttributeError(name)
        super().__setattr__(name, value)


@pytest.mark.parametrize("make", [Own, Saying, Slotted])
@pytest.mark.parametrize("name", SIMULATORS)
def test_an_encoder_of_ones_own_is_fitted_by_the_first_simulator(name, make):
    encoder = make()
    simulator = SIMULATORS[name](LOG, encoder)
    assert encoder.times == 1
    fitted = SIMULATORS[name](LOG, Function(make().fit(LOG).encode))
    assert simulator.index.fingerprint == fitted.index.fingerprint


@pytest.mark.parametrize("make", [Own, Saying])
def test_an_encoder_is_fitted_once_whoever_uses_it_next(make):
    encoder = make()
    for simulator in SIMULATORS.values():
        simulator(LOG, encoder)
    simulate(psrs(OTHER, encoder), QLearning(9, 5, encoder=encoder), max_steps=10)
    assert encoder.times == 1


def test_one_that_says_it_is_fitted_is_left_as_it_is():
    encoder = Own().fit(OTHER)
    encoder.fitted = True
    psrs(LOG, encoder)
    assert encoder.times == 1


def test_one_without_a_fit_only_encodes():
    class Bare:
        def encode(self, observations):
            return np.asarray(observations) % 9

    assert not needs_fit(Bare())
    assert psrs(LOG, Bare()).n_states == 9


@pytest.mark.parametrize("compiled", [None, False])
@pytest.mark.parametrize("make", [Own, Saying, lambda: Boxes(bins=4)])
def test_a_learners_encoder_is_fitted_on_the_log_it_rehearses_on(make, compiled):
    encoder = make()
    run = simulate(psrs(LOG), QLearning(9, 5, encoder=encoder), seed=3, compiled=compiled)
    again = simulate(psrs(LOG), QLearning(9, 5, encoder=make().fit(LOG)), seed=3, compiled=False)
    assert np.array_equal(run.rows, again.rows)


def test_runs_in_threads_that_share_an_encoder_fit_it_once():
    encoder, learner = Own(), lambda seed: QLearning(9, 5, encoder=encoder, seed=seed)
    runs = experiment(psrs(LOG), learner, runs=4, workers=2, backend="threads")
    assert encoder.times == 1
    alone = experiment(psrs(LOG), lambda seed: QLearning(9, 5, encoder=Own(), seed=seed), runs=4, backend="serial")
    assert all(np.array_equal(one.rows, other.rows) for one, other in zip(runs, alone, strict=True))
    shared = Own()
    threads = [Thread(target=ensure_fitted, args=(shared, LOG)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.times == 1


def test_one_that_takes_no_attributes_is_fitted_by_each():
    @dataclass(frozen=True)
    class Frozen:
        n: int

        def fit(self, log):
            return self

        def encode(self, observations):
            return np.asarray(observations) % self.n

    encoder = Frozen(9)
    assert psrs(LOG, encoder).n_states == psrs(OTHER, encoder).n_states == 9
    assert needs_fit(encoder)


def test_a_wrapper_that_passes_attributes_on_is_fitted_as_the_encoder_that_it_wraps():
    class Wrapper:
        def __init__(self, inner):
            self.inner = inner

        def fit(self, log):
            self.inner.fit(log)
            return self

        def encode(self, observations):
            return self.inner.encode(observations)

        def __getattr__(self, name):
            return getattr(self.inner, name)

    inner = Saying()
    for log in (LOG, OTHER):
        psrs(log, Wrapper(inner))
    assert inner.times == 1


def test_a_fit_that_returns_nothing_is_taken_and_one_that_returns_another_object_is_refused():
    class Forgetful(Own):
        def fit(self, log):
            super().fit(log)

    class Copying(Own):
        def fit(self, log):
            return Own().fit(log)

    assert ensure_fitted(Forgetful(), LOG).times == 1
    with pytest.raises(ContractError, match="fit of Copying returned another object, a Own; fit must keep"):
        psrs(LOG, Copying())
