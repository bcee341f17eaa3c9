"""All that Python can see of a thing is in its description; what it cannot see is named, and taken for nothing else."""

import array
import collections
import datetime
import decimal
import enum
import fractions
import functools
import logging
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time
import types
import weakref
from dataclasses import dataclass, field

import gymnasium
import numpy as np
import pytest
import torch

from understudy.contracts import Step
from understudy.encoders import Function
from understudy.envs import Grid
from understudy.learners import PPO, FixedPolicy, MonteCarlo, QLearning, Uniform
from understudy.logs import Log, Spec
from understudy.runs.describing import describe, plain
from understudy.simulators import psrs, qbe

LOG = Log.from_columns(**Grid(3).rollout(np.full((9, 5), 0.2), 3, seed=0))


class Slotted:
    __slots__ = ("__hidden", "_private", "rate")

    def __init__(self, rate=1, private=2, hidden=3):
        self.rate, self._private, self.__hidden = rate, private, hidden


class Mixed(Slotted):
    def __init__(self, rate=1, private=2, hidden=3, own=4):
        super().__init__(rate, private, hidden)
        self._own = own


@dataclass(slots=True)
class SlottedData:
    rate: float
    _depth: int = 0


@dataclass
class Holder:
    thing: object
    made: list = field(default_factory=list)


class Private:
    def __init__(self, rate):
        self._rate = rate


class Hidden:
    """What it holds is private, two levels down."""

    def __init__(self, rate):
        self._inner = Private(rate)


class Net(torch.nn.Module):
    def __init__(self, weight, width=2):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, width), torch.nn.ReLU())
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.fill_(weight)


def optimizer(rate, weight=1.0):
    return torch.optim.Adam(Net(weight).parameters(), lr=rate)


def scheduled(step_size):
    return torch.optim.lr_scheduler.StepLR(optimizer(0.1), step_size)


class Wrapped(gymnasium.RewardWrapper):
    def __init__(self, env, factor):
        super().__init__(env)
        self._factor = factor

    def reward(self, reward):
        return self._factor * reward


class Extended(QLearning):
    """A learner of ours with something of its own, of which the settings it inherits know nothing."""

    def __init__(self, bonus, private=0):
        super().__init__(3, 2)
        self.bonus, self._private = bonus, private


class Replaying:
    """A simulator of one's own around one of ours."""

    def __init__(self, inner):
        self._inner = inner

    def start(self, seed):
        return self._inner.start(seed)


def generator(seed):
    return np.random.default_rng(seed)


def used(rng):
    rng.random()
    return rng


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


Point = collections.namedtuple("Point", "x y")


class Text(str):
    __slots__ = ("language",)


def spoken(language):
    text = Text("hello")
    text.language = language
    return text


def recurring(depth, leaf):
    thing = [leaf]
    for _ in range(depth):
        thing = [thing, thing]
    return thing


def deep(depth, leaf):
    thing = [leaf]
    for _ in range(depth):
        thing = [thing]
    return thing


def ring(n, last=0):
    nodes = [types.SimpleNamespace(value=0) for _ in range(n)]
    for place, node in enumerate(nodes):
        node.next = nodes[(place + 1) % n]
    nodes[-1].value = last
    return nodes[0]


def with_attribute(value):
    def function():
        return function.rate

    function.rate = value
    return function


def cached(rate):
    return functools.lru_cache(lambda step: rate)


