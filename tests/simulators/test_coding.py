"""Observations coded as a learner's tables index them: kernels must see what the learner in Python sees."""

import numpy as np
import pytest

from understudy.encoders import Boxes, Function
from understudy.envs import CounterGrid, NoisyGrid
from understudy.errors import LogError, SettingError
from understudy.learners import QLearning
from understudy.logs import Log
from understudy.simulators import exo_psrs, model, psrs, qbe, real
from understudy.simulators.coding import LOG_POSITIONS, largest_observation, opening_positions
from understudy.simulators.exogenous import ExogenousReplay
from understudy.simulators.index import index
from understudy.simulators.kernels import layout

NOISY, COUNTER = NoisyGrid(1, size=3, slip=0.2), CounterGrid(4, size=3)


def simulators():
    log, clocked = (
        Log.from_columns(**env.rollout(np.full((env.n_observations, 5), 0.2), 60, seed=0)) for env in (NOISY, COUNTER)
    )
    oracles = {"split": COUNTER.split, "merge": COUNTER.merge, "reward": COUNTER.reward}
    latent = Function(NOISY.latent)
    return {
        "psrs": psrs(log, latent), "qbe by rows": qbe(log, latent, order="rows"), "sim1": model(log),
        "sim2": model(log, latent), "sim2 empirical": model(log, latent, emission="empirical"),
        "exo_psrs": exo_psrs(clocked, **oracles), "exo_psrs latent": exo_psrs(clocked, latent, **oracles),
        "real": real(NOISY),
    }  # fmt: skip


SIMULATORS = simulators()
ENCODERS = {"plain": None, "an encoder": Function(lambda x: (np.asarray(x) * 7) % 40)}


def codes_agree(simulator, codes, policy=(0.2,) * 5, seed=3, steps=200):
    """True if at each observation the code that kernels hand to a learner is the learner's own."""
    rehearsal, over = simulator.start(seed, codes), True
    for _ in range(steps):
        if over:
            observation = rehearsal.begin()
        if rehearsal.source.cursor[layout.CODE] != codes(observation):
            return False
        step = rehearsal.step(policy)
        observation, over = step.next_observation, step.terminated or step.truncated
    return True


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("name", SIMULATORS)
def test_the_code_that_kernels_hand_to_a_learner_is_the_learners_own(name, encoder):
    assert codes_agree(SIMULATORS[name], QLearning(40, 5, encoder=ENCODERS[encoder]).codes)


def test_learners_with_encoders_of_their_own_do_not_get_each_others_codes():
    for shift in (1, 2, 1):
        encoder = Function(lambda x, shift=shift: np.asarray(x) + shift)
        assert codes_agree(SIMULATORS["psrs"], QLearning(40, 5, encoder=encoder).codes)


def test_a_learner_with_an_encoder_runs_on_floats():
    rng = np.random.default_rng(0)
    x = rng.random((300, 2))
    log = Log.from_columns(
        observation=x[:-1], next_observation=x[1:], action=rng.integers(2, size=299), reward=np.zeros(299),
        terminated=np.arange(299) % 30 == 29, propensity=np.full((299, 2), 0.5),
    )  # fmt: skip
    boxes = Boxes(bins=2).fit(log)
    codes = QLearning(boxes.n_states, 2, encoder=boxes).codes
    for simulator in (psrs(log, boxes), model(log, boxes), model(log, boxes, emission="empirical")):
        assert codes_agree(simulator, codes, policy=(0.5, 0.5), steps=50)


def test_an_observation_that_was_also_seen_at_the_end_of_an_episode_keeps_its_code(walk_log):
    # any visit to 1 may be the last one: the model must not take the code of a terminal row, which nobody needs
    log = walk_log([0, 1], [0, 1, 0, 1], [0, 1, 0, 1])
    encoder = Function(lambda x: x + 5)
    for emission in ("uniform", "empirical", "row"):
        assert codes_agree(model(log, emission=emission), QLearning(9, 2, encoder=encoder).codes, (1.0, 0.0))


