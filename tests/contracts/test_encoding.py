"""What counts as an encoder, and as one that offers more."""

import numpy as np
import pytest

import understudy as us
from understudy.contracts import HasSettings
from understudy.contracts.encoding import (
    CountsFits,
    CountsStates,
    Encoder,
    Encodes,
    ObservationSpec,
    RemembersLog,
    Savable,
    SaysFitted,
)

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
