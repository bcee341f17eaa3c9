"""Our encoders keep every rule, and each rule catches an encoder that breaks it."""

import threading

import numpy as np
import pytest

import understudy as us
from understudy.errors import ContractError, SettingError
from understudy.testing import check_encoder

GRID = us.envs.ContinuousGrid(3)
LOG = us.record(GRID, episodes=60, seed=0, max_episode_steps=200)
OURS = {
    "Identity": us.encoders.Identity(),
    "Function": us.encoders.Function(GRID.latent),
    "Boxes": us.encoders.Boxes(bins=4),
    "KMeans": us.encoders.KMeans(10, 0),
    "Forward": us.encoders.Forward(0, steps=30),
    "Homer": us.encoders.Homer(9, max_steps=20),
}


@pytest.mark.parametrize("encoder", OURS.values(), ids=OURS)
def test_our_encoders_keep_the_rules(encoder):
    assert len(check_encoder(encoder, LOG).rules) >= 12
    assert not hasattr(encoder, "fits") or encoder.fits == 0  # it was a copy that was fitted


def test_an_encoder_that_was_fitted_elsewhere_keeps_the_rules():
    other = us.record(GRID, episodes=60, seed=1, max_episode_steps=200)
    check_encoder(us.encoders.KMeans(10, 0).fit(other), LOG)


class Halves:
    """An encoder that keeps the rules; subclasses break one each."""

    n_states = 2

    def fit(self, log):
        self.middle = np.median(log.observation[:, 0])
        return self

    def encode(self, observations):
        return (observations[:, 0] > self.middle).astype(np.int64)


class ReturnsAnother(Halves):
    def fit(self, log):
        return Halves().fit(log)


class Floats(Halves):
    def encode(self, observations):
        return super().encode(observations) * 1.0


class OneForAll(Halves):
    def encode(self, observations):
        return np.int64(0)


class Nowhere(Halves):
    def encode(self, observations):
        return super().encode(observations) * 0 - 1


class ByTheBatch(Halves):
    def encode(self, observations):
        middle = np.median(observations[:, 0]) if len(observations) else 0.0
        return (observations[:, 0] > middle).astype(np.int64)


class Forgetful(Halves):
    calls = 0

    def encode(self, observations):
        self.calls += 1
        return (super().encode(observations) + self.calls) % 2


class Random(Halves):
    def fit(self, log):
        self.middle = np.random.rand()  # noqa: NPY002 (what the rule is about)
        return self


class StatesByAMethod(Halves):
    def n_states(self):
        return 2


class FailsOnNone(Halves):
    def encode(self, observations):
        return super().encode(observations) + 0 * int(observations[0, 0])


class FailsInFit(Halves):
    def fit(self, log):
        self.middle = log.observation.nothing


class TooManyStates(Halves):
    n_states = 1


class NeverFitted(Halves):
    fitted = False


class StuckFits(Halves):
    fits = 0


class NotRegistered(Halves):
    def contents(self):
        return us.encoders.EncoderContents({}, {"middle": np.array([self.middle])})

    @classmethod
    def from_contents(cls, contents):
        return cls()


class Misread(NotRegistered):
    @classmethod
    def from_contents(cls, contents):
        found = cls()
        found.middle = contents.arrays["middle"][0] + 0.5
        return found


class Forgets(NotRegistered):
    pass


class ADict(Misread):
    def contents(self):
        return {"middle": self.middle}


class OfObjects(Misread):
    def from_contents(self, contents):
        return self


us.encoders.register("tests.Misread", Misread)
us.encoders.register("tests.Forgets", Forgets)

WRONG = {
    ReturnsAnother: "learns in the encoder and returns it, or None: fit of ReturnsAnother returned another object",
    Floats: "returns one integer from 0 up for each observation, -1 for no state: it returned float64",
    OneForAll: "returns one integer from 0 up for each observation.*of shape ()",
    Nowhere: "has a state for the observations of its log: all are -1; fit it on logs like this one",
    ByTheBatch: "does not depend on the others of its batch: .*; compute each row by itself",
    Forgetful: "the state of an observation is the same each time|fitting twice|does not depend",
    Random: "fitting twice on the same log gives the same states: .*; draw from a generator that is seeded",
    StatesByAMethod: "n_states is a whole number, or None: it is a method; make it an attribute or a property",
    FailsOnNone: "encode of an empty batch returns no states: it raised IndexError: .*; return an integer array",
    FailsInFit: "returns it, or None: it raised AttributeError: .*; return self; or give check_encoder a log that it",
    Forgets: "with the same states: it raised AttributeError: .*; let contents.. hold all that encode uses",
    ADict: r"^ADict breaks the rule that contents\(\) returns EncoderContents: it returned a dict; return",
    OfObjects: r"from_contents.contents. is a class method: .*; write @classmethod above it",
    TooManyStates: "states are below n_states: there is a state 1, and n_states is 1",
    NeverFitted: "fitted is True after fit: it is False; set it in fit",
    StuckFits: "fits grows with each fit: it stayed 0; add 1 to it in fit",
    NotRegistered: r"can be saved and loaded.*register",
    Misread: "can be saved and loaded, with the same states: after loading, observations have other states",
}


def test_the_encoder_that_the_wrong_ones_are_made_of_keeps_the_rules():
    check_encoder(Halves(), LOG)


@pytest.mark.parametrize(("kind", "rule"), WRONG.items(), ids=lambda part: getattr(part, "__name__", ""))
def test_a_broken_rule_is_named_with_what_to_do(kind, rule):
    with pytest.raises(ContractError, match=rule):
        check_encoder(kind(), LOG)


class ReturnsNone(Halves):
    def fit(self, log):
        super().fit(log)


def test_fit_may_return_none():
    assert any("returns it, or None" in rule for rule in check_encoder(ReturnsNone(), LOG).rules)


def test_a_log_that_the_encoder_is_not_made_for_is_named():
    for encoder in (Halves(), us.encoders.Boxes(bins=4).fit(LOG)):
        with pytest.raises(ContractError, match=r"; (or )?give check_encoder a log that it is made for$"):
            check_encoder(encoder)
    with pytest.raises(SettingError, match=r"log is a str; read it with us\.read"):
        check_encoder(Halves(), "x.parquet")


def test_a_class_and_a_function_are_not_encoders():
    for part in (Halves, len):
        with pytest.raises(ContractError, match=r"has encode\(observations\)"):
            check_encoder(part, LOG)


def test_an_encoder_that_cannot_be_copied_is_refused_in_words():
    encoder = Halves()
    encoder.lock = threading.Lock()
    with pytest.raises(ContractError, match=r"^Halves cannot be copied \(.*\); give a fresh one that can be copied$"):
        check_encoder(encoder, LOG)
