"""What counts as an encoder, and as one that offers more."""

import numpy as np
import pytest

import understudy as us
from understudy.contracts import HasSettings, encoding
from understudy.contracts.encoding import (
    CountsFits,
    CountsStates,
    Encoder,
    Encodes,
    EncodesLog,
    ObservationSpec,
    RemembersLog,
    Savable,
    SaysFitted,
    check_encodes,
    encoding_blocks,
    log_states,
    states_of,
)
from understudy.contracts.offering import offers
from understudy.errors import ContractError, EncoderError

PROTOCOLS = {Encodes, Encoder, SaysFitted, CountsFits, CountsStates, RemembersLog, HasSettings, Savable}


class Bare:
    def encode(self, observations):
        return np.zeros(len(observations), dtype=np.int64)


class Least(Bare):
    def fit(self, log):
        return self


def offered(encoder):
    return {protocol for protocol in PROTOCOLS if isinstance(encoder, protocol)}


def test_an_encoder_is_two_methods_and_offers_nothing_else():
    assert offered(Bare()) == {Encodes}
    assert offered(Least()) == {Encodes, Encoder}
    assert offered(lambda observations: observations) == set()


@pytest.mark.parametrize(
    ("protocol", "name"),
    [(SaysFitted, "fitted"), (CountsFits, "fits"), (CountsStates, "n_states"), (RemembersLog, "fitted_on")],
)
def test_an_attribute_offers_what_is_promised_by_it_alone(protocol, name):
    encoder = Least()
    setattr(encoder, name, None)
    assert offered(encoder) == {Encodes, Encoder, protocol}


@pytest.mark.parametrize(
    ("encoder", "not_offered"),
    [
        (us.encoders.Boxes(bins=2), {RemembersLog}),
        (us.encoders.Identity(), {RemembersLog}),
        (us.encoders.Function(np.sign), {RemembersLog, Savable}),
        (us.encoders.KMeans(2), set()),
        (us.encoders.Homer(), set()),
        (us.encoders.Forward(), set()),
    ],
)
def test_our_encoders_offer_all_they_can(encoder, not_offered):
    assert offered(encoder) == PROTOCOLS - not_offered


def test_contracts_has_the_protocol_of_an_encoder():
    assert us.Encoder is us.contracts.Encoder is Encoder


def test_a_spec_prints_as_words():
    assert str(ObservationSpec("integer", ())) == "integer observations"


class Returning:
    """An encoder that returns what it is made with."""

    def __init__(self, states):
        self.states = states

    def encode(self, observations):
        observations[:] = 9
        return self.states


def test_states_are_one_integer_for_each_observation_and_observations_stay():
    observations = np.arange(3)
    assert states_of(Returning([2, -1, 0]), observations).tolist() == [2, -1, 0]
    assert observations.tolist() == [0, 1, 2]


@pytest.mark.parametrize("states", [["a", "b", "c"], [[0], [1], [2]], [0, 1], [0.0, 1.0, 2.0], None, [0, -2, 1]])
def test_states_of_another_kind_are_refused(states):
    with pytest.raises(EncoderError, match="the encoder made"):
        states_of(Returning(states), np.arange(3))


@pytest.mark.parametrize("encoder", [object(), None, Returning, len])
def test_what_has_no_encode_is_refused(encoder):
    with pytest.raises(ContractError, match=r"is not an encoder: it needs encode\(observations\)"):
        check_encodes(encoder)


class Known:
    """An encoder that knows the states of a log already."""

    fitted = True

    def encode(self, observations):
        raise AssertionError("nothing is to be encoded")

    def log_states(self, log):
        return log.observation + 1, log.next_observation + 1


def test_an_encoder_that_knows_the_states_of_a_log_encodes_nothing():
    log = us.record(us.envs.Grid(), episodes=10, seed=0)
    assert offers(Known(), EncodesLog)
    state, next_state = log_states(Known(), log)
    assert np.array_equal(state, log.observation + 1)
    simulator = us.qbe(log, Known())
    assert np.array_equal(simulator.index.state, state)
    assert np.array_equal(simulator.index.records["next_state"], next_state)


@pytest.mark.parametrize("block_rows", [1, 7, 1000])
def test_a_block_and_the_one_after_it_are_joined(monkeypatch, block_rows):
    """Next observations are encoded once: as the next row's observation, also where a block ends between the two."""
    monkeypatch.setattr(encoding, "BLOCK_ROWS", block_rows)
    log = us.record(us.envs.Grid(), episodes=5, seed=0)
    asked = []

    class Counting:
        fitted = True

        def encode(self, observations):
            asked.append(len(observations))
            return observations * 2

    state, next_state = log_states(Counting(), log)
    assert np.array_equal(state, 2 * log.observation)
    assert np.array_equal(next_state, 2 * log.next_observation)
    n_new = 1 + np.count_nonzero(log.next_observation[:-1] != log.observation[1:])
    assert sum(asked) == len(log) + n_new


def test_blocks_of_large_observations_have_few_rows(monkeypatch):
    monkeypatch.setattr(encoding, "BLOCK_ENTRIES", 100)
    assert [part.stop - part.start for part in encoding_blocks(np.zeros((7, 5, 10)))] == [2, 2, 2, 1]
    assert len(encoding_blocks(np.zeros((3, 1000)))) == 3


def test_states_that_no_integer_holds_are_refused():
    class Wide:
        def encode(self, observations):
            return np.full(len(observations), 2**63, np.uint64)

    with pytest.raises(EncoderError, match="states are below"):
        states_of(Wide(), np.zeros(3))
