"""What an experiment is, in plain values: alike for what acts alike, different for what does not."""

import functools
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from understudy.encoders import Boxes, Function
from understudy.learners import FixedPolicy, Linear, QLearning
from understudy.runs.describing import differences, learner_settings, plain


def nested(rate):
    return (lambda step: (lambda: 0.5)()) if rate == 0.5 else (lambda step: (lambda: 0.25)())


def keyword(rate):
    def schedule(step, *, floor=rate):
        return floor

    return schedule


def closed(rate):
    return lambda step: rate


def defaulted(rate):
    return lambda step, floor=rate: floor


@dataclass(frozen=True)
class Decay:
    rate: float

    def __call__(self, step):
        return self.rate**step


class Slowing:
    """A callable that tells nothing of itself."""

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, step):
        return self.rate**step

    def after(self, step):
        return self.rate * step


PAIRS = {
    "numbers in a lambda": (lambda step: 0.5, lambda step: 0.25),
    "operations in a lambda": (lambda step: 2.0 * step, lambda step: 2.0 / (step + 1)),
    "functions called in a lambda": (lambda step: math.exp(-step), lambda step: math.cos(-step)),
    "attributes read in a lambda": (lambda run: run.rows, lambda run: run.ends),
    "a lambda in a lambda": (nested(0.5), nested(0.25)),
    "closures": (closed(0.5), closed(0.25)),
    "defaults": (defaulted(0.5), defaulted(0.25)),
    "keyword defaults": (keyword(0.5), keyword(0.25)),
    "partial arguments": (functools.partial(closed, 0.5), functools.partial(closed, 0.25)),
    "partial keywords": (functools.partial(keyword(0.5), floor=1), functools.partial(keyword(0.5), floor=2)),
    "dataclasses": (Decay(0.5), Decay(0.25)),
    "callable objects": (Slowing(0.5), Slowing(0.25)),
    "methods of objects": (Slowing(0.5).after, Slowing(0.25).after),
    "library schedules": (Linear(1.0, 0.1, steps=10), Linear(1.0, 0.1, steps=20)),
    "small arrays": (np.array([1, 2]), np.array([1, 3])),
    "large arrays": (np.arange(1000), np.arange(1000)[::-1]),
    "shapes": (np.zeros((100, 2)), np.zeros((2, 100))),
    "encoders": (Boxes(edges=[0.5]), Boxes(edges=[0.4])),
    "functions of encoders": (Function(lambda x: x // 2), Function(lambda x: x // 3)),
    "functions of fixed policies": (FixedPolicy(lambda x: [0.5, 0.5]), FixedPolicy(lambda x: [0.1, 0.9])),
    "sets": ({1, 2}, {1, 3}),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_what_acts_differently_is_described_differently(kind):
    one, other = PAIRS[kind]
    assert plain(one) != plain(other)


@pytest.mark.parametrize("make", [closed, defaulted, keyword, Decay, Slowing, lambda rate: Slowing(rate).after])
def test_what_was_made_twice_in_the_same_way_is_described_alike(make):
    assert plain(make(0.5)) == plain(make(0.5))


@pytest.mark.parametrize("kind", PAIRS)
def test_a_description_survives_json(kind):
    for thing in PAIRS[kind]:
        assert json.loads(json.dumps(plain({"it": thing}))) == plain({"it": thing})


@pytest.mark.parametrize(
    "value",
    [np.float32(0.5), np.int64(3), np.bool_(True), float("inf"), None, "text", (1, (2, 3)), {"a": {2: "b"}}, 2**70],
)
def test_plain_values_survive_json(value):
    assert json.loads(json.dumps(plain(value))) == plain(value)


def test_a_function_that_calls_itself_can_be_described():
    def factorial(n):
        return n * factorial(n - 1) if n else 1

    assert plain(factorial) == plain(factorial)


def test_a_thing_that_holds_itself_can_be_described():
    held = {"name": "ring"}
    held["itself"] = held
    assert plain(held) == plain(held)


def test_descriptions_are_alike_in_every_process():
    text = "from understudy.runs.describing import plain; print(plain(lambda x: x in {'a', 'b', 'c', 'd', 'e', 'f'}))"

    def told(hash_seed):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, check=True).stdout

    assert told("1") == told("2")


def test_the_seed_is_not_a_setting_of_a_library_learner():
    assert learner_settings(QLearning(3, 2, seed=1)) == learner_settings(QLearning(3, 2, seed=2))


def test_a_learner_that_tells_no_settings_is_described_by_what_it_holds():
    class Mine:
        def __init__(self, rate):
            self.rate = rate

    told = learner_settings(Mine(0.5))
    assert (told["class"], told["rate"]) == ("Mine", 0.5)


def test_a_learner_of_ones_own_is_told_by_its_code_too():
    def learner(favorite):
        if favorite:

            class Mine:
                def policy(self, observation):
                    return [1.0, 0.0]
        else:

            class Mine:
                def policy(self, observation):
                    return [0.0, 1.0]

        return Mine()

    assert learner_settings(learner(True)) == learner_settings(learner(True))
    assert learner_settings(learner(True)) != learner_settings(learner(False))
    assert "code" not in learner_settings(QLearning(3, 2))


def test_a_learner_with_slots_can_be_described():
    class Slim:
        __slots__ = ("rate",)

    assert learner_settings(Slim())["class"] == "Slim"


def test_differences_are_named_wherever_they_lie():
    there = {"seed": 1, "learner": {"gamma": 0.9, "encoder": None}, "gone": 1}
    here = {"seed": 2, "learner": {"gamma": 0.9, "encoder": {"class": "Boxes"}}, "new": 2}
    assert differences(there, here) == [
        "seed is 1 there and 2 here",
        "learner encoder is None there and {'class': 'Boxes'} here",
        "gone is 1 there and None here",
        "new is None there and 2 here",
    ]


def test_nan_does_not_differ_from_nan():
    about = {"learner": {"best": float("nan"), "all": [float("nan"), 1.0]}}
    assert differences(json.loads(json.dumps(about)), about) == []
