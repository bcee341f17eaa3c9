"""Parts are named, checked, and made for each log."""

import numpy as np
import pytest

import understudy as us
from understudy.errors import SettingError
from understudy.sweeps.names import Combination
from understudy.sweeps.parts import GivenParts, named_parts, simulators_by_name, takes


def parts(log, learners=None, simulators="psrs", encoders=None, **options):
    learners = {"q": lambda seed: us.learners.QLearning(25, 5, seed=seed)} if learners is None else learners
    return GivenParts(learners, simulators, encoders, {"may": log}, **options)


def test_lists_are_named_for_what_they_are(log):
    assert list(named_parts("simulator", ["psrs", us.qbe])) == ["psrs", "qbe"]
    assert list(named_parts("encoder", [None, us.encoders.Boxes(bins=2)])) == ["identity", "Boxes"]
    assert list(named_parts("encoder", us.encoders.Boxes(bins=2))) == ["Boxes"]
    assert list(named_parts("log", log)) == ["log"]
    assert list(named_parts("log", ["a/may.parquet", "a/june.csv"])) == ["may", "june"]


@pytest.mark.parametrize(
    ("key", "given", "match"),
    [("learner", [], "has no learner"), ("learner", lambda seed: None, "has no name"),
     ("learner", {"": 1}, "is named ''"), ("log", ["a/x.csv", "b/x.csv"], "one name"),
     ("simulator", [3], "has no name")],
)  # fmt: skip
def test_parts_without_names_are_refused(key, given, match):
    with pytest.raises(SettingError, match=match):
        named_parts(key, given)


def test_what_is_not_a_part_is_refused(log):
    with pytest.raises(SettingError, match="no simulator 'real'"):
        parts(log, simulators="real")
    with pytest.raises(SettingError, match="learner 'q' of the sweep is 3"):
        parts(log, learners={"q": 3})
    with pytest.raises(SettingError, match="encoder 'e' of the sweep is 3"):
        parts(log, encoders={"e": 3}).encoder("e", log)


def test_every_simulator_by_name_takes_a_log(log):
    found = {name for name, function in simulators_by_name().items() if takes(function, 2) or takes(function, 1)}
    assert found == set(simulators_by_name()) >= {"psrs", "qbe", "replay", "pers"}
    assert parts(log, simulators=["pers"]).simulator("pers", log, None).log is log


def test_an_encoder_is_fitted_on_each_log_and_stays_as_it_was_given(log):
    other = us.record(us.envs.ContinuousGrid(), episodes=5, seed=1)
    boxes = us.encoders.Boxes(bins=2)
    given = parts(log, encoders={"boxes": boxes})
    one, two = given.encoder("boxes", log), given.encoder("boxes", other)
    assert one.n_states == 2
    assert two.n_states == 4
    assert not boxes.fitted
    fitted = us.encoders.Boxes(bins=3).fit(log)
    assert parts(log, encoders={"fitted": fitted}).encoder("fitted", log) is fitted
    made = parts(log, encoders={"made": lambda log: us.encoders.Boxes(bins=4)}).encoder("made", log)
    assert made.n_states == 4


def test_a_learner_may_depend_on_log_and_encoder(log):
    def make(log, encoder, seed):
        return us.learners.QLearning(encoder.n_states, log.spec.n_actions, encoder=encoder, seed=seed)

    given = parts(log, learners={"q": make}, encoders={"boxes": us.encoders.Boxes(bins=2)})
    encoder = given.encoder("boxes", log)
    found = given.deployment(Combination("q", "psrs", "boxes", "may"), log, encoder, us.psrs(log, encoder))
    assert np.shape(found.make(3).values(np.arange(4))) == (4,)
    assert found.make(3).codes.n == 2


def test_another_function_is_described_otherwise(log):
    def described(epsilon):
        make = lambda seed: us.learners.QLearning(25, 5, epsilon=epsilon, seed=seed)  # noqa: E731
        return parts(log, learners={"q": make}).described("learner", "q")

    assert described(0.1) == described(0.1) != described(0.2)
