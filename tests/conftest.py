"""Damage to files, for tests that no file is misread: every damaged one is refused, or reads as it was. And small runs
made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from understudy.contracts import Stop
from understudy.evaluation.halves import seed_of_half
from understudy.runs import About, Run, Runs

EVERY = 10

ODD = [b"\0", b"\xff", b"-1", b"1e400", b"null", b"[", b"{", b'"', b"\xed\xa0\x80", b"9" * 30, b"NaN", b"\n", b","]


def mutated(content, rng):
    """The bytes with one to four random changes: bits, bytes, odd words, pieces lost, doubled, moved or cut off."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        at, other = sorted(rng.integers(0, len(content) + 1, 2).tolist())
        kind = rng.integers(8)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << int(rng.integers(8))
        elif kind == 1 and at < len(content):
            content[at] = int(rng.integers(256))
        elif kind == 2:
            content[at:at] = ODD[rng.integers(len(ODD))]
        elif kind == 3:
            word = ODD[rng.integers(len(ODD))]
            content[at : at + len(word)] = word
        elif kind == 4:
            del content[at : min(other, at + 64)]
        elif kind == 5:
            content[at:at] = content[at : min(other, at + 64)]
        elif kind == 6:
            piece = content[at : min(other, at + 64)]
            del content[at : min(other, at + 64)]
            place = int(rng.integers(0, len(content) + 1))
            content[place:place] = piece
        elif kind == 7 and rng.integers(4) == 0:
            del content[other:]
    return bytes(content)


@pytest.fixture
def damage():
    """`damage(content, count, seed)`: so many damaged versions of these bytes, the same for the same seed."""

    def versions(content, count, seed=0):
        rng = np.random.default_rng(seed)
        return (mutated(content, rng) for _ in range(count))

    return versions


def make_run(length, curves=None, seed=0, stop=None, final=None):
    """A run of so many steps; curves are functions of the steps at which they were read, every ten."""
    steps = np.arange(EVERY, length + 1, EVERY)
    return Run(
        seed=seed,
        rows=np.arange(length, dtype=np.int32),
        openings=np.zeros(1, dtype=np.int32),
        emissions=None,
        ends=np.arange(5, length + 1, 5),
        returns=np.zeros(length // 5),
        steps=steps,
        curves={name: np.array([curve(step) for step in steps]) for name, curve in (curves or {}).items()},
        final=final or {name: curve(length) for name, curve in (curves or {}).items()},
        stopped=stop or Stop("queue empty", state=3, counts={"steps": length, "rows taken": 2 * length}),
    )


def make_runs(lengths, level=0.0, noise=0.1, probe="g", seed=0, **about):
    """Runs whose probe is a line at a level, each with an error of its own."""
    errors = noise * np.random.default_rng(seed).normal(size=len(lengths))
    about = {"kind": "simulated", "log_rows": 200, "log_episodes": 20, "log": "abc", "seed": 7} | about
    about["log_returns"] = {
        "error": about.pop("log_return_error", 0.01), "skew": 0.0, "single": 0.1, "low": -1.0, "high": 1.0,
        "rows": [200], "episodes": [20], "earned": [0.0],
    }  # fmt: skip
    about.setdefault("simulator", {"simulator": "psrs"})
    about.setdefault("learner", {"class": "QLearning", "gamma": 0.5})
    return Runs(
        tuple(
            make_run(length, {} if probe is None else {probe: lambda t, e=e: level + e + t / 100}, seed=number)
            for number, (length, e) in enumerate(zip(lengths, errors, strict=True))
        ),
        About(**about),
    )


def make_real(lengths, **about):
    """Runs in a real environment."""
    runs = make_runs(lengths, seed=1, kind="real", log_rows=None, log_episodes=None, log=None, **about)
    stop = Stop("max steps", counts={"steps": lengths[0]})
    return Runs(tuple(Run(**{**vars(run), "stopped": stop}) for run in runs), runs.about)


def make_halved(lengths, half_lengths, n_halves=10, shift=0.0, luck=0.05, **options):
    """Runs on one log, and on halves of it whose curves are shifted, each by a luck of its own."""
    drawn = luck * np.random.default_rng(9).normal(size=n_halves)
    level = options.pop("level", 0.0)
    whole = make_runs(lengths, level=level, **options)
    halves = tuple(
        make_runs(half_lengths, level=level + shift + more, seed=10 + number, **options)
        for number, more in enumerate(drawn)
    )
    seeds = [seed_of_half(whole.about.log, whole.about.seed, number) for number in range(n_halves)]
    made = (replace(half, about=replace(half.about, seed=seed)) for half, seed in zip(halves, seeds, strict=True))
    return replace(whole, halves=tuple(made))


def make_on_ladder(runs, lower, cuts=()):
    """The same runs, as if a ladder had served them: `lower` has rungs by the step after which they begin."""
    steps = sorted(lower)
    made = []
    for run in runs:
        rungs = np.zeros(len(run), np.uint8)
        for step in steps:
            rungs[step:] = lower[step]
        made.append(replace(run, rungs=rungs, cuts=np.array([cut for cut in cuts if cut <= len(run)], np.int64)))
    return replace(runs, runs=tuple(made))


@pytest.fixture(scope="session")
def on_ladder():
    return make_on_ladder


@pytest.fixture(scope="session")
def halved_of():
    return make_halved


@pytest.fixture(scope="session")
def runs_of():
    return make_runs


@pytest.fixture(scope="session")
def real_of():
    return make_real


@pytest.fixture(scope="session")
def run_of():
    return make_run
