"""Damaged inputs in short form: each kind, a fixed seed; and a reader of each bad sort, which must be noticed."""

import os
import signal
import time
from collections import Counter

import pytest

from soak import inputs
from soak.inputs import Case, cases_of, generator_of, kinds_here, run_case, run_inputs, show_case
from soak.kinds import Made
from understudy.errors import LogError

QUICK = {"simulate's folders": 0}
"""Kinds whose whole inputs take long to make; `make soak` has them."""


def quiet(*_):
    pass


def test_damaged_inputs_of_every_kind_are_read_or_refused_in_a_sentence(monkeypatch):
    kinds = {name: kind for name, kind in kinds_here().items() if name not in QUICK}
    monkeypatch.setattr(inputs, "kinds_here", lambda: kinds)
    found = run_inputs(300, seed=4, workers=1, report=quiet)
    assert found.wrong == []
    ends = sum(map(Counter, found.counts.values()), Counter())
    assert ends.total() == 300
    assert ends["refused"] > 150
    assert ends["read"] > 15
    assert found.peak < 1 << 30


class Reader:
    """A kind of input whose reader behaves by its number."""

    name, share, sealed = "reader", 1, True

    def prepare(self, scratch):
        pass

    def make(self, folder, rng):
        (folder / "input").write_bytes(rng.bytes(4))
        return Made("four bytes", forged=False)

    def read(self, folder, rng):
        ways = {2: lambda: 1 // 0, 3: self.hang, 4: lambda: os.kill(os.getpid(), signal.SIGKILL), 6: self.refuse}
        return ways.get(self.number, lambda: None)()

    number = property(lambda self: self.numbers.pop(0))

    def hang(self):
        while True:
            time.sleep(0.01)

    def refuse(self):
        raise LogError("no")

    def same(self, value):
        return False


def test_crashes_hangs_and_errors_are_noted_by_case_and_the_rest_goes_on(monkeypatch):
    reader = Reader()
    monkeypatch.setattr(inputs, "kinds_here", lambda: {"reader": reader})
    monkeypatch.setattr(inputs, "SECONDS", 1)
    work = inputs._Crew._work

    def from_first(crew, first):
        reader.numbers = list(range(first, 8))
        work(crew, first)

    monkeypatch.setattr(inputs._Crew, "_work", from_first)
    found = run_inputs(8, seed=0, workers=1, report=quiet)
    assert found.counts == {"reader": {"misread": 4, "raised": 1, "hang": 1, "crash": 1, "refused": 1}}
    ends = {line["number"]: line["end"] for line in found.wrong}
    assert (ends[2], ends[3], ends[4]) == ("raised", "hang", "crash")
    assert "ZeroDivisionError" in next(line["words"] for line in found.wrong if line["number"] == 2)


def test_cases_are_shared_out_and_made_again_from_their_number():
    kinds = list(kinds_here().values())
    cases = cases_of(kinds, 1000)
    assert len(cases) == len(set(cases)) == 1000
    assert {case.kind for case in cases} == {kind.name for kind in kinds}
    assert generator_of(Case("csv", 3), 0).bytes(8) == generator_of(Case("csv", 3), 0).bytes(8)
    assert generator_of(Case("csv", 3), 0).bytes(8) != generator_of(Case("vw", 3), 0).bytes(8)
    assert "csv:3 (seed 0): " in show_case(Case("csv", 3), 0)


def test_no_case_is_begun_after_the_time():
    assert sum(run_inputs(50, seed=0, workers=1, only="vw", report=quiet, until=0.0).counts["vw"].values()) == 0


@pytest.mark.parametrize("name", ["csv", "encoders"])
def test_a_case_leaves_nothing_behind(name):
    kind = kinds_here()[name]
    with inputs.prepared([kind]) as scratch:
        before = sorted(os.listdir(scratch))
        for number in range(5):
            outcome, words = run_case(kind, Case(name, number), 0, scratch)
            assert outcome.fine
            assert words
        assert sorted(os.listdir(scratch)) == before