@pytest.mark.parametrize("name", SIMULATORS)
@pytest.mark.parametrize("encoder", [None, Function(lambda x: np.asarray(x))], ids=["plain", "an encoder"])
def test_a_table_that_is_too_small_is_refused(name, encoder):
    largest = max(part.max() for part in observations_of(SIMULATORS[name], after_terminal=encoder is None))
    assert codes_agree(SIMULATORS[name], QLearning(largest + 1, 5, encoder=encoder).codes)
    with pytest.raises(SettingError, match=f"code {largest} is outside the learner's table of {largest}"):
        SIMULATORS[name].start(0, QLearning(largest, 5, encoder=encoder).codes)


def observations_of(simulator, after_terminal):
    """Arrays of every observation that a simulator may serve, with those after terminal steps if asked for."""
    if simulator.log is None:
        return (np.arange(NOISY.n_observations),)
    if isinstance(simulator, ExogenousReplay):
        return simulator.observations
    return simulator.log.observation, simulator.log.next_observation[~simulator.log.terminated | after_terminal]


def test_the_largest_observation_is_looked_for_in_every_column():
    ups, downs = np.array([3, 1]), np.array([0, 7])
    assert largest_observation(ups).tolist() == [3]
    assert largest_observation(ups, downs).tolist() == [7]
    assert largest_observation(ups, -downs).tolist() == [-7]  # no table has a row for it
    for column in (np.array([0.5, 9.5]), np.array([[1, 2], [8, 9]])):
        assert np.array_equal(largest_observation(column), column[:1])


def test_positions_in_the_log_are_codes_of_their_own(walk_log):
    log = walk_log([5, 6, 7], [8, 9])
    records, opening = index(log, None).coded(LOG_POSITIONS)
    assert records["next_code"].tolist() == [0, 1, 2]
    assert opening["code"].tolist() == [3, 4]


def test_a_learner_without_an_encoder_is_refused_floats_and_negative_numbers(walk_log):
    for path in ([0.5, 1.5, 2.5], [-1, 0, 1]):
        for make in (psrs, model):
            with pytest.raises(SettingError):
                make(walk_log(path)).start(0, QLearning(40, 2).codes)


class Own:
    """An encoder of one's own: each fit numbers observations in another way."""

    fitted = True

    def __init__(self):
        self.shift = 0

    def fit(self, log):
        self.shift += 1
        return self

    def encode(self, observations):
        return (np.asarray(observations) + self.shift) % 40


@pytest.mark.parametrize("name", SIMULATORS)
def test_codes_follow_the_last_fit_of_an_encoder(name):
    encoder = Own()
    codes = QLearning(40, 5, encoder=encoder).codes
    for _ in range(3):
        assert codes_agree(SIMULATORS[name], codes)
        encoder.fit(None)


def test_codes_of_an_encoder_that_counts_its_fits_are_made_once_for_each():
    class Counting(Own):
        fits = asked = 0

        def fit(self, log):
            self.fits += 1
            return super().fit(log)

        def encode(self, observations):
            self.asked += len(observations)
            return super().encode(observations)

    encoder, simulator = Counting(), SIMULATORS["qbe by rows"]
    codes = QLearning(40, 5, encoder=encoder).codes
    simulator.start(0, codes)
    once = encoder.asked
    simulator.start(1, codes)
    assert encoder.asked == once
    encoder.fit(None)
    assert codes_agree(simulator, codes)


def test_a_simulator_keeps_the_states_it_was_made_with():
    encoder, log = Own(), SIMULATORS["psrs"].log
    simulator = psrs(log, encoder)
    before = simulator.index.state.copy()
    encoder.fit(log)
    assert np.array_equal(simulator.index.state, before)
    assert simulator.index.fingerprint != psrs(log, encoder).index.fingerprint


def test_positions_that_32_bits_cannot_hold_are_refused():
    assert opening_positions(2**31 - 3, range(1, 3)).tolist() == [2**31 - 2, 2**31 - 1]
    with pytest.raises(LogError, match="split it by episodes"):
        opening_positions(2**31 - 3, range(1, 4))