PAIRS = {
    "slots": (lambda: Slotted(1), lambda: Slotted(2)),
    "private slots": (lambda: Slotted(private=1), lambda: Slotted(private=2)),
    "mangled slots": (lambda: Slotted(hidden=1), lambda: Slotted(hidden=2)),
    "slots of a base": (lambda: Mixed(1), lambda: Mixed(2)),
    "a dict beside slots": (lambda: Mixed(own=1), lambda: Mixed(own=2)),
    "slots of a dataclass": (lambda: SlottedData(1.0), lambda: SlottedData(2.0)),
    "private slots of a dataclass": (lambda: SlottedData(1.0, 1), lambda: SlottedData(1.0, 2)),
    "private attributes": (lambda: Private(1), lambda: Private(2)),
    "private attributes of nested objects": (lambda: Hidden(1), lambda: Hidden(2)),
    "private attributes in a list": (lambda: [Private(1)], lambda: [Private(2)]),
    "private attributes of keys": (lambda: {Private(1): 0}, lambda: {Private(2): 0}),
    "fields of a dataclass": (lambda: Holder(Slotted(1)), lambda: Holder(Slotted(2))),
    "tensors": (lambda: torch.tensor([1.0, 2.0]), lambda: torch.tensor([1.0, 3.0])),
    "dtypes of tensors": (lambda: torch.zeros(2), lambda: torch.zeros(2, dtype=torch.float64)),
    "shapes of tensors": (lambda: torch.zeros(2, 3), lambda: torch.zeros(3, 2)),
    "bfloat16": (lambda: torch.ones(3, dtype=torch.bfloat16), lambda: torch.zeros(3, dtype=torch.bfloat16)),
    "weights": (lambda: Net(1.0), lambda: Net(2.0)),
    "widths": (lambda: Net(1.0, 2), lambda: Net(1.0, 3)),
    "modules of torch's own": (lambda: torch.nn.Dropout(0.1), lambda: torch.nn.Dropout(0.2)),
    "training mode": (lambda: Net(1.0).eval(), lambda: Net(1.0).train()),
    "optimizers": (lambda: optimizer(0.1), lambda: optimizer(0.2)),
    "what optimizers optimize": (lambda: optimizer(0.1, 1.0), lambda: optimizer(0.1, 2.0)),
    "schedulers": (lambda: scheduled(1), lambda: scheduled(2)),
    "generators of torch": (lambda: torch.Generator().manual_seed(1), lambda: torch.Generator().manual_seed(2)),
    "generators of NumPy": (lambda: generator(1), lambda: generator(2)),
    "generators that were used": (lambda: generator(1), lambda: used(generator(1))),
    "generators of Python": (lambda: random.Random(1), lambda: random.Random(2)),
    "partials": (lambda: functools.partial(max, 1), lambda: functools.partial(max, 2)),
    "cached functions": (lambda: cached(1), lambda: cached(2)),
    "attributes of functions": (lambda: with_attribute(1), lambda: with_attribute(2)),
    "vectorized functions": (lambda: np.vectorize(lambda x: x + 1), lambda: np.vectorize(lambda x: x + 2)),
    "callables in encoders": (
        lambda: Function(np.vectorize(lambda x: x + 1)),
        lambda: Function(np.vectorize(lambda x: x + 2)),
    ),
    "callables in policies": (
        lambda: FixedPolicy(functools.partial(max, 1)),
        lambda: FixedPolicy(functools.partial(max, 2)),
    ),
    "enums": (lambda: Color.RED, lambda: Color.BLUE),
    "an enum and its number": (lambda: Level.LOW, lambda: 1),
    "named tuples": (lambda: Point(1, 2), lambda: Point(1, 3)),
    "a named tuple and a plain one": (lambda: Point(1, 2), lambda: (1, 2)),
    "attributes of texts": (lambda: spoken("en"), lambda: spoken("fr")),
    "dates": (lambda: datetime.date(2020, 1, 1), lambda: datetime.date(2020, 1, 2)),
    "decimals": (lambda: decimal.Decimal("0.1"), lambda: decimal.Decimal("0.2")),
    "fractions": (lambda: fractions.Fraction(1, 2), lambda: fractions.Fraction(1, 3)),
    "paths": (lambda: pathlib.Path("a"), lambda: pathlib.Path("b")),
    "patterns": (lambda: re.compile("a"), lambda: re.compile("b")),
    "bytes": (lambda: b"a", lambda: b"b"),
    "arrays of Python": (lambda: array.array("i", [1]), lambda: array.array("i", [2])),
    "deques": (lambda: collections.deque([1], 2), lambda: collections.deque([1], 3)),
    "defaults of dicts": (lambda: collections.defaultdict(list), lambda: collections.defaultdict(set)),
    "ordered dicts": (lambda: collections.OrderedDict(a=1, b=2), lambda: collections.OrderedDict(b=2, a=1)),
    "keys and their texts": (lambda: {1: "a"}, lambda: {"1": "a"}),
    "keys of several kinds": (lambda: {(0, 1): "a"}, lambda: {(0, 2): "a"}),
    "nan and its text": (lambda: float("nan"), lambda: "nan"),
    "true and one": (lambda: True, lambda: 1),
    "a whole number and its float": (lambda: 1, lambda: 1.0),
    "kinds of numbers": (lambda: np.array([1, 2], np.int8), lambda: np.array([1, 2], np.int16)),
    "float32 and float64": (lambda: np.float32(0.5), lambda: 0.5),
    "structured arrays": (lambda: np.zeros(2, "i4,f8"), lambda: np.ones(2, "i4,f8")),
    "arrays of objects": (lambda: np.array([Private(1)]), lambda: np.array([Private(2)])),
    "masks": (lambda: np.ma.array([1, 2], mask=[0, 1]), lambda: np.ma.array([1, 2], mask=[1, 0])),
    "the end of a long list": (lambda: list(range(10**5)), lambda: [*range(10**5 - 1), -1]),
    "a value of a large dict": (lambda: dict.fromkeys(range(999), 0), lambda: dict.fromkeys(range(999), 0) | {7: 1}),
    "members of a large set": (lambda: set(range(999)), lambda: set(range(1, 1000))),
    "huge integers": (lambda: 10**5000, lambda: 10**5000 + 1),
    "long texts": (lambda: "a" * 9999, lambda: "a" * 9998 + "b"),
    "the leaf of what occurs 2**24 times": (lambda: recurring(24, 1), lambda: recurring(24, 2)),
    "the leaf of what is 10,000 levels deep": (lambda: deep(10_000, 1), lambda: deep(10_000, 2)),
    "values in a ring": (lambda: ring(5), lambda: ring(5, last=1)),
    "the size of a ring": (lambda: ring(5), lambda: ring(6)),
    "weak references": (lambda: weakref.ref(Color.RED), lambda: weakref.ref(Color.BLUE)),
    "bound functions of C": (lambda: [1].append, lambda: [2].append),
    "environments": (lambda: Grid(size=3), lambda: Grid(size=4)),
    "private attributes of wrappers": (lambda: Wrapped(Grid(), 1), lambda: Wrapped(Grid(), 2)),
    "functions of wrappers": (
        lambda: gymnasium.wrappers.TransformReward(Grid(), lambda r: r),
        lambda: gymnasium.wrappers.TransformReward(Grid(), lambda r: -r),
    ),
    "arguments of made environments": (
        lambda: gymnasium.make("FrozenLake-v1", is_slippery=True),
        lambda: gymnasium.make("FrozenLake-v1", is_slippery=False),
    ),
    "what a subclass adds to a learner of ours": (lambda: Extended(1), lambda: Extended(2)),
    "what a subclass adds in private": (lambda: Extended(1, 1), lambda: Extended(1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", PAIRS)
def test_what_holds_something_else_is_another_thing(kind):
    one, other = (make() for make in PAIRS[kind])
    assert describe(one).digest != describe(other).digest
    assert not describe(one).unknown


@pytest.mark.parametrize("kind", PAIRS)
def test_what_is_made_twice_is_the_same_thing(kind):
    for make in PAIRS[kind]:
        one, other = make(), make()
        assert describe(one) == describe(other)


def test_logs_and_states_of_simulators_within_others_are_seen(log, grid):
    told = [Replaying(psrs(log)), Replaying(qbe(log)), Replaying(psrs(log, Function(grid.latent)))]
    told += [Replaying(psrs(log.select(range(40)))), Replaying(psrs(log, order="rows"))]
    assert len({describe(thing).digest for thing in told}) == 5
    assert describe(Replaying(psrs(log))) == describe(Replaying(psrs(log)))


@pytest.mark.parametrize(
    ("thing", "kind"),
    [
        (threading.Lock(), "_thread.lock"), (threading.RLock(), "_thread.RLock"),
        (open(os.devnull), "TextIOWrapper"), ((n for n in range(3)), "generator"), (iter([1, 2]), "list_iterator"),  # noqa: SIM115
        (np.frompyfunc(max, 2, 1), "ufunc"), (threading.local(), "_thread._local"), (sys._getframe(), "frame"),
        (memoryview(b"a"), "memoryview"),
    ],
)  # fmt: skip
def test_what_cannot_be_described_is_named_by_its_path(thing, kind):
    holder = Holder({"handle": [thing]})
    unknown = describe({"learner": holder}).unknown
    (path, what), *_ = unknown.items()
    assert path.startswith("learner.thing.handle")
    assert kind in what
    assert "0x" not in str(plain(holder))


def test_a_set_that_its_members_refer_back_to_cannot_be_described():
    one, other = types.SimpleNamespace(), Private(3)
    other.friends = {other, Private(4)}
    assert describe(one).unknown == {}
    assert "friends" in next(iter(describe(other).unknown))


def test_loggers_are_told_by_their_names():
    assert describe(logging.getLogger("a")).unknown == {}
    assert describe(logging.getLogger("a")).digest != describe(logging.getLogger("b")).digest


@pytest.mark.parametrize(
    "make",
    [
        lambda: recurring(24, 1), lambda: recurring(2000, 1), lambda: deep(30_000, 1), lambda: ring(5_000),
        lambda: list(range(10**6)), lambda: {str(n): n for n in range(10**5)}, lambda: np.zeros(10**7),
        lambda: np.broadcast_to(np.float64(1), (1000, 10_000)), lambda: [[n] for n in range(10_000)],
    ],
)  # fmt: skip
def test_describing_takes_time_in_proportion_and_shows_little(make):
    thing, begun = make(), time.monotonic()
    told = str(plain({"learner": thing}))
    assert time.monotonic() - begun < 10
    assert len(told) < 10_000


SCRIPT = """
import collections, enum, functools, json, random
import numpy as np
from dataclasses import dataclass
from understudy.runs.describing import describe

NAMES = {"a", "b", "c", "d", "e", "f", "g"}
RATE = 0.5

class Color(enum.Enum):
    RED = 1

@dataclass(slots=True)
class Schedule:
    names: set
    def __call__(self, step):
        return RATE if step in {"x", "y", "z"} else len(NAMES)

class Mine:
    kinds = frozenset({"u", "v", "w"})
    def __init__(self):
        self.rng, self.random = np.random.default_rng(3), random.Random(4)
        self.schedule, self.color = Schedule(NAMES), Color.RED
        self.weights = {name: 0.0 for name in NAMES}
        self.objects = {Color.RED, functools.partial(max, 1)} | {str(n) for n in range(100)}
        self.itself, self.method = self, self.policy
    def policy(self, observation):
        return super().__repr__(), self.kinds

found = describe({"learner": Mine(), "probe": lambda learner: RATE})
print(json.dumps([found.plain, found.digest, found.unknown], sort_keys=True))
"""


def test_descriptions_are_alike_in_every_process(tmp_path):
    (tmp_path / "mine.py").write_text(SCRIPT)

    def told(hash_seed):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.run(
            [sys.executable, tmp_path / "mine.py"], env=environment, capture_output=True, text=True, check=False
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    assert told("1") == told("2")
    assert "0x" not in told("3")


def alike(one, other):
    return describe(one).digest == describe(other).digest


def warm(value):
    learner = QLearning(3, 2)
    learner.q[1] = value
    return learner


def taught(reward):
    learner = MonteCarlo(Uniform(2))
    learner.learn(Step(0, 0, reward, 0, True, False))
    return learner


def trained(weight, noted=0):
    learner = PPO(Spec(2, None, (1,), np.dtype(float), None), hidden=(2,), epoch_steps=4)
    learner._policy.weight.add_(weight)
    for _ in range(noted):
        learner.learn(Step([0.5], 1, 1.0, [0.5], True, False))
    return learner


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (lambda: warm(0.0), lambda: warm(1.0)),
        (lambda: Holder(warm(0.0)), lambda: Holder(warm(1.0))),
        (lambda: taught(1.0), lambda: taught(2.0)),
        (lambda: trained(0.0), lambda: trained(1.0)),
        (lambda: trained(0.0), lambda: trained(0.0, noted=1)),
    ],
)
def test_what_a_learner_of_ours_has_learned_already_is_part_of_it(make, other):
    assert alike(make(), make())
    assert not alike(make(), other())
    assert plain(make()) == plain(make())


def test_what_is_learned_is_not_shown():
    assert plain(warm(0.0)) == plain(warm(1.0))


class Compiling:
    """Has an attribute that functions of Numba have, too."""

    def __init__(self, rate):
        self.py_func, self.rate = alike, rate


def called_with(number):
    class Mine:
        __call__ = functools.partialmethod(pow, number)
        __array_priority__ = number

    return Mine()


def annotated(note):
    function = functools.partial(print, 1)
    function.note = note
    return function


def remembered(note):
    @functools.lru_cache
    def function():
        pass

    function.note = note
    return function


class Part(functools.partial):
    def __call__(self):
        return 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Compiling(1), Compiling(2)),
        (called_with(1), called_with(2)),
        (annotated(1), annotated(2)),
        (annotated(1), functools.partial(print, 1)),
        (remembered(1), remembered(2)),
        (Part(print, 1), functools.partial(print, 1)),
        ((0, 1), [0, 1]),
        (Holder((0, "a", None)), Holder([0, "a", None])),
        ({1, 2}, frozenset({1, 2})),
    ],
)
def test_what_only_looks_alike_is_told_apart(one, other):
    assert not alike(one, other)


def test_a_thing_without_end_cannot_be_described(monkeypatch):
    class Endless:
        @property
        def settings(self):
            return {"inner": Endless()}

    monkeypatch.setattr("understudy.runs.describing.nodes.MOST_SETTINGS", 1000)
    (told,) = describe(Endless()).unknown.values()
    assert "Endless among more than 1,0" in told
    monkeypatch.setattr("understudy.runs.describing.nodes.MOST_NODES", 100)
    (told,) = describe([[number] for number in range(101)]).unknown.values()
    assert told == "a list among more than 100 parts"
