"""States are alike where an encoder's descriptions are."""

import numpy as np
import pytest

from understudy.contracts import DescribesObservations, HasSettings, Likeness, Log, SuggestsRadii
from understudy.contracts.offering import offers
from understudy.encoders import Identity
from understudy.errors import ContractError, SettingError
from understudy.likeness import described, forward


class Angle:
    """Describes a number by two outcomes, whose probabilities turn with it; NaN for numbers below 0."""

    def descriptions(self, observations):
        turned = np.where(observations[:, 0] < 0, np.nan, observations[:, 0])
        return np.stack([np.cos(turned), np.sin(turned)], axis=1)[:, None, :].astype(np.float32)


def log_of(numbers):
    n = len(numbers)
    return Log.from_columns(
        observation=np.array(numbers)[:, None], action=[0] * n, reward=[0.0] * n, ends="every-row",
        next_observation=np.array(numbers)[:, None],
    )  # fmt: skip


def like(log, radius, state=None):
    state = np.arange(len(log)) if state is None else np.array(state)
    first, members = forward(Angle(), tested=False).neighbors(log, state, state, int(state.max()) + 1, radius)
    return [members[first[z] : first[z + 1]].tolist() for z in range(len(first) - 1)]


def test_it_keeps_its_contract_and_asks_for_one():
    assert offers(Angle(), DescribesObservations)
    for protocol in (Likeness, SuggestsRadii, HasSettings):
        assert offers(forward(Angle()), protocol)
    assert repr(forward(Angle())) == "forward(Angle)"
    with pytest.raises(ContractError, match="does not describe observations"):
        forward(Identity())


def test_the_distance_is_one_less_what_descriptions_have_in_common():
    log = log_of([0.0, 0.2, 1.0])
    assert like(log, 0.03) == [[1], [0], []]  # 1 - cos(.2) is .02
    assert like(log, 1 - np.cos(0.8) + 1e-6) == [[1], [0, 2], [1]]


def test_a_state_of_several_observations_has_the_mean_of_their_probabilities():
    log = log_of([0.0, np.pi / 2, np.pi / 4])
    assert like(log, 1e-6, [0, 0, 1]) == [[1], [0]]


def test_what_cannot_be_described_is_alike_to_nothing():
    assert like(log_of([-1.0, 0.1, 0.1]), 0.5) == [[], [2], [1]]


def test_radii_are_suggested():
    log = log_of(np.linspace(0, 1, 30))
    found = forward(Angle()).radii(log, np.arange(30), np.arange(30), 30)
    assert found[0] == pytest.approx(1 - np.cos(1 / 29), rel=1e-2)
    assert len(found) > 2


def test_too_many_states_are_refused(monkeypatch):
    monkeypatch.setattr(described, "MOST_STATES", 2)
    with pytest.raises(SettingError, match="3 states, and forward"):
        like(log_of([0.0, 0.1, 0.2]), 0.1)
